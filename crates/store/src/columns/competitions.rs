//! Rows about competitions.

use super::{Columns, row_of_id, state};
use crate::checksums::{StoredKey, StoredKind};
use crate::contract::StoreError;
use engine::competitions::{CompetitionKind, CompetitionResult, CompetitionRow, CompetitionStatus, ResultSummary};
use engine::ids::{AccountId, CompetitionId, MatchId};

pub(crate) const COMPETITION: &str = "id, kind, account, name, definition, checksum, status, is_public, created_at, started_at, ended_at, \
     due_at, version, matches_created, results, results_applied, repairs";
pub(crate) const RESULT_OF_COMPETITION: &str = "number, match_id, key, ended_at, ending, data, checksum";

pub(crate) fn competition(row: &mut impl Columns) -> Result<CompetitionRow, StoreError> {
    row_of_id(row, StoredKind::Competition, |row, id| competition_of_id(row, CompetitionId(id)))
}

fn competition_of_id(row: &mut impl Columns, id: CompetitionId) -> Result<CompetitionRow, StoreError> {
    Ok(CompetitionRow {
        id,
        kind: row.named("kind of competition", CompetitionKind::from_name)?,
        account: AccountId(row.id()?),
        name: row.text()?,
        definition: row.verified(definition(id))?,
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

pub(crate) fn competition_result(row: &mut impl Columns, id: CompetitionId) -> Result<CompetitionResult, StoreError> {
    let number = row.number()?;
    let stored_key = result(id, number);
    let mut read = || {
        let (match_id, key, ended_at, ending) = (MatchId(row.id()?), row.bits()?, row.time()?, state(row)?);
        let summary = ResultSummary::decode(&row.verified(stored_key)?).map_err(|error| stored_key.damage(error))?;
        Ok(CompetitionResult { number, match_id, key, ended_at, ending, summary })
    };
    stored_key.whole(read())
}

pub(crate) fn definition(id: CompetitionId) -> StoredKey<'static> {
    StoredKey::new(StoredKind::Competition, id.to_bytes())
}

pub(crate) fn competition_entry(id: CompetitionId, version: u32) -> StoredKey<'static> {
    StoredKey::new(StoredKind::CompetitionEntry, id.to_bytes()).number(version.into())
}

pub(crate) fn result(id: CompetitionId, number: u64) -> StoredKey<'static> {
    StoredKey::new(StoredKind::CompetitionResult, id.to_bytes()).number(number)
}
