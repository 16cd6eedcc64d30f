//! Appends of a batch in three round trips, however many they are: look at all the matches, decide here, write all the rows.

use super::Batch;
use super::session::{PgId, Session};
use crate::columns::{self, Columns, LogEnd};
use crate::contract::StoreError;
use crate::sql::matches::WriteFence;
use engine::commands::{MatchAppend, Outcome};
use engine::ids::{AccountId, MatchId};
use engine::time::UnixMs;
use std::collections::{BTreeMap, BTreeSet};

/// Locks matches, always in the order of their ids. The planner does not see which they are: it takes many known ones for a reason to
/// read the whole table.
pub(super) const LOCK: &str =
    "SELECT 1 FROM matches WHERE id = ANY ((SELECT $1::uuid[])::uuid[]) ORDER BY id FOR NO KEY UPDATE";
/// Matches as they are now.
const HELD: &str = "SELECT id, state, account, epoch, started_at, version, turns, late_moves FROM matches_now
                    WHERE id = ANY ((SELECT $1::uuid[])::uuid[])";
const WRITE_ROWS: &str = "INSERT INTO match_log (match_id, version, turns, late_moves, data)
                          SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])";
/// Not as a join: one made while the table is empty may read all of it.
const WRITE_STARTS: &str = "UPDATE matches SET started_at = ($2::bigint[])[array_position($1::uuid[], id)]
                            WHERE id = ANY ((SELECT $1::uuid[])::uuid[])";
/// All that a batch of appends sends. Planning them takes a fifth to a half of their time, and the plan for an empty table is the one for
/// a full table too as long as it reads neither from end to end (docs/decisions/0041).
pub(crate) const KEPT: [&str; 4] = [LOCK, HELD, WRITE_ROWS, WRITE_STARTS];

/// The rows to write, column by column.
#[derive(Default)]
struct LogRowColumns<'a> {
    ids: Vec<PgId>,
    versions: Vec<i64>,
    turns: Vec<i64>,
    late_moves: Vec<i64>,
    data: Vec<&'a [u8]>,
}

impl<'a> LogRowColumns<'a> {
    fn add(&mut self, append: &'a MatchAppend) {
        for row in &append.rows {
            self.ids.push(PgId(append.id.0));
            self.versions.push(row.version.into());
            self.turns.push(row.turns.into());
            self.late_moves.push(row.late_moves.into());
            self.data.push(&row.bytes);
        }
    }
}

impl Batch<'_> {
    pub(super) fn append_all(&mut self, appends: &[&MatchAppend]) -> Result<Vec<Outcome>, StoreError> {
        let ids: BTreeSet<MatchId> = appends.iter().map(|append| append.id).collect();
        let mut held = write_fences(self.session, &ids)?;
        let mut rows = LogRowColumns::default();
        let mut starts = BTreeMap::new();
        let outcomes = appends.iter().map(|append| {
            let Some(held) = held.get_mut(&append.id) else { return Outcome::Fenced };
            if let Err(refusal) = held.check_append(append) {
                return refusal;
            }
            held.end.version += append.rows.len() as u32;
            rows.add(append);
            if let (None, Some(started_at)) = (held.started_at, append.started_at) {
                held.started_at = Some(started_at);
                starts.insert(append.id, started_at);
            }
            Outcome::Done
        });
        let outcomes = outcomes.collect();
        self.write_rows(&rows)?;
        self.write_starts(&starts)?;
        Ok(outcomes)
    }

    fn write_rows(&mut self, rows: &LogRowColumns<'_>) -> Result<(), StoreError> {
        if rows.ids.is_empty() {
            return Ok(());
        }
        self.session.execute(WRITE_ROWS, &[&rows.ids, &rows.versions, &rows.turns, &rows.late_moves, &rows.data])?;
        Ok(())
    }

    fn write_starts(&mut self, starts: &BTreeMap<MatchId, UnixMs>) -> Result<(), StoreError> {
        if starts.is_empty() {
            return Ok(());
        }
        let (ids, times): (Vec<PgId>, Vec<i64>) = starts.iter().map(|(id, at)| (PgId(id.0), at.0)).unzip();
        self.session.execute(WRITE_STARTS, &[&ids, &times])?;
        Ok(())
    }
}

/// The matches as they are now. Their rows are locked, and this reads them in a statement of its own: one that had to wait
/// for a lock would see the log of before.
pub(super) fn write_fences(
    session: &mut Session,
    ids: &BTreeSet<MatchId>,
) -> Result<BTreeMap<MatchId, WriteFence>, StoreError> {
    let ids: Vec<PgId> = ids.iter().map(|id| PgId(id.0)).collect();
    let held = session.query(HELD, &[&ids], |row| {
        let id = MatchId(row.id()?);
        let (state, account) = (columns::state(row)?, AccountId(row.id()?));
        let (epoch, started_at) = (row.number()?, row.maybe_time()?);
        let end = LogEnd { version: row.number()?, turns: row.number()?, late_moves: row.number()? };
        Ok((id, WriteFence { state, account, epoch, started_at, end }))
    })?;
    Ok(held.into_iter().collect())
}
