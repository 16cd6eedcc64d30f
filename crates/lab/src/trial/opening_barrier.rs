//! Phases that open connections at the same time wait for each other, so that the figures of one do not show the
//! connection burst of another. Does not know what a connection is.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// Phases that are opening connections, or will from a known moment on.
#[derive(Debug, Default)]
pub(super) struct OpeningBarrier {
    phases: Mutex<BTreeMap<usize, Duration>>,
    changed: Notify,
}

impl OpeningBarrier {
    fn lock_phases(&self) -> MutexGuard<'_, BTreeMap<usize, Duration>> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The phase with this index begins to open connections at this moment.
    pub(super) fn announce(&self, phase: usize, at: Duration) {
        self.lock_phases().insert(phase, at);
    }

    pub(super) fn finish(&self, phase: usize) {
        self.lock_phases().remove(&phase);
        self.changed.notify_waiters();
    }

    /// Waits until no other phase that had begun by `now` is still opening connections.
    pub(super) async fn await_others(&self, now: Duration) {
        loop {
            // Registered before looking: a phase that finishes in between wakes this task.
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.lock_phases().values().any(|begun| *begun <= now) {
                return;
            }
            changed.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn openings_that_have_begun_wait_for_each_other_and_for_no_later_one() {
        let openings = OpeningBarrier::default();
        openings.announce(0, Duration::ZERO);
        openings.announce(1, SECOND);
        openings.announce(2, 60 * SECOND);
        openings.finish(0);
        let mut waits = std::pin::pin!(openings.await_others(2 * SECOND));
        tokio::select! {
            biased;
            () = &mut waits => panic!("the second one is still at it"),
            () = std::future::ready(()) => {}
        }
        openings.finish(1);
        waits.await;
    }
}
