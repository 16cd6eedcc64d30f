//! Rows about competitions.

use super::{Columns, part_of_list, state};
use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::StoreError;
use engine::competitions::{CompetitionKind, CompetitionResult, CompetitionRow, CompetitionStatus, ResultSummary};
use engine::ids::{AccountId, CompetitionId, MatchId};

pub(crate) const COMPETITION: &str = "id, kind, account, name, definition, checksum, status, is_public, created_at, started_at, ended_at, \
     due_at, version, matches_created, results, results_applied, repairs";
pub(crate) const RESULT_OF_COMPETITION: &str = "number, match_id, key, ended_at, ending, data, checksum";

pub(crate) fn competition(row: &mut impl Columns) -> Result<CompetitionRow, StoreError> {
    let mut damages = Vec::new();
    let row = competition_of_list(row, &mut damages)?;
    damages.pop().map_or(Ok(row), |damage| Err(damage.into()))
}

/// Without its definition where that is damaged: nothing is made of it then, and the others of the list go on.
pub(crate) fn competition_of_list(
    row: &mut impl Columns,
    damages: &mut Vec<Damage>,
) -> Result<CompetitionRow, StoreError> {
    let id = CompetitionId(row.id()?);
    Ok(CompetitionRow {
        id,
        kind: row.named("kind of competition", CompetitionKind::from_name)?,
        account: AccountId(row.id()?),
        name: row.text()?,
        definition: part_of_list(row.verified(definition(id)), damages)?,
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
    let (match_id, key, ended_at, ending) = (MatchId(row.id()?), row.bits()?, row.time()?, state(row)?);
    let stored_key = result(id, number);
    let summary = ResultSummary::decode(&row.verified(stored_key)?)
        .map_err(|error| StoreError::from(stored_key.damage(error)))?;
    Ok(CompetitionResult { number, match_id, key, ended_at, ending, summary })
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
