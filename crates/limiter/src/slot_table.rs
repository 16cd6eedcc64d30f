//! Slots by key, in one array. Does not know what a slot keeps, and when it may be removed.
//!
//! Open addressing without anything but the slots. Two slots make a pair; with 32 bytes a slot, a pair is a cache line.
//! A look-up compares both slots of a pair before it branches, and nearly always finds the key in the first pair: one
//! line of memory is waited for, and the processor can continue with the next look-up meanwhile, because no branch
//! depended on it. The high bits of the hash choose the pair by multiplication, so that an array may have any length:
//! it grows by a half, and between a half and three quarters of its slots are in use.

use std::hint::black_box;

use crate::key::{KeyProbe, PackedKey};

/// Pairs of the smallest array.
const PAIRS_MIN: usize = 4;

#[derive(Debug)]
pub(crate) struct SlotTable<V> {
    pairs: Box<[Pair<V>]>,
    len: usize,
}

#[derive(Debug, Default)]
#[repr(align(64))]
struct Pair<V>([Slot<V>; 2]);

#[derive(Debug)]
pub(crate) struct Slot<V> {
    pub(crate) packed: PackedKey,
    pub(crate) value: V,
}

/// Which slot of which pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotIndex {
    pair: usize,
    slot: usize,
}

impl<V: Default> Default for Slot<V> {
    fn default() -> Self {
        Self { packed: PackedKey::EMPTY, value: V::default() }
    }
}

impl<V> Default for SlotTable<V> {
    fn default() -> Self {
        Self { pairs: Box::default(), len: 0 }
    }
}

impl<V: Default> SlotTable<V> {
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The index of a key; `is` compares what a fingerprint cannot tell.
    #[inline]
    pub(crate) fn find(&self, probe: KeyProbe<'_>, is: impl Fn(&V) -> bool) -> Option<SlotIndex> {
        if self.pairs.is_empty() {
            return None;
        }
        let mut pair = home_pair(probe.hash, self.pairs.len());
        loop {
            let slots = &self.pairs[pair].0;
            let slot = usize::from(!slots[0].packed.equals(&probe.packed));
            if slots[slot].packed.equals(&probe.packed) {
                if is(&slots[slot].value) {
                    return Some(SlotIndex { pair, slot });
                }
                // Two long keys may share a fingerprint.
                if slot == 0 && slots[1].packed.equals(&probe.packed) && is(&slots[1].value) {
                    return Some(SlotIndex { pair, slot: 1 });
                }
            }
            if slots[0].packed.is_empty() | slots[1].packed.is_empty() {
                return None;
            }
            pair = next_pair(pair, self.pairs.len());
        }
    }

    /// Reads where a key most probably is. Nothing depends on what is read, so that nothing waits for it.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        black_box(self.pairs.get(home_pair(hash, self.pairs.len())).map(|pair| pair.0[0].packed.is_empty()));
    }

    #[inline]
    pub(crate) fn at(&self, place: SlotIndex) -> &V {
        &self.pairs[place.pair].0[place.slot].value
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, place: SlotIndex) -> &mut V {
        &mut self.pairs[place.pair].0[place.slot].value
    }

    /// What is kept for a key, `new` from now on if nothing was.
    pub(crate) fn get_or_insert_with(
        &mut self,
        probe: KeyProbe<'_>,
        is: impl Fn(&V) -> bool,
        new: impl FnOnce() -> V,
        hash: impl Fn(&Slot<V>) -> u64,
    ) -> &mut V {
        let place = match self.find(probe, is) {
            Some(place) => place,
            None => self.insert(probe, new(), hash),
        };
        self.at_mut(place)
    }

    fn insert(&mut self, probe: KeyProbe<'_>, value: V, hash: impl Fn(&Slot<V>) -> u64) -> SlotIndex {
        let slots = 2 * self.pairs.len();
        if self.len >= slots - slots / 4 {
            self.resize((self.pairs.len() + self.pairs.len() / 2).max(PAIRS_MIN), hash);
        }
        self.len += 1;
        self.place(probe.hash, Slot { packed: probe.packed, value })
    }

    /// The first free slot on a key's way gets it; there is one.
    fn place(&mut self, hash: u64, slot: Slot<V>) -> SlotIndex {
        let mut pair = home_pair(hash, self.pairs.len());
        loop {
            if let Some(free) = self.pairs[pair].0.iter().position(|slot| slot.packed.is_empty()) {
                self.pairs[pair].0[free] = slot;
                return SlotIndex { pair, slot: free };
            }
            pair = next_pair(pair, self.pairs.len());
        }
    }

    fn resize(&mut self, pairs: usize, hash: impl Fn(&Slot<V>) -> u64) {
        let empty = std::iter::repeat_with(Pair::default).take(pairs).collect();
        let old = std::mem::replace(&mut self.pairs, empty);
        for slot in old.into_iter().flat_map(|pair| pair.0).filter(|slot| !slot.packed.is_empty()) {
            self.place(hash(&slot), slot);
        }
    }

    /// Removes every slot that `stays` does not want.
    pub(crate) fn retain(&mut self, hash: impl Fn(&Slot<V>) -> u64, mut stays: impl FnMut(&Slot<V>) -> bool) {
        for pair in 0..self.pairs.len() {
            for slot in 0..2 {
                let place = SlotIndex { pair, slot };
                // What moves into a hole has to be checked as well.
                while self.used(place).is_some_and(|slot| !stays(slot)) {
                    self.remove(place, &hash);
                }
            }
        }
    }

    fn used(&self, place: SlotIndex) -> Option<&Slot<V>> {
        Some(&self.pairs[place.pair].0[place.slot]).filter(|slot| !slot.packed.is_empty())
    }

    /// Empties a slot, and moves those back that had to go past its pair because it was full, so that no way is broken.
    fn remove(&mut self, place: SlotIndex, hash: &impl Fn(&Slot<V>) -> u64) {
        let pairs = self.pairs.len();
        self.len -= 1;
        let mut was_full = self.is_full(place.pair);
        self.pairs[place.pair].0[place.slot] = Slot::default();
        let (mut hole, mut pair) = (place, place.pair);
        while was_full {
            pair = next_pair(pair, pairs);
            was_full = self.is_full(pair) && pair != place.pair;
            let went_past = |slot: &Slot<V>| {
                !slot.packed.is_empty()
                    && distance(home_pair(hash(slot), pairs), pair, pairs) >= distance(hole.pair, pair, pairs)
            };
            if let Some(slot) = self.pairs[pair].0.iter().position(went_past) {
                self.pairs[hole.pair].0[hole.slot] = std::mem::take(&mut self.pairs[pair].0[slot]);
                hole = SlotIndex { pair, slot };
            }
        }
    }

    fn is_full(&self, pair: usize) -> bool {
        self.pairs[pair].0.iter().all(|slot| !slot.packed.is_empty())
    }

    /// Frees memory of a busier time.
    pub(crate) fn shrink(&mut self, hash: impl Fn(&Slot<V>) -> u64) {
        let wanted = if self.len == 0 { 0 } else { self.len.max(PAIRS_MIN) };
        if self.pairs.len() > 2 * wanted {
            self.resize(wanted, hash);
        }
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Slot<V>> {
        self.pairs.iter_mut().flat_map(|pair| &mut pair.0).filter(|slot| !slot.packed.is_empty())
    }
}

