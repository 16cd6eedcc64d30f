//! Stored counters: matches by state, bytes of archives, and what was created and finished in each minute. A batch
//! collects its changes here and writes them once, at its end.

use engine::matches::lifecycle::MatchState;
use engine::time::UnixMs;
use std::collections::BTreeMap;
use std::time::Duration;

/// Failures of the last day that statistics look at: the newest. More of them change the order of the commonest little.
pub(crate) const FAILURES_SCANNED_MAX: usize = 10_000;
/// Scheduled probes of bots that are counted.
pub(crate) const PROBES_COUNTED_MAX: usize = 100_000;
/// Different reasons that statistics show.
pub(crate) const FAILURES_SHOWN_MAX: usize = 10;
/// How long a minute's counters are kept: the longest window and a day.
pub(crate) const MINUTES_RETENTION: Duration = Duration::from_secs(8 * 24 * 3_600);
/// The name of the counter of compressed archives.
pub(crate) const ARCHIVE_BYTES_COUNTER: &str = "archive_bytes";

/// What happened in one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MinuteCounts {
    pub(crate) created: u64,
    pub(crate) finished: u64,
    /// Finished matches of which it is known when they started.
    pub(crate) with_duration: u64,
    /// Their times from start to end, together.
    pub(crate) duration_ms: u64,
}

/// Changes of a batch.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterChanges {
    states: [i64; MatchState::ALL.len()],
    archive_bytes: i64,
    /// By number of the minute since 1970.
    pub(crate) minutes: BTreeMap<i64, MinuteCounts>,
}

impl CounterChanges {
    /// A match is created (`from` is `None`), changes its state, or is deleted (`to` is `None`).
    pub(crate) fn record_transition(&mut self, from: Option<MatchState>, to: Option<MatchState>) {
        if let Some(from) = from {
            self.states[from as usize] -= 1;
        }
        if let Some(to) = to {
            self.states[to as usize] += 1;
        }
    }

    pub(crate) fn record_created(&mut self, count: usize, now: UnixMs) {
        self.minutes.entry(minute_of(now)).or_default().created += count as u64;
    }

    pub(crate) fn record_finished(&mut self, started_at: Option<UnixMs>, now: UnixMs) {
        let minute = self.minutes.entry(minute_of(now)).or_default();
        minute.finished += 1;
        if let Some(started_at) = started_at {
            minute.with_duration += 1;
            minute.duration_ms += u64::try_from(now.since(started_at).as_millis()).unwrap_or(u64::MAX);
        }
    }

    pub(crate) fn record_archived(&mut self, bytes: usize) {
        self.archive_bytes += bytes as i64;
    }

    pub(crate) fn record_unarchived(&mut self, bytes: i64) {
        self.archive_bytes -= bytes;
    }

    /// The changed counters, by name: always in the same order, so that two writers do not deadlock.
    pub(crate) fn changes(&self) -> impl Iterator<Item = (&'static str, i64)> {
        let states = MatchState::ALL.into_iter().map(|state| (state.name(), self.states[state as usize]));
        states.chain([(ARCHIVE_BYTES_COUNTER, self.archive_bytes)]).filter(|(_, change)| *change != 0)
    }
}

/// The number of a point's minute since 1970.
pub(crate) fn minute_of(at: UnixMs) -> i64 {
    at.0.div_euclid(60_000)
}

/// The first minutes of the windows of the statistics. A window reaches back to the beginning of the minute in which it
/// starts, so it is up to a minute longer than its name says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatsWindows {
    pub(crate) hour: i64,
    pub(crate) day: i64,
    pub(crate) week: i64,
}

impl StatsWindows {
    pub(crate) fn ending_at(now: UnixMs) -> Self {
        let from = |hours: u64| minute_of(now.minus(Duration::from_secs(hours * 3_600)));
        Self { hour: from(1), day: from(24), week: from(7 * 24) }
    }
}

/// The beginning of the last 24 hours.
pub(crate) fn day_before(now: UnixMs) -> UnixMs {
    now.minus(Duration::from_secs(24 * 3_600))
}

/// The mean, if there was anything.
pub(crate) fn mean(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_leaves_one_match_where_it_ended() {
        let mut counters = CounterChanges::default();
        counters.record_transition(None, Some(MatchState::Waiting));
        counters.record_transition(Some(MatchState::Waiting), Some(MatchState::Running));
        counters.record_transition(Some(MatchState::Running), Some(MatchState::Finished));
        counters.record_archived(70);
        assert_eq!(counters.changes().collect::<Vec<_>>(), [("finished", 1), (ARCHIVE_BYTES_COUNTER, 70)]);
    }

    #[track_caller]
    fn check(age_ms: i64, want: [u64; 3]) {
        let now = UnixMs(1_700_000_000_000);
        let StatsWindows { hour, day, week } = StatsWindows::ending_at(now);
        let minute = minute_of(UnixMs(now.0 - age_ms));
        assert_eq!([hour, day, week].map(|first| u64::from(minute >= first)), want, "{age_ms} ms ago");
    }

    #[test]
    fn windows_reach_back_to_a_whole_minute() {
        const HOUR: i64 = 3_600_000;
        check(0, [1, 1, 1]);
        check(HOUR, [1, 1, 1]);
        check(HOUR + 60_000, [0, 1, 1]);
        check(24 * HOUR, [0, 1, 1]);
        check(24 * HOUR + 60_000, [0, 0, 1]);
        check(7 * 24 * HOUR + 60_000, [0, 0, 0]);
        check(-5_000, [1, 1, 1]);
    }
}
