//! Whether this process is leaving: the one signal that every loop, connection and owner of the process waits for.

use crate::clock::jitter;
use engine::limits::DRAIN_JITTER_MAX;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::sleep;

/// The signal to leave: set once, seen by every clone. It may be announced some time before, so that others send nothing here any more.
#[derive(Clone)]
pub struct Drain {
    stage: Arc<watch::Sender<DrainStage>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DrainStage {
    Serving,
    /// This process will drain; it serves as before, and says that it is not ready.
    Announced,
    Begun,
}

impl Default for Drain {
    fn default() -> Self {
        Self { stage: Arc::new(watch::channel(DrainStage::Serving).0) }
    }
}

impl Drain {
    /// Says that the drain will begin. Repeating it, and after the drain has begun, it changes nothing.
    pub fn announce(&self) {
        self.raise(DrainStage::Announced);
    }

    /// Sets it. Repeating it changes nothing.
    pub fn begin(&self) {
        self.raise(DrainStage::Begun);
    }

    #[must_use]
    pub fn has_begun(&self) -> bool {
        *self.stage.borrow() == DrainStage::Begun
    }

    /// Whether it was announced or has begun.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        *self.stage.borrow() >= DrainStage::Announced
    }

    /// Waits for the announcement.
    pub async fn announced(&self) {
        self.reached(DrainStage::Announced).await;
    }

    /// Waits for it.
    pub async fn begun(&self) {
        self.reached(DrainStage::Begun).await;
    }

    /// Waits for it and for a random time more, so that clients that are sent away do not all return in one instant.
    pub async fn begun_with_jitter(&self) {
        self.begun().await;
        sleep(jitter(DRAIN_JITTER_MAX)).await;
    }

    fn raise(&self, to: DrainStage) {
        self.stage.send_if_modified(|stage| {
            let is_later = *stage < to;
            *stage = to.max(*stage);
            is_later
        });
    }

    async fn reached(&self, wanted: DrainStage) {
        let mut stages = self.stage.subscribe();
        // The sender lives in `self`, so the wait can only end with the stage reached.
        let _ = stages.wait_for(|stage| *stage >= wanted).await;
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