#[inline]
const fn home_pair(hash: u64, pairs: usize) -> usize {
    ((hash as u128 * pairs as u128) >> 64) as usize
}

#[inline]
const fn next_pair(pair: usize, pairs: usize) -> usize {
    if pair + 1 == pairs { 0 } else { pair + 1 }
}

/// Steps from one pair to another.
const fn distance(from: usize, to: usize, pairs: usize) -> usize {
    if to >= from { to - from } else { to + pairs - from }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// A hash of so few values that ways cross and wrap, and that long keys share fingerprints.
    fn hash(key: &[u8]) -> u64 {
        u64::from(key.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte)) % 7) << 61 | 0x1fff_ffff
    }

    fn probe(key: &[u8]) -> KeyProbe<'_> {
        KeyProbe::long(hash(key), key)
    }

    type Kept = (Vec<u8>, u32);

    fn hash_of(slot: &Slot<Kept>) -> u64 {
        hash(&slot.value.0)
    }

    fn get<'t>(table: &'t SlotTable<Kept>, key: &[u8]) -> Option<&'t Kept> {
        table.find(probe(key), |kept| kept.0 == key).map(|place| table.at(place))
    }

    proptest! {
        #[test]
        fn a_table_is_a_map(steps in prop::collection::vec((0_u8..60, 0_u32..9), 1..200)) {
            let (mut table, mut map) = (SlotTable::default(), BTreeMap::new());
            for (key, step) in steps {
                let key = vec![key / 10, key % 10];
                match step {
                    0 => table.shrink(hash_of),
                    1 => {
                        let stays = |kept: &Kept| kept.1 % 3 != u32::from(key[1] % 3);
                        table.retain(hash_of, |slot| stays(&slot.value));
                        map.retain(|key: &Vec<u8>, value: &mut u32| stays(&(key.clone(), *value)));
                    }
                    _ => {
                        let is = |kept: &Kept| kept.0 == key;
                        table.get_or_insert_with(probe(&key), is, || (key.clone(), 0), hash_of).1 += step;
                        *map.entry(key).or_default() += step;
                    }
                }
                for number in 0..60 {
                    let key = vec![number / 10, number % 10];
                    prop_assert_eq!(get(&table, &key).map(|kept| &kept.1), map.get(&key));
                }
                prop_assert_eq!(table.len, map.len());
                prop_assert_eq!(table.iter_mut().count(), map.len());
            }
        }

        /// Between a half and three quarters of the slots are in use while a table grows, and what is empty holds nothing.
        #[test]
        fn a_table_has_its_stated_size(len in 0_usize..600) {
            let mut table = SlotTable::default();
            for key in 0..len {
                let key = key.to_le_bytes().to_vec();
                table.get_or_insert_with(probe(&key), |kept: &Kept| kept.0 == key, || (key.clone(), 0), |slot| hash(&slot.value.0));
            }
            let slots = 2 * table.pairs.len();
            prop_assert!(len <= 8 || (2 * len >= slots.saturating_sub(4) && 4 * len <= 3 * slots + 4), "{len} in {slots}");
            table.retain(hash_of, |_| false);
            table.shrink(hash_of);
            prop_assert_eq!((table.len, table.pairs.len()), (0, 0));
        }
    }

    #[test]
    fn a_slot_of_gcra_is_half_a_cache_line() {
        assert_eq!((size_of::<Slot<crate::Gcra>>(), size_of::<Pair<crate::Gcra>>()), (32, 64));
    }
}
