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
pub struct Notifier {
    matches: Arc<Mutex<HashMap<MatchId, watch::Sender<u32>>>>,
    queue: Arc<tokio::sync::Notify>,
}

/// A registration at a match's bell. Dropped, it costs nothing any more.
pub struct Subscription {
    id: MatchId,
    receiver: watch::Receiver<u32>,
    notifier: Notifier,
}

impl Notifier {
    /// Registers at the bell of a match. What is rung from now on will be noticed by [`Watch::changed`].
    #[must_use]
    pub fn subscribe(&self, id: MatchId) -> Subscription {
        let receiver = match self.lock().entry(id) {
            Entry::Occupied(bell) => bell.get().subscribe(),
            Entry::Vacant(place) => place.insert(watch::channel(0).0).subscribe(),
        };
        Subscription { id, receiver, notifier: self.clone() }
    }

    /// Says that the match's log is committed up to `version` entries, or that its state changed.
    pub fn notify(&self, id: MatchId, version: u32) {
        if let Some(bell) = self.lock().get(&id) {
            bell.send_replace(version);
        }
    }

    /// Says that the queue may hold something to claim.
    pub fn notify_queue(&self) {
        self.queue.notify_one();
    }

    /// Waits until the queue's bell was rung since the last wait.
    pub async fn queue_notified(&self) {
        self.queue.notified().await;
    }

    /// Matches that somebody watches.
    #[must_use]
    pub fn subscribed_matches(&self) -> usize {
        self.lock().len()
    }

    /// The map is whole even if a holder of the lock panicked: no update spans two entries.
    fn lock(&self) -> MutexGuard<'_, HashMap<MatchId, watch::Sender<u32>>> {
        self.matches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Waits until the bell was rung since the registration or the last call.
    pub async fn changed(&mut self) {
        // The sender lives as long as any registration: it is removed below, with the last one.
        let _ = self.receiver.changed().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut matches = self.notifier.lock();
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
        let bells = Notifier::default();
        let mut watch = bells.subscribe(MatchId(1));
        bells.notify(MatchId(1), 1);
        bells.notify(MatchId(1), 2);
        watch.changed().await;
    }

    #[test]
    fn a_bell_nobody_watches_is_gone() {
        let bells = Notifier::default();
        let (first, second) = (bells.subscribe(MatchId(1)), bells.subscribe(MatchId(1)));
        assert_eq!(bells.subscribed_matches(), 1);
        drop(first);
        assert_eq!(bells.subscribed_matches(), 1);
        drop(second);
        assert_eq!(bells.subscribed_matches(), 0);
        bells.notify(MatchId(1), 3);
        assert_eq!(bells.subscribed_matches(), 0);
    }
}
