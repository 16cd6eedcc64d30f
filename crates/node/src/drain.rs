//! Whether this process is leaving: the one signal that every loop, connection and owner of the process waits for.

use crate::clock::jitter;
use engine::limits::DRAIN_JITTER_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;
use tokio::time::sleep;

/// The signal to leave: set once, seen by every clone.
#[derive(Clone)]
pub struct Drain {
    flag: Arc<AtomicBool>,
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Drain {
    fn default() -> Self {
        Self { flag: Arc::default(), sender: Arc::new(watch::channel(false).0) }
    }
}

impl Drain {
    /// Sets it. Repeating it changes nothing.
    pub fn begin(&self) {
        self.flag.store(true, Ordering::Release);
        self.sender.send_replace(true);
    }

    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    /// Waits for it.
    pub async fn begun(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives in `self`, so the wait can only end with the flag set.
        let _ = receiver.wait_for(|is_draining| *is_draining).await;
    }

    /// Waits for it and for a random time more, so that clients that are sent away do not all return in one instant.
    pub async fn begun_with_jitter(&self) {
        self.begun().await;
        sleep(jitter(DRAIN_JITTER_MAX)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::time::Duration;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn clients_are_disconnected_at_different_times_within_the_longest_jitter() {
        let drain = Drain::default();
        let (begun, clients) = (Instant::now(), (0..8).map(|_| drain.clone()));
        let sent_away = clients.map(|drain| async move {
            drain.begun_with_jitter().await;
            begun.elapsed()
        });
        drain.begin();
        let after = join_all(sent_away).await;
        // Timers fire at the next whole millisecond.
        let longest = DRAIN_JITTER_MAX + Duration::from_millis(1);
        assert!(after.iter().all(|after| *after <= longest), "{after:?}");
        assert!(after.iter().any(|other| *other != after[0]), "{after:?}");
    }
}
