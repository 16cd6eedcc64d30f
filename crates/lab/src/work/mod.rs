//! Work that outlives its request: a tracker for each kind, the polls of its status, and the server's own totals with
//! which it is reconciled. Does not know journeys and gates.

mod holders;
mod poll_order;
mod status_poller;
mod totals;
mod tracker;

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use status_poller::StatusPoller;
pub use totals::{ControlTarget, Mismatch, read_totals, reconcile};
pub use tracker::Tracker;

use crate::scenario::WorkSpec;

#[derive(Debug)]
pub struct Trackers(Vec<(String, Mutex<Tracker>)>);

impl Trackers {
    #[must_use]
    pub fn new(works: &[WorkSpec]) -> Self {
        Self(works.iter().map(|work| (work.name.clone(), Mutex::new(Tracker::new(work)))).collect())
    }

    /// The tracker of the work with this index in the scenario.
    pub fn tracker(&self, index: usize) -> MutexGuard<'_, Tracker> {
        lock_tracker(&self.0[index].1)
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, MutexGuard<'_, Tracker>)> {
        self.0.iter().map(|(name, tracker)| (name.as_str(), lock_tracker(tracker)))
    }
}

fn lock_tracker(tracker: &Mutex<Tracker>) -> MutexGuard<'_, Tracker> {
    tracker.lock().unwrap_or_else(PoisonError::into_inner)
}
