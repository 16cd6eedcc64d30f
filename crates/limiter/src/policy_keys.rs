//! A policy and its counts, for any algorithm. Does not know other policies.

use std::sync::Arc;

use crate::budget::Reservation;
use crate::clock::ClockReading;
use crate::key::KeyProbe;
use crate::key_hasher::KeyHasher;
use crate::policy_shared::PolicyShared;
use crate::shard::Shard;
use crate::sync::MutexGuard;
use crate::{
    Algorithm, Budget, Counter, Decision, Gcra, Keyed, Log, Moment, Override, Policy, Quota, TooManyOverrides,
};

/// One policy in force.
#[derive(Clone, Debug)]
pub(crate) struct ActivePolicy {
    pub(crate) policy: Arc<Policy>,
    pub(crate) keys: Arc<PolicyKeys>,
}

/// Counts by one of the algorithms.
#[derive(Debug)]
pub(crate) enum PolicyKeys {
    Log(Keyed<Log>),
    Gcra(Keyed<Gcra>),
    Counter(Keyed<Counter>),
}

/// A locked shard of one of them.
pub(crate) enum LockedShard<'a> {
    Log(MutexGuard<'a, Shard<Log>>, &'a PolicyShared),
    Gcra(MutexGuard<'a, Shard<Gcra>>, &'a PolicyShared),
    Counter(MutexGuard<'a, Shard<Counter>>, &'a PolicyShared),
}

/// What a policy holds and has done since it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStats {
    /// The policy's name.
    pub policy: Box<str>,
    /// Keys held.
    pub keys: usize,
    /// Timestamps for which memory is held.
    pub timestamps: usize,
    /// Keys with an override.
    pub overrides: usize,
    /// Keys with a quota of their own that a hit has brought along.
    pub supplied: usize,
    /// Idle keys that were removed.
    pub forgotten: u64,
    /// Hits denied because they could not be counted.
    pub full_denied: u64,
    /// Hits admitted although they could not be counted.
    pub full_admitted: u64,
}

macro_rules! of_each {
    ($keys:expr, $keyed:pat => $body:expr) => {
        match $keys {
            PolicyKeys::Log($keyed) => $body,
            PolicyKeys::Gcra($keyed) => $body,
            PolicyKeys::Counter($keyed) => $body,
        }
    };
}

macro_rules! of_held {
    ($held:expr, $shard:ident, $shared:pat => $body:expr) => {
        match $held {
            LockedShard::Log($shard, $shared) => $body,
            LockedShard::Gcra($shard, $shared) => $body,
            LockedShard::Counter($shard, $shared) => $body,
        }
    };
}

impl PolicyKeys {
    pub(crate) fn new(policy: &Policy, shards: usize, budget: Arc<Budget>, hasher: KeyHasher) -> Self {
        let Policy { quota, when_full, .. } = *policy;
        match policy.algorithm {
            Algorithm::Log => Self::Log(Keyed::with_shards(shards, quota, budget, when_full, hasher)),
            Algorithm::Gcra => Self::Gcra(Keyed::with_shards(shards, quota, budget, when_full, hasher)),
            Algorithm::Counter => Self::Counter(Keyed::with_shards(shards, quota, budget, when_full, hasher)),
        }
    }

    pub(crate) fn shard_of(&self, hash: u64) -> usize {
        of_each!(self, keyed => keyed.shard_of(hash))
    }

    pub(crate) fn lock(&self, shard: usize) -> LockedShard<'_> {
        match self {
            Self::Log(keyed) => LockedShard::Log(keyed.lock(shard), keyed.shared()),
            Self::Gcra(keyed) => LockedShard::Gcra(keyed.lock(shard), keyed.shared()),
            Self::Counter(keyed) => LockedShard::Counter(keyed.lock(shard), keyed.shared()),
        }
    }

    /// Changes the policy's definition.
    pub(crate) fn update_policy(&self, policy: &Policy, now: Moment) {
        of_each!(self, keyed => {
            keyed.set_when_full(policy.when_full);
            keyed.set_quota(policy.quota, now);
        });
    }

    pub(crate) fn set_override(&self, key: &[u8], quota: Quota, now: Moment) -> Result<(), TooManyOverrides> {
        of_each!(self, keyed => keyed.set_override(key, quota, now))
    }

    pub(crate) fn remove_override(&self, key: &[u8], now: Moment) -> bool {
        of_each!(self, keyed => keyed.remove_override(key, now))
    }

    pub(crate) fn overrides(&self) -> Vec<Override> {
        of_each!(self, keyed => keyed.overrides())
    }

    /// Begins empty, with the overrides of what was there before.
    pub(crate) fn inherit(&self, before: &Self) {
        of_each!(self, keyed => keyed.take_over_overrides(before.overrides()));
    }

    pub(crate) fn sweep_shard(&self, shard: usize, now: Moment) -> usize {
        of_each!(self, keyed => keyed.sweep_shard(shard, now))
    }

    pub(crate) fn shards(&self) -> usize {
        of_each!(self, keyed => keyed.shards())
    }

    pub(crate) fn stats(&self, policy: &Policy) -> PolicyStats {
        of_each!(self, keyed => keyed.stats(&policy.name))
    }
}

impl LockedShard<'_> {
    pub(crate) fn read_clock(&mut self, now: Moment) -> ClockReading {
        of_held!(self, shard, _ => shard.read_clock(now))
    }

    pub(crate) fn quota_of(&self, probe: KeyProbe<'_>) -> Quota {
        of_held!(self, shard, _ => shard.quota_of(probe))
    }

    pub(crate) fn peek(&mut self, probe: KeyProbe<'_>, cost: u64, now: Moment) -> Decision {
        of_held!(self, shard, _ => shard.peek(probe, cost, now))
    }

    pub(crate) fn reserve(&self, probe: KeyProbe<'_>, cost: u64) -> Option<Reservation> {
        of_held!(self, shard, shared => shard.reserve(shared, probe, cost))
    }

    pub(crate) fn forget_idle(&mut self, now: Moment) -> usize {
        of_held!(self, shard, shared => shard.forget_idle_counted(shared, now))
    }

    pub(crate) fn admits_uncounted(&self) -> bool {
        of_held!(self, _shard, shared => shared.admits_uncounted())
    }

    pub(crate) fn charge(&mut self, probe: KeyProbe<'_>, cost: u64, now: Moment, reservation: Reservation) {
        of_held!(self, shard, shared => shard.charge(shared, probe, cost, now, reservation));
    }

    pub(crate) fn release(&self, reservation: Reservation) {
        of_held!(self, _shard, shared => shared.release(reservation));
    }
}
