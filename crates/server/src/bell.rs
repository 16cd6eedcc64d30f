//! Bells: after a commit the writer rings the stream's bell with its version, and whoever watches looks again.
//!
//! A bell carries no news, only "something is new up to n": a lost or doubled ring is harmless. Watchers register first and
//! look afterwards, so that nothing falls between. Streams nobody watches cost nothing.

use engine::ids::MatchId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The bells of one process.
#[derive(Clone, Default)]
pub struct Bells {
    matches: Arc<Mutex<HashMap<MatchId, watch::Sender<u32>>>>,
    queue: Arc<tokio::sync::Notify>,
}

/// A registration at a match's bell. Dropped, it costs nothing any more.
pub struct Watch {
    id: MatchId,
    receiver: watch::Receiver<u32>,
    bells: Bells,
}

impl Bells {
    /// Registers at the bell of a match. What is rung from now on will be noticed by [`Watch::rung`].
    #[must_use]
    pub fn watch(&self, id: MatchId) -> Watch {
        let receiver = match self.lock().entry(id) {
            Entry::Occupied(bell) => bell.get().subscribe(),
            Entry::Vacant(place) => place.insert(watch::channel(0).0).subscribe(),
        };
        Watch { id, receiver, bells: self.clone() }
    }

    /// Says that the match's log is committed up to `version` entries, or that its state changed.
    pub fn ring(&self, id: MatchId, version: u32) {
        if let Some(bell) = self.lock().get(&id) {
            bell.send_replace(version);
        }
    }

    /// Says that the queue may hold something to claim.
    pub fn ring_queue(&self) {
        self.queue.notify_one();
    }

    /// Waits until the queue's bell was rung since the last wait.
    pub async fn queue_rung(&self) {
        self.queue.notified().await;
    }

    /// Matches that somebody watches.
    #[must_use]
    pub fn watched(&self) -> usize {
        self.lock().len()
    }

    /// The map is whole even if a holder of the lock panicked: no update spans two entries.
    fn lock(&self) -> MutexGuard<'_, HashMap<MatchId, watch::Sender<u32>>> {
        self.matches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Waits until the bell was rung since the registration or the last call.
    pub async fn rung(&mut self) {
        // The sender lives as long as any registration: it is removed below, with the last one.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut matches = self.bells.lock();
        if let Some(bell) = matches.get(&self.id)
            && bell.receiver_count() <= 1
        {
            matches.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_ring_after_the_registration_is_noticed_even_before_the_wait() {
        let bells = Bells::default();
        let mut watch = bells.watch(MatchId(1));
        bells.ring(MatchId(1), 1);
        bells.ring(MatchId(1), 2);
        watch.rung().await;
    }

    #[test]
    fn a_bell_nobody_watches_is_gone() {
        let bells = Bells::default();
        let (first, second) = (bells.watch(MatchId(1)), bells.watch(MatchId(1)));
        assert_eq!(bells.watched(), 1);
        drop(first);
        assert_eq!(bells.watched(), 1);
        drop(second);
        assert_eq!(bells.watched(), 0);
        bells.ring(MatchId(1), 3);
        assert_eq!(bells.watched(), 0);
    }
}
