//! How much may be held, counted over all policies. Refuses to know what is held.

use crate::Capacity;
use crate::limits::OVERRIDES_MAX;
use crate::sync::{AtomicUsize, Ordering};

/// Room for keys, stamps and overrides, shared by all that count into it.
#[derive(Debug)]
pub struct Room {
    capacity: Capacity,
    keys: AtomicUsize,
    stamps: AtomicUsize,
    overrides: AtomicUsize,
    brought: AtomicUsize,
}

/// As many keys have a quota of their own as may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{OVERRIDES_MAX} keys have a quota of their own, as many as may; take one back first")]
pub struct TooManyOverrides;

impl Room {
    /// Room for so much.
    #[must_use]
    pub const fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            keys: AtomicUsize::new(0),
            stamps: AtomicUsize::new(0),
            overrides: AtomicUsize::new(0),
            brought: AtomicUsize::new(0),
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

    /// Stamps for which memory is held.
    #[must_use]
    pub fn stamps(&self) -> usize {
        self.stamps.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self, keys: usize, stamps: usize) -> bool {
        if !take(&self.keys, keys, self.capacity.keys_max) {
            return false;
        }
        let fits = take(&self.stamps, stamps, self.capacity.stamps_max);
        if !fits {
            self.keys.fetch_sub(keys, Ordering::Relaxed);
        }
        fits
    }

    pub(crate) fn give_back(&self, keys: usize, stamps: usize) {
        if keys > 0 {
            self.keys.fetch_sub(keys, Ordering::Relaxed);
        }
        if stamps > 0 {
            self.stamps.fetch_sub(stamps, Ordering::Relaxed);
        }
    }

    pub(crate) fn take_override(&self) -> Result<(), TooManyOverrides> {
        if take(&self.overrides, 1, OVERRIDES_MAX) { Ok(()) } else { Err(TooManyOverrides) }
    }

    /// Room for a quota that a hit has brought along: as much as for those that somebody sets, and none of theirs, so that
    /// nobody who asks can keep anybody from setting one.
    pub(crate) fn take_brought(&self, quotas: usize) -> bool {
        take(&self.brought, quotas, OVERRIDES_MAX)
    }

    pub(crate) fn give_back_brought(&self, quotas: usize) {
        if quotas > 0 {
            self.brought.fetch_sub(quotas, Ordering::Relaxed);
        }
    }

    /// Takes room for overrides that move: whoever holds them gives theirs back at once.
    pub(crate) fn take_moving_overrides(&self, overrides: usize) {
        self.overrides.fetch_add(overrides, Ordering::Relaxed);
    }

    pub(crate) fn give_back_overrides(&self, overrides: usize) {
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
