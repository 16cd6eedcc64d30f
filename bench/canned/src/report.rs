//! A server's report when it ends, for the scripts that started it.

use serde::{Deserialize, Serialize};

/// Counts of one process, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Processes that answered.
    pub(crate) processes: u64,
    /// Connections that were accepted.
    pub(crate) connections: u64,
    /// Heads that were read.
    pub(crate) requests: u64,
    /// Processor time, user and system, in seconds.
    pub(crate) cpu_s: f64,
    /// With a known capacity: answers that left more than 0.2 ms after their moment.
    pub(crate) late_answers: u64,
    /// With a known capacity: how late the latest answer left, in milliseconds.
    pub(crate) late_ms_max: f64,
}

impl Report {
    pub(crate) fn add(&mut self, other: &Self) {
        self.processes += other.processes;
        self.connections += other.connections;
        self.requests += other.requests;
        self.cpu_s += other.cpu_s;
        self.late_answers += other.late_answers;
        self.late_ms_max = self.late_ms_max.max(other.late_ms_max);
    }

    /// One line of JSON.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).expect("counts and finite numbers are JSON")
    }
}
