//! Rows about competitions.

use super::{Columns, state};
use crate::contract::StoreError;
use engine::competitions::{CompetitionKind, CompetitionResult, CompetitionRow, CompetitionStatus, ResultSummary};
use engine::ids::{AccountId, CompetitionId, MatchId};

pub(crate) const COMPETITION: &str = "id, kind, account, name, definition, status, is_public, created_at, started_at, ended_at, \
     due_at, version, matches_created, results, results_applied, repairs";
pub(crate) const RESULT_OF_COMPETITION: &str = "number, match_id, key, ended_at, ending, data";

pub(crate) fn competition(row: &mut impl Columns) -> Result<CompetitionRow, StoreError> {
    Ok(CompetitionRow {
        id: CompetitionId(row.id()?),
        kind: row.named("kind of competition", CompetitionKind::from_name)?,
        account: AccountId(row.id()?),
        name: row.text()?,
        definition: row.bytes()?,
        status: row.named("status of a competition", CompetitionStatus::from_name)?,
        is_public: row.flag()?,
        created_at: row.time()?,
        started_at: row.maybe_time()?,
        ended_at: row.maybe_time()?,
        due_at: row.maybe_time()?,
        version: row.number()?,
        matches_created: row.number()?,
        results: row.number()?,
        results_applied: row.number()?,
        repairs: row.number()?,
    })
}

pub(crate) fn competition_result(row: &mut impl Columns) -> Result<CompetitionResult, StoreError> {
    Ok(CompetitionResult {
        number: row.number()?,
        match_id: MatchId(row.id()?),
        key: row.bits()?,
        ended_at: row.time()?,
        ending: state(row)?,
        summary: ResultSummary::decode(&row.bytes()?)
            .map_err(|error| StoreError::Corrupt { why: format!("the result of a competition: {error}") })?,
    })
}
