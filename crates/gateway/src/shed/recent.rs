//! Quantiles of two waits over the last seconds, from histograms that only grow; and a stalled writer, whose waiting commands are in no
//! histogram yet. Has no clock of its own.

use metrics::{HistogramSnapshot, WaitSnapshots};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Samples that are kept: a quantile is taken over the last four to five seconds.
const SAMPLES: usize = 5;

/// The last samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentWaits(VecDeque<WaitSnapshots>);

impl RecentWaits {
    /// The 99th percentile since the oldest sample: of the waits for the store's writer, and for a processor. `None` without a wait.
    pub(super) fn p99(&mut self, now: WaitSnapshots) -> (Option<Duration>, Option<Duration>) {
        let oldest = self.0.front().unwrap_or(&now);
        let p99s = (p99(&now.commit, &oldest.commit), p99(&now.scheduler, &oldest.scheduler));
        self.0.push_back(now);
        if self.0.len() > SAMPLES {
            self.0.pop_front();
        }
        p99s
    }
}

fn p99(now: &HistogramSnapshot, before: &HistogramSnapshot) -> Option<Duration> {
    let ms = now.since(before).quantile_ms(0.99)?;
    Some(Duration::from_secs_f64(ms / 1e3))
}

/// How long the writer has been stalled while commands waited.
#[derive(Debug, Default)]
pub(super) struct StallDetector {
    /// Batches so far, and since when no other came.
    last: Option<(u64, Instant)>,
}

impl StallDetector {
    /// The time since the last batch was seen to end, while commands wait.
    pub(super) fn observe(&mut self, now: Instant, batches: u64, commands_waiting: usize) -> Option<Duration> {
        match self.last {
            Some((known, since)) if known == batches && commands_waiting > 0 => Some(now.duration_since(since)),
            _ => {
                self.last = Some((batches, now));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::Metrics;
    use store::Observer;

    const MS: Duration = Duration::from_millis(1);

    /// Second by second: the waits for the writer in it, and what the look at its end says of it, in milliseconds.
    #[track_caller]
    fn check(seconds: &[(&[u32], Option<u128>)]) {
        let (metrics, mut recent) = (Metrics::default(), RecentWaits::default());
        recent.p99(metrics.waits());
        for (at, (waits_ms, want)) in seconds.iter().enumerate() {
            waits_ms.iter().for_each(|ms| metrics.committed(1, *ms * MS, MS, true));
            let (commit_wait, scheduler_delay) = recent.p99(metrics.waits());
            // Within a bucket of the histogram, whose bounds are a quarter apart.
            assert_eq!(commit_wait.map(|wait| wait.as_millis()), *want, "second {at}");
            assert_eq!(scheduler_delay, None);
        }
    }

    #[test]
    fn a_quantile_looks_back_five_seconds() {
        check(&[(&[], None), (&[100], Some(100)), (&[], Some(100))]);
        let calm: (&[u32], _) = (&[], Some(100));
        check(&[(&[100], Some(100)), calm, calm, calm, calm, (&[], None)]);
        check(&[(&[100], Some(100)), calm, calm, calm, calm, (&[10], Some(10)), (&[], Some(10))]);
    }

    #[test]
    fn one_of_a_hundred_is_passed_over() {
        let mut waits = vec![1; 300];
        waits[0] = 1_000;
        check(&[(&waits, Some(0))]);
        waits[1..4].fill(1_000);
        check(&[(&waits, Some(850))]);
    }

    #[test]
    fn a_writer_that_stands_still_is_seen_by_those_who_wait() {
        let begun = Instant::now();
        let mut stall = StallDetector::default();
        for (at_s, batches, waiting, want_s) in [
            (0, 5, 3, None),
            (1, 5, 3, Some(1)),
            (2, 5, 9, Some(2)),
            (3, 6, 9, None),
            (4, 6, 0, None),
            (5, 6, 1, Some(1)),
            (6, 6, 0, None),
        ] {
            let now = begun + Duration::from_secs(at_s);
            assert_eq!(stall.observe(now, batches, waiting), want_s.map(Duration::from_secs), "second {at_s}");
        }
    }
}
