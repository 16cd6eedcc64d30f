//! The keys behind one lock: look up, reserve, charge. Does not know other shards and other policies.

use crate::budget::Reservation;
use crate::clock::{ClockReading, ShardClock};
use crate::key::KeyProbe;
use crate::key_quotas::{KeyQuota, KeyQuotas};
use crate::policy_shared::PolicyShared;
use crate::states::States;
use crate::sync::Ordering;
use crate::{Decision, Moment, Override, Quota, State, TooManyOverrides};

/// What each call writes comes first, next to the lock: the second cache line of a shard is only read, and is not moved
/// between processors.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Shard<S> {
    clock: ShardClock,
    states: States<S>,
    quota: Quota,
    /// No state is idle before this: a full shard is not searched in vain.
    idle_not_before: Moment,
    key_quotas: KeyQuotas,
}

/// Room for one override.
const OVERRIDE: Reservation = Reservation { keys: 0, timestamps: 0, overrides: 1, supplied: 0 };
/// Room for one supplied quota.
const SUPPLIED: Reservation = Reservation { keys: 0, timestamps: 0, overrides: 0, supplied: 1 };

fn acquire_override(shared: &PolicyShared) -> Result<(), TooManyOverrides> {
    if shared.try_acquire(OVERRIDE) { Ok(()) } else { Err(TooManyOverrides) }
}

impl<S: State> Shard<S> {
    pub(crate) fn new(quota: Quota) -> Self {
        Self {
            states: States::default(),
            quota,
            clock: ShardClock::new(),
            idle_not_before: Moment::MAX,
            key_quotas: KeyQuotas::default(),
        }
    }

    #[inline]
    pub(crate) fn read_clock(&mut self, now: Moment) -> ClockReading {
        self.clock.read(now)
    }

    /// The key's override, its supplied quota, or the policy's.
    pub(crate) fn quota_of(&self, probe: KeyProbe<'_>) -> Quota {
        match self.key_quotas.find(probe.key) {
            Some(own) if own.is_override => own.quota,
            _ => probe.supplied_quota.unwrap_or(self.quota),
        }
    }

    /// The quota by which the key has been counted so far.
    #[inline]
    fn counted_by(&self, key: &[u8]) -> Quota {
        if self.key_quotas.is_empty() {
            self.quota
        } else {
            self.key_quotas.find(key).map_or(self.quota, |own| own.quota)
        }
    }

    /// Has the memory of a key's state brought.
    #[inline]
    pub(crate) fn prefetch(&self, probe: KeyProbe<'_>) {
        self.states.prefetch(probe);
    }

    /// The whole of a check that concerns this shard only, of a key for which no hit ever brings a quota along.
    #[inline(always)]
    pub(crate) fn check(&mut self, shared: &PolicyShared, probe: KeyProbe<'_>, cost: u64, now: Moment) -> Decision {
        let quota = self.counted_by(probe.key);
        let Some(state) = self.states.get_mut(probe) else {
            return self.check_slow(shared, probe.key, cost, now);
        };
        let held = state.timestamps_held();
        let Some(decision) = state.decide_and_charge(now, quota, cost) else {
            return self.check_slow(shared, probe.key, cost, now);
        };
        shared.release_unused_timestamps(held, state.timestamps_held());
        decision
    }

    /// The same for a key that is not held yet, or needs further memory. Packs the key again, so that the other way need not
    /// keep it.
    #[cold]
    fn check_slow(&mut self, shared: &PolicyShared, key: &[u8], cost: u64, now: Moment) -> Decision {
        let probe = KeyProbe::new(&shared.hasher, key);
        let decision = self.peek(probe, cost, now);
        if cost == 0 || !decision.is_allowed() {
            return decision;
        }
        let mut reservation = self.reserve(shared, probe, cost);
        if reservation.is_none() {
            self.forget_idle(shared, now);
            reservation = self.reserve(shared, probe, cost);
        }
        match reservation {
            Some(reservation) => self.charge(shared, probe, cost, now, reservation),
            None if shared.admits_uncounted() => {}
            None => return Decision::Full,
        }
        decision
    }

    /// The decision about a cost, without charging it.
    pub(crate) fn peek(&mut self, probe: KeyProbe<'_>, cost: u64, now: Moment) -> Decision {
        let (quota, counted_by) = (self.quota_of(probe), self.counted_by(probe.key));
        match self.states.get_mut(probe) {
            Some(state) if quota == counted_by => state.decide(now, quota, cost),
            // Only a charge puts a quota into force that was brought along: a look leaves no trace.
            Some(state) => {
                let mut state = state.clone();
                state.change_quota(now, counted_by, quota);
                state.decide(now, quota, cost)
            }
            None => S::default().decide(now, quota, cost),
        }
    }

    /// Reserves what a charge will need; none if the budget is too small. No key may be forgotten until the charge.
    pub(crate) fn reserve(&self, shared: &PolicyShared, probe: KeyProbe<'_>, cost: u64) -> Option<Reservation> {
        let quota = self.quota_of(probe);
        let supplied = usize::from(quota != self.counted_by(probe.key) && self.key_quotas.find(probe.key).is_none());
        let (keys, timestamps) = match self.states.get(probe) {
            Some(state) => (0, state.timestamps_needed(quota, cost)),
            None => (1, S::default().timestamps_needed(quota, cost)),
        };
        let reservation = Reservation { keys, timestamps, supplied, overrides: 0 };
        shared.try_acquire(reservation).then_some(reservation)
    }

