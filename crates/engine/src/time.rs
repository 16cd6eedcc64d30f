//! Points in time: milliseconds since the Unix epoch, supplied by the caller.

use std::time::Duration;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// The end of time, which never comes: when something ends that has no end.
    pub const MAX: Self = Self(i64::MAX);

    /// This point moved into the future; saturates at the end of time.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(whole_ms(span)))
    }

    /// This point moved into the past; saturates at the beginning of time.
    #[must_use]
    pub fn minus(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(whole_ms(span)))
    }

    /// How long ago `earlier` was; zero when it lies in the future, so that a clock that steps back does no harm.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn whole_ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(later: i64, earlier: i64, want_ms: u64) {
        assert_eq!(UnixMs(later).since(UnixMs(earlier)), Duration::from_millis(want_ms));
    }

    #[test]
    fn spans_never_go_below_zero_or_wrap() {
        check(1_500, 1_000, 500);
        check(1_000, 1_500, 0);
        check(i64::MAX, i64::MIN, i64::MAX as u64);
        assert_eq!(UnixMs(i64::MAX).plus(Duration::MAX), UnixMs(i64::MAX));
        assert_eq!(UnixMs(5).minus(Duration::from_millis(7)), UnixMs(-2));
    }
}
