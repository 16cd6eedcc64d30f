//! Competitions that could not be moved on: each is tried again after a pause that doubles, so that one that always fails neither fills the log
//! nor takes the time of the others.

use engine::competitions::CompetitionKind;
use engine::ids::CompetitionId;
use engine::limits::{COMPETITION_RETRY_MAX, COMPETITION_RETRY_MIN, COMPETITIONS_FAILING_KNOWN_MAX};
use engine::time::UnixMs;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

/// The competitions of a kind that fail, as one process knows them.
#[derive(Default)]
pub(crate) struct Retries {
    failing: BTreeMap<CompetitionId, Failure>,
}

struct Failure {
    in_a_row: u32,
    retry_at: UnixMs,
}

impl Retries {
    /// Whether it may be tried now.
    pub(crate) fn is_due(&self, id: CompetitionId, now: UnixMs) -> bool {
        self.failing.get(&id).is_none_or(|failure| failure.retry_at <= now)
    }

    pub(crate) fn len(&self) -> usize {
        self.failing.len()
    }

    /// Forgets those of which this does not hold.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(CompetitionId) -> bool) {
        self.failing.retain(|id, _| is_kept(*id));
    }

    /// It failed. Logged when that is new, and once more when the pauses grow no further.
    pub(crate) fn record_failure(
        &mut self,
        kind: CompetitionKind,
        id: CompetitionId,
        now: UnixMs,
        error: &dyn Display,
    ) {
        if self.failing.len() >= COMPETITIONS_FAILING_KNOWN_MAX && !self.failing.contains_key(&id) {
            return;
        }
        let failure = self.failing.entry(id).or_insert(Failure { in_a_row: 0, retry_at: now });
        let (before, pause) = (pause_after(failure.in_a_row), pause_after(failure.in_a_row + 1));
        failure.in_a_row = failure.in_a_row.saturating_add(1);
        failure.retry_at = now.plus(pause);
        let (kind, retry_in_s) = (kind.name(), pause.as_secs());
        if failure.in_a_row == 1 {
            tracing::error!(kind, competition.id = %id, %error, retry_in_s, "a competition cannot be moved on; tried again after pauses that double");
        } else if before < pause && pause == COMPETITION_RETRY_MAX {
            let attempts = failure.in_a_row;
            tracing::error!(kind, competition.id = %id, %error, attempts, retry_in_s, "a competition stands still: mend the cause, or cancel it");
        }
    }

    /// It was moved on, or had nothing to do.
    pub(crate) fn record_success(&mut self, kind: CompetitionKind, id: CompetitionId) {
        if let Some(failure) = self.failing.remove(&id) {
            let attempts = failure.in_a_row;
            tracing::info!(kind = kind.name(), competition.id = %id, attempts, "a competition is moved on again");
        }
    }
}

/// The pause after so many failures in a row.
fn pause_after(failures: u32) -> Duration {
    let doubled = failures.saturating_sub(1).min(16);
    (COMPETITION_RETRY_MIN * (1 << doubled)).min(COMPETITION_RETRY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_end_with_a_success() {
        let (id, mut now, mut retries) = (CompetitionId(1), UnixMs(0), Retries::default());
        for want_s in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert!(retries.is_due(id, now));
            retries.record_failure(CompetitionKind::Duel, id, now, &"so it is");
            assert!(!retries.is_due(id, UnixMs(now.0 + want_s * 1_000 - 1)), "{want_s} s");
            now = UnixMs(now.0 + want_s * 1_000);
        }
        retries.record_success(CompetitionKind::Duel, id);
        assert_eq!((retries.len(), retries.is_due(id, UnixMs(0))), (0, true));
        assert_eq!(pause_after(u32::MAX), COMPETITION_RETRY_MAX);
    }

    #[test]
    fn no_more_are_known_than_may_be() {
        let mut retries = Retries::default();
        for n in 0..COMPETITIONS_FAILING_KNOWN_MAX as u128 + 9 {
            retries.record_failure(CompetitionKind::Duel, CompetitionId(n), UnixMs(0), &"so it is");
        }
        assert_eq!(retries.len(), COMPETITIONS_FAILING_KNOWN_MAX);
    }
}
