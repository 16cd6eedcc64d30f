//! Deletes what is old.

use super::data::{MatchLog, MemoryData};
use crate::counters::{MINUTES_RETENTION, minute_of};
use crate::semantics::{IDEMPOTENCY_KEYS_RETIRED_MAX, WORKER_RETENTION};
use engine::commands::Outcome;
use engine::ids::MatchId;
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::time::UnixMs;
use std::time::Duration;

impl MemoryData {
    pub(super) fn retire(
        &mut self,
        now: UnixMs,
        keep_for: Option<Duration>,
        keep_archive_bytes: Option<u64>,
        max: usize,
    ) -> Outcome {
        self.retire_responses(now);
        self.workers.retain(|_, worker| worker.lease_until.plus(WORKER_RETENTION) > now);
        self.minutes.retain(|minute, _| *minute >= minute_of(now.minus(MINUTES_RETENTION)));
        let mut retired = 0;
        while retired < max
            && let Some(id) = self.oldest_to_retire(now, keep_for, keep_archive_bytes)
        {
            self.forget(id);
            retired += 1;
        }
        Outcome::Retired(retired)
    }

    /// First the oldest that is beyond its age, then the oldest archive while there is too much of them.
    fn oldest_to_retire(&self, now: UnixMs, keep_for: Option<Duration>, keep_bytes: Option<u64>) -> Option<MatchId> {
        let is_archived = |id: &MatchId| matches!(self.matches[id].log, MatchLog::Archived(_));
        let oldest = self.ended.first();
        let too_old = keep_for.and_then(|keep_for| oldest.filter(|(ended_at, _)| *ended_at < now.minus(keep_for)));
        let is_too_much = keep_bytes.is_some_and(|keep| self.archive_bytes > keep);
        let too_much = || self.ended.iter().find(|(_, id)| is_too_much && is_archived(id));
        too_old.or_else(too_much).map(|(_, id)| *id)
    }

    fn forget(&mut self, id: MatchId) {
        if let Some(entry) = self.remove(id)
            && let MatchLog::Archived(archive) = entry.log
        {
            self.archive_bytes -= archive.len() as u64;
        }
    }

    fn retire_responses(&mut self, now: UnixMs) {
        let is_old = |created_at: UnixMs| created_at.plus(IDEMPOTENCY_RETENTION) <= now;
        let mut old: Vec<_> = self.responses.iter().filter(|(_, entry)| is_old(entry.created_at)).collect();
        old.sort_by_key(|(key, entry)| (entry.created_at, (*key).clone()));
        let old: Vec<_> = old.into_iter().take(IDEMPOTENCY_KEYS_RETIRED_MAX).map(|(key, _)| key.clone()).collect();
        for key in old {
            self.responses.remove(&key);
        }
    }
}
