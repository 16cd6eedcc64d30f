//! The only clock and the only source of randomness of the server: everything else gets the time and random bytes from its callers.

use engine::time::UnixMs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const US_PER_MS: i64 = 1_000;

/// The time, in two forms. Dates ([`Clock::now`]) follow the best clock: that of the database that several nodes share, so that they agree
/// on when a lease ends, or else this system's. Durations (rounds, grace periods, rates, tickets) are measured by [`Clock::steady`], which
/// is never adjusted: it starts at the date of the start.
///
/// Between two corrections both follow the monotonic clock, so setting the system clock has no immediate effect: no lease that is written
/// here seems to last for an hour, and no other node's seems to be over.
#[derive(Clone, Debug)]
pub struct Clock {
    state: Arc<ClockState>,
}

#[derive(Debug)]
struct ClockState {
    began: Instant,
    /// The system's date at that moment.
    began_us: i64,
    /// The offset of dates.
    date_ms: AtomicI64,
    /// The offset of the steady time: that of dates at the start.
    steady_ms: AtomicI64,
}

impl Default for Clock {
    fn default() -> Self {
        let (date_ms, steady_ms) = Default::default();
        let hands = ClockState { began: Instant::now(), began_us: system_now_us(), date_ms, steady_ms };
        Self { state: Arc::new(hands) }
    }
}

impl Clock {
    #[must_use]
    pub fn now(&self) -> UnixMs {
        UnixMs(self.now_us() / US_PER_MS)
    }

    /// The date, in microseconds since the Unix epoch.
    #[must_use]
    pub fn now_us(&self) -> i64 {
        self.raw_us().saturating_add(in_us(&self.state.date_ms))
    }

    /// The time that is never adjusted.
    #[must_use]
    pub fn steady(&self) -> UnixMs {
        UnixMs(self.steady_us() / US_PER_MS)
    }

    /// The same, in microseconds.
    #[must_use]
    pub fn steady_us(&self) -> i64 {
        self.raw_us().saturating_add(in_us(&self.state.steady_ms))
    }

    /// Takes the date of a better clock, which was requested at `requested_at` (of [`Clock::raw`]) and has just arrived. Returns by how
    /// many milliseconds dates were adjusted.
    pub fn correct(&self, date: UnixMs, requested_at: UnixMs) -> i64 {
        let middle = requested_at.0 + (self.raw().0 - requested_at.0) / 2;
        let date_ms = date.0.saturating_sub(middle);
        date_ms.saturating_sub(self.state.date_ms.swap(date_ms, Ordering::Relaxed))
    }

    /// Starts the steady time at the date: before anything is measured by it.
    pub fn begin_steady(&self) {
        self.state.steady_ms.store(self.state.date_ms.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// This process's own time, uncorrected.
    #[must_use]
    pub fn raw(&self) -> UnixMs {
        UnixMs(self.raw_us() / US_PER_MS)
    }

    /// The system clock's time, however it was set.
    #[must_use]
    pub fn system(&self) -> UnixMs {
        UnixMs(system_now_us() / US_PER_MS)
    }

    fn raw_us(&self) -> i64 {
        let passed_us = i64::try_from(self.state.began.elapsed().as_micros()).unwrap_or(i64::MAX);
        self.state.began_us.saturating_add(passed_us)
    }
}

fn in_us(ms: &AtomicI64) -> i64 {
    ms.load(Ordering::Relaxed).saturating_mul(US_PER_MS)
}

fn system_now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// A random part of `most`, to spread actions over time.
#[must_use]
pub fn jitter(most: Duration) -> Duration {
    most.mul_f64(f64::from(u32::from_ne_bytes(random_bytes())) / f64::from(u32::MAX))
}

/// Random bytes from the operating system, for ids, seeds and secrets.
///
/// # Panics
/// When the operating system provides no randomness: nothing can be served safely then.
#[must_use]
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    /// Compares two readings of running clocks, with tolerance.
    #[track_caller]
    fn check_about(have_ms: i64, want_ms: i64) {
        assert!((want_ms - 60_000..want_ms + 60_000).contains(&have_ms), "{have_ms} ms instead of {want_ms}");
    }

    #[test]
    fn dates_follow_a_better_clock_and_the_steady_time_goes_on() {
        let clock = Clock::default();
        let started = clock.raw();
        check_about(clock.correct(started.plus(Duration::from_secs(86_400)), clock.raw()), 24 * HOUR_MS);
        clock.begin_steady();
        for set_ms in [HOUR_MS, -HOUR_MS, -5 * HOUR_MS] {
            let steady = clock.steady();
            let moved_ms = clock.correct(UnixMs(clock.now().0 + set_ms), clock.raw());
            check_about(moved_ms, set_ms);
            check_about(clock.steady().0 - steady.0, 0);
        }
        check_about(clock.now().0 - started.0, (24 - 5) * HOUR_MS);
        check_about(clock.steady().0 - started.0, 24 * HOUR_MS);
        check_about(clock.now_us() / US_PER_MS - clock.now().0, 0);
    }
}
