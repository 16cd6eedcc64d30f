//! Requests that were refused because the server is overloaded, by kind of overload.

use super::instruments::Counter;
use super::text::{Exposed, FamilyKind, Page};

/// The kind of overload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overload {
    /// Matches wait in the queue.
    Queue,
    /// Commands wait for the store's writer.
    CommitWait,
    /// Tasks wait for a processor.
    SchedulerDelay,
    /// The memory of the control group is nearly used up.
    Memory,
}

impl Overload {
    pub const ALL: [Self; 4] = [Self::Queue, Self::CommitWait, Self::SchedulerDelay, Self::Memory];

    /// The name in metrics and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::CommitWait => "commit_wait",
            Self::SchedulerDelay => "scheduler_delay",
            Self::Memory => "memory",
        }
    }
}

#[derive(Debug, Default)]
pub struct ByOverload([Counter; Overload::ALL.len()]);

impl ByOverload {
    pub fn inc(&self, overload: Overload) {
        self.0[overload as usize].inc();
    }

    /// Refusals for any reason.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().map(Counter::get).sum()
    }
}

impl Exposed for ByOverload {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        for (overload, counter) in Overload::ALL.into_iter().zip(&self.0) {
            page.sample(&[("reason", overload.name())], counter.get());
        }
    }
}
