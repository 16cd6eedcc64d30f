//! A semaphore that serves keys round robin: however many waiters one key has, it overtakes each other key's next waiter at most once.
//! Knows neither what a permit allows nor what a key stands for.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// A number of permits, and the waiters.
pub struct FairSemaphore<K: Copy + Eq + Hash>(Mutex<SemaphoreState<K>>);

struct SemaphoreState<K: Copy + Eq + Hash> {
    free: usize,
    next_number: u64,
    /// By key, in the order of arrival.
    waiting: HashMap<K, BTreeMap<u64, oneshot::Sender<FairPermit<K>>>>,
    /// The keys of `waiting`, each once: the first is served next.
    key_order: VecDeque<K>,
}

/// One permit; it goes to the next waiter when it is dropped.
pub struct FairPermit<K: Copy + Eq + Hash>(Arc<FairSemaphore<K>>);

/// A waiter's entry, removed when it is dropped.
struct QueuedWaiter<K: Copy + Eq + Hash> {
    permits: Arc<FairSemaphore<K>>,
    key: K,
    number: u64,
}

impl<K: Copy + Eq + Hash> FairSemaphore<K> {
    pub fn new(count: usize) -> Arc<Self> {
        let (waiting, key_order) = (HashMap::new(), VecDeque::new());
        Arc::new(Self(Mutex::new(SemaphoreState { free: count, next_number: 0, waiting, key_order })))
    }

    /// A permit, at once or when it is this key's turn.
    pub async fn acquire(self: &Arc<Self>, key: K) -> FairPermit<K> {
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
        granted.await.expect("an entry is removed by its owner, or with a permit")
    }

    /// Acquisitions that wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        let state = self.lock();
        debug_assert_eq!(state.waiting.len(), state.key_order.len());
        state.waiting.values().map(BTreeMap::len).sum()
    }

    /// Consistent even if a holder of the lock panicked: nothing between two updates can panic.
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
            self.key_order.push_back(key);
        }
        of_key.insert(number, sender);
        number
    }

    /// The next waiter; its key goes behind all others.
    fn dequeue(&mut self) -> Option<oneshot::Sender<FairPermit<K>>> {
        let key = self.key_order.pop_front()?;
        let of_key = self.waiting.get_mut(&key)?;
        let (_, sender) = of_key.pop_first()?;
        if of_key.is_empty() {
            self.waiting.remove(&key);
        } else {
            self.key_order.push_back(key);
        }
        Some(sender)
    }

    fn remove(&mut self, key: K, number: u64) {
        if let Some(of_key) = self.waiting.get_mut(&key) {
            of_key.remove(&number);
            if of_key.is_empty() {
                self.waiting.remove(&key);
                self.key_order.retain(|other| *other != key);
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
        // A waiter that is being dropped does not take it: then the permit is dropped again, and goes to the next.
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

    /// Waiters with these keys arrive one after another while the only permit is taken; checks the order in which they get it.
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
            served.push(waiting.remove(next.expect("a waiter is served")).0);
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
    fn a_dropped_waiter_leaves_nothing_behind_and_keeps_no_permit() {
        let permits = FairSemaphore::new(1);
        let held = permits.acquire(0).now_or_never().unwrap();
        let (first, second, third) = (wait(&permits, 1), wait(&permits, 1), wait(&permits, 2));
        drop(second);
        assert_eq!(permits.waiting(), 2);
        drop(held);
        // It was granted, and never polled.
        drop(first);
        let held = third.now_or_never().expect("it went to the next");
        drop(held);
        assert_eq!(permits.waiting(), 0);
        assert!(permits.acquire(3).now_or_never().is_some());
    }
}
