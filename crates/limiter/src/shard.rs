//! One lock's worth of keys: look, make room, take. Refuses to know of other shards and other policies.

use crate::clock::{Clock, Reading};
use crate::home::{Home, Need};
use crate::key::Probe;
use crate::own::{Own, Owned};
use crate::states::States;
use crate::sync::Ordering;
use crate::{Decision, Moment, Override, Quota, State, TooManyOverrides};

/// What each call writes comes first, beside the lock: the second cache line of a shard is only read, and stays where it is.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Shard<S> {
    clock: Clock,
    states: States<S>,
    quota: Quota,
    /// No state is idle before this: a full shard is not searched in vain.
    idle_from: Moment,
    owned: Owned,
}

impl<S: State> Shard<S> {
    pub(crate) fn new(quota: Quota) -> Self {
        Self { states: States::default(), quota, clock: Clock::new(), idle_from: Moment::MAX, owned: Owned::default() }
    }

    #[inline]
    pub(crate) fn read_clock(&mut self, now: Moment) -> Reading {
        self.clock.read(now)
    }

    /// What somebody has set for the key, what its hit has brought along, or that of all.
    pub(crate) fn quota_of(&self, probe: Probe<'_>) -> Quota {
        match self.owned.find(probe.key) {
            Some(own) if own.stays => own.quota,
            _ => probe.brought.unwrap_or(self.quota),
        }
    }

    /// The quota by which the key has been counted so far.
    #[inline]
    fn counted_by(&self, key: &[u8]) -> Quota {
        if self.owned.is_empty() { self.quota } else { self.owned.find(key).map_or(self.quota, |own| own.quota) }
    }

    /// Has the memory of a key's state brought.
    #[inline]
    pub(crate) fn touch(&self, probe: Probe<'_>) {
        self.states.touch(probe);
    }

    /// The whole of a check that concerns this shard only, of a key for which no hit ever brings a quota along.
    #[inline(always)]
    pub(crate) fn check(&mut self, home: &Home, probe: Probe<'_>, cost: u64, now: Moment) -> Decision {
        let quota = self.counted_by(probe.key);
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
        let (quota, counted_by) = (self.quota_of(probe), self.counted_by(probe.key));
        match self.states.get_mut(probe) {
            Some(state) if quota == counted_by => state.decide(now, quota, cost),
            // Only a charge puts a quota into force that was brought along: a look leaves no trace.
            Some(state) => {
                let mut state = state.clone();
                state.requote(now, counted_by, quota);
                state.decide(now, quota, cost)
            }
            None => S::default().decide(now, quota, cost),
        }
    }

    /// Takes the room that a charge will need; none if there is too little. No key may be forgotten until the charge.
    pub(crate) fn reserve(&self, home: &Home, probe: Probe<'_>, cost: u64) -> Option<Need> {
        let quota = self.quota_of(probe);
        let brought = usize::from(quota != self.counted_by(probe.key) && self.owned.find(probe.key).is_none());
        let need = match self.states.get(probe) {
            Some(state) => Need { keys: 0, stamps: state.stamps_wanted(quota, cost), brought },
            None => Need { keys: 1, stamps: S::default().stamps_wanted(quota, cost), brought },
        };
        home.take(need).then_some(need)
    }

    /// Takes what was allowed, into room that was taken for it.
    pub(crate) fn charge(&mut self, home: &Home, probe: Probe<'_>, cost: u64, now: Moment, need: Need) {
        let quota = self.quota_of(probe);
        self.count_by(home, probe, quota, now);
        let state = self.states.get_or_insert(&home.spread, probe);
        let taken = state.stamps() + need.stamps;
        state.charge(now, quota, cost);
        home.settle_stamps(taken, state.stamps());
        if need.keys > 0 {
            self.idle_from = self.idle_from.min(state.whole_at(quota));
        }
    }

    /// Puts a quota into force that a hit has brought along, or takes it back when a hit comes without.
    fn count_by(&mut self, home: &Home, probe: Probe<'_>, quota: Quota, now: Moment) {
        let before = self.counted_by(probe.key);
        if quota == before {
            return;
        }
        match self.owned.find_mut(probe.key) {
            Some(own) if probe.brought.is_some() => own.quota = quota,
            Some(_) => self.disown(home, probe.key),
            // The room for it was taken with that for the charge.
            None => self.owned.insert(probe.key, Own { quota, stays: false }),
        }
        self.requote(probe, before, quota, now);
    }

    /// Forgets idle keys where there may be any; returns how many keys it has looked at for that.
    pub(crate) fn make_room(&mut self, home: &Home, now: Moment) -> usize {
        let held = if now < self.idle_from { 0 } else { self.states.len() };
        self.forget_idle(home, now);
        held
    }

    /// Forgets every key that is as good as new, and returns how many those were.
    pub(crate) fn forget_idle(&mut self, home: &Home, now: Moment) -> usize {
        if now < self.idle_from {
            return 0;
        }
        let (mut gone, mut idle_from) = (Need::default(), Moment::MAX);
        let (quota, owned) = (self.quota, &self.owned);
        self.states.retain(&home.spread, |key, state| {
            let quota = owned.find(key).map_or(quota, |own| own.quota);
            if !state.is_idle(now, quota) {
                idle_from = idle_from.min(state.whole_at(quota));
                return true;
            }
            gone.keys += 1;
            gone.stamps += state.stamps();
            false
        });
        self.idle_from = idle_from;
        let states = &self.states;
        gone.brought = self.owned.forget(|key| states.get(Probe::new(&home.spread, key)).is_some());
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
        let owned = &self.owned;
        self.states.for_each(|key, state| {
            if owned.find(key).is_none() {
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
        let old = match self.owned.find_mut(probe.key) {
            Some(own) => {
                if !own.stays {
                    home.room.take_override()?;
                    home.tally.overrides.fetch_add(1, Ordering::Relaxed);
                    home.give_back(Need { brought: 1, ..Need::default() });
                    own.stays = true;
                }
                std::mem::replace(&mut own.quota, quota)
            }
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
        self.owned.insert(probe.key, Own { quota, stays: true });
    }

    /// Takes it back; whether there was one.
    pub(crate) fn remove_override(&mut self, home: &Home, probe: Probe<'_>, now: Moment) -> bool {
        let Some(own) = self.owned.find(probe.key).filter(|own| own.stays) else { return false };
        let before = own.quota;
        self.disown(home, probe.key);
        self.requote(probe, before, self.quota, now);
        true
    }

    fn disown(&mut self, home: &Home, key: &[u8]) {
        match self.owned.remove(key) {
            Some(own) if own.stays => home.give_back_override(),
            Some(_) => home.give_back(Need { brought: 1, ..Need::default() }),
            None => {}
        }
    }

    fn requote(&mut self, probe: Probe<'_>, old: Quota, new: Quota, now: Moment) {
        if let Some(state) = self.states.get_mut(probe) {
            state.requote(now, old, new);
        }
        self.idle_from = Moment::ZERO;
    }

    /// Every key for which somebody has set a quota of its own.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = Override> {
        self.owned.lasting()
    }
}