    /// Takes what was allowed, into room that was taken for it.
    pub(crate) fn charge(
        &mut self,
        shared: &PolicyShared,
        probe: KeyProbe<'_>,
        cost: u64,
        now: Moment,
        reservation: Reservation,
    ) {
        let quota = self.quota_of(probe);
        self.switch_quota(shared, probe, quota, now);
        let state = self.states.get_or_insert(&shared.hasher, probe);
        let taken = state.timestamps_held() + reservation.timestamps;
        state.charge(now, quota, cost);
        shared.release_unused_timestamps(taken, state.timestamps_held());
        if reservation.keys > 0 {
            self.idle_not_before = self.idle_not_before.min(state.reset_at(quota));
        }
    }

    /// Puts a quota into force that a hit has brought along, or takes it back when a hit comes without.
    fn switch_quota(&mut self, shared: &PolicyShared, probe: KeyProbe<'_>, quota: Quota, now: Moment) {
        let before = self.counted_by(probe.key);
        if quota == before {
            return;
        }
        match self.key_quotas.find_mut(probe.key) {
            Some(own) if probe.supplied_quota.is_some() => own.quota = quota,
            Some(_) => self.remove_key_quota(shared, probe.key),
            // The room for it was taken with that for the charge.
            None => self.key_quotas.insert(probe.key, KeyQuota { quota, is_override: false }),
        }
        self.change_quota(probe, before, quota, now);
    }

    /// Forgets idle keys where there may be any; returns how many keys it has examined.
    pub(crate) fn forget_idle_counted(&mut self, shared: &PolicyShared, now: Moment) -> usize {
        let held = if now < self.idle_not_before { 0 } else { self.states.len() };
        self.forget_idle(shared, now);
        held
    }

    /// Forgets every key without used units, and returns their number.
    pub(crate) fn forget_idle(&mut self, shared: &PolicyShared, now: Moment) -> usize {
        if now < self.idle_not_before {
            return 0;
        }
        let (mut gone, mut idle_from) = (Reservation::default(), Moment::MAX);
        let (quota, owned) = (self.quota, &self.key_quotas);
        self.states.retain(&shared.hasher, |key, state| {
            let quota = owned.find(key).map_or(quota, |own| own.quota);
            if !state.is_idle(now, quota) {
                idle_from = idle_from.min(state.reset_at(quota));
                return true;
            }
            gone.keys += 1;
            gone.timestamps += state.timestamps_held();
            false
        });
        self.idle_not_before = idle_from;
        let states = &self.states;
        gone.supplied = self.key_quotas.retain_held(|key| states.get(KeyProbe::new(&shared.hasher, key)).is_some());
        shared.release(gone);
        shared.counters.forgotten.fetch_add(gone.keys as u64, Ordering::Relaxed);
        gone.keys
    }

    /// Frees memory of a busier time.
    pub(crate) fn shrink(&mut self, shared: &PolicyShared) {
        self.states.shrink(&shared.hasher);
    }

    /// Another quota for all keys that have none of their own.
    pub(crate) fn set_quota(&mut self, quota: Quota, now: Moment) {
        let old = std::mem::replace(&mut self.quota, quota);
        if old == quota {
            return;
        }
        let owned = &self.key_quotas;
        self.states.for_each(|key, state| {
            if owned.find(key).is_none() {
                state.change_quota(now, old, quota);
            }
        });
        self.idle_not_before = Moment::ZERO;
    }

    /// A quota of its own for one key.
    pub(crate) fn set_override(
        &mut self,
        shared: &PolicyShared,
        probe: KeyProbe<'_>,
        quota: Quota,
        now: Moment,
    ) -> Result<(), TooManyOverrides> {
        let old = match self.key_quotas.find_mut(probe.key) {
            Some(own) => {
                if !own.is_override {
                    acquire_override(shared)?;
                    shared.release(SUPPLIED);
                    own.is_override = true;
                }
                std::mem::replace(&mut own.quota, quota)
            }
            None => {
                acquire_override(shared)?;
                self.insert_override(probe, quota);
                self.quota
            }
        };
        self.change_quota(probe, old, quota, now);
        Ok(())
    }

    /// The place of a new override, once the room for it is taken.
    pub(crate) fn insert_override(&mut self, probe: KeyProbe<'_>, quota: Quota) {
        self.key_quotas.insert(probe.key, KeyQuota { quota, is_override: true });
    }

    /// Takes it back; whether there was one.
    pub(crate) fn remove_override(&mut self, shared: &PolicyShared, probe: KeyProbe<'_>, now: Moment) -> bool {
        let Some(own) = self.key_quotas.find(probe.key).filter(|own| own.is_override) else { return false };
        let before = own.quota;
        self.remove_key_quota(shared, probe.key);
        self.change_quota(probe, before, self.quota, now);
        true
    }

    fn remove_key_quota(&mut self, shared: &PolicyShared, key: &[u8]) {
        match self.key_quotas.remove(key) {
            Some(own) if own.is_override => shared.release(OVERRIDE),
            Some(_) => shared.release(SUPPLIED),
            None => {}
        }
    }

    fn change_quota(&mut self, probe: KeyProbe<'_>, old: Quota, new: Quota, now: Moment) {
        if let Some(state) = self.states.get_mut(probe) {
            state.change_quota(now, old, new);
        }
        self.idle_not_before = Moment::ZERO;
    }

    /// Every key with an override.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = Override> {
        self.key_quotas.overrides()
    }
}
