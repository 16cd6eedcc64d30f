//! One lock's worth of keys: look, make room, take. Refuses to know of other shards and other policies.

use hashbrown::HashTable;

use crate::clock::{Clock, Reading};
use crate::key::Key;
use crate::own::Owned;
use crate::seed::Spread;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::{Decision, Moment, Override, Quota, Room, State, TooManyOverrides};

/// What the shards of one policy share.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) room: std::sync::Arc<Room>,
    pub(crate) spread: Spread,
    pub(crate) admits_when_full: AtomicBool,
    pub(crate) tally: Tally,
}

/// Counts of one policy.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) keys: AtomicUsize,
    pub(crate) stamps: AtomicUsize,
    pub(crate) overrides: AtomicUsize,
    pub(crate) forgotten: AtomicU64,
    pub(crate) full_denied: AtomicU64,
    pub(crate) full_admitted: AtomicU64,
}

/// A key and what it has used: 32 bytes with GCRA, two to a cache line.
#[derive(Debug)]
struct Entry<S> {
    key: Key,
    state: S,
}

/// A key on its way to its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe<'a> {
    pub(crate) hash: u64,
    pub(crate) key: &'a [u8],
    /// The quota that its hit has brought along.
    pub(crate) brought: Option<Quota>,
}

#[derive(Debug)]
pub(crate) struct Shard<S> {
    entries: HashTable<Entry<S>>,
    quota: Quota,
    clock: Clock,
    /// No entry is idle before this: a full shard is not searched in vain.
    idle_from: Moment,
    owned: Owned,
}

/// What a charge needs to have been taken from the room first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) keys: usize,
    pub(crate) stamps: usize,
    pub(crate) overrides: usize,
}

/// Whether a charge has its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Berth {
    Taken(Need),
    /// There is none, and the policy admits what it cannot count.
    Uncounted,
    /// There is none.
    None,
}

impl Home {
    fn took(&self, need: Need) {
        if need.keys > 0 {
            self.tally.keys.fetch_add(need.keys, Ordering::Relaxed);
        }
        if need.stamps > 0 {
            self.tally.stamps.fetch_add(need.stamps, Ordering::Relaxed);
        }
        if need.overrides > 0 {
            self.tally.overrides.fetch_add(need.overrides, Ordering::Relaxed);
        }
    }

    /// Takes all of it, or nothing.
    fn take(&self, need: Need) -> bool {
        if !self.room.take(need.keys, need.stamps) {
            return false;
        }
        if need.overrides > 0 && self.room.take_override().is_err() {
            self.room.give_back(need.keys, need.stamps);
            return false;
        }
        self.took(need);
        true
    }

    /// Stamps were taken from the room for a charge, and so many are held after it.
    #[inline]
    fn settle(&self, taken: usize, held: usize) {
        if taken > held {
            self.give_back(Need { stamps: taken - held, ..Need::default() });
        }
    }

    /// Gives back what was held or only meant to be.
    pub(crate) fn give_back(&self, need: Need) {
        self.room.give_back(need.keys, need.stamps);
        if need.keys > 0 {
            self.tally.keys.fetch_sub(need.keys, Ordering::Relaxed);
        }
        if need.stamps > 0 {
            self.tally.stamps.fetch_sub(need.stamps, Ordering::Relaxed);
        }
        if need.overrides > 0 {
            self.room.give_back_overrides(need.overrides);
            self.tally.overrides.fetch_sub(need.overrides, Ordering::Relaxed);
        }
    }

    /// What a hit gets for which there is no room.
    pub(crate) fn full(&self) -> Berth {
        if self.admits_when_full.load(Ordering::Relaxed) {
            self.tally.full_admitted.fetch_add(1, Ordering::Relaxed);
            return Berth::Uncounted;
        }
        self.tally.full_denied.fetch_add(1, Ordering::Relaxed);
        Berth::None
    }
}

impl<S: State> Shard<S> {
    pub(crate) fn new(quota: Quota) -> Self {
        let (entries, clock) = (HashTable::new(), Clock::new());
        Self { entries, quota, clock, idle_from: Moment::MAX, owned: Owned::default() }
    }

