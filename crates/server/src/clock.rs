//! The only clock and the only dice of the server: everything below is given the time and random bytes by its callers.

use engine::time::UnixMs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The wall clock, corrected to the clock of a shared database, so that nodes agree on when a lease ends.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    offset_ms: Arc<AtomicI64>,
}

impl Clock {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> UnixMs {
        UnixMs(system_now().0.saturating_add(self.offset_ms.load(Ordering::Relaxed)))
    }

    /// The time now, in microseconds since the Unix epoch.
    #[must_use]
    pub fn now_us(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let now_us = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
        now_us.saturating_add(self.offset_ms.load(Ordering::Relaxed).saturating_mul(1_000))
    }

    /// Takes over the database's clock: `database_now` was read between `asked` and now, both of [`Clock::raw`].
    pub fn correct(&self, database_now: UnixMs, asked: UnixMs) {
        let answered = system_now();
        let middle = asked.0 + (answered.0 - asked.0) / 2;
        self.offset_ms.store(database_now.0.saturating_sub(middle), Ordering::Relaxed);
    }

    /// This machine's own clock, uncorrected.
    #[must_use]
    pub fn raw(&self) -> UnixMs {
        system_now()
    }
}

fn system_now() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMs(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A random part of `most`, for those who must not all do something in one instant.
#[must_use]
pub fn jitter(most: Duration) -> Duration {
    most.mul_f64(f64::from(u32::from_ne_bytes(random_bytes())) / f64::from(u32::MAX))
}

/// Random bytes from the operating system, for ids, seeds and secrets.
///
/// # Panics
/// When the operating system has no randomness to give: nothing can be served safely then.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}
