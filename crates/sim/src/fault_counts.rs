//! What goes wrong in simulations, and how often it did.

use std::fmt;

/// Everything that can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A process was killed.
    Killed,
    /// A process was drained, and another one started.
    Drained,
    /// A process was suspended.
    Suspended,
    /// A process could not reach the store, while it ran on and others could.
    CutOff,
    /// The clock of a process was set.
    ClockSet,
    /// A commit was lost on its way to the store.
    CommitLost,
    /// A commit was saved, and its outcome was lost.
    OutcomeLost,
    /// A commit arrived late.
    CommitLate,
    /// A read had no answer.
    ReadLost,
    /// The store was away.
    StoreAway,
    /// The disk stalled: commits waited.
    DiskStalled,
    /// For a while every commit failed, while reads went on.
    DiskFailed,
    /// The store refused a commit because too many waited.
    Overloaded,
    /// A client's request was lost, or its answer.
    RequestLost,
}

impl FaultKind {
    pub const ALL: [Self; 14] = [
        Self::Killed,
        Self::Drained,
        Self::Suspended,
        Self::CutOff,
        Self::ClockSet,
        Self::CommitLost,
        Self::OutcomeLost,
        Self::CommitLate,
        Self::ReadLost,
        Self::StoreAway,
        Self::DiskStalled,
        Self::DiskFailed,
        Self::Overloaded,
        Self::RequestLost,
    ];

    /// As in the table of `make simulate`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Drained => "drained",
            Self::Suspended => "suspended",
            Self::CutOff => "cut_off",
            Self::ClockSet => "clock_set",
            Self::CommitLost => "commit_lost",
            Self::OutcomeLost => "outcome_lost",
            Self::CommitLate => "commit_late",
            Self::ReadLost => "read_lost",
            Self::StoreAway => "store_away",
            Self::DiskStalled => "disk_stalled",
            Self::DiskFailed => "disk_failed",
            Self::Overloaded => "overloaded",
            Self::RequestLost => "request_lost",
        }
    }
}

/// How often each kind happened.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts([u32; FaultKind::ALL.len()]);

impl FaultCounts {
    pub(crate) fn record(&mut self, kind: FaultKind) {
        self.0[kind as usize] += 1;
    }

    #[must_use]
    pub fn get(&self, kind: FaultKind) -> u32 {
        self.0[kind as usize]
    }

    /// How often a process was killed, drained, suspended or cut off, or had its clock set.
    #[must_use]
    pub fn of_processes(&self) -> u32 {
        use FaultKind::{ClockSet, CutOff, Drained, Killed, Suspended};
        [Killed, Drained, Suspended, CutOff, ClockSet].map(|kind| self.get(kind)).iter().sum()
    }

    /// All that happened, each with how often.
    pub fn iter(&self) -> impl Iterator<Item = (FaultKind, u32)> {
        FaultKind::ALL.into_iter().map(|kind| (kind, self.get(kind))).filter(|(_, count)| *count > 0)
    }
}

impl fmt::Debug for FaultCounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter().map(|(kind, count)| (kind.name(), count))).finish()
    }
}