    #[inline]
    pub(crate) fn read_clock(&mut self, now: Moment) -> Reading {
        self.clock.read(now)
    }

    /// The quota in force for a hit: what somebody has set for its key, what it has brought along, or that of all.
    #[inline]
    pub(crate) fn quota_of(&self, probe: Probe<'_>) -> Quota {
        match self.owned.find(probe) {
            Some(own) if own.stays => own.quota,
            _ => probe.brought.unwrap_or(self.quota),
        }
    }

    /// The quota by which the key has been counted so far.
    fn counted_by(&self, probe: Probe<'_>) -> Quota {
        self.owned.find(probe).map_or(self.quota, |own| own.quota)
    }

    /// The whole of a check that concerns this shard only, of a key for which no hit brings a quota along.
    #[inline]
    pub(crate) fn check(&mut self, home: &Home, probe: Probe<'_>, cost: u64, now: Moment) -> Decision {
        let quota = self.quota_of(probe);
        let Some(entry) = self.entries.find_mut(probe.hash, |entry| entry.key.is(probe.key)) else {
            return self.check_slowly(home, probe, cost, now);
        };
        let decision = entry.state.decide(now, quota, cost);
        if cost == 0 || !decision.is_allowed() {
            return decision;
        }
        if entry.state.stamps_wanted(quota, cost) > 0 {
            return self.check_slowly(home, probe, cost, now);
        }
        let held = entry.state.stamps();
        entry.state.charge(now, quota, cost);
        home.settle(held, entry.state.stamps());
        decision
    }

    /// The same for a key that is not held yet, or needs further memory.
    #[cold]
    fn check_slowly(&mut self, home: &Home, probe: Probe<'_>, cost: u64, now: Moment) -> Decision {
        let decision = self.look(probe, cost, now);
        if cost == 0 || !decision.is_allowed() {
            return decision;
        }
        let need = self.berth(home, probe, cost).or_else(|| {
            self.forget_idle(home, now);
            self.berth(home, probe, cost)
        });
        match need.map_or_else(|| home.full(), Berth::Taken) {
            Berth::Taken(need) => self.charge(home, probe, cost, now, need),
            Berth::Uncounted => {}
            Berth::None => return Decision::Full,
        }
        decision
    }

    /// What a cost would be told now.
    pub(crate) fn look(&mut self, probe: Probe<'_>, cost: u64, now: Moment) -> Decision {
        let (quota, counted_by) = (self.quota_of(probe), self.counted_by(probe));
        match self.entries.find_mut(probe.hash, |entry| entry.key.is(probe.key)) {
            Some(entry) if quota == counted_by => entry.state.decide(now, quota, cost),
            // Only a charge puts a quota into force that was brought along: a look leaves no trace.
            Some(entry) => {
                let mut state = entry.state.clone();
                state.requote(now, counted_by, quota);
                state.decide(now, quota, cost)
            }
            None => S::default().decide(now, quota, cost),
        }
    }

    /// Takes the room that a charge will need; nothing where there is not enough. It stays right until idle keys are forgotten.
    pub(crate) fn berth(&mut self, home: &Home, probe: Probe<'_>, cost: u64) -> Option<Need> {
        let need = self.need(probe, cost);
        home.take(need).then_some(need)
    }

    fn need(&self, probe: Probe<'_>, cost: u64) -> Need {
        let quota = self.quota_of(probe);
        let overrides = usize::from(quota != self.counted_by(probe) && self.owned.find(probe).is_none());
        match self.entries.find(probe.hash, |entry| entry.key.is(probe.key)) {
            Some(entry) => Need { keys: 0, stamps: entry.state.stamps_wanted(quota, cost), overrides },
            None => Need { keys: 1, stamps: S::default().stamps_wanted(quota, cost), overrides },
        }
    }

