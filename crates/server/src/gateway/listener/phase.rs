//! The pulse of a connection: what it is waiting for, and until when. Clocks and locks are a good part of what a short request
//! costs here: the time is asked for once, by the watch, when all that could be done at once has been done.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionPhase {
    /// For the rest of a request's head, whose first byte came then; `None`: just now.
    Head { since: Option<Instant> },
    /// For our handler: the client owes nothing. The body has a time of its own.
    Handling,
    /// For the first byte of the answer to go. Nobody waits here: whoever has an answer tries to write it at once, and it goes, or
    /// the client does not take it.
    Responding,
    /// For the next request, or for the client to take the answer; the last byte moved then; `None`: just now.
    Idle { since: Option<Instant> },
}

/// What became of an attempt to send the client something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteProgress {
    /// Bytes went.
    Advanced,
    /// The client takes none.
    Blocked,
}

/// Shared by the stream (bytes), the handler (requests) and the watch (times) of one connection. They are one task, and take
/// turns: each reads and writes the whole phase, and none comes between.
#[derive(Debug)]
pub(super) struct PhaseTracker {
    begun: Instant,
    /// The phase in the lowest two bits, then one that says that its time is known; above them its time since `begun`, in
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
    /// The first byte has come.
    pub(super) fn new(now: Instant) -> Self {
        Self { begun: now, phase: AtomicU64::new(HEAD | TIME_KNOWN) }
    }

    /// Bytes came from the client.
    pub(super) fn bytes_read(&self) {
        if let ConnectionPhase::Idle { .. } = self.get() {
            self.set(ConnectionPhase::Head { since: None });
        }
    }

    /// The client was sent something.
    pub(super) fn write_attempted(&self, sent: WriteProgress) {
        let moves = match self.get() {
            ConnectionPhase::Responding => true,
            ConnectionPhase::Idle { .. } => sent == WriteProgress::Advanced,
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

    /// The handler has an answer.
    pub(super) fn response_ready(&self) {
        self.set(ConnectionPhase::Responding);
    }

    /// Whether no request is with the handler, and no answer of its has not begun to go.
    pub(super) fn is_awaiting_client(&self) -> bool {
        matches!(self.get(), ConnectionPhase::Head { .. } | ConnectionPhase::Idle { .. })
    }

    /// When the client will have overdrawn its time, unless something moves before; `None` while it owes nothing. To be asked
    /// whenever the connection has done what it could: what moved until then has moved now.
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

    /// After these steps, one a second, the client must have until this second.
    #[track_caller]
    fn check(steps: &[fn(&PhaseTracker)], want_s: Option<u64>) {
        let begun = Instant::now();
        let pulse = PhaseTracker::new(begun);
        let mut due = pulse.deadline(HEADER, IDLE, || begun);
        for (at, step) in steps.iter().enumerate() {
            step(&pulse);
            let now = || begun + Duration::from_secs(at as u64 + 1);
            due = pulse.deadline(HEADER, IDLE, now);
        }
        assert_eq!(due.map(|due| (due - begun).as_secs()), want_s);
        // Looking again, later, changes nothing.
        let much_later = || begun + Duration::from_secs(1_000);
        assert_eq!(pulse.deadline(HEADER, IDLE, much_later), due);
    }

    #[test]
    fn each_phase_has_its_time() {
        let asked: fn(&PhaseTracker) = |pulse| pulse.request_started();
        let answered: fn(&PhaseTracker) = |pulse| pulse.response_ready();
        let read: fn(&PhaseTracker) = |pulse| pulse.bytes_read();
        let wrote: fn(&PhaseTracker) = |pulse| pulse.write_attempted(WriteProgress::Advanced);
        let stalled: fn(&PhaseTracker) = |pulse| pulse.write_attempted(WriteProgress::Blocked);
        // What happens without a look between is one step.
        let served: fn(&PhaseTracker) = |pulse| {
            pulse.bytes_read();
            pulse.request_started();
            pulse.response_ready();
            pulse.write_attempted(WriteProgress::Advanced);
        };
        let served_and_begun: fn(&PhaseTracker) = |pulse| {
            pulse.request_started();
            pulse.response_ready();
            pulse.write_attempted(WriteProgress::Advanced);
            pulse.bytes_read();
        };
        check(&[], Some(10));
        check(&[read], Some(10));
        check(&[read, read, read], Some(10));
        check(&[asked], None);
        check(&[asked, read, wrote, stalled], None);
        check(&[asked, answered], None);
        check(&[asked, answered, wrote], Some(3 + 75));
        check(&[asked, answered, stalled], Some(3 + 75));
        check(&[asked, answered, stalled, stalled], Some(3 + 75));
        check(&[asked, answered, stalled, wrote], Some(4 + 75));
        check(&[asked, answered, wrote, read], Some(4 + 10));
        check(&[asked, answered, read, wrote, read], Some(5 + 10));
        check(&[asked, answered, wrote, read, wrote], Some(4 + 10));
        check(&[served], Some(1 + 75));
        check(&[served, served], Some(2 + 75));
        check(&[served_and_begun], Some(1 + 10));
        check(&[served_and_begun, read], Some(1 + 10));
        check(&[served, served_and_begun, asked], None);
    }
}
