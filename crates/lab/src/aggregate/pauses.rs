//! Pauses of the lab, folded: how many, how long, the longest. A pause of the whole lab is one of each worker. Refuses to
//! know what they did to the figures.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::summary::round;

/// Pauses of all workers.
#[derive(Clone, Debug, Default)]
pub(crate) struct PauseAggregate {
    count: u64,
    sum: Duration,
    /// The length of the longest, and when it began.
    longest: (Duration, Duration),
    workers: BTreeSet<u32>,
}

/// Times in which workers of the lab did not run, though they should have: stopped, or starved of processor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PauseFigures {
    /// How many, of all workers.
    pub count: u64,
    /// How many workers paused at all.
    pub workers: u64,
    /// All of them together, in seconds of a worker.
    pub sum_s: f64,
    /// The longest, in seconds.
    pub longest_s: f64,
    /// When that began, in seconds from the start of the plan.
    pub longest_at_s: f64,
}

impl PauseAggregate {
    /// Takes a pause of a worker in.
    pub(crate) fn add(&mut self, worker: u32, (from, to): (Duration, Duration)) {
        let length = to.saturating_sub(from);
        self.count += 1;
        self.sum += length;
        self.workers.insert(worker);
        if length > self.longest.0 {
            self.longest = (length, from);
        }
    }

    /// All of them together.
    pub(crate) fn total(&self) -> Duration {
        self.sum
    }

    /// The figures; none where there were no pauses.
    pub(crate) fn figures(&self) -> Option<PauseFigures> {
        let seconds = |time: Duration| round(time.as_secs_f64());
        (self.count > 0).then(|| PauseFigures {
            count: self.count,
            workers: self.workers.len() as u64,
            sum_s: seconds(self.sum),
            longest_s: seconds(self.longest.0),
            longest_at_s: seconds(self.longest.1),
        })
    }
}
