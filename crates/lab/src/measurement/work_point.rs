//! The states of the work items of one kind at one moment.

use serde::{Deserialize, Serialize};

/// The work of one kind at one moment. The counts add up to what was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkPoint {
    /// Seconds from the start of the plan.
    pub t_s: f64,
    /// In the server's queue.
    pub waiting: u64,
    pub running: u64,
    pub finished: u64,
    pub failed: u64,
    /// Not ended, and without progress for too long.
    pub stuck: u64,
    /// Created, but unknown to the server at the last poll.
    pub unknown: u64,
}

impl WorkPoint {
    #[must_use]
    pub fn created(&self) -> u64 {
        self.unfinished() + self.finished + self.failed
    }

    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.waiting + self.running + self.stuck + self.unknown
    }
}
