//! Permits that are given in turn by key (round robin): however many of one key wait, each other key's next waiter is passed over
//! at most once by each of them. Knows neither what a permit allows nor what a key stands for.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// A number of permits, and those who wait for one.
pub(crate) struct FairSemaphore<K: Copy + Eq + Hash>(Mutex<SemaphoreState<K>>);

struct SemaphoreState<K: Copy + Eq + Hash> {
    free: usize,
    next_number: u64,
    /// By key, in the order in which they came.
    waiting: HashMap<K, BTreeMap<u64, oneshot::Sender<FairPermit<K>>>>,
    /// The keys of `waiting`, each once: the first is served next.
    order: VecDeque<K>,
}

/// One permit; it goes to the next waiter when it is dropped.
pub(crate) struct FairPermit<K: Copy + Eq + Hash>(Arc<FairSemaphore<K>>);

/// A place among those who wait, given up when it is dropped.
struct QueuedWaiter<K: Copy + Eq + Hash> {
    permits: Arc<FairSemaphore<K>>,
    key: K,
    number: u64,
}

impl<K: Copy + Eq + Hash> FairSemaphore<K> {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        let (waiting, order) = (HashMap::new(), VecDeque::new());
        Arc::new(Self(Mutex::new(SemaphoreState { free: count, next_number: 0, waiting, order })))
    }

    /// A permit, at once or when it is this key's turn.
    pub(crate) async fn acquire(self: &Arc<Self>, key: K) -> FairPermit<K> {
        let (granted, _waiting) = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return FairPermit(self.clone());
            }
            let (sender, granted) = oneshot::channel();
            let number = state.enqueue(key, sender);
            (granted, QueuedWaiter { permits: self.clone(), key, number })
        };
        granted.await.expect("a place is left by its owner, or with a permit")
    }

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        let state = self.lock();
        assert_eq!(state.waiting.len(), state.order.len());
        state.waiting.values().map(BTreeMap::len).sum()
    }

    /// Whole even if a holder of the lock panicked: nothing between two updates can.
    fn lock(&self) -> MutexGuard<'_, SemaphoreState<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Eq + Hash> SemaphoreState<K> {
    fn enqueue(&mut self, key: K, sender: oneshot::Sender<FairPermit<K>>) -> u64 {
        let number = self.next_number;
        self.next_number += 1;
        let of_key = self.waiting.entry(key).or_default();
        if of_key.is_empty() {
            self.order.push_back(key);
        }
        of_key.insert(number, sender);
        number
    }

    /// Who is next; the key goes behind all others.
    fn dequeue(&mut self) -> Option<oneshot::Sender<FairPermit<K>>> {
        let key = self.order.pop_front()?;
        let of_key = self.waiting.get_mut(&key)?;
        let (_, sender) = of_key.pop_first()?;
        if of_key.is_empty() {
            self.waiting.remove(&key);
        } else {
            self.order.push_back(key);
        }
        Some(sender)
    }

    fn remove(&mut self, key: K, number: u64) {
        if let Some(of_key) = self.waiting.get_mut(&key) {
            of_key.remove(&number);
            if of_key.is_empty() {
                self.waiting.remove(&key);
                self.order.retain(|other| *other != key);
            }
        }
    }
}

impl<K: Copy + Eq + Hash> Drop for FairPermit<K> {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.lock();
            let next = state.dequeue();
            state.free += usize::from(next.is_none());
            next
        };
        // A waiter that is just leaving does not take it: then it is dropped again, and goes to the one after.
        let _ = next.map(|sender| sender.send(Self(self.0.clone())).map_err(drop));
    }
}

impl<K: Copy + Eq + Hash> Drop for QueuedWaiter<K> {
    fn drop(&mut self) {
        self.permits.lock().remove(self.key, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;

    fn wait(permits: &Arc<FairSemaphore<u8>>, key: u8) -> BoxFuture<'static, FairPermit<u8>> {
        let permits = permits.clone();
        let mut waiting = async move { permits.acquire(key).await }.boxed();
        assert!((&mut waiting).now_or_never().is_none());
        waiting
    }

    /// These keys come one after another while the only permit is taken, and get it in this order.
    fn check(come: &[u8], want: &[u8]) {
        let permits = FairSemaphore::new(1);
        let mut held = Some(permits.acquire(0).now_or_never().unwrap());
        let mut waiting: Vec<_> = come.iter().map(|key| (*key, wait(&permits, *key))).collect();
        let mut served = Vec::new();
        while !waiting.is_empty() {
            drop(held.take());
            let next = waiting.iter_mut().position(|(_, waiting)| {
                held = waiting.now_or_never();
                held.is_some()
            });
            served.push(waiting.remove(next.expect("somebody is served")).0);
        }
        assert_eq!(served, want);
        assert_eq!(permits.waiting(), 0);
    }

    #[test]
    fn keys_are_served_in_turn() {
        check(&[], &[]);
        check(&[1, 1, 1], &[1, 1, 1]);
        check(&[1, 1, 1, 1, 2], &[1, 2, 1, 1, 1]);
        check(&[1, 1, 1, 2, 2, 3], &[1, 2, 3, 1, 2, 1]);
    }

    #[test]
    fn whoever_gives_up_leaves_nothing_behind_and_keeps_no_permit() {
        let permits = FairSemaphore::new(1);
        let held = permits.acquire(0).now_or_never().unwrap();
        let (first, second, third) = (wait(&permits, 1), wait(&permits, 1), wait(&permits, 2));
        drop(second);
        assert_eq!(permits.waiting(), 2);
        drop(held);
        // It was granted, and never looked at.
        drop(first);
        let held = third.now_or_never().expect("it went to the next");
        drop(held);
        assert_eq!(permits.waiting(), 0);
        assert!(permits.acquire(3).now_or_never().is_some());
    }
}
