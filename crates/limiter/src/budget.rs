//! How much may be held, counted over all policies. Does not know what is held.

use crate::Capacity;
use crate::limits::OVERRIDES_MAX;
use crate::sync::{AtomicUsize, Ordering};

/// The budget of keys, timestamps and overrides, shared by all that count into it.
#[derive(Debug)]
pub struct Budget {
    capacity: Capacity,
    keys: AtomicUsize,
    timestamps: AtomicUsize,
    overrides: AtomicUsize,
    supplied: AtomicUsize,
}

/// As many keys have a quota of their own as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{OVERRIDES_MAX} keys have a quota of their own, as many as may; take one back first")]
pub struct TooManyOverrides;

impl Budget {
    /// Room for so much.
    #[must_use]
    pub const fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            keys: AtomicUsize::new(0),
            timestamps: AtomicUsize::new(0),
            overrides: AtomicUsize::new(0),
            supplied: AtomicUsize::new(0),
        }
    }

    /// How much there is room for.
    #[must_use]
    pub const fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// Keys held.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    /// Timestamps for which memory is held.
    #[must_use]
    pub fn timestamps(&self) -> usize {
        self.timestamps.load(Ordering::Relaxed)
    }

    pub(crate) fn try_acquire(&self, keys: usize, timestamps: usize) -> bool {
        if !take(&self.keys, keys, self.capacity.keys_max) {
            return false;
        }
        let fits = take(&self.timestamps, timestamps, self.capacity.timestamps_max);
        if !fits {
            self.keys.fetch_sub(keys, Ordering::Relaxed);
        }
        fits
    }

    pub(crate) fn release(&self, keys: usize, timestamps: usize) {
        if keys > 0 {
            self.keys.fetch_sub(keys, Ordering::Relaxed);
        }
        if timestamps > 0 {
            self.timestamps.fetch_sub(timestamps, Ordering::Relaxed);
        }
    }

    pub(crate) fn try_acquire_override(&self) -> Result<(), TooManyOverrides> {
        if take(&self.overrides, 1, OVERRIDES_MAX) { Ok(()) } else { Err(TooManyOverrides) }
    }

    /// Reserves a quota supplied with a hit: as many as overrides, and counted apart from them, so that clients cannot
    /// use up the operators' overrides.
    pub(crate) fn try_acquire_supplied(&self, quotas: usize) -> bool {
        take(&self.supplied, quotas, OVERRIDES_MAX)
    }

    pub(crate) fn release_supplied(&self, quotas: usize) {
        if quotas > 0 {
            self.supplied.fetch_sub(quotas, Ordering::Relaxed);
        }
    }

    /// Adds overrides that move here: their old owner releases them at once.
    pub(crate) fn move_overrides_in(&self, overrides: usize) {
        self.overrides.fetch_add(overrides, Ordering::Relaxed);
    }

    pub(crate) fn release_overrides(&self, overrides: usize) {
        if overrides > 0 {
            self.overrides.fetch_sub(overrides, Ordering::Relaxed);
        }
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
