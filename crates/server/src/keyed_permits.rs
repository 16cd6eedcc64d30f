//! How much each has of something that all share: counts by key, so that nobody takes everything alone. Whoever has nothing is not
//! remembered.
//!
//! Knows neither what is counted nor who gives it back.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks over which keys are spread, so that hardly anybody waits for another.
const SHARDS: usize = 16;

/// What each of them has.
pub(crate) struct KeyedPermits<K> {
    hasher: RandomState,
    shards: [Mutex<HashMap<K, u32>>; SHARDS],
}

impl<K> Default for KeyedPermits<K> {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: std::array::from_fn(|_| Mutex::default()) }
    }
}

impl<K> fmt::Debug for KeyedPermits<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shares").finish_non_exhaustive()
    }
}

impl<K: Copy + Eq + Hash> KeyedPermits<K> {
    /// Gives one more to whoever has fewer than `max`. Whether it did.
    pub(crate) fn try_acquire(&self, key: K, max: usize) -> bool {
        let mut shares = self.shard(key);
        if shares.get(&key).is_some_and(|has| *has as usize >= max) {
            return false;
        }
        *shares.entry(key).or_default() += 1;
        true
    }

    /// Counts what somebody has already, be it too much or not.
    pub(crate) fn acquire_unchecked(&self, key: K) {
        *self.shard(key).entry(key).or_default() += 1;
    }

    /// How many somebody has.
    pub(crate) fn has(&self, key: K) -> usize {
        self.shard(key).get(&key).copied().unwrap_or_default() as usize
    }

    /// Takes one back.
    pub(crate) fn release(&self, key: K) {
        if let Entry::Occupied(mut has) = self.shard(key).entry(key) {
            *has.get_mut() -= 1;
            if *has.get() == 0 {
                has.remove();
            }
        }
    }

    /// No update leaves the counts broken for another, even if a holder of the lock panicked.
    fn shard(&self, key: K) -> MutexGuard<'_, HashMap<K, u32>> {
        let at = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn key_count(&self) -> usize {
        self.shards.iter().map(|shares| shares.lock().unwrap().len()).sum()
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct KeyedPermit<K: Copy + Eq + Hash> {
    permits: Arc<KeyedPermits<K>>,
    key: K,
}

impl<K: Copy + Eq + Hash> KeyedPermit<K> {
    /// One more for whoever has fewer than `max`.
    pub(crate) fn try_acquire(shares: &Arc<KeyedPermits<K>>, key: K, max: usize) -> Option<Self> {
        shares.try_acquire(key, max).then(|| Self { permits: shares.clone(), key })
    }

    /// Whose it is.
    pub(crate) fn key(&self) -> K {
        self.key
    }
}

impl<K: Copy + Eq + Hash> Drop for KeyedPermit<K> {
    fn drop(&mut self) {
        self.permits.release(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_share_and_who_has_nothing_is_forgotten() {
        let shares = KeyedPermits::default();
        assert!(shares.try_acquire(1, 2) && shares.try_acquire(1, 2));
        assert!(!shares.try_acquire(1, 2), "as many as may be");
        assert!(shares.try_acquire(2, 2), "another has a share of his own");
        assert_eq!(shares.key_count(), 2, "a refusal remembers nobody");
        shares.acquire_unchecked(1);
        shares.release(1);
        assert!(!shares.try_acquire(1, 2), "what is too much is counted, too");
        assert_eq!((shares.has(1), shares.has(3)), (2, 0));
        shares.release(1);
        assert!(shares.try_acquire(1, 2));
        shares.release(1);
        shares.release(1);
        shares.release(2);
        shares.release(2);
        assert_eq!(shares.key_count(), 0);
    }
}
