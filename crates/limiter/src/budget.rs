//! How much may be held, counted over all policies. Does not know what is held.

use crate::Capacity;
use crate::limits::OVERRIDES_MAX;
use crate::sync::{AtomicUsize, Ordering};

/// The budget of keys, timestamps and overrides, shared by all that count into it.
#[derive(Debug)]
pub struct Budget {
    capacity: Capacity,
    held: HeldCounts,
}

/// As many keys have a quota of their own as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{OVERRIDES_MAX} keys have a quota of their own, as many as may; take one back first")]
pub struct TooManyOverrides;

/// What is held: by one policy, or by all.
#[derive(Debug, Default)]
pub(crate) struct HeldCounts {
    pub(crate) keys: AtomicUsize,
    pub(crate) timestamps: AtomicUsize,
    pub(crate) overrides: AtomicUsize,
    pub(crate) supplied: AtomicUsize,
}

/// What is taken of a budget before it is used, or given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) keys: usize,
    pub(crate) timestamps: usize,
    pub(crate) overrides: usize,
    /// Quotas that hits bring along.
    pub(crate) supplied: usize,
}

impl Budget {
    /// Room for so much.
    #[must_use]
    pub fn new(capacity: Capacity) -> Self {
        Self { capacity, held: HeldCounts::default() }
    }

    /// How much there is room for.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Keys held.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.held.keys.load(Ordering::Relaxed)
    }

    /// Timestamps for which memory is held.
    #[must_use]
    pub fn timestamps(&self) -> usize {
        self.held.timestamps.load(Ordering::Relaxed)
    }

    /// Takes all of it or nothing. Supplied quotas may be as many as overrides, and are counted apart from them, so that
    /// clients cannot use up the operators' overrides.
    pub(crate) fn try_acquire(&self, wanted: Reservation) -> bool {
        let ceilings = [self.capacity.keys_max, self.capacity.timestamps_max, OVERRIDES_MAX, OVERRIDES_MAX];
        let kinds = self.held.with(wanted);
        for (at, ((held, more), ceiling)) in kinds.iter().zip(ceilings).enumerate() {
            if !take(held, *more, ceiling) {
                subtract(&kinds[..at]);
                return false;
            }
        }
        true
    }

    /// Takes what moves here from a policy that releases it at once.
    pub(crate) fn acquire_unchecked(&self, moved: Reservation) {
        self.held.add(moved);
    }

    pub(crate) fn release(&self, reservation: Reservation) {
        self.held.subtract(reservation);
    }
}

impl HeldCounts {
    fn with(&self, reservation: Reservation) -> [(&AtomicUsize, usize); 4] {
        let Reservation { keys, timestamps, overrides, supplied } = reservation;
        [(&self.keys, keys), (&self.timestamps, timestamps), (&self.overrides, overrides), (&self.supplied, supplied)]
    }

    pub(crate) fn add(&self, more: Reservation) {
        for (held, more) in self.with(more).into_iter().filter(|(_, more)| *more > 0) {
            held.fetch_add(more, Ordering::Relaxed);
        }
    }

    pub(crate) fn subtract(&self, less: Reservation) {
        subtract(&self.with(less));
    }

    /// All that is held now.
    pub(crate) fn all(&self) -> Reservation {
        let [keys, timestamps, overrides, supplied] =
            self.with(Reservation::default()).map(|(held, _)| held.load(Ordering::Relaxed));
        Reservation { keys, timestamps, overrides, supplied }
    }
}

fn subtract(kinds: &[(&AtomicUsize, usize)]) {
    for (held, less) in kinds.iter().filter(|(_, less)| *less > 0) {
        held.fetch_sub(*less, Ordering::Relaxed);
    }
}

/// Takes all of it or nothing: a count never exceeds its ceiling, not even between two instructions.
fn take(held: &AtomicUsize, more: usize, ceiling: usize) -> bool {
    if more == 0 {
        return true;
    }
    let fits = |held: usize| held.checked_add(more).filter(|sum| *sum <= ceiling);
    held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
}
