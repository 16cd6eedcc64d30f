//! All keys of one policy, in shards with a lock each. Does not know other policies.

use std::sync::Arc;

use crate::budget::Reservation;
use crate::key::KeyProbe;
use crate::key_hasher::KeyHasher;
use crate::limits::{SHARD_KEYS, SHARDS_MAX, SHARDS_MIN, SHARDS_TOTAL_MAX};
use crate::policy_shared::{PolicyCounters, PolicyShared};
use crate::shard::Shard;
use crate::sync::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, lock};
use crate::{Budget, Decision, Moment, Override, PolicyStats, Quota, Seed, State, TooManyOverrides, WhenFull};

/// One quota counted for many keys by the algorithm `S`, by many threads at once.
///
/// ```
/// use std::{sync::Arc, time::Duration};
/// use limiter::{Capacity, Gcra, Keyed, Moment, Override, Quota, Budget, Seed, WhenFull};
///
/// let budget = Arc::new(Budget::new(Capacity { keys_max: 1_000_000, timestamps_max: 0 }));
/// let quota = Quota::new(100, Duration::from_secs(60))?;
/// let keyed = Keyed::<Gcra>::new(quota, budget, WhenFull::Deny, Seed::new([7; 32]));
/// assert!(keyed.check(b"alice", 1, Moment::after(Duration::from_secs(1))).is_allowed());
/// # Ok::<(), limiter::QuotaError>(())
/// ```
#[derive(Debug)]
pub struct Keyed<S> {
    shards: Box<[PaddedShard<S>]>,
    shared: PolicyShared,
    /// The shard that is swept next.
    next_sweep: AtomicUsize,
}

/// Two cache lines a shard, so that neighbours do not disturb each other.
#[derive(Debug)]
#[repr(align(128))]
struct PaddedShard<S>(Mutex<Shard<S>>);

/// Shards are chosen by bits of the hash that a table uses neither for places (the lowest) nor for tags (the highest seven).
const SHARD_BITS_FROM: u32 = 40;

impl<S: State> Keyed<S> {
    /// Nothing is used.
    #[must_use]
    pub fn new(quota: Quota, budget: Arc<Budget>, when_full: WhenFull, seed: Seed) -> Self {
        let shards = shards_for(budget.capacity().keys_max, 1);
        Self::with_shards(shards, quota, budget, when_full, KeyHasher::new(seed))
    }

    pub(crate) fn with_shards(
        shards: usize,
        quota: Quota,
        budget: Arc<Budget>,
        when_full: WhenFull,
        hasher: KeyHasher,
    ) -> Self {
        let shards = (0..shards).map(|_| PaddedShard(Mutex::new(Shard::new(quota)))).collect();
        let admits_when_full = AtomicBool::new(when_full == WhenFull::Admit);
        let shared = PolicyShared { budget, hasher, admits_when_full, counters: PolicyCounters::default() };
        Self { shards, shared, next_sweep: AtomicUsize::new(0) }
    }

    /// Looks, and takes `cost` units if they are allowed. A cost of 0 only looks.
    #[inline]
    pub fn check(&self, key: &[u8], cost: u64, now: Moment) -> Decision {
        let probe = self.probe(key);
        let mut shard = self.lock(self.shard_of(probe.hash));
        let reading = shard.read_clock(now);
        shard.check(&self.shared, probe, cost, reading.now).shifted_back(reading.ahead_ns)
    }

    /// Another quota from now on for all keys that have none of their own; what was used stays used. Shard by shard: a check
    /// meanwhile counts by the one or the other.
    pub fn set_quota(&self, quota: Quota, now: Moment) {
        for shard in 0..self.shards.len() {
            let mut shard = self.lock(shard);
            let now = shard.read_clock(now).now;
            shard.set_quota(quota, now);
        }
    }

    /// The quota in force for a key: its own, or that of all.
    #[must_use]
    pub fn quota_of(&self, key: &[u8]) -> Quota {
        let probe = self.probe(key);
        self.lock(self.shard_of(probe.hash)).quota_of(probe)
    }

    /// Gives a key a quota of its own; what it has used stays used.
    ///
    /// # Errors
    /// [`OVERRIDES_MAX`](crate::limits::OVERRIDES_MAX) keys have one already.
    pub fn set_override(&self, key: &[u8], quota: Quota, now: Moment) -> Result<(), TooManyOverrides> {
        let probe = self.probe(key);
        let mut shard = self.lock(self.shard_of(probe.hash));
        let now = shard.read_clock(now).now;
        shard.set_override(&self.shared, probe, quota, now)
    }

