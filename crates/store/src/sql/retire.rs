//! Deletes what is old, a little at a time. Rows that another node holds are left for the next call.

use super::{Batch, Dialect, IdBytes, Session, skip_locked, values};
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::counters::{ARCHIVE_BYTES_COUNTER, MINUTES_RETENTION, minute_of};
use crate::semantics::{IDEMPOTENCY_KEYS_RETIRED_MAX, WORKER_RETENTION};
use engine::commands::Outcome;
use engine::matches::lifecycle::MatchState;
use engine::rows::OldestKept;
use engine::time::UnixMs;
use std::time::Duration;

/// Ended matches of one state, oldest end first.
pub(crate) fn oldest<S: Dialect>() -> String {
    let lock = skip_locked::<S>("FOR UPDATE");
    format!("SELECT ended_at, id FROM matches WHERE state = ?1 AND ended_at < ?2 ORDER BY ended_at, id LIMIT ?3 {lock}")
}

pub(crate) fn oldest_archives<S: Dialect>() -> String {
    let lock = skip_locked::<S>("FOR UPDATE OF m");
    format!(
        "SELECT m.id, CAST(length(a.data) AS BIGINT) FROM matches m JOIN match_archive a ON a.match_id = m.id
         WHERE m.state = 'finished' AND m.ended_at IS NOT NULL ORDER BY m.ended_at, m.id LIMIT ?1 {lock}"
    )
}

/// Since when the match of state ?1 has ended that ended first, before ?2.
pub(crate) const OLDEST_MATCH: &str =
    "SELECT ended_at FROM matches WHERE state = ?1 AND ended_at < ?2 ORDER BY ended_at, id LIMIT 1";
/// The same of games of Stories, hunts, and competitions that are no ladders, before ?1.
pub(crate) const OLDEST_GAME: &str =
    "SELECT ended_at FROM story_games WHERE ended_at < ?1 ORDER BY ended_at, table_id, number LIMIT 1";
pub(crate) const OLDEST_HUNT: &str = "SELECT ends_at FROM worlds WHERE ends_at < ?1 ORDER BY ends_at, id LIMIT 1";
pub(crate) const OLDEST_COMPETITION: &str =
    "SELECT ended_at FROM competitions WHERE ended_at < ?1 AND kind <> 'ladder' ORDER BY ended_at, id LIMIT 1";

/// In a snapshot.
pub(super) fn oldest_kept<S: Session>(session: &mut S, now: UnixMs) -> Result<OldestKept, StoreError> {
    let mut kept = OldestKept::default();
    for state in MatchState::ALL.into_iter().filter(|state| state.is_ended()) {
        let oldest = session.first(OLDEST_MATCH, values![state.name(), now], |row| row.time())?;
        kept.matches = [kept.matches, oldest].into_iter().flatten().min();
    }
    kept.story_games = session.first(OLDEST_GAME, values![now], |row| row.time())?;
    kept.hunts = session.first(OLDEST_HUNT, values![now], |row| row.time())?;
    kept.competitions = session.first(OLDEST_COMPETITION, values![now], |row| row.time())?;
    Ok(kept)
}

impl<S: Dialect> Batch<'_, S> {
    pub(crate) fn retire(
        &mut self,
        now: UnixMs,
        keep_for: Option<Duration>,
        keep_archive_bytes: Option<u64>,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        let mut retired = 0;
        if let Some(keep_for) = keep_for {
            retired += self.retire_older_than(now.minus(keep_for), max)?;
        }
        if let Some(keep) = keep_archive_bytes {
            retired += self.retire_archives_beyond(keep, max - retired)?;
        }
        Ok(Outcome::Retired(retired))
    }

    /// Answers of keys, workers and figures of minutes.
    pub(crate) fn retire_small_things(&mut self, now: UnixMs, keep_answers_for: Duration) -> Result<(), StoreError> {
        self.retire_keys("idempotency_keys", "account", now.minus(keep_answers_for))?;
        self.session.run("DELETE FROM workers WHERE lease_until <= ?1", values![now.minus(WORKER_RETENTION)])?;
        let first = minute_of(now.minus(MINUTES_RETENTION));
        self.session.run("DELETE FROM minutes WHERE minute < ?1", values![first])?;
        Ok(())
    }

    /// Deletes idempotency keys of a table that were used at this time or before.
    pub(crate) fn retire_keys(&mut self, table: &str, owner: &str, used_until: UnixMs) -> Result<(), StoreError> {
        let lock = skip_locked::<S>("FOR UPDATE");
        let sql = format!(
            "DELETE FROM {table} WHERE ({owner}, key) IN (
               SELECT {owner}, key FROM {table} WHERE created_at <= ?1 ORDER BY created_at, {owner}, key LIMIT ?2 {lock})"
        );
        self.session.run(&sql, values![used_until, IDEMPOTENCY_KEYS_RETIRED_MAX])?;
        Ok(())
    }

    fn retire_older_than(&mut self, end: UnixMs, max: usize) -> Result<usize, StoreError> {
        let sql = oldest::<S>();
        let mut oldest = Vec::new();
        for state in MatchState::ALL.into_iter().filter(|state| state.is_ended()) {
            let values = values![state.name(), end, max];
            oldest.extend(self.session.all(&sql, values, |row| Ok((row.time()?, row.id_bytes()?)))?);
        }
        oldest.sort_unstable();
        oldest.truncate(max);
        let ids: Vec<_> = oldest.into_iter().map(|(_, id)| id).collect();
        self.forget(&ids)
    }

    fn retire_archives_beyond(&mut self, keep_bytes: u64, max: usize) -> Result<usize, StoreError> {
        let change =
            self.counters.changes().find(|(name, _)| *name == ARCHIVE_BYTES_COUNTER).map_or(0, |(_, change)| change);
        let keep_bytes = i64::try_from(keep_bytes).unwrap_or(i64::MAX);
        let mut excess = self.counter(ARCHIVE_BYTES_COUNTER)? + change - keep_bytes;
        if excess <= 0 {
            return Ok(0);
        }
        let oldest = oldest_archives::<S>();
        let oldest = self.session.all(&oldest, values![max], |row| Ok((row.id_bytes()?, row.int()?)))?;
        let needed = oldest.into_iter().take_while(|(_, bytes)| {
            let is_needed = excess > 0;
            excess -= bytes;
            is_needed
        });
        let ids: Vec<_> = needed.map(|(id, _)| id).collect();
        self.forget(&ids)
    }

    fn forget(&mut self, ids: &[IdBytes]) -> Result<usize, StoreError> {
        let archives = "DELETE FROM match_archive WHERE match_id";
        let length = "RETURNING CAST(length(data) AS BIGINT)";
        for bytes in self.session.all_each(archives, length, ids, |row| row.int())? {
            self.counters.record_unarchived(bytes);
        }
        self.session.run_each("DELETE FROM match_log WHERE match_id", ids, &[])?;
        self.session.run_each("DELETE FROM seats WHERE match_id", ids, &[])?;
        let matches = "DELETE FROM matches WHERE id";
        let states = self.session.all_each(matches, "RETURNING state", ids, |row| columns::state(row))?;
        for state in &states {
            self.counters.record_transition(Some(*state), None);
        }
        Ok(states.len())
    }
}
