//! The pulse of a connection: what it is waiting for, and until when. Clocks and locks are a good part of what a short request
//! costs here: the time is asked for once, by the watch, when all that could be done at once has been done.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::Instant;

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For the rest of a request's head, whose first byte came then; `None`: just now.
    Head { since: Option<Instant> },
    /// For our handler: the client owes nothing. The body has a time of its own.
    Handling,
    /// For the first byte of the answer to go. Nobody waits here: whoever has an answer tries to write it at once, and it goes, or
    /// the client does not take it.
    Answered,
    /// For the next request, or for the client to take the answer; the last byte moved then; `None`: just now.
    Quiet { since: Option<Instant> },
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
    /// The phase in the lowest two bits, then one that says that its time is known; above them its time since `begun`, in
    /// nanoseconds.
    phase: AtomicU64,
}

const HEAD: u64 = 0;
const HANDLING: u64 = 1;
const ANSWERED: u64 = 2;
const QUIET: u64 = 3;
const IS_KNOWN: u64 = 4;
const NS_FROM: u32 = 3;

impl Pulse {
    /// The first byte has come.
    pub(super) fn new(now: Instant) -> Self {
        Self { begun: now, phase: AtomicU64::new(HEAD | IS_KNOWN) }
    }

    /// Bytes came from the client.
    pub(super) fn read(&self) {
        if let Phase::Quiet { .. } = self.get() {
            self.set(Phase::Head { since: None });
        }
    }

    /// The client was sent something.
    pub(super) fn wrote(&self, sent: Sent) {
        let moves = match self.get() {
            Phase::Answered => true,
            Phase::Quiet { .. } => sent == Sent::Some,
            Phase::Head { .. } | Phase::Handling => false,
        };
        if moves {
            self.set(Phase::Quiet { since: None });
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

    /// Whether no request is with the handler, and no answer of its has not begun to go.
    pub(super) fn awaits_client(&self) -> bool {
        matches!(self.get(), Phase::Head { .. } | Phase::Quiet { .. })
    }

    /// When the client will have overdrawn its time, unless something moves before; `None` while it owes nothing. To be asked
    /// whenever the connection has done what it could: what moved until then has moved now.
    pub(super) fn due(
        &self,
        header_timeout: Duration,
        idle_timeout: Duration,
        now: impl FnOnce() -> Instant,
    ) -> Option<Instant> {
        match self.get() {
            Phase::Head { since } => {
                let since = since.unwrap_or_else(now);
                self.set(Phase::Head { since: Some(since) });
                Some(since + header_timeout)
            }
            Phase::Quiet { since } => {
                let since = since.unwrap_or_else(now);
                self.set(Phase::Quiet { since: Some(since) });
                Some(since + idle_timeout)
            }
            Phase::Handling | Phase::Answered => None,
        }
    }

    fn get(&self) -> Phase {
        let phase = self.phase.load(Relaxed);
        let since = (phase & IS_KNOWN != 0).then(|| self.begun + Duration::from_nanos(phase >> NS_FROM));
        match phase & QUIET {
            HEAD => Phase::Head { since },
            HANDLING => Phase::Handling,
            ANSWERED => Phase::Answered,
            _ => Phase::Quiet { since },
        }
    }

    fn set(&self, phase: Phase) {
        // 73 years fit.
        let at = |since: Option<Instant>| {
            since.map_or(0, |since| (since.duration_since(self.begun).as_nanos() as u64) << NS_FROM | IS_KNOWN)
        };
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
    fn check(steps: &[fn(&Pulse)], want_s: Option<u64>) {
        let begun = Instant::now();
        let pulse = Pulse::new(begun);
        let mut due = pulse.due(HEADER, IDLE, || begun);
        for (at, step) in steps.iter().enumerate() {
            step(&pulse);
            let now = || begun + Duration::from_secs(at as u64 + 1);
            due = pulse.due(HEADER, IDLE, now);
        }
        assert_eq!(due.map(|due| (due - begun).as_secs()), want_s);
        // Looking again, later, changes nothing.
        let much_later = || begun + Duration::from_secs(1_000);
        assert_eq!(pulse.due(HEADER, IDLE, much_later), due);
    }

    #[test]
    fn each_phase_has_its_time() {
        let asked: fn(&Pulse) = |pulse| pulse.asked();
        let answered: fn(&Pulse) = |pulse| pulse.answered();
        let read: fn(&Pulse) = |pulse| pulse.read();
        let wrote: fn(&Pulse) = |pulse| pulse.wrote(Sent::Some);
        let stalled: fn(&Pulse) = |pulse| pulse.wrote(Sent::Nothing);
        // What happens without a look between is one step.
        let served: fn(&Pulse) = |pulse| {
            pulse.read();
            pulse.asked();
            pulse.answered();
            pulse.wrote(Sent::Some);
        };
        let served_and_begun: fn(&Pulse) = |pulse| {
            pulse.asked();
            pulse.answered();
            pulse.wrote(Sent::Some);
            pulse.read();
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
