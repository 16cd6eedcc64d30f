//! What the shards of one policy share: the budget, the hash, the counters. Does not know keys.

use std::sync::Arc;

use crate::Budget;
use crate::budget::{HeldCounts, Reservation};
use crate::key_hasher::KeyHasher;
use crate::sync::{AtomicBool, AtomicU64, Ordering};

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
    pub(crate) held: HeldCounts,
    pub(crate) forgotten: AtomicU64,
    pub(crate) full_denied: AtomicU64,
    pub(crate) full_admitted: AtomicU64,
}

impl PolicyShared {
    /// Takes all that is needed, or nothing.
    pub(crate) fn try_acquire(&self, reservation: Reservation) -> bool {
        let fits = self.budget.try_acquire(reservation);
        if fits {
            self.counters.held.add(reservation);
        }
        fits
    }

    /// Takes what moves here from a policy that releases it at once.
    pub(crate) fn acquire_unchecked(&self, moved: Reservation) {
        self.budget.acquire_unchecked(moved);
        self.counters.held.add(moved);
    }

    /// Releases a reservation, used or not.
    pub(crate) fn release(&self, reservation: Reservation) {
        self.budget.release(reservation);
        self.counters.held.subtract(reservation);
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
        self.budget.release(self.counters.held.all());
    }
}