    /// Takes a key's own quota back; whether it had one. What it has used stays used.
    pub fn remove_override(&self, key: &[u8], now: Moment) -> bool {
        let probe = self.probe(key);
        let mut shard = self.lock(self.shard_of(probe.hash));
        let now = shard.read_clock(now).now;
        shard.remove_override(&self.shared, probe, now)
    }

    /// Every key that has a quota of its own.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        (0..self.shards.len()).flat_map(|shard| self.lock(shard).overrides().collect::<Vec<_>>()).collect()
    }

    /// Takes over the overrides of counts that are about to go.
    pub(crate) fn take_over_overrides(&self, overrides: Vec<Override>) {
        self.shared.acquire_unchecked(Reservation { overrides: overrides.len(), ..Reservation::default() });
        for Override { key, quota } in overrides {
            let probe = self.probe(&key);
            self.lock(self.shard_of(probe.hash)).insert_override(probe, quota);
        }
    }

    /// Forgets the idle keys of the next `shards` shards and frees their memory; returns the number of keys. Only one
    /// shard is locked at a time.
    pub fn sweep(&self, shards: usize, now: Moment) -> usize {
        let shards = shards.min(self.shards.len());
        let first = self.next_sweep.fetch_add(shards, Ordering::Relaxed);
        (0..shards).map(|n| self.sweep_shard(first.wrapping_add(n) % self.shards.len(), now)).sum()
    }

    pub(crate) fn sweep_shard(&self, shard: usize, now: Moment) -> usize {
        let mut shard = self.lock(shard);
        let now = shard.read_clock(now).now;
        let forgotten = shard.forget_idle(&self.shared, now);
        shard.shrink(&self.shared);
        forgotten
    }

    /// What is held and was done, under a name of the caller's.
    #[must_use]
    pub fn stats(&self, policy: &str) -> PolicyStats {
        let counters = &self.shared.counters;
        let Reservation { keys, timestamps, overrides, supplied } = counters.held.all();
        PolicyStats {
            policy: policy.into(),
            keys,
            timestamps,
            overrides,
            supplied,
            forgotten: counters.forgotten.load(Ordering::Relaxed),
            full_denied: counters.full_denied.load(Ordering::Relaxed),
            full_admitted: counters.full_admitted.load(Ordering::Relaxed),
        }
    }

    /// Keys held.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.shared.counters.held.keys.load(Ordering::Relaxed)
    }

    /// Timestamps for which memory is held.
    #[must_use]
    pub fn timestamps(&self) -> usize {
        self.shared.counters.held.timestamps.load(Ordering::Relaxed)
    }

    /// How many shards there are.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// What a key gets from now on that cannot be counted.
    pub fn set_when_full(&self, when_full: WhenFull) {
        self.shared.admits_when_full.store(when_full == WhenFull::Admit, Ordering::Relaxed);
    }

    pub(crate) const fn shared(&self) -> &PolicyShared {
        &self.shared
    }

    #[inline]
    pub(crate) fn probe<'a>(&self, key: &'a [u8]) -> KeyProbe<'a> {
        KeyProbe::new(&self.shared.hasher, key)
    }

    #[inline]
    pub(crate) const fn shard_of(&self, hash: u64) -> usize {
        (hash >> SHARD_BITS_FROM) as usize & (self.shards.len() - 1)
    }

    #[inline]
    pub(crate) fn lock(&self, shard: usize) -> MutexGuard<'_, Shard<S>> {
        lock(&self.shards[shard].0)
    }
}

/// How many shards each of some policies gets that may hold so many keys: a power of two.
pub(crate) fn shards_for(keys: usize, policies: usize) -> usize {
    let wanted = (keys / SHARD_KEYS).clamp(SHARDS_MIN, SHARDS_MAX).next_power_of_two();
    let share = (SHARDS_TOTAL_MAX / policies.max(1)).max(SHARDS_MIN);
    wanted.min(1 << share.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_takes_two_cache_lines() {
        assert_eq!(size_of::<PaddedShard<crate::Gcra>>(), 128);
    }

    #[track_caller]
    fn check(keys: usize, policies: usize, expected: usize) {
        assert_eq!(shards_for(keys, policies), expected);
    }

    #[test]
    fn shards_are_as_many_as_keys_want_and_policies_leave() {
        check(0, 0, 16);
        check(100_000, 1, 16);
        check(1_000_000, 1, 128);
        check(10_000_000, 1, 2_048);
        check(10_000_000, 32, 2_048);
        check(10_000_000, 1_000, 64);
        check(usize::MAX, 1, 4_096);
    }
}
