//! What will not work, said before a byte is sent: one sentence each, with what to do. Looking at the machine and
//! judging what was seen are two steps; the second is pure. Refuses to repair anything but the lab's own file limit.

mod checks;
mod facts;
mod reach;
#[cfg(test)]
mod tests;
mod unmanaged;

use std::ops::RangeInclusive;

pub use checks::{check, sources_needed};
pub use facts::{OpenFilesLimit, raise_open_files};
pub use reach::{check_reachable, resolve};
pub use unmanaged::unmanaged_process_issues;

/// What a run is going to ask of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// Connections that the lab holds at once.
    pub connections: u64,
    /// Processes among which the lab may divide them, its own included.
    pub processes_max: u64,
    /// New connections per second, in the busiest second.
    pub connects_per_s: f64,
    /// Connections that are opened in one moment.
    pub burst: u64,
    /// Source addresses that the lab may use, given by the scenario or loopback addresses of its own choice.
    pub source_addresses: u64,
    /// Addresses with their ports among which the connections are divided: a local port serves one to each of them.
    pub endpoints: u64,
    /// Whether the target is on this machine.
    pub is_loopback: bool,
    /// Whether the lab starts the target, which then has the lab's file limit.
    pub spawns_target: bool,
    /// The target's own limits, where the lab starts it.
    pub limits: crate::scenario::TargetLimits,
    /// Memory of the lab for all that, in bytes.
    pub memory_bytes: u64,
    /// What the record of the run is going to take, in bytes.
    pub record_bytes: u64,
    /// Of those: bytes of samples.
    pub samples_bytes: u64,
}

/// What this machine has. What is not known is not judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Open files of a process.
    pub open_files_max: Option<u64>,
    /// Open files of the whole machine that are still free.
    pub open_files_free: Option<u64>,
    /// Ports for outgoing connections.
    pub ports: Option<RangeInclusive<u16>>,
    /// Whether the port of a closed connection to this machine itself may be taken again after a second instead of a
    /// minute (`net.ipv4.tcp_tw_reuse`).
    pub reuses_ports_on_loopback: bool,
    /// The same for connections to everybody.
    pub reuses_ports: bool,
    /// Connections that a listener lets wait at most.
    pub accept_queue_max: Option<u64>,
    /// What the kernel reads the time from.
    pub clock_source: Option<String>,
    /// Processors.
    pub cores: Option<u64>,
    /// Memory that can still be had, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Room on the disk of the run's directory, in bytes.
    pub disk_free_bytes: Option<u64>,
}

/// Something that will not work, or not as well as it seems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreflightIssue {
    /// The run cannot be right: it must not begin.
    Refusal(String),
    /// The run may begin, and its report must say this.
    Warning(String),
}

impl PreflightIssue {
    /// The sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Refusal(sentence) | Self::Warning(sentence) => sentence,
        }
    }

    /// Whether the run must not begin.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refusal(_))
    }
}
