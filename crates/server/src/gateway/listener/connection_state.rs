//! What the parts of one connection know of each other while hyper runs it: its pulse, and the place where a request that is
//! to be parked waits until everything that was said before has left.

use super::park::{ParkMarker, ParkedWait, Persistence};
use super::permits::ProxiedPermit;
use super::phase::PhaseTracker;
use super::read_rate::{ReadRateLimits, ReadRateTracker};
use super::response_head;
use crate::metrics::ByStatus;
use http::{Response, StatusCode};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// A request that is parked, as small as it gets.
pub(super) struct ParkedRequest {
    pub(super) wait: ParkedWait,
    pub(super) persistence: Persistence,
    /// Of an answer in pieces: other answers bring their own.
    pub(super) status: StatusCode,
    /// The headers that the layers around the handler gave.
    pub(super) headers: Box<[u8]>,
    /// Where the answer is counted.
    pub(super) counters: Option<Arc<ByStatus>>,
    pub(super) since: Instant,
    /// What it counts as while it is held, if its client is behind a proxy.
    pub(super) proxied_permit: Option<Arc<ProxiedPermit>>,
}

impl ParkedRequest {
    /// Of a response that is no answer yet.
    pub(super) fn from_response<B>(response: &mut Response<B>, persistence: Persistence) -> Option<Self> {
        let (guest, route) = response.extensions_mut().remove::<ParkMarker>()?.take()?;
        let (status, kept) = (response.status(), response_head::encode_headers(response.headers()));
        let share = response.extensions_mut().remove::<Arc<ProxiedPermit>>();
        Some(Self {
            wait: guest,
            persistence,
            status,
            headers: kept,
            counters: route,
            since: Instant::now(),
            proxied_permit: share,
        })
    }
}

const EMPTY: u8 = 0;
/// Something is parked; answers that were given before may still be in a buffer.
const PARKED: u8 = 1;
/// Something is parked, and nothing else is left.
const READY: u8 = 2;

/// Shared by the stream, the handler and the watch of one connection. They are one task, and take turns.
pub(super) struct ConnectionState {
    pub(super) phase: PhaseTracker,
    pub(super) read_rate: ReadRateTracker,
    state: AtomicU8,
    parked: Mutex<Option<Box<ParkedRequest>>>,
}

impl ConnectionState {
    /// The first byte has come.
    pub(super) fn new(now: Instant, limits: ReadRateLimits) -> Self {
        let (pulse, reading) = (PhaseTracker::new(now), ReadRateTracker::new(limits, now));
        Self { phase: pulse, read_rate: reading, state: AtomicU8::new(EMPTY), parked: Mutex::default() }
    }

    /// Parks this request.
    pub(super) fn park(&self, ticket: ParkedRequest) {
        *self.parked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(ticket));
        self.state.store(PARKED, Relaxed);
    }

    /// Whether something is parked.
    pub(super) fn is_parked(&self) -> bool {
        self.state.load(Relaxed) != EMPTY
    }

    /// Every byte that was to be written has been written.
    pub(super) fn flushed(&self) {
        if self.state.load(Relaxed) == PARKED {
            self.state.store(READY, Relaxed);
        }
    }

    /// What is parked, once the connection has nothing else to do.
    pub(super) fn take_parked(&self) -> Option<Box<ParkedRequest>> {
        if self.state.load(Relaxed) != READY {
            return None;
        }
        self.state.store(EMPTY, Relaxed);
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
