//! One lock's worth of keys: look, make room, take. Refuses to know of other shards and other policies.

use std::collections::BTreeMap;

use crate::clock::{Clock, Reading};
use crate::home::{Home, Need};
use crate::key::Probe;
use crate::states::States;
use crate::sync::Ordering;
use crate::{Decision, Moment, Override, Quota, State, TooManyOverrides};

type Overrides = BTreeMap<Box<[u8]>, Quota>;

#[derive(Debug)]
pub(crate) struct Shard<S> {
    states: States<S>,
    quota: Quota,
    clock: Clock,
    /// No state is idle before this: a full shard is not searched in vain.
    idle_from: Moment,
    /// Boxed, because hardly a shard has any.
    overrides: Option<Box<Overrides>>,
}

impl<S: State> Shard<S> {
    pub(crate) fn new(quota: Quota) -> Self {
        Self { states: States::default(), quota, clock: Clock::new(), idle_from: Moment::MAX, overrides: None }
    }

    #[inline]
    pub(crate) fn read_clock(&mut self, now: Moment) -> Reading {
        self.clock.read(now)
    }

    pub(crate) fn quota_of(&self, probe: Probe<'_>) -> Quota {
        *in_force(&self.overrides, &self.quota, probe.key)
    }

    /// Has the memory of a key's state brought.
    #[inline]
    pub(crate) fn touch(&self, probe: Probe<'_>) {
        self.states.touch(probe);
    }

    /// The whole of a check that concerns this shard only.
    #[inline]
    pub(crate) fn check(&mut self, home: &Home, probe: Probe<'_>, cost: u64, now: Moment) -> Decision {
        let quota = *in_force(&self.overrides, &self.quota, probe.key);
        let Some(state) = self.states.get_mut(probe) else {
            return self.check_slowly(home, probe.key, cost, now);
        };
        let held = state.stamps();
        let Some(decision) = state.take(now, quota, cost) else {
            return self.check_slowly(home, probe.key, cost, now);
        };
        home.settle_stamps(held, state.stamps());
        decision
    }

    /// The same for a key that is not held yet, or needs further memory. Packs the key again, so that the other way need not
    /// keep it.
    #[cold]
    fn check_slowly(&mut self, home: &Home, key: &[u8], cost: u64, now: Moment) -> Decision {
        let probe = Probe::new(&home.spread, key);
        let decision = self.look(probe, cost, now);
        if cost == 0 || !decision.is_allowed() {
            return decision;
        }
        let mut need = self.reserve(home, probe, cost);
        if need.is_none() {
            self.forget_idle(home, now);
            need = self.reserve(home, probe, cost);
        }
        match need {
            Some(need) => self.charge(home, probe, cost, now, need),
            None if home.admits_uncounted() => {}
            None => return Decision::Full,
        }
        decision
    }

    /// What a cost would be told now.
    pub(crate) fn look(&mut self, probe: Probe<'_>, cost: u64, now: Moment) -> Decision {
        let quota = self.quota_of(probe);
        match self.states.get_mut(probe) {
            Some(state) => state.decide(now, quota, cost),
            None => S::default().decide(now, quota, cost),
        }
    }

    /// Takes the room that a charge will need; none if there is too little. No key may be forgotten until the charge.
    pub(crate) fn reserve(&self, home: &Home, probe: Probe<'_>, cost: u64) -> Option<Need> {
        let quota = self.quota_of(probe);
        let need = match self.states.get(probe) {
            Some(state) => Need { keys: 0, stamps: state.stamps_wanted(quota, cost) },
            None => Need { keys: 1, stamps: S::default().stamps_wanted(quota, cost) },
        };
        home.take(need).then_some(need)
    }

    /// Takes what was allowed, into room that was taken for it.
    pub(crate) fn charge(&mut self, home: &Home, probe: Probe<'_>, cost: u64, now: Moment, need: Need) {
        let quota = self.quota_of(probe);
        let state = self.states.get_or_insert(&home.spread, probe);
        let taken = state.stamps() + need.stamps;
        state.charge(now, quota, cost);
        home.settle_stamps(taken, state.stamps());
        if need.keys > 0 {
            self.idle_from = self.idle_from.min(state.whole_at(quota));
        }
    }

