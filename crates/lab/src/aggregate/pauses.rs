//! Aggregates pauses of the generator: how many, how long, the longest. A pause of the whole lab is one of each worker.
//! Does not know what they did to the figures.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::format::round;

#[derive(Clone, Debug, Default)]
pub(crate) struct PauseAggregate {
    count: u64,
    sum: Duration,
    /// The length of the longest, and when it started.
    longest: (Duration, Duration),
    workers: BTreeSet<u32>,
}

/// Times in which workers should have run and did not: stopped, or starved of processor.
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
    /// When the longest started, in seconds from the start of the plan.
    pub longest_at_s: f64,
}

impl PauseAggregate {
    pub(crate) fn add(&mut self, worker: u32, (from, to): (Duration, Duration)) {
        let length = to.saturating_sub(from);
        self.count += 1;
        self.sum += length;
        self.workers.insert(worker);
        if length > self.longest.0 {
            self.longest = (length, from);
        }
    }

    pub(crate) fn total(&self) -> Duration {
        self.sum
    }

    /// The figures; none if there were no pauses.
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
