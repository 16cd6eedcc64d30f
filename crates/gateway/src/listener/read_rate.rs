//! How fast a client reads its responses. A client that reads little or nothing keeps the response in memory; so the time in which
//! the connection accepts no bytes is added up, and each byte that it accepts afterwards reduces it a little.
//!
//! The time that the server itself takes does not count, nor does an earlier burst.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// Of one connection. Its stream and its watchdog run in one task, one at a time.
#[derive(Debug)]
pub(super) struct ReadRateTracker {
    limits: ReadRateLimits,
    begun: Instant,
    /// Since when the client reads nothing, in nanoseconds from `begun`; 0 while it reads.
    blocked_since_ns: AtomicU64,
    /// The blocked time that is not made up for, in nanoseconds.
    debt_ns: AtomicU64,
    /// How many bytes make up for a second of it, for the response in progress.
    bytes_per_s: AtomicU64,
}

/// In the extensions of a response whose body keeps this many bytes in memory until it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeps(pub(crate) usize);

/// How slowly a client may read.
#[derive(Clone, Copy, Debug)]
pub struct ReadRateLimits {
    /// For how long it may read nothing.
    pub stall_max: Duration,
    /// How many bytes make up for a second of that.
    pub bytes_per_s_min: u32,
}

impl ReadRateLimits {
    /// How long so many bytes may take in all, once the client has begun to block.
    pub(super) fn write_time_max(&self, bytes: usize) -> Duration {
        self.stall_max + Duration::from_nanos(earned_ns(bytes, self.bytes_per_s(0)))
    }

    /// How many bytes make up for a second while a response keeps `kept` bytes: memory kept for long is missing elsewhere.
    fn bytes_per_s(&self, kept: usize) -> u64 {
        let kept_ms = (kept as u64).saturating_mul(1_000);
        let at_least = kept_ms / u64::try_from(self.stall_max.as_millis()).unwrap_or(u64::MAX).max(1);
        at_least.max(self.bytes_per_s_min.max(1).into())
    }
}

/// The time that so many bytes may take.
fn earned_ns(bytes: usize, bytes_per_s: u64) -> u64 {
    (bytes as u64).saturating_mul(1_000_000_000) / bytes_per_s
}

impl ReadRateTracker {
    pub(super) fn new(limits: ReadRateLimits, begun: Instant) -> Self {
        let bytes_per_s = AtomicU64::new(limits.bytes_per_s(0));
        Self { limits, begun, blocked_since_ns: AtomicU64::new(0), debt_ns: AtomicU64::new(0), bytes_per_s }
    }

    /// The next response keeps this many bytes, besides the connection's own buffer.
    pub(super) fn keeps(&self, bytes: usize) {
        self.bytes_per_s.store(self.limits.bytes_per_s(bytes), Relaxed);
    }

    /// The client reads nothing now.
    pub(super) fn write_blocked(&self, now: impl FnOnce() -> Instant) {
        if self.blocked_since_ns.load(Relaxed) == 0 {
            self.blocked_since_ns.store(self.ns_since_begun(now()), Relaxed);
        }
    }

    /// The client read this many bytes. For a client that never blocked, this does not read the clock.
    pub(super) fn bytes_taken(&self, bytes: usize, now: impl FnOnce() -> Instant) {
        let (since, mut debt) = (self.blocked_since_ns.load(Relaxed), self.debt_ns.load(Relaxed));
        if since > 0 {
            debt += self.ns_since_begun(now()).saturating_sub(since);
            self.blocked_since_ns.store(0, Relaxed);
        }
        if debt > 0 {
            self.debt_ns.store(debt.saturating_sub(earned_ns(bytes, self.bytes_per_s.load(Relaxed))), Relaxed);
        }
    }

