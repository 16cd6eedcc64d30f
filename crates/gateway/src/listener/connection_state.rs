//! What the parts of one connection share while hyper runs it: its phase, and the slot of a request that is to be parked once
//! everything written before has been sent.

use super::connection::ProxiedPermit;
use super::park::{ParkMarker, ParkedWait, Persistence};
use super::phase::PhaseTracker;
use super::read_rate::{ReadRateLimits, ReadRateTracker};
use super::response_head;
use http::{Response, StatusCode};
use metrics::ByStatus;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// A parked request, as small as possible.
pub(super) struct ParkedRequest {
    pub(super) wait: ParkedWait,
    pub(super) persistence: Persistence,
    /// The status of a stream: other responses bring their own.
    pub(super) status: StatusCode,
    /// The headers that the layers around the handler set.
    pub(super) headers: Box<[u8]>,
    /// Where the response is counted.
    pub(super) counters: Option<Arc<ByStatus>>,
    pub(super) since: Instant,
    /// Its permit while it is parked, if its client is behind a proxy.
    pub(super) proxied_permit: Option<Arc<ProxiedPermit>>,
}

impl ParkedRequest {
    /// The parked request of a response that carries a [`ParkMarker`].
    pub(super) fn from_response<B>(response: &mut Response<B>, persistence: Persistence) -> Option<Self> {
        let (wait, counters) = response.extensions_mut().remove::<ParkMarker>()?.take()?;
        let (status, headers) = (response.status(), response_head::encode_headers(response.headers()));
        let proxied_permit = response.extensions_mut().remove::<Arc<ProxiedPermit>>();
        Some(Self { wait, persistence, status, headers, counters, since: Instant::now(), proxied_permit })
    }
}

const EMPTY: u8 = 0;
/// A request is parked; earlier responses may still be in a buffer.
const PARKED: u8 = 1;
/// A request is parked, and everything written before has been sent.
const READY: u8 = 2;

/// Shared by the stream, the handler and the watchdog of one connection. They run in one task, one at a time.
pub(super) struct ConnectionState {
    pub(super) phase: PhaseTracker,
    pub(super) read_rate: ReadRateTracker,
    state: AtomicU8,
    parked: Mutex<Option<Box<ParkedRequest>>>,
}

impl ConnectionState {
    /// The state at the first byte of a connection or after a parked request.
    pub(super) fn new(now: Instant, limits: ReadRateLimits) -> Self {
        let (phase, read_rate) = (PhaseTracker::new(now), ReadRateTracker::new(limits, now));
        Self { phase, read_rate, state: AtomicU8::new(EMPTY), parked: Mutex::default() }
    }

    pub(super) fn park(&self, request: ParkedRequest) {
        *self.parked.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(request));
        self.state.store(PARKED, Relaxed);
    }

    pub(super) fn is_parked(&self) -> bool {
        self.state.load(Relaxed) != EMPTY
    }

    /// Records that all output has been written.
    pub(super) fn flushed(&self) {
        if self.state.load(Relaxed) == PARKED {
            self.state.store(READY, Relaxed);
        }
    }

    /// Takes the parked request, once the connection has nothing else to do.
    pub(super) fn take_parked(&self) -> Option<Box<ParkedRequest>> {
        if self.state.load(Relaxed) != READY {
            return None;
        }
        self.state.store(EMPTY, Relaxed);
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
