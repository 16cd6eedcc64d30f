//! The pulse of a connection: what it is waiting for, and until when. The time is handed in, and asked for only where it matters:
//! clocks and locks are a good part of what a short request costs here.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For the rest of a request's head, whose first byte came then.
    Head { since: Instant },
    /// For our handler: the client owes nothing. The body has a time of its own.
    Handling,
    /// For the first byte of the answer to go. Nobody waits here: whoever has an answer tries to write it at once, and it goes, or
    /// the client does not take it.
    Answered,
    /// For the next request, or for the client to take the answer; the last byte moved then.
    Quiet { since: Instant },
}

/// What became of an attempt to send the client something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Bytes went.
    Some,
    /// The client takes none.
    Nothing,
}

/// Shared by the stream (bytes), the handler (requests) and the watch (times) of one connection. They are one task, and take
/// turns: each reads and writes the whole phase, and none comes between.
#[derive(Debug)]
pub(super) struct Pulse {
    begun: Instant,
    /// The phase in the lowest two bits; above them its time since `begun`, in nanoseconds.
    phase: AtomicU64,
}

const HEAD: u64 = 0;
const HANDLING: u64 = 1;
const ANSWERED: u64 = 2;
const QUIET: u64 = 3;

impl Pulse {
    /// The first byte has come.
    pub(super) fn new(now: Instant) -> Self {
        Self { begun: now, phase: AtomicU64::new(HEAD) }
    }

    /// Bytes came from the client.
    pub(super) fn read(&self, now: impl FnOnce() -> Instant) {
        if let Phase::Quiet { .. } = self.get() {
            self.set(Phase::Head { since: now() });
        }
    }

    /// The client was sent something.
    pub(super) fn wrote(&self, sent: Sent, now: impl FnOnce() -> Instant) {
        let moves = match self.get() {
            Phase::Answered => true,
            Phase::Quiet { .. } => sent == Sent::Some,
            Phase::Head { .. } | Phase::Handling => false,
        };
        if moves {
            self.set(Phase::Quiet { since: now() });
        }
    }

    /// A head is complete and its request is with the handler.
    pub(super) fn asked(&self) {
        self.set(Phase::Handling);
    }

    /// The handler has an answer.
    pub(super) fn answered(&self) {
        self.set(Phase::Answered);
    }

    /// When the client will have overdrawn its time, unless something moves before; `None` while it owes nothing.
    pub(super) fn due(&self, header_timeout: Duration, idle_timeout: Duration) -> Option<Instant> {
        match self.get() {
            Phase::Head { since } => Some(since + header_timeout),
            Phase::Quiet { since } => Some(since + idle_timeout),
            Phase::Handling | Phase::Answered => None,
        }
    }

    fn get(&self) -> Phase {
        let phase = self.phase.load(Relaxed);
        let since = self.begun + Duration::from_nanos(phase >> 2);
        match phase & 3 {
            HEAD => Phase::Head { since },
            HANDLING => Phase::Handling,
            ANSWERED => Phase::Answered,
            _ => Phase::Quiet { since },
        }
    }

    fn set(&self, phase: Phase) {
        // 146 years fit.
        let at = |since: Instant| (since.duration_since(self.begun).as_nanos() as u64) << 2;
        let phase = match phase {
            Phase::Head { since } => at(since) | HEAD,
            Phase::Handling => HANDLING,
            Phase::Answered => ANSWERED,
            Phase::Quiet { since } => at(since) | QUIET,
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
    fn check(steps: &[fn(&Pulse, Instant)], want_s: Option<u64>) {
        let begun = Instant::now();
        let pulse = Pulse::new(begun);
        for (at, step) in steps.iter().enumerate() {
            step(&pulse, begun + Duration::from_secs(at as u64 + 1));
        }
        let due = pulse.due(HEADER, IDLE).map(|due| (due - begun).as_secs());
        assert_eq!(due, want_s);
    }

    #[test]
    fn each_phase_has_its_time() {
        let asked: fn(&Pulse, Instant) = |pulse, _| pulse.asked();
        let answered: fn(&Pulse, Instant) = |pulse, _| pulse.answered();
        let read: fn(&Pulse, Instant) = |pulse, now| pulse.read(|| now);
        let wrote: fn(&Pulse, Instant) = |pulse, now| pulse.wrote(Sent::Some, || now);
        let stalled: fn(&Pulse, Instant) = |pulse, now| pulse.wrote(Sent::Nothing, || now);
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
    }
}
