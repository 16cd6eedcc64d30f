//! What the parts of one connection know of each other while hyper runs it: its pulse, and the place where a request that is
//! to be parked waits until everything that was said before has left.

use super::head;
use super::park::{Guest, Park, Persistence};
use super::permits::Share;
use super::pulse::Pulse;
use super::reading::{Reading, ReadingLimits};
use crate::metrics::ByStatus;
use http::{Response, StatusCode};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// A request that is parked, as small as it gets.
pub(super) struct Ticket {
    pub(super) guest: Guest,
    pub(super) persistence: Persistence,
    /// Of an answer in pieces: other answers bring their own.
    pub(super) status: StatusCode,
    /// The headers that the layers around the handler gave.
    pub(super) kept: Box<[u8]>,
    /// Where the answer is counted.
    pub(super) route: Option<Arc<ByStatus>>,
    pub(super) since: Instant,
    /// What it counts as while it is held, if its client is behind a proxy.
    pub(super) share: Option<Arc<Share>>,
}

impl Ticket {
    /// Of a response that is no answer yet.
    pub(super) fn of<B>(response: &mut Response<B>, persistence: Persistence) -> Option<Self> {
        let (guest, route) = response.extensions_mut().remove::<Park>()?.take()?;
        let (status, kept) = (response.status(), head::lines(response.headers()));
        let share = response.extensions_mut().remove::<Arc<Share>>();
        Some(Self { guest, persistence, status, kept, route, since: Instant::now(), share })
    }
}

const EMPTY: u8 = 0;
/// Something is parked; answers that were given before may still be in a buffer.
const TAKEN: u8 = 1;
/// Something is parked, and nothing else is left.
const READY: u8 = 2;

/// Shared by the stream, the handler and the watch of one connection. They are one task, and take turns.
pub(super) struct Shared {
    pub(super) pulse: Pulse,
    pub(super) reading: Reading,
    state: AtomicU8,
    ticket: Mutex<Option<Box<Ticket>>>,
}

impl Shared {
    /// The first byte has come.
    pub(super) fn new(now: Instant, limits: ReadingLimits) -> Self {
        let (pulse, reading) = (Pulse::new(now), Reading::new(limits, now));
        Self { pulse, reading, state: AtomicU8::new(EMPTY), ticket: Mutex::default() }
    }

    /// Parks this request.
    pub(super) fn park(&self, ticket: Ticket) {
        *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(ticket));
        self.state.store(TAKEN, Relaxed);
    }

    /// Whether something is parked.
    pub(super) fn is_taken(&self) -> bool {
        self.state.load(Relaxed) != EMPTY
    }

    /// Every byte that was to be written has been written.
    pub(super) fn flushed(&self) {
        if self.state.load(Relaxed) == TAKEN {
            self.state.store(READY, Relaxed);
        }
    }

    /// What is parked, once the connection has nothing else to do.
    pub(super) fn take(&self) -> Option<Box<Ticket>> {
        if self.state.load(Relaxed) != READY {
            return None;
        }
        self.state.store(EMPTY, Relaxed);
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
