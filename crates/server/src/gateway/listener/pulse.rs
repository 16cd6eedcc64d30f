//! The pulse of a connection: what it is waiting for, and until when. Pure but for the lock: `now` is handed in.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// What a connection is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For the rest of a request's head, whose first byte came then.
    Head { since: Instant },
    /// For our handler: the client owes nothing. The body has a time of its own.
    Handling,
    /// For the next request, or for the client to take the answer; the last byte moved then.
    Quiet { since: Instant },
}

/// Shared by the stream (bytes), the handler (requests) and the watch (times) of one connection.
#[derive(Debug)]
pub(super) struct Pulse(Mutex<Phase>);

impl Pulse {
    /// The first byte has come.
    pub(super) fn new(now: Instant) -> Self {
        Self(Mutex::new(Phase::Head { since: now }))
    }

    /// Bytes came from the client.
    pub(super) fn read(&self, now: Instant) {
        let mut phase = self.lock();
        if let Phase::Quiet { .. } = *phase {
            *phase = Phase::Head { since: now };
        }
    }

    /// Bytes went to the client.
    pub(super) fn wrote(&self, now: Instant) {
        let mut phase = self.lock();
        if let Phase::Quiet { .. } = *phase {
            *phase = Phase::Quiet { since: now };
        }
    }

    /// A head is complete and its request is with the handler.
    pub(super) fn asked(&self) {
        *self.lock() = Phase::Handling;
    }

    /// The handler has an answer.
    pub(super) fn answered(&self, now: Instant) {
        *self.lock() = Phase::Quiet { since: now };
    }

    /// When the client will have overdrawn its time, unless something moves before; `None` while it owes nothing.
    pub(super) fn due(&self, header_timeout: Duration, idle_timeout: Duration) -> Option<Instant> {
        match *self.lock() {
            Phase::Head { since } => Some(since + header_timeout),
            Phase::Quiet { since } => Some(since + idle_timeout),
            Phase::Handling => None,
        }
    }

    /// Whole even if a holder of the lock panicked: it is one value.
    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        check(&[], Some(10));
        check(&[Pulse::read], Some(10));
        check(&[Pulse::read, Pulse::read, Pulse::read], Some(10));
        check(&[asked], None);
        check(&[asked, Pulse::read, Pulse::wrote], None);
        check(&[asked, Pulse::answered], Some(2 + 75));
        check(&[asked, Pulse::answered, Pulse::wrote], Some(3 + 75));
        check(&[asked, Pulse::answered, Pulse::wrote, Pulse::read], Some(4 + 10));
        check(&[asked, Pulse::answered, Pulse::read, Pulse::wrote, Pulse::read], Some(3 + 10));
    }
}
