//! Samples the workers' load gauges and finds times in which requests were in flight and none ended: many samples a
//! second, because figures per second hide a pause of two. Where the load is over and only the last responses are
//! awaited, one that takes long is no silence. It costs the workers three counters. Does not evaluate the silences.

use std::time::Duration;

use crate::format::round;
use crate::generator::Gauges;
use crate::limits::{SILENCE_NOTED_MIN, SILENCE_REPORTED_EVERY, SILENCE_SAMPLES_APART_MAX};
use crate::measurement::timeline::SilenceRow;

#[derive(Debug, Default)]
pub(super) struct SilenceDetector {
    last: Option<SilenceSample>,
    current: Option<Silence>,
}

#[derive(Clone, Copy, Debug)]
struct SilenceSample {
    at: Duration,
    in_flight: u64,
    ended: u64,
}

#[derive(Clone, Copy, Debug)]
struct Silence {
    from: Duration,
    until: Duration,
    in_flight: u64,
    /// Until when silences have been reported.
    reported_until: Duration,
}

impl SilenceDetector {
    /// Takes a sample; returns what is to be reported: a silence that is over, or one that continues and was not
    /// reported for a while.
    pub(super) fn add_sample(&mut self, at: Duration, gauges: Gauges) -> Option<SilenceRow> {
        // Long polls wait by plan.
        let under_way = gauges.exchanging.saturating_sub(gauges.long_polls);
        let sample = SilenceSample { at, in_flight: under_way, ended: gauges.exchanged };
        let before = self.last.replace(sample)?;
        let is_near = at.saturating_sub(before.at) <= SILENCE_SAMPLES_APART_MAX;
        let is_silent = sample.ended == before.ended && before.in_flight > 0 && under_way > 0;
        if !is_near || !is_silent || gauges.continuing == 0 {
            return self.finish();
        }
        let from = before.at;
        let silence = self.current.get_or_insert(Silence { from, until: at, in_flight: 0, reported_until: from });
        silence.until = at;
        silence.in_flight = silence.in_flight.max(before.in_flight).max(under_way);
        let is_new = silence.until - silence.reported_until >= SILENCE_REPORTED_EVERY;
        if is_new {
            silence.reported_until = silence.until;
        }
        is_new.then(|| silence.row()).filter(SilenceRow::is_noteworthy)
    }

    /// No more samples follow.
    pub(super) fn finish(&mut self) -> Option<SilenceRow> {
        self.current.take().map(Silence::row).filter(SilenceRow::is_noteworthy)
    }
}

impl Silence {
    fn row(self) -> SilenceRow {
        let seconds = |time: Duration| round(time.as_secs_f64());
        SilenceRow { t_s: seconds(self.from), until_s: seconds(self.until), under_way: self.in_flight }
    }
}

impl SilenceRow {
    fn is_noteworthy(&self) -> bool {
        self.until_s - self.t_s >= SILENCE_NOTED_MIN.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The silences of samples every 100 ms, each with requests in flight and requests that have ended.
    #[track_caller]
    fn check(samples: &[(u64, u64, u64)], expected: &[(f64, f64, u64)]) {
        let mut silences = SilenceDetector::default();
        let mut rows: Vec<SilenceRow> = Vec::new();
        let mut add = |row: Option<SilenceRow>| {
            let Some(row) = row else { return };
            if rows.last().is_some_and(|last| last.t_s == row.t_s) {
                rows.pop();
            }
            rows.push(row);
        };
        for (tenth, exchanging, exchanged) in samples {
            let gauges = Gauges { exchanging: *exchanging, exchanged: *exchanged, continuing: 1, ..Gauges::default() };
            add(silences.add_sample(Duration::from_millis(100 * tenth), gauges));
        }
        add(silences.finish());
        let rows: Vec<(f64, f64, u64)> = rows.iter().map(|row| (row.t_s, row.until_s, row.under_way)).collect();
        assert_eq!(rows, expected, "{samples:?}");
    }

    /// Responses until `from`, then none until `to`, with this many requests in flight meanwhile.
    fn silent(from: u64, to: u64, under_way: u64) -> Vec<(u64, u64, u64)> {
        let ended = |tenth: u64| if tenth < from { tenth } else { from + tenth.saturating_sub(to) };
        (0..to + 10).map(|tenth| (tenth, under_way, ended(tenth))).collect()
    }

    #[test]
    fn requests_in_flight_of_which_none_ends_are_a_silence() {
        check(&silent(26, 46, 2), &[(2.6, 4.6, 2)]);
        check(&silent(26, 35, 2), &[]);
        // Nothing was in flight.
        check(&silent(26, 46, 0), &[]);
        // It continues when the samples end, or when the lab did not sample.
        check(&silent(26, 46, 2)[..44], &[(2.6, 4.3, 2)]);
        let mut interrupted = silent(26, 66, 2);
        interrupted.retain(|(tenth, ..)| !(40..50).contains(tenth));
        check(&interrupted, &[(2.6, 3.9, 2), (5.0, 6.6, 2)]);
        // More and more arrive: the highest concurrency counts.
        let growing = |(tenth, _, ended): (u64, u64, u64)| (tenth, tenth, ended);
        check(&silent(26, 46, 1).into_iter().map(growing).collect::<Vec<_>>(), &[(2.6, 4.6, 46)]);
    }

    #[test]
    fn what_waits_by_plan_is_not_silent() {
        let mut silences = SilenceDetector::default();
        for tenth in 0..40 {
            let gauges = Gauges { exchanging: 3, long_polls: 3, continuing: 1, ..Gauges::default() };
            assert_eq!(silences.add_sample(Duration::from_millis(100 * tenth), gauges), None);
        }
        assert_eq!(silences.finish(), None);
    }

    #[test]
    fn a_straggler_behind_the_last_arrival_is_no_silence() {
        let mut silences = SilenceDetector::default();
        for tenth in 0..80 {
            // The load is over after three seconds.
            let gauges = Gauges { exchanging: 1, continuing: u64::from(tenth < 30), ..Gauges::default() };
            let row = silences.add_sample(Duration::from_millis(100 * tenth), gauges);
            assert!(row.is_none_or(|row| row.until_s < 3.0), "{row:?}");
        }
        assert_eq!(silences.finish(), None);
    }

    #[test]
    fn a_continuing_silence_is_reported_before_its_end() {
        let mut silences = SilenceDetector::default();
        let gauges = Gauges { exchanging: 1, continuing: 1, ..Gauges::default() };
        let rows = (0..35).filter_map(|tenth| silences.add_sample(Duration::from_millis(100 * tenth), gauges));
        let ends: Vec<f64> = rows.map(|row| row.until_s).collect();
        assert_eq!(ends, [1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3.0, 3.3]);
    }
}