    /// Takes what was allowed, into room that was taken for it.
    pub(crate) fn charge(&mut self, home: &Home, probe: Probe<'_>, cost: u64, now: Moment, need: Need) {
        let quota = self.quota_of(probe);
        self.count_by(home, probe, quota, now);
        let spread = &home.spread;
        let entry =
            self.entries.entry(probe.hash, |entry| entry.key.is(probe.key), |entry| spread.hash(entry.key.bytes()));
        let entry = entry.or_insert_with(|| Entry { key: Key::new(probe.key), state: S::default() }).into_mut();
        let promised = entry.state.stamps() + need.stamps;
        entry.state.charge(now, quota, cost);
        home.settle(promised, entry.state.stamps());
        if need.keys > 0 {
            self.idle_from = self.idle_from.min(entry.state.whole_at(quota));
        }
    }

    /// Puts a quota into force that a hit has brought along, or takes it back when a hit comes without.
    fn count_by(&mut self, home: &Home, probe: Probe<'_>, quota: Quota, now: Moment) {
        let before = self.counted_by(probe);
        if quota == before {
            return;
        }
        match self.owned.find_mut(probe) {
            Some(own) if probe.brought.is_some() => own.quota = quota,
            Some(_) => self.disown(home, probe),
            // The room for it was taken with the berth.
            None => self.owned.insert(&home.spread, probe, quota, false),
        }
        self.requote(probe, before, quota, now);
    }

    /// Forgets every key that is as good as new, and returns how many those were.
    pub(crate) fn forget_idle(&mut self, home: &Home, now: Moment) -> usize {
        if now < self.idle_from {
            return 0;
        }
        let (mut gone, mut idle_from) = (Need::default(), Moment::MAX);
        let (quota, owned) = (self.quota, &self.owned);
        self.entries.retain(|entry| {
            let quota = owned.quota_of(&home.spread, &entry.key).unwrap_or(quota);
            let stays = !entry.state.is_idle(now, quota);
            if stays {
                idle_from = idle_from.min(entry.state.whole_at(quota));
            } else {
                gone.keys += 1;
                gone.stamps += entry.state.stamps();
            }
            stays
        });
        self.idle_from = idle_from;
        let entries = &self.entries;
        let is_held = |key: &[u8]| entries.find(home.spread.hash(key), |entry| entry.key.is(key)).is_some();
        gone.overrides = self.owned.forget(is_held);
        home.give_back(gone);
        home.tally.forgotten.fetch_add(gone.keys as u64, Ordering::Relaxed);
        gone.keys
    }

    /// Gives back memory of a busier time.
    pub(crate) fn shrink(&mut self, home: &Home) {
        if self.entries.capacity() > 4 * self.entries.len() {
            self.entries.shrink_to(2 * self.entries.len(), |entry| home.spread.hash(entry.key.bytes()));
        }
    }

    /// Another quota for all keys that have none of their own.
    pub(crate) fn set_quota(&mut self, home: &Home, quota: Quota, now: Moment) {
        let old = std::mem::replace(&mut self.quota, quota);
        if old == quota {
            return;
        }
        for entry in &mut self.entries {
            if self.owned.quota_of(&home.spread, &entry.key).is_none() {
                entry.state.requote(now, old, quota);
            }
        }
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
        let old = match self.owned.find_mut(probe) {
            Some(own) => {
                own.stays = true;
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
        self.owned.insert(&home.spread, probe, quota, true);
    }

    /// Takes it back; whether there was one.
    pub(crate) fn remove_override(&mut self, home: &Home, probe: Probe<'_>, now: Moment) -> bool {
        let Some(own) = self.owned.find(probe).filter(|own| own.stays) else { return false };
        let before = own.quota;
        self.disown(home, probe);
        self.requote(probe, before, self.quota, now);
        true
    }

    fn disown(&mut self, home: &Home, probe: Probe<'_>) {
        if self.owned.remove(probe).is_some() {
            home.give_back(Need { overrides: 1, ..Need::default() });
        }
    }

    fn requote(&mut self, probe: Probe<'_>, old: Quota, new: Quota, now: Moment) {
        if let Some(entry) = self.entries.find_mut(probe.hash, |entry| entry.key.is(probe.key)) {
            entry.state.requote(now, old, new);
        }
        self.idle_from = Moment::ZERO;
    }

    /// Every key for which somebody has set a quota of its own.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = Override> {
        self.owned.lasting()
    }
}
