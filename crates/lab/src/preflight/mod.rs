//! Checks before anything is sent what will not work: one sentence each, with what to do. Inspecting the machine and
//! assessing the facts are two steps; the second is pure. Repairs nothing but the lab's own limit of open files.

mod checks;
mod facts;
mod reach;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

pub use checks::{check, sources_needed};
pub use facts::{OpenFilesLimit, raise_open_files};
pub(crate) use reach::resolve_sockets;
pub use reach::{check_reachable, resolve};

/// What a run needs from the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requirements {
    /// Connections that the lab holds at once.
    pub connections: u64,
    /// Processes over which the lab may divide them, its own included.
    pub processes_max: u64,
    /// New connections per second, in the busiest second.
    pub connects_per_s: f64,
    /// Connections that are opened at the same time.
    pub burst: u64,
    /// Source addresses that the lab may use, given by the scenario or loopback addresses of its own choice.
    pub source_addresses: u64,
    /// Addresses with ports over which the connections are divided: a local port serves one connection to each of them.
    pub endpoints: u64,
    pub is_loopback: bool,
    /// Whether the lab starts the target, which then inherits the lab's limit of open files.
    pub spawns_target: bool,
    /// The target's own limits, if the lab starts it.
    pub limits: crate::scenario::TargetLimits,
    /// Memory of the lab for this run, in bytes.
    pub memory_bytes: u64,
    /// Size of the run's record, in bytes.
    pub record_bytes: u64,
    /// Of those: bytes of samples.
    pub samples_bytes: u64,
}

/// The facts about this machine. What is not known is not checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Open files of a process.
    pub open_files_max: Option<u64>,
    /// Open files of the whole machine that are still free.
    pub open_files_free: Option<u64>,
    /// Ports for outgoing connections.
    pub ports: Option<RangeInclusive<u16>>,
    /// Whether the port of a closed connection to this machine itself may be reused after a second instead of a minute
    /// (`net.ipv4.tcp_tw_reuse`).
    pub reuses_ports_on_loopback: bool,
    /// The same for connections to any host.
    pub reuses_ports: bool,
    /// The longest queue of connections that a listener may have.
    pub accept_queue_max: Option<u64>,
    pub clock_source: Option<String>,
    pub cores: Option<u64>,
    /// Available memory, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Free space on the disk of the run's directory, in bytes.
    pub disk_free_bytes: Option<u64>,
}

/// Something that will not work, or not well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreflightIssue {
    /// The run cannot be right: it must not start.
    Refusal(String),
    /// The run may start, and its report must contain this.
    Warning(String),
}

impl PreflightIssue {
    #[must_use]
    pub fn message(&self) -> &str {
        match self {
            Self::Refusal(sentence) | Self::Warning(sentence) => sentence,
        }
    }

    /// Whether the run must not start.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refusal(_))
    }
}
