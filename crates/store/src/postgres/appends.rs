//! Appends of a batch in three round trips, however many they are: look at all the matches, decide here, write all the rows.

use super::Batch;
use super::session::{Session, arrays};
use crate::checksums::StoredKind;
use crate::columns::{self, Columns, LogEnd};
use crate::contract::StoreError;
use crate::sql::matches::WriteFence;
use crate::sql::{Value, values};
use engine::commands::{MatchAppend, Outcome};
use engine::ids::{AccountId, MatchId};
use std::collections::{BTreeMap, BTreeSet};

/// Locks matches, always in the order of their ids. The planner does not see which they are: it takes many known ones for a reason to
/// read the whole table.
pub(super) const LOCK: &str =
    "SELECT 1 FROM matches WHERE id = ANY ((SELECT $1::uuid[])::uuid[]) ORDER BY id FOR NO KEY UPDATE";
/// Matches as they are now.
const HELD: &str =
    "SELECT id, state, account, epoch, started_at, version, turns, late_moves, competition_kind, competition,
                           competition_key FROM matches_now
                    WHERE id = ANY ((SELECT $1::uuid[])::uuid[])";
const WRITE_ROWS: &str = "INSERT INTO match_log (match_id, version, turns, late_moves, data, checksum)
                          SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bigint[])";
/// Not as a join: one made while the table is empty may read all of it.
const WRITE_STARTS: &str = "UPDATE matches SET started_at = ($2::bigint[])[array_position($1::uuid[], id)]
                            WHERE id = ANY ((SELECT $1::uuid[])::uuid[])";
/// All that a batch of appends sends. Planning them takes a fifth to a half of their time, and the plan for an empty table is the one for
/// a full table too as long as it reads neither from end to end (docs/decisions/0041).
pub(crate) const KEPT: [&str; 4] = [LOCK, HELD, WRITE_ROWS, WRITE_STARTS];

impl Batch<'_> {
    pub(super) fn append_all(&mut self, appends: &[&MatchAppend]) -> Result<Vec<Outcome>, StoreError> {
        let ids: BTreeSet<MatchId> = appends.iter().map(|append| append.id).collect();
        let mut held = write_fences(self.session, &ids)?;
        let mut accepted = Vec::new();
        let mut starts = BTreeMap::new();
        let outcomes = appends.iter().map(|append| {
            let Some(held) = held.get_mut(&append.id) else { return Outcome::Fenced };
            if let Err(refusal) = held.check_append(append) {
                return refusal;
            }
            held.end.version += append.rows.len() as u32;
            accepted.push(append);
            if let (None, Some(started_at)) = (held.started_at, append.started_at) {
                held.started_at = Some(started_at);
                starts.insert(append.id, started_at);
            }
            Outcome::Done
        });
        let outcomes = outcomes.collect();
        let rows = accepted.iter().flat_map(|append| {
            append.rows.iter().map(|row| {
                let checksum = columns::match_entry(append.id, row.version).checksum(&row.bytes);
                *values![append.id, row.version, row.turns, row.late_moves, &row.bytes, checksum]
            })
        });
        self.write_columns(WRITE_ROWS, &arrays(rows))?;
        self.write_columns(WRITE_STARTS, &arrays(starts.iter().map(|(id, at)| *values![*id, *at])))?;
        Ok(outcomes)
    }

    fn write_columns(&mut self, sql: &str, columns: &[Vec<Value<'_>>]) -> Result<(), StoreError> {
        if columns.iter().any(|column| !column.is_empty()) {
            self.session.execute(sql, columns)?;
        }
        Ok(())
    }
}

/// The matches as they are now. Their rows are locked, and this reads them in a statement of its own: one that had to wait
/// for a lock would see the log of before.
pub(super) fn write_fences(
    session: &mut Session,
    ids: &BTreeSet<MatchId>,
) -> Result<BTreeMap<MatchId, WriteFence>, StoreError> {
    let ids: Vec<Value<'_>> = ids.iter().copied().map(Value::from).collect();
    let held = session.query(HELD, [&ids], |row| {
        columns::row_of_id(row, StoredKind::Match, |row, id| {
            let (state, account) = (columns::state(row)?, AccountId(row.id()?));
            let (epoch, started_at) = (row.number()?, row.maybe_time()?);
            let end = LogEnd { version: row.number()?, turns: row.number()?, late_moves: row.number()? };
            Ok((MatchId(id), WriteFence { state, account, epoch, started_at, origin: columns::origin(row)?, end }))
        })
    })?;
    Ok(held.into_iter().collect())
}
