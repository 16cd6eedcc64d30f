//! How much in how much time. Does not know by which algorithm it is counted.

use std::time::Duration;

use crate::limits::{LIMIT_MAX, WINDOW_NS_MAX};
use crate::moment::whole_ns;

/// At most `limit` units in `window`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    limit: u64,
    window_ns: u64,
    /// ceil(window / limit): derived here once, because a division is a tenth of a decision.
    interval_ns: u64,
}

/// A quota that would admit nothing, ever, or everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    /// Nothing could ever be taken.
    #[error("the limit is 0; expected at least 1 unit")]
    LimitIsZero,
    /// Nothing would ever be counted.
    #[error("the window is 0; expected at least 1 ns")]
    WindowIsZero,
}

impl Quota {
    /// At most `limit` units in `window`; both saturate at [`LIMIT_MAX`] and [`WINDOW_NS_MAX`].
    ///
    /// # Errors
    /// A limit of 0 or a window of 0.
    pub fn new(limit: u64, window: Duration) -> Result<Self, QuotaError> {
        if limit == 0 {
            return Err(QuotaError::LimitIsZero);
        }
        if window.is_zero() {
            return Err(QuotaError::WindowIsZero);
        }
        let (limit, window_ns) = (limit.min(LIMIT_MAX), whole_ns(window).min(WINDOW_NS_MAX));
        Ok(Self { limit, window_ns, interval_ns: window_ns.div_ceil(limit) })
    }

    /// Units that may be used in one window.
    #[must_use]
    pub const fn limit(&self) -> u64 {
        self.limit
    }

    /// The window in nanoseconds.
    #[must_use]
    pub const fn window_ns(&self) -> u64 {
        self.window_ns
    }

    /// The window.
    #[must_use]
    pub const fn window(&self) -> Duration {
        Duration::from_nanos(self.window_ns)
    }

    /// The time in which one unit comes back when units come back evenly: ceil(window / limit).
    pub(crate) const fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// The time in which `limit` units come back evenly: the window, and less than `limit` nanoseconds more.
    pub(crate) const fn burst_ns(&self) -> u64 {
        self.interval_ns * self.limit
    }
}
