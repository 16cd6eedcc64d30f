//! The seats of a door: how many connections there may be, and one word for each that is taken. A silent connection keeps its
//! seat and hardly anything else, so a seat is a pointer.
//!
//! Knows nothing of what is said by whoever sits there.

use crate::metrics::Metrics;
use crate::sockets::Sockets;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// All seats of one door.
pub(in crate::gateway) struct Seats {
    free: Semaphore,
    all: u32,
    /// Where each takes its socket from, if others do so, too.
    sockets: Option<Arc<Sockets>>,
    metrics: Arc<Metrics>,
}

/// Room for a connection that has not come yet.
pub(in crate::gateway) struct Place(Arc<Seats>);

/// A connection's seat: taken as long as the socket is open, also after an upgrade.
pub struct Seat(Place);

impl Seats {
    pub(in crate::gateway) fn new(max: usize, sockets: Option<Arc<Sockets>>, metrics: Arc<Metrics>) -> Arc<Self> {
        let all = u32::try_from(max.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Arc::new(Self { free: Semaphore::new(all as usize), all, sockets, metrics })
    }

    /// The next place, at once or as soon as somebody has left.
    pub(in crate::gateway) async fn place(self: &Arc<Self>) -> Place {
        let seat = self.free.acquire().await;
        if let Some(sockets) = &self.sockets {
            sockets.client_comes().await;
        }
        // Nobody ever closes the semaphore.
        if let Ok(seat) = seat {
            seat.forget();
        }
        Place(self.clone())
    }

    /// Whether whoever comes now has to wait.
    pub(super) fn is_full(&self) -> bool {
        self.free.available_permits() == 0 || self.sockets.as_ref().is_some_and(|sockets| sockets.is_empty())
    }

    /// Waits until nobody sits anywhere.
    pub(super) async fn empty(&self) {
        let _ = self.free.acquire_many(self.all).await;
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.all as usize - self.free.available_permits()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(sockets) = &self.0.sockets {
            sockets.client_left();
        }
        self.0.free.add_permits(1);
    }
}

impl Seat {
    /// Somebody has come.
    pub(in crate::gateway) fn new(place: Place) -> Self {
        place.0.metrics.http_connection_opened();
        Self(place)
    }

    /// The figures of the process.
    pub(in crate::gateway) fn metrics(&self) -> &Metrics {
        &self.0.0.metrics
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.0.metrics.http_connection_closed();
    }
}
