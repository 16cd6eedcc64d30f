//! The visible in-flight cap. A place remembers since when it has been free, so that waiting for the target (no
//! place was free) is told apart from waiting for the lab (a place was free, and nobody took it yet).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

/// Places in flight.
#[derive(Debug)]
pub struct Slots {
    free: Mutex<VecDeque<Instant>>,
    freed: Notify,
}

/// One place; dropping it frees it.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
    /// Since when it was free.
    pub free_since: Instant,
}

impl Slots {
    /// `count` places, free since `start`.
    #[must_use]
    pub fn new(count: usize, start: Instant) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(vec![start; count].into()), freed: Notify::new() })
    }

    fn try_take(self: &Arc<Self>) -> Option<Slot> {
        let free_since = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_front()?;
        Some(Slot { slots: self.clone(), free_since })
    }

    /// A place that is free, or the next one that becomes free.
    pub async fn take(self: &Arc<Self>) -> Slot {
        loop {
            // Registered before looking: a place that is freed in between wakes us.
            let freed = self.freed.notified();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            freed.await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.free.lock().unwrap_or_else(PoisonError::into_inner).push_back(Instant::now());
        self.slots.freed.notify_one();
    }
}