    /// When the client will have read nothing for too long, unless it reads something before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let since = Some(self.blocked_since_ns.load(Relaxed)).filter(|since| *since > 0)?;
        let left = self.limits.stall_max.saturating_sub(Duration::from_nanos(self.debt_ns.load(Relaxed)));
        Some(self.begun + Duration::from_nanos(since) + left)
    }

    fn ns_since_begun(&self, now: Instant) -> u64 {
        (now.duration_since(self.begun).as_nanos() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's action in one second.
    #[derive(Clone, Copy)]
    enum Action {
        Nothing,
        Takes(usize),
        /// Reads so much, and then nothing more.
        TakesAndStops(usize),
    }
    use Action::{Nothing, Takes, TakesAndStops};

    /// With a stall limit of ten seconds and 1,000 bytes that make up for one: the actions second by second, and the deadline.
    #[track_caller]
    fn check(seconds: &[Action], want_s: Option<u64>) {
        check_keeping(0, seconds, want_s);
    }

    /// The same while a response keeps so many bytes.
    #[track_caller]
    fn check_keeping(kept: usize, seconds: &[Action], want_s: Option<u64>) {
        let start = Instant::now();
        let limits = ReadRateLimits { stall_max: Duration::from_secs(10), bytes_per_s_min: 1_000 };
        let tracker = ReadRateTracker::new(limits, start);
        tracker.keeps(kept);
        for (at, action) in seconds.iter().enumerate() {
            let now = || start + Duration::from_secs(at as u64 + 1);
            match *action {
                Nothing => tracker.write_blocked(now),
                Takes(bytes) => tracker.bytes_taken(bytes, now),
                TakesAndStops(bytes) => {
                    tracker.bytes_taken(bytes, now);
                    tracker.write_blocked(now);
                }
            }
        }
        assert_eq!(tracker.deadline().map(|due| (due - start).as_secs()), want_s);
    }

    #[test]
    fn a_client_that_reads_too_little_has_a_deadline() {
        check(&[], None);
        check(&[Takes(1), Takes(1), Takes(0)], None);
        check(&[Nothing], Some(11));
        check(&[Nothing, Nothing, Nothing], Some(11));
        check(&[Takes(1_000_000), Nothing], Some(12));
        // A second was lost, and half of it made up for.
        check(&[Nothing, TakesAndStops(500)], Some(2 + 9));
        check(&[Nothing, TakesAndStops(1_000)], Some(2 + 10));
        check(&[Nothing, TakesAndStops(1_000_000)], Some(2 + 10));
        check(&[Nothing, TakesAndStops(0), TakesAndStops(0), TakesAndStops(0)], Some(11));
        check(&[Nothing, Nothing, Nothing, Takes(10)], None);
        check(&[Nothing, Nothing, Nothing, Takes(10), Nothing], Some(5 + 10 - 3));
    }

    #[test]
    fn a_client_whose_response_keeps_much_memory_must_read_faster() {
        // Ten seconds for all of it.
        check_keeping(40_000, &[Nothing, TakesAndStops(4_000)], Some(2 + 10));
        check_keeping(40_000, &[Nothing, TakesAndStops(2_000)], Some(2 + 9));
        check_keeping(10_000, &[Nothing, TakesAndStops(1_000)], Some(2 + 10));
        check_keeping(100, &[Nothing, TakesAndStops(1_000)], Some(2 + 10));
        check_keeping(100, &[Nothing, TakesAndStops(500)], Some(2 + 9));
    }

    /// A client at the minimum rate has no deadline; at half of it, twice the time of a stall.
    #[test]
    fn a_trickle_does_not_last() {
        let gone_after = |bytes: usize| {
            let start = Instant::now();
            let tracker = ReadRateTracker::new(
                ReadRateLimits { stall_max: Duration::from_secs(10), bytes_per_s_min: 1_000 },
                start,
            );
            tracker.write_blocked(|| start);
            (1..1_000).find(|second| {
                let now = start + Duration::from_secs(*second);
                let is_over = tracker.deadline().is_some_and(|due| due <= now);
                tracker.bytes_taken(bytes, || now);
                tracker.write_blocked(|| now);
                is_over
            })
        };
        assert!(gone_after(1_000).is_none() && matches!(gone_after(0), Some(10..=11)));
        let half = gone_after(500).unwrap();
        assert!((18..=21).contains(&half), "{half}");
    }
}
