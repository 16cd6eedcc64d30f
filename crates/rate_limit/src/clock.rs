//! The limiter's clock: nanoseconds since the process began, or a time set by a test.

use limiter::Moment;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The source of the limiter's time.
#[derive(Clone, Debug)]
pub enum LimitClock {
    /// The machine's monotonic clock. It neither stops nor goes back, whatever happens to the wall clock.
    Monotonic {
        /// When the process began.
        begun: Instant,
    },
    /// A clock that is set by hand.
    Manual(Arc<AtomicU64>),
}

impl Default for LimitClock {
    fn default() -> Self {
        Self::Monotonic { begun: Instant::now() }
    }
}

impl LimitClock {
    /// A clock that stands still until it is advanced.
    #[must_use]
    pub fn manual() -> Self {
        Self::Manual(Arc::default())
    }

    /// Advances a manual clock; the machine's own cannot be advanced.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(now_ns) = self {
            now_ns.fetch_add(Moment::after(by).0, Ordering::SeqCst);
        }
    }

    #[must_use]
    pub fn now(&self) -> Moment {
        self.at(Instant::now())
    }

    /// The time at this moment of the machine's own clock, for a caller that has read it already.
    #[must_use]
    pub fn at(&self, moment: Instant) -> Moment {
        match self {
            Self::Monotonic { begun } => Moment::after(moment.duration_since(*begun)),
            Self::Manual(now_ns) => Moment(now_ns.load(Ordering::SeqCst)),
        }
    }
}
