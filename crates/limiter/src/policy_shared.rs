//! What the shards of one policy share: the budget, the hash, the counters. Does not know keys.

use std::sync::Arc;

use crate::Budget;
use crate::key_hasher::KeyHasher;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct PolicyShared {
    pub(crate) budget: Arc<Budget>,
    pub(crate) hasher: KeyHasher,
    pub(crate) admits_when_full: AtomicBool,
    pub(crate) counters: PolicyCounters,
}

/// Counts of one policy.
#[derive(Debug, Default)]
pub(crate) struct PolicyCounters {
    pub(crate) keys: AtomicUsize,
    pub(crate) timestamps: AtomicUsize,
    pub(crate) overrides: AtomicUsize,
    pub(crate) supplied: AtomicUsize,
    pub(crate) forgotten: AtomicU64,
    pub(crate) full_denied: AtomicU64,
    pub(crate) full_admitted: AtomicU64,
}

/// What a charge needs to have been taken from the room first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) keys: usize,
    pub(crate) timestamps: usize,
    /// Quotas that hits bring along.
    pub(crate) supplied: usize,
}

impl PolicyShared {
    /// Takes all that is needed, or nothing.
    pub(crate) fn try_acquire(&self, reservation: Reservation) -> bool {
        if !self.budget.try_acquire(reservation.keys, reservation.timestamps) {
            return false;
        }
        if !self.budget.try_acquire_supplied(reservation.supplied) {
            self.budget.release(reservation.keys, reservation.timestamps);
            return false;
        }
        add(&self.counters.keys, reservation.keys);
        add(&self.counters.timestamps, reservation.timestamps);
        add(&self.counters.supplied, reservation.supplied);
        true
    }

    /// Releases a reservation, used or not.
    pub(crate) fn release(&self, reservation: Reservation) {
        self.budget.release(reservation.keys, reservation.timestamps);
        self.budget.release_supplied(reservation.supplied);
        subtract(&self.counters.keys, reservation.keys);
        subtract(&self.counters.timestamps, reservation.timestamps);
        subtract(&self.counters.supplied, reservation.supplied);
    }

    /// An override was removed.
    pub(crate) fn release_override(&self) {
        self.budget.release_overrides(1);
        subtract(&self.counters.overrides, 1);
    }

    /// So many timestamps were reserved for a state that after its charge holds so many.
    #[inline]
    pub(crate) fn release_unused_timestamps(&self, taken: usize, held: usize) {
        if taken > held {
            self.release(Reservation { timestamps: taken - held, ..Reservation::default() });
        }
    }

    /// There is no room: whether a hit is admitted all the same.
    pub(crate) fn admits_uncounted(&self) -> bool {
        let admits = self.admits_when_full.load(Ordering::Relaxed);
        let count = if admits { &self.counters.full_admitted } else { &self.counters.full_denied };
        count.fetch_add(1, Ordering::Relaxed);
        admits
    }
}

impl Drop for PolicyShared {
    fn drop(&mut self) {
        let PolicyCounters { keys, timestamps, overrides, supplied, .. } = &self.counters;
        self.budget.release(keys.load(Ordering::Relaxed), timestamps.load(Ordering::Relaxed));
        self.budget.release_overrides(overrides.load(Ordering::Relaxed));
        self.budget.release_supplied(supplied.load(Ordering::Relaxed));
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
