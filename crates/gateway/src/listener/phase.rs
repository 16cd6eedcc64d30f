//! The phase of a connection: what it waits for, and until when. Clocks and locks are a good part of the cost of a short request
//! here: the watchdog reads the clock once, after everything that could be done at once has been done.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionPhase {
    /// The rest of a request's head, whose first byte came then; `None`: just now.
    Head { since: Option<Instant> },
    /// The handler: no deadline for the client. The body has its own.
    Handling,
    /// The first byte of the response. No waiting happens here: a ready response is written at once, and either goes out or the
    /// client does not read.
    Responding,
    /// The next request, or the client reading the response; the last byte moved then; `None`: just now.
    Idle { since: Option<Instant> },
}

/// The result of an attempt to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteProgress {
    Advanced,
    /// The client reads none.
    Blocked,
}

/// Shared by the stream (bytes), the handler (requests) and the watchdog (times) of one connection. They run in one task, one at
/// a time: each reads and writes the whole phase without interruption.
#[derive(Debug)]
pub(super) struct PhaseTracker {
    begun: Instant,
    /// The phase in the lowest two bits, then a bit that says whether its time is known; above them its time since `begun`, in
    /// nanoseconds.
    phase: AtomicU64,
}

const HEAD: u64 = 0;
const HANDLING: u64 = 1;
const RESPONDING: u64 = 2;
const IDLE: u64 = 3;
const TIME_KNOWN: u64 = 4;
const NS_SHIFT: u32 = 3;

impl PhaseTracker {
    pub(super) fn new(now: Instant) -> Self {
        Self { begun: now, phase: AtomicU64::new(HEAD | TIME_KNOWN) }
    }

    /// Bytes came from the client.
    pub(super) fn bytes_read(&self) {
        if let ConnectionPhase::Idle { .. } = self.get() {
            self.set(ConnectionPhase::Head { since: None });
        }
    }

    /// Bytes for the client were written, or could not be.
    pub(super) fn write_attempted(&self, progress: WriteProgress) {
        let moves = match self.get() {
            ConnectionPhase::Responding => true,
            ConnectionPhase::Idle { .. } => progress == WriteProgress::Advanced,
            ConnectionPhase::Head { .. } | ConnectionPhase::Handling => false,
        };
        if moves {
            self.set(ConnectionPhase::Idle { since: None });
        }
    }

    /// A head is complete and its request is with the handler.
    pub(super) fn request_started(&self) {
        self.set(ConnectionPhase::Handling);
    }

    /// The handler has a response.
    pub(super) fn response_ready(&self) {
        self.set(ConnectionPhase::Responding);
    }

    /// Whether no request is with the handler, and no response of it is unsent.
    pub(super) fn is_awaiting_client(&self) -> bool {
        matches!(self.get(), ConnectionPhase::Head { .. } | ConnectionPhase::Idle { .. })
    }

    /// When the client's time runs out, unless bytes move before; `None` while it has no deadline. To be called whenever the
    /// connection has done what it could: bytes that moved before count as moved now.
    pub(super) fn deadline(
        &self,
        header_timeout: Duration,
        idle_timeout: Duration,
        now: impl FnOnce() -> Instant,
    ) -> Option<Instant> {
        match self.get() {
            ConnectionPhase::Head { since } => {
                let since = since.unwrap_or_else(now);
                self.set(ConnectionPhase::Head { since: Some(since) });
                Some(since + header_timeout)
            }
            ConnectionPhase::Idle { since } => {
                let since = since.unwrap_or_else(now);
                self.set(ConnectionPhase::Idle { since: Some(since) });
                Some(since + idle_timeout)
            }
            ConnectionPhase::Handling | ConnectionPhase::Responding => None,
        }
    }

    fn get(&self) -> ConnectionPhase {
        let phase = self.phase.load(Relaxed);
        let since = (phase & TIME_KNOWN != 0).then(|| self.begun + Duration::from_nanos(phase >> NS_SHIFT));
        match phase & IDLE {
            HEAD => ConnectionPhase::Head { since },
            HANDLING => ConnectionPhase::Handling,
            RESPONDING => ConnectionPhase::Responding,
            _ => ConnectionPhase::Idle { since },
        }
    }

    fn set(&self, phase: ConnectionPhase) {
        // 73 years fit.
        let at = |since: Option<Instant>| {
            since.map_or(0, |since| (since.duration_since(self.begun).as_nanos() as u64) << NS_SHIFT | TIME_KNOWN)
        };
        let phase = match phase {
            ConnectionPhase::Head { since } => at(since) | HEAD,
            ConnectionPhase::Handling => HANDLING,
            ConnectionPhase::Responding => RESPONDING,
            ConnectionPhase::Idle { since } => at(since) | IDLE,
        };
        self.phase.store(phase, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Duration = Duration::from_secs(10);
    const IDLE: Duration = Duration::from_secs(75);

    /// After these steps, one a second, the client's deadline must be this second.
    #[track_caller]
    fn check(steps: &[fn(&PhaseTracker)], want_s: Option<u64>) {
        let start = Instant::now();
        let tracker = PhaseTracker::new(start);
        let mut due = tracker.deadline(HEADER, IDLE, || start);
        for (at, step) in steps.iter().enumerate() {
            step(&tracker);
            let now = || start + Duration::from_secs(at as u64 + 1);
            due = tracker.deadline(HEADER, IDLE, now);
        }
        assert_eq!(due.map(|due| (due - start).as_secs()), want_s);
        // Looking again, later, changes nothing.
        let much_later = || start + Duration::from_secs(1_000);
        assert_eq!(tracker.deadline(HEADER, IDLE, much_later), due);
    }

    #[test]
    fn each_phase_has_its_time() {
        let started: fn(&PhaseTracker) = |tracker| tracker.request_started();
        let ready: fn(&PhaseTracker) = |tracker| tracker.response_ready();
        let read: fn(&PhaseTracker) = |tracker| tracker.bytes_read();
        let wrote: fn(&PhaseTracker) = |tracker| tracker.write_attempted(WriteProgress::Advanced);
        let stalled: fn(&PhaseTracker) = |tracker| tracker.write_attempted(WriteProgress::Blocked);
        // Steps without a look at the clock between them count as one.
        let served: fn(&PhaseTracker) = |tracker| {
            tracker.bytes_read();
            tracker.request_started();
            tracker.response_ready();
            tracker.write_attempted(WriteProgress::Advanced);
        };
        let served_and_begun: fn(&PhaseTracker) = |tracker| {
            tracker.request_started();
            tracker.response_ready();
            tracker.write_attempted(WriteProgress::Advanced);
            tracker.bytes_read();
        };
        check(&[], Some(10));
        check(&[read], Some(10));
        check(&[read, read, read], Some(10));
        check(&[started], None);
        check(&[started, read, wrote, stalled], None);
        check(&[started, ready], None);
        check(&[started, ready, wrote], Some(3 + 75));
        check(&[started, ready, stalled], Some(3 + 75));
        check(&[started, ready, stalled, stalled], Some(3 + 75));
        check(&[started, ready, stalled, wrote], Some(4 + 75));
        check(&[started, ready, wrote, read], Some(4 + 10));
        check(&[started, ready, read, wrote, read], Some(5 + 10));
        check(&[started, ready, wrote, read, wrote], Some(4 + 10));
        check(&[served], Some(1 + 75));
        check(&[served, served], Some(2 + 75));
        check(&[served_and_begun], Some(1 + 10));
        check(&[served_and_begun, read], Some(1 + 10));
        check(&[served, served_and_begun, started], None);
    }
}
