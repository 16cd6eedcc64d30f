//! The states of many keys, short and long ones. Does not know what a state is.

use crate::key::KeyProbe;
use crate::key_hasher::KeyHasher;
use crate::slot_table::{Slot, SlotTable};

/// Short keys lie in their slots: 32 bytes for a key and what GCRA knows of it. Long ones have a box each.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct States<S> {
    short: SlotTable<S>,
    long: SlotTable<LongKeyState<S>>,
}

#[derive(Debug, Default)]
struct LongKeyState<S> {
    key: Box<[u8]>,
    state: S,
}

impl<S> Default for States<S> {
    fn default() -> Self {
        Self { short: SlotTable::default(), long: SlotTable::default() }
    }
}

impl<S: Default> States<S> {
    #[inline]
    pub(crate) fn get(&self, probe: KeyProbe<'_>) -> Option<&S> {
        if probe.is_short() {
            self.short.find(probe, |_| true).map(|place| self.short.at(place))
        } else {
            self.long.find(probe, |long| *long.key == *probe.key).map(|place| &self.long.at(place).state)
        }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, probe: KeyProbe<'_>) -> Option<&mut S> {
        if probe.is_short() { self.get_short_mut(probe) } else { self.get_long_mut(probe.hash, probe.key) }
    }

    #[inline]
    fn get_short_mut(&mut self, probe: KeyProbe<'_>) -> Option<&mut S> {
        self.short.find(probe, |_| true).map(|place| self.short.at_mut(place))
    }

    /// Apart, so that the way of a short key keeps its registers.
    #[inline(never)]
    fn get_long_mut(&mut self, hash: u64, key: &[u8]) -> Option<&mut S> {
        let probe = KeyProbe::long(hash, key);
        let place = self.long.find(probe, |long| *long.key == *probe.key);
        place.map(|place| &mut self.long.at_mut(place).state)
    }

    /// Has the memory brought in which a key most probably is.
    #[inline]
    pub(crate) fn prefetch(&self, probe: KeyProbe<'_>) {
        if probe.is_short() {
            self.short.prefetch(probe.hash);
        } else {
            self.long.prefetch(probe.hash);
        }
    }

    pub(crate) fn get_or_insert(&mut self, hasher: &KeyHasher, probe: KeyProbe<'_>) -> &mut S {
        if probe.is_short() {
            let hash = |slot: &Slot<S>| hash_short(hasher, slot);
            self.short.get_or_insert_with(probe, |_| true, S::default, hash)
        } else {
            let hash = |slot: &Slot<LongKeyState<S>>| hash_long(hasher, slot);
            let long = || LongKeyState { key: probe.key.into(), state: S::default() };
            &mut self.long.get_or_insert_with(probe, |long| *long.key == *probe.key, long, hash).state
        }
    }

    /// Removes every key that `stays` rejects.
    pub(crate) fn retain(&mut self, hasher: &KeyHasher, mut stays: impl FnMut(&[u8], &S) -> bool) {
        let hash = |slot: &Slot<S>| hash_short(hasher, slot);
        self.short.retain(hash, |slot| slot.packed.with_short(|key| stays(key, &slot.value)));
        let hash = |slot: &Slot<LongKeyState<S>>| hash_long(hasher, slot);
        self.long.retain(hash, |slot| stays(&slot.value.key, &slot.value.state));
    }

    /// Frees memory of a busier time.
    pub(crate) fn shrink(&mut self, hasher: &KeyHasher) {
        self.short.shrink(|slot| hash_short(hasher, slot));
        self.long.shrink(|slot| hash_long(hasher, slot));
    }

    /// Keys held.
    pub(crate) const fn len(&self) -> usize {
        self.short.len() + self.long.len()
    }

    pub(crate) fn for_each(&mut self, mut with: impl FnMut(&[u8], &mut S)) {
        for Slot { packed, value: state } in self.short.iter_mut() {
            packed.with_short(|key| with(key, state));
        }
        for Slot { value: LongKeyState { key, state }, .. } in self.long.iter_mut() {
            with(key, state);
        }
    }
}

fn hash_short<S>(hasher: &KeyHasher, slot: &Slot<S>) -> u64 {
    slot.packed.hash(hasher)
}

fn hash_long<S>(hasher: &KeyHasher, slot: &Slot<LongKeyState<S>>) -> u64 {
    hasher.hash_bytes(&slot.value.key)
}