    /// Forgets every key that is as good as new, and returns how many those were.
    pub(crate) fn forget_idle(&mut self, home: &Home, now: Moment) -> usize {
        if now < self.idle_from {
            return 0;
        }
        let (mut gone, mut idle_from) = (Need::default(), Moment::MAX);
        let (quota, overrides) = (self.quota, self.overrides.as_deref());
        self.states.retain(&home.spread, |key, state| {
            let quota = overrides.and_then(|overrides| own_quota(overrides, key)).copied().unwrap_or(quota);
            if !state.is_idle(now, quota) {
                idle_from = idle_from.min(state.whole_at(quota));
                return true;
            }
            gone.keys += 1;
            gone.stamps += state.stamps();
            false
        });
        self.idle_from = idle_from;
        home.give_back(gone);
        home.tally.forgotten.fetch_add(gone.keys as u64, Ordering::Relaxed);
        gone.keys
    }

    /// Gives back memory of a busier time.
    pub(crate) fn shrink(&mut self, home: &Home) {
        self.states.shrink(&home.spread);
    }

    /// Another quota for all keys that have none of their own.
    pub(crate) fn set_quota(&mut self, quota: Quota, now: Moment) {
        let old = std::mem::replace(&mut self.quota, quota);
        if old == quota {
            return;
        }
        let overrides = self.overrides.as_deref();
        self.states.for_each(|key, state| {
            if overrides.and_then(|overrides| own_quota(overrides, key)).is_none() {
                state.requote(now, old, quota);
            }
        });
        self.idle_from = Moment::ZERO;
    }

    /// A quota of its own for one key.
    pub(crate) fn set_override(
        &mut self,
        home: &Home,
        probe: Probe<'_>,
        quota: Quota,
        now: Moment,
    ) -> Result<(), TooManyOverrides> {
        let own = self.overrides.as_mut().and_then(|overrides| overrides.get_mut(probe.key));
        let old = match own {
            Some(own) => std::mem::replace(own, quota),
            None => {
                home.room.take_override()?;
                self.insert_override(home, probe, quota);
                self.quota
            }
        };
        self.requote(probe, old, quota, now);
        Ok(())
    }

    /// The place of a new override, once the room for it is taken.
    pub(crate) fn insert_override(&mut self, home: &Home, probe: Probe<'_>, quota: Quota) {
        home.tally.overrides.fetch_add(1, Ordering::Relaxed);
        self.overrides.get_or_insert_default().insert(probe.key.into(), quota);
    }

    /// Takes it back; whether there was one.
    pub(crate) fn remove_override(&mut self, home: &Home, probe: Probe<'_>, now: Moment) -> bool {
        let Some(overrides) = &mut self.overrides else { return false };
        let Some(own) = overrides.remove(probe.key) else { return false };
        if overrides.is_empty() {
            self.overrides = None;
        }
        home.room.give_back_overrides(1);
        home.tally.overrides.fetch_sub(1, Ordering::Relaxed);
        self.requote(probe, own, self.quota, now);
        true
    }

    fn requote(&mut self, probe: Probe<'_>, old: Quota, new: Quota, now: Moment) {
        if let Some(state) = self.states.get_mut(probe) {
            state.requote(now, old, new);
        }
        self.idle_from = Moment::ZERO;
    }

    /// Every key that has a quota of its own.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = Override> {
        let own = self.overrides.iter().flat_map(|overrides| overrides.iter());
        own.map(|(key, quota)| Override { key: key.clone(), quota: *quota })
    }
}

#[inline]
fn in_force<'a>(overrides: &'a Option<Box<Overrides>>, quota: &'a Quota, key: &[u8]) -> &'a Quota {
    match overrides {
        None => quota,
        Some(overrides) => own_quota(overrides, key).unwrap_or(quota),
    }
}

/// Out of the way of the many shards that have none.
#[cold]
fn own_quota<'a>(overrides: &'a Overrides, key: &[u8]) -> Option<&'a Quota> {
    overrides.get(key)
}
