//! Deletes what is old, a little at a time.

use super::batch::Batch;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::counters::{ARCHIVE_BYTES_COUNTER, MINUTES_RETENTION, minute_of};
use crate::semantics::{IDEMPOTENCY_KEYS_RETIRED_MAX, WORKER_RETENTION};
use engine::commands::Outcome;
use engine::ids::MatchId;
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::matches::lifecycle::MatchState;
use engine::time::UnixMs;
use std::time::Duration;

/// Ended matches of one state, oldest end first.
pub(super) const OLDEST: &str = "
    SELECT id, ended_at FROM matches WHERE state = ?1 AND ended_at < ?2 ORDER BY ended_at, id LIMIT ?3";
pub(super) const OLDEST_ARCHIVES: &str = "
    SELECT m.id, length(a.data) FROM matches m JOIN match_archive a ON a.match_id = m.id
    WHERE m.state = 'finished' AND m.ended_at IS NOT NULL ORDER BY m.ended_at, m.id LIMIT ?1";

impl Batch<'_> {
    pub(super) fn retire(
        &mut self,
        now: UnixMs,
        keep_for: Option<Duration>,
        keep_archive_bytes: Option<u64>,
        max: usize,
    ) -> Result<Outcome, StoreError> {
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

    fn retire_small_things(&mut self, now: UnixMs) -> Result<(), StoreError> {
        self.session.run(
            "DELETE FROM idempotency_keys WHERE (account, key) IN (
               SELECT account, key FROM idempotency_keys WHERE created_at <= ?1
               ORDER BY created_at, account, key LIMIT ?2)",
            (now.minus(IDEMPOTENCY_RETENTION).0, IDEMPOTENCY_KEYS_RETIRED_MAX as i64),
        )?;
        self.session.run("DELETE FROM workers WHERE lease_until <= ?1", [now.minus(WORKER_RETENTION).0])?;
        self.session.run("DELETE FROM minutes WHERE minute < ?1", [minute_of(now.minus(MINUTES_RETENTION))])?;
        Ok(())
    }

    fn retire_older_than(&mut self, end: UnixMs, max: usize) -> Result<usize, StoreError> {
        let mut oldest = Vec::new();
        for state in MatchState::ALL.into_iter().filter(|state| state.is_ended()) {
            let of_state = self.session.all(OLDEST, (state.name(), end.0, max as i64), |row| {
                let id = MatchId(row.id()?);
                Ok((row.time()?, id))
            })?;
            oldest.extend(of_state);
        }
        oldest.sort_unstable();
        oldest.truncate(max);
        for (_, id) in &oldest {
            self.forget(*id)?;
        }
        Ok(oldest.len())
    }

    fn retire_archives_beyond(&mut self, keep_bytes: u64, max: usize) -> Result<usize, StoreError> {
        let change =
            self.counters.changes().find(|(name, _)| *name == ARCHIVE_BYTES_COUNTER).map_or(0, |(_, change)| change);
        let keep_bytes = i64::try_from(keep_bytes).unwrap_or(i64::MAX);
        let mut excess = self.counter(ARCHIVE_BYTES_COUNTER)? + change - keep_bytes;
        if excess <= 0 {
            return Ok(0);
        }
        let oldest = self.session.all(OLDEST_ARCHIVES, [max as i64], |row| Ok((MatchId(row.id()?), row.int()?)))?;
        let mut retired = 0;
        for (id, bytes) in oldest {
            if excess <= 0 {
                break;
            }
            self.forget(id)?;
            excess -= bytes;
            retired += 1;
        }
        Ok(retired)
    }

    fn forget(&mut self, id: MatchId) -> Result<(), StoreError> {
        let bytes = id.to_bytes();
        let archive = "DELETE FROM match_archive WHERE match_id = ?1 RETURNING length(data)";
        if let Some(length) = self.session.first(archive, [bytes], |row| row.int())? {
            self.counters.record_unarchived(length);
        }
        self.session.run("DELETE FROM match_log WHERE match_id = ?1", [bytes])?;
        self.session.run("DELETE FROM seats WHERE match_id = ?1", [bytes])?;
        let row = "DELETE FROM matches WHERE id = ?1 RETURNING state";
        let state = self.session.first(row, [bytes], |row| columns::state(row))?;
        self.counters.record_transition(state, None);
        Ok(())
    }
}
