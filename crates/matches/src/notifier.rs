//! The notifier: after a commit the writer notifies a match's subscribers, and they read again.
//!
//! A notification carries no data, only "something is new": a lost or doubled one is harmless. Subscribers register first and read
//! afterwards, so that nothing is missed in between. Matches without subscribers cost nothing.

use engine::ids::MatchId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The notifier of one process.
#[derive(Clone, Default)]
pub struct Notifier {
    matches: Arc<Mutex<HashMap<MatchId, watch::Sender<()>>>>,
    queue: Arc<tokio::sync::Notify>,
}

/// A subscription to a match, until it is dropped.
pub struct Subscription {
    id: MatchId,
    receiver: watch::Receiver<()>,
    notifier: Notifier,
}

impl Notifier {
    /// Subscribes to a match. [`Subscription::changed`] notices every notification from now on.
    #[must_use]
    pub fn subscribe(&self, id: MatchId) -> Subscription {
        let receiver = match self.lock().entry(id) {
            Entry::Occupied(sender) => sender.get().subscribe(),
            Entry::Vacant(entry) => entry.insert(watch::channel(()).0).subscribe(),
        };
        Subscription { id, receiver, notifier: self.clone() }
    }

    /// Notifies that the match's log has grown and is committed, or that its state changed.
    pub fn notify(&self, id: MatchId) {
        if let Some(sender) = self.lock().get(&id) {
            sender.send_replace(());
        }
    }

    /// Notifies that the queue may contain a match to claim.
    pub fn notify_queue(&self) {
        self.queue.notify_one();
    }

    /// Waits for a notification of the queue since the last wait.
    pub async fn queue_notified(&self) {
        self.queue.notified().await;
    }

    /// Matches with subscribers.
    #[must_use]
    pub fn subscribed_matches(&self) -> usize {
        self.lock().len()
    }

    /// The map is consistent even if a holder of the lock panicked: no update spans two entries.
    fn lock(&self) -> MutexGuard<'_, HashMap<MatchId, watch::Sender<()>>> {
        self.matches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// Waits for a notification since the subscription or the last call.
    pub async fn changed(&mut self) {
        // The sender lives as long as any subscription: it is removed below, with the last one.
        let _ = self.receiver.changed().await;
    }

    /// Whether there was a notification since the subscription or the last call.
    pub fn take_change(&mut self) -> bool {
        let has_changed = self.receiver.has_changed().unwrap_or(false);
        self.receiver.mark_unchanged();
        has_changed
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut matches = self.notifier.lock();
        if let Some(sender) = matches.get(&self.id)
            && sender.receiver_count() <= 1
        {
            matches.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_notification_after_the_subscription_is_noticed_even_before_the_wait() {
        let notifier = Notifier::default();
        let mut watch = notifier.subscribe(MatchId(1));
        notifier.notify(MatchId(1));
        notifier.notify(MatchId(1));
        watch.changed().await;
        assert!(!watch.take_change());
        notifier.notify(MatchId(1));
        assert!(watch.take_change() && !watch.take_change());
    }

    #[test]
    fn a_match_without_subscribers_is_forgotten() {
        let notifier = Notifier::default();
        let (first, second) = (notifier.subscribe(MatchId(1)), notifier.subscribe(MatchId(1)));
        assert_eq!(notifier.subscribed_matches(), 1);
        drop(first);
        assert_eq!(notifier.subscribed_matches(), 1);
        drop(second);
        assert_eq!(notifier.subscribed_matches(), 0);
        notifier.notify(MatchId(1));
        assert_eq!(notifier.subscribed_matches(), 0);
    }
}
