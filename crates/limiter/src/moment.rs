//! A point in time as the caller counts it. Does not know which clock that is.

use std::time::Duration;

/// Nanoseconds on a clock of the caller's that all calls share.
///
/// Any origin will do; a monotonic clock that began with the process is best. Sums stop at the end of the range, 584 years
/// after the origin; decisions are exact for the first 292 of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);
    /// Later than every moment that a clock shows.
    pub const MAX: Self = Self(u64::MAX);

    /// So long after the origin.
    #[must_use]
    pub fn after(origin: Duration) -> Self {
        Self(whole_ns(origin))
    }

    /// So much later.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        self.plus_ns(whole_ns(span))
    }

    /// How long ago `earlier` was; zero if it has not been yet.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns_since(earlier))
    }

    pub(crate) const fn plus_ns(self, span_ns: u64) -> Self {
        Self(self.0.saturating_add(span_ns))
    }

    pub(crate) const fn minus_ns(self, span_ns: u64) -> Self {
        Self(self.0.saturating_sub(span_ns))
    }

    pub(crate) const fn ns_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// Nanoseconds of a span, saturating.
pub(crate) fn whole_ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
