//! Timestamps in order, for a log: a single one is stored inline, more share one allocation.
//!
//! Most keys are met once, so most logs hold one timestamp; a pointer to it would cost a second miss of the cache and
//! an allocation. Does not know what the timestamps are for.

use crate::Moment;
use std::fmt;

/// Timestamps, oldest first: a queue. 24 bytes, and 8 for each that is reserved beyond one.
pub(crate) struct Timestamps(Storage);

enum Storage {
    AtMostOne(Option<Moment>),
    Ring(TimestampRing),
}

/// `len` timestamps from `head` on, wrapping around the end.
struct TimestampRing {
    slots: Box<[Moment]>,
    head: u32,
    len: u32,
}

/// Timestamps of one log: a ring counts in 32 bits.
pub(crate) const TIMESTAMPS_MAX: usize = u32::MAX as usize;

const _: () = assert!(size_of::<Timestamps>() == 24, "a slot of a key and its log has 48 bytes");

impl Default for Timestamps {
    fn default() -> Self {
        Self(Storage::AtMostOne(None))
    }
}

impl Timestamps {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match &self.0 {
            Storage::AtMostOne(timestamp) => usize::from(timestamp.is_some()),
            Storage::Ring(ring) => ring.len as usize,
        }
    }

    /// Timestamps that have memory of their own: none where one is stored inline.
    #[inline]
    pub(crate) fn reserved(&self) -> usize {
        match &self.0 {
            Storage::AtMostOne(_) => 0,
            Storage::Ring(ring) => ring.slots.len(),
        }
    }

    /// Whether `wanted` timestamps fit as it is.
    #[inline]
    pub(crate) fn fits(&self, wanted: usize) -> bool {
        wanted <= self.reserved().max(1)
    }

    /// The stamp with `index` older ones.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Moment> {
        match &self.0 {
            Storage::AtMostOne(timestamp) => timestamp.filter(|_| index == 0),
            Storage::Ring(ring) => (index < ring.len as usize).then(|| ring.slots[ring.slot_index(index)]),
        }
    }

    #[inline]
    pub(crate) fn oldest(&self) -> Option<Moment> {
        self.get(0)
    }

    #[inline]
    pub(crate) fn latest(&self) -> Option<Moment> {
        self.get(self.len().checked_sub(1)?)
    }

    pub(crate) fn pop_oldest(&mut self) {
        match &mut self.0 {
            Storage::AtMostOne(timestamp) => *timestamp = None,
            Storage::Ring(ring) if ring.len > 0 => {
                ring.head = ring.slot_index(1) as u32;
                ring.len -= 1;
            }
            Storage::Ring(_) => {}
        }
    }

    /// Adds `count` times `stamp`, which is none older than the others. They must fit.
    pub(crate) fn add(&mut self, timestamp: Moment, count: usize) {
        debug_assert!(self.fits(self.len() + count), "the caller has reserved");
        match &mut self.0 {
            Storage::AtMostOne(_) if count == 0 => {}
            Storage::AtMostOne(place) => *place = Some(timestamp),
            Storage::Ring(ring) => (0..count).for_each(|_| ring.push(timestamp)),
        }
    }

    /// Memory for exactly `wanted` timestamps, or for as many as there are; one needs none.
    pub(crate) fn resize(&mut self, wanted: usize) {
        let len = self.len();
        let wanted = wanted.max(len).min(TIMESTAMPS_MAX);
        if wanted <= 1 {
            self.0 = Storage::AtMostOne(self.oldest());
            return;
        }
        let mut slots = Vec::with_capacity(wanted);
        slots.extend(self.iter());
        slots.resize(wanted, Moment::ZERO);
        self.0 = Storage::Ring(TimestampRing { slots: slots.into_boxed_slice(), head: 0, len: len as u32 });
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Moment> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl TimestampRing {
    /// Where the stamp with `index` older ones lies.
    #[inline]
    fn slot_index(&self, index: usize) -> usize {
        let place = self.head as usize + index;
        if place < self.slots.len() { place } else { place - self.slots.len() }
    }

    fn push(&mut self, timestamp: Moment) {
        let place = self.slot_index(self.len as usize);
        self.slots[place] = timestamp;
        self.len += 1;
    }
}

impl Clone for Timestamps {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.resize(self.len());
        match &mut copy.0 {
            Storage::AtMostOne(place) => *place = self.oldest(),
            Storage::Ring(ring) => self.iter().for_each(|timestamp| ring.push(timestamp)),
        }
        copy
    }
}

impl PartialEq for Timestamps {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Timestamps {}

impl fmt::Debug for Timestamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add(usize),
        Forget,
        Resize(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            (0..5_usize).prop_map(Step::Add),
            Just(Step::Forget),
            Just(Step::Forget),
            (0..9_usize).prop_map(Step::Resize),
        ];
        vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn they_are_a_queue_wherever_they_lie(steps in steps()) {
            let (mut timestamps, mut model) = (Timestamps::default(), VecDeque::new());
            for (at, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Add(count) => {
                        let now = Moment(at as u64);
                        if !timestamps.fits(model.len() + count) {
                            timestamps.resize(model.len() + count);
                        }
                        timestamps.add(now, count);
                        model.extend(std::iter::repeat_n(now, count));
                    }
                    Step::Forget => {
                        timestamps.pop_oldest();
                        model.pop_front();
                    }
                    Step::Resize(wanted) => {
                        timestamps.resize(wanted);
                        prop_assert!(timestamps.reserved() <= wanted.max(model.len()));
                    }
                }
                prop_assert!(timestamps.iter().eq(model.iter().copied()), "{:?} for {:?}", timestamps, model);
                prop_assert_eq!((timestamps.len(), timestamps.oldest(), timestamps.latest()),
                    (model.len(), model.front().copied(), model.back().copied()));
                prop_assert_eq!(timestamps.get(model.len()), None);
                prop_assert_eq!(&timestamps.clone(), &timestamps);
            }
        }
    }

    #[test]
    fn one_stamp_needs_no_memory_of_its_own() {
        let mut timestamps = Timestamps::default();
        timestamps.add(Moment::ZERO, 1);
        assert_eq!((timestamps.len(), timestamps.reserved()), (1, 0));
        assert!(!timestamps.fits(2));
        timestamps.resize(2);
        timestamps.add(Moment::ZERO, 1);
        assert_eq!((timestamps.len(), timestamps.reserved()), (2, 2));
        timestamps.pop_oldest();
        timestamps.resize(1);
        assert_eq!((timestamps.len(), timestamps.reserved()), (1, 0));
    }
}
