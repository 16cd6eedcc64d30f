//! Values under keys that are never mistaken for one another: an index is reused, a key is not. Does not know what the
//! values are.

/// An index, and the generation of the value that is stored there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SlabKey {
    index: u32,
    generation: u32,
}

impl SlabKey {
    pub(crate) fn to_u64(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    pub(crate) fn from_u64(number: u64) -> Self {
        Self { index: number as u32, generation: (number >> 32) as u32 }
    }
}

#[derive(Debug)]
pub(crate) struct Slab<T> {
    entries: Vec<(u32, Option<T>)>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    pub(crate) fn insert(&mut self, thing: T) -> SlabKey {
        if let Some(index) = self.free.pop() {
            let (generation, vacant) = &mut self.entries[index as usize];
            *vacant = Some(thing);
            return SlabKey { index, generation: *generation };
        }
        let index = u32::try_from(self.entries.len()).expect("limits keep every slab far below 2^32 things");
        self.entries.push((0, Some(thing)));
        SlabKey { index, generation: 0 }
    }

    pub(crate) fn get(&self, key: SlabKey) -> Option<&T> {
        let (generation, thing) = self.entries.get(key.index as usize)?;
        thing.as_ref().filter(|_| *generation == key.generation)
    }

    pub(crate) fn get_mut(&mut self, key: SlabKey) -> Option<&mut T> {
        let (generation, thing) = self.entries.get_mut(key.index as usize)?;
        thing.as_mut().filter(|_| *generation == key.generation)
    }

    pub(crate) fn remove(&mut self, key: SlabKey) -> Option<T> {
        let (generation, thing) = self.entries.get_mut(key.index as usize)?;
        if *generation != key.generation {
            return None;
        }
        let thing = thing.take()?;
        *generation = generation.wrapping_add(1);
        self.free.push(key.index);
        Some(thing)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn keys(&self) -> Vec<SlabKey> {
        let key = |(index, (generation, thing)): (usize, &(u32, Option<T>))| {
            thing.as_ref().map(|_| SlabKey { index: index as u32, generation: *generation })
        };
        self.entries.iter().enumerate().filter_map(key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_key_finds_no_other_value() {
        let mut slab = Slab::default();
        let (one, two) = (slab.insert("one"), slab.insert("two"));
        assert_eq!((slab.remove(one), slab.remove(one), slab.len()), (Some("one"), None, 1));
        let three = slab.insert("three");
        assert_eq!((slab.get(one), slab.get(two), slab.get(three)), (None, Some(&"two"), Some(&"three")));
        assert_eq!(slab.get_mut(three), Some(&mut "three"));
        assert_eq!(SlabKey::from_u64(three.to_u64()), three);
        assert_ne!(one, three);
        assert_eq!(slab.keys(), [three, two]);
    }
}
