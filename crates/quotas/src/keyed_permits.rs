//! Permits that are limited by key: counts by key, so that no key takes everything. A key without permits takes no memory.
//!
//! Knows neither what is counted nor who releases it.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks over which keys are spread, so that they hardly contend.
const SHARDS: usize = 16;

pub struct KeyedPermits<K> {
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
    /// Takes a permit if the key has fewer than `max`; returns whether it did.
    pub fn try_acquire(&self, key: K, max: usize) -> bool {
        let mut permits = self.shard(key);
        if permits.get(&key).is_some_and(|has| *has as usize >= max) {
            return false;
        }
        *permits.entry(key).or_default() += 1;
        true
    }

    /// Takes a permit regardless of the limit.
    pub fn acquire_unchecked(&self, key: K) {
        *self.shard(key).entry(key).or_default() += 1;
    }

    /// The number of permits that a key has.
    pub fn has(&self, key: K) -> usize {
        self.shard(key).get(&key).copied().unwrap_or_default() as usize
    }

    pub fn release(&self, key: K) {
        if let Entry::Occupied(mut has) = self.shard(key).entry(key) {
            *has.get_mut() -= 1;
            if *has.get() == 0 {
                has.remove();
            }
        }
    }

    /// Every update leaves the counts consistent, even if a holder of the lock panicked.
    fn shard(&self, key: K) -> MutexGuard<'_, HashMap<K, u32>> {
        let at = self.hasher.hash_one(key) as usize % SHARDS;
        self.shards[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keys that have permits.
    #[must_use]
    pub fn key_count(&self) -> usize {
        self.shards.iter().map(|permits| permits.lock().unwrap_or_else(PoisonError::into_inner).len()).sum()
    }
}

/// One permit, released on drop.
#[derive(Debug)]
pub struct KeyedPermit<K: Copy + Eq + Hash> {
    permits: Arc<KeyedPermits<K>>,
    key: K,
}

impl<K: Copy + Eq + Hash> KeyedPermit<K> {
    /// A permit if the key has fewer than `max`.
    pub fn try_acquire(permits: &Arc<KeyedPermits<K>>, key: K, max: usize) -> Option<Self> {
        permits.try_acquire(key, max).then(|| Self { permits: permits.clone(), key })
    }

    pub fn key(&self) -> K {
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
    fn each_key_has_its_limit_and_unused_keys_are_forgotten() {
        let permits = KeyedPermits::default();
        assert!(permits.try_acquire(1, 2) && permits.try_acquire(1, 2));
        assert!(!permits.try_acquire(1, 2), "the limit is reached");
        assert!(permits.try_acquire(2, 2), "another key has its own limit");
        assert_eq!(permits.key_count(), 2, "a refusal stores no key");
        permits.acquire_unchecked(1);
        permits.release(1);
        assert!(!permits.try_acquire(1, 2), "permits over the limit are counted, too");
        assert_eq!((permits.has(1), permits.has(3)), (2, 0));
        permits.release(1);
        assert!(permits.try_acquire(1, 2));
        permits.release(1);
        permits.release(1);
        permits.release(2);
        permits.release(2);
        assert_eq!(permits.key_count(), 0);
    }
}
