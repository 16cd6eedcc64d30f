//! What the shards of one policy share: the room, the hash, the counts. Refuses to know keys.

use std::sync::Arc;

use crate::Room;
use crate::seed::Spread;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) room: Arc<Room>,
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
    pub(crate) brought: AtomicUsize,
    pub(crate) forgotten: AtomicU64,
    pub(crate) full_denied: AtomicU64,
    pub(crate) full_admitted: AtomicU64,
}

/// What a charge needs to have been taken from the room first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) keys: usize,
    pub(crate) stamps: usize,
    /// Quotas that hits bring along.
    pub(crate) brought: usize,
}

impl Home {
    /// Takes all that is needed, or nothing.
    pub(crate) fn take(&self, need: Need) -> bool {
        if !self.room.take(need.keys, need.stamps) {
            return false;
        }
        if !self.room.take_brought(need.brought) {
            self.room.give_back(need.keys, need.stamps);
            return false;
        }
        add(&self.tally.keys, need.keys);
        add(&self.tally.stamps, need.stamps);
        add(&self.tally.brought, need.brought);
        true
    }

    /// Gives back what was held, or only meant to be.
    pub(crate) fn give_back(&self, need: Need) {
        self.room.give_back(need.keys, need.stamps);
        self.room.give_back_brought(need.brought);
        subtract(&self.tally.keys, need.keys);
        subtract(&self.tally.stamps, need.stamps);
        subtract(&self.tally.brought, need.brought);
    }

    /// A quota of a key's own that somebody has set was taken back.
    pub(crate) fn give_back_override(&self) {
        self.room.give_back_overrides(1);
        subtract(&self.tally.overrides, 1);
    }

    /// So many stamps were taken for a state that after its charge holds so many.
    #[inline]
    pub(crate) fn settle_stamps(&self, taken: usize, held: usize) {
        if taken > held {
            self.give_back(Need { stamps: taken - held, ..Need::default() });
        }
    }

    /// There is no room: whether a hit is admitted all the same.
    pub(crate) fn admits_uncounted(&self) -> bool {
        let admits = self.admits_when_full.load(Ordering::Relaxed);
        let count = if admits { &self.tally.full_admitted } else { &self.tally.full_denied };
        count.fetch_add(1, Ordering::Relaxed);
        admits
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let Tally { keys, stamps, overrides, brought, .. } = &self.tally;
        self.room.give_back(keys.load(Ordering::Relaxed), stamps.load(Ordering::Relaxed));
        self.room.give_back_overrides(overrides.load(Ordering::Relaxed));
        self.room.give_back_brought(brought.load(Ordering::Relaxed));
    }
}

fn add(count: &AtomicUsize, more: usize) {
    if more > 0 {
        count.fetch_add(more, Ordering::Relaxed);
    }
}

fn subtract(count: &AtomicUsize, less: usize) {
    if less > 0 {
        count.fetch_sub(less, Ordering::Relaxed);
    }
}
