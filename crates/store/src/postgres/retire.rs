//! Deletes what is old, a little at a time. Rows that another node holds are left for the next call.

use super::batch::Batch;
use super::session::PgId;
use super::statement_error::StatementError;
use crate::columns::{self, Columns};
use crate::counters::{ARCHIVE_BYTES_COUNTER, MINUTES_RETENTION, minute_of};
use crate::semantics::{IDEMPOTENCY_KEYS_RETIRED_MAX, WORKER_RETENTION};
use engine::commands::Outcome;
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::matches::lifecycle::MatchState;
use engine::time::UnixMs;
use std::time::Duration;

/// Ended matches of one state, oldest end first.
pub(super) const OLDEST: &str = "
    SELECT ended_at, id FROM matches WHERE state = $1 AND ended_at < $2
    ORDER BY ended_at, id LIMIT $3 FOR UPDATE SKIP LOCKED";
const OLDEST_ARCHIVES: &str = "
    SELECT m.id, length(a.data)::bigint FROM matches m JOIN match_archive a ON a.match_id = m.id
    WHERE m.state = 'finished' AND m.ended_at IS NOT NULL
    ORDER BY m.ended_at, m.id LIMIT $1 FOR UPDATE OF m SKIP LOCKED";

impl Batch<'_> {
    pub(super) fn retire(
        &mut self,
        now: UnixMs,
        keep_for: Option<Duration>,
        keep_archive_bytes: Option<u64>,
        max: usize,
    ) -> Result<Outcome, StatementError> {
        self.retire_small_things(now)?;
        let mut retired = 0;
        if let Some(keep_for) = keep_for {
            retired += self.retire_older_than(now.minus(keep_for), max)?;
        }
        if let Some(keep) = keep_archive_bytes {
            retired += self.retire_archives_beyond(keep, max - retired)?;
        }
        Ok(Outcome::Retired(retired))
    }

    fn retire_small_things(&mut self, now: UnixMs) -> Result<(), StatementError> {
        self.session.run(
            "DELETE FROM idempotency_keys WHERE (account, key) IN (
               SELECT account, key FROM idempotency_keys WHERE created_at <= $1
               ORDER BY created_at, account, key LIMIT $2 FOR UPDATE SKIP LOCKED)",
            &[&now.minus(IDEMPOTENCY_RETENTION).0, &(IDEMPOTENCY_KEYS_RETIRED_MAX as i64)],
        )?;
        self.session.run("DELETE FROM workers WHERE lease_until <= $1", &[&now.minus(WORKER_RETENTION).0])?;
        self.session.run("DELETE FROM minutes WHERE minute < $1", &[&minute_of(now.minus(MINUTES_RETENTION))])?;
        Ok(())
    }

    fn retire_older_than(&mut self, end: UnixMs, max: usize) -> Result<usize, StatementError> {
        let mut oldest = Vec::new();
        for state in MatchState::ALL.into_iter().filter(|state| state.is_ended()) {
            let of_state = self
                .session
                .all(OLDEST, &[&state.name(), &end.0, &(max as i64)], |row| Ok((row.time()?, PgId(row.id()?))))?;
            oldest.extend(of_state);
        }
        oldest.sort_unstable();
        oldest.truncate(max);
        let ids: Vec<_> = oldest.into_iter().map(|(_, id)| id).collect();
        self.forget(&ids)
    }

    fn retire_archives_beyond(&mut self, keep_bytes: u64, max: usize) -> Result<usize, StatementError> {
        let change =
            self.counters.changes().find(|(name, _)| *name == ARCHIVE_BYTES_COUNTER).map_or(0, |(_, change)| change);
        let keep_bytes = i64::try_from(keep_bytes).unwrap_or(i64::MAX);
        let mut excess = self.counter(ARCHIVE_BYTES_COUNTER)? + change - keep_bytes;
        if excess <= 0 {
            return Ok(0);
        }
        let oldest = self.session.all(OLDEST_ARCHIVES, &[&(max as i64)], |row| Ok((PgId(row.id()?), row.int()?)))?;
        let needed = oldest.into_iter().take_while(|(_, bytes)| {
            let is_needed = excess > 0;
            excess -= bytes;
            is_needed
        });
        let ids: Vec<_> = needed.map(|(id, _)| id).collect();
        self.forget(&ids)
    }

    fn forget(&mut self, ids: &Vec<PgId>) -> Result<usize, StatementError> {
        let archives = "DELETE FROM match_archive WHERE match_id = ANY ($1) RETURNING length(data)::bigint";
        for bytes in self.session.all(archives, &[ids], |row| row.int())? {
            self.counters.record_unarchived(bytes);
        }
        self.session.run("DELETE FROM match_log WHERE match_id = ANY ($1)", &[ids])?;
        self.session.run("DELETE FROM seats WHERE match_id = ANY ($1)", &[ids])?;
        let rows = "DELETE FROM matches WHERE id = ANY ($1) RETURNING state";
        let states = self.session.all(rows, &[ids], |row| columns::state(row))?;
        for state in &states {
            self.counters.record_transition(Some(*state), None);
        }
        Ok(states.len())
    }
}
