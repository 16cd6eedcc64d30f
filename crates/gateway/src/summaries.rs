//! The newest summary of this process, and who waits for the next. It is made anew while there are subscribers; a client that asks once
//! gets what is there if it is young enough.
//!
//! Soft state: after a restart it is made again. Knows neither where its figures come from nor how it is sent.

use crate::event_stream;
use crate::problem::ApiResult;
use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use wire::api::{ServerHealth, Summary};

/// It is made at most so often, however many look.
pub(crate) const SUMMARY_INTERVAL: Duration = Duration::from_secs(1);
/// What has not changed is sent again after this time, so that a reader can tell silence from a dead connection.
const REPEAT_INTERVAL: Duration = Duration::from_secs(10);

/// A summary as it is sent.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) json: Bytes,
    pub(crate) event: Bytes,
    summary: Summary,
    at: Instant,
}

impl Rendered {
    fn new(summary: Summary, number: u64) -> Self {
        let json: Bytes = serde_json::to_vec(&summary).expect("plain shapes always become JSON in memory").into();
        Self { event: event_stream::event(number, &json), json, summary, at: Instant::now() }
    }
}

/// What subscribers wait for: set before the first of them comes.
pub(crate) type Subscription = watch::Receiver<Option<Arc<Rendered>>>;

/// All of one process.
#[derive(Default)]
pub struct Summaries {
    making: tokio::sync::Mutex<Making>,
    newest: watch::Sender<Option<Arc<Rendered>>>,
    /// Whether the task runs that makes them.
    is_running: Mutex<bool>,
}

/// Held while one is made: a client that comes then gets the same.
#[derive(Default)]
struct Making {
    /// When the figures were last read, which may have been the same as before.
    read_at: Option<Instant>,
    /// How many were rendered.
    rendered: u64,
}

impl Summaries {
    /// The newest one, made now of these figures if it is too old.
    ///
    /// # Errors
    /// Why there are no figures, before there was any summary.
    pub(crate) async fn newest(&self, figures: impl Future<Output = ApiResult<Summary>>) -> ApiResult<Arc<Rendered>> {
        let mut making = self.making.lock().await;
        let last = self.newest.borrow().clone();
        let is_young = making.read_at.is_some_and(|read_at| read_at.elapsed() < SUMMARY_INTERVAL);
        if let Some(last) = last.as_ref().filter(|_| is_young) {
            return Ok(last.clone());
        }
        let summary = match (figures.await, &last) {
            (Ok(summary), _) => summary,
            (Err(error), Some(last)) => {
                tracing::debug!(%error, "no new summary");
                Summary { health: ServerHealth::Degraded, ..last.summary.clone() }
            }
            (Err(error), None) => return Err(error),
        };
        making.read_at = Some(Instant::now());
        if let Some(last) = last.filter(|last| last.summary == summary && last.at.elapsed() < REPEAT_INTERVAL) {
            return Ok(last);
        }
        making.rendered += 1;
        let rendered = Arc::new(Rendered::new(summary, making.rendered));
        self.newest.send_replace(Some(rendered.clone()));
        Ok(rendered)
    }

    /// What is newest now, and what follows; and whether the caller has to start the task that makes it, because none runs.
    pub(crate) fn subscribe(&self) -> (Subscription, bool) {
        let mut is_running = self.is_running();
        let subscription = self.newest.subscribe();
        let was_running = std::mem::replace(&mut *is_running, true);
        (subscription, !was_running)
    }

    /// Whether no subscriber waits any more; then the task has to end.
    pub(crate) fn is_over(&self) -> bool {
        let mut is_running = self.is_running();
        *is_running = self.newest.receiver_count() > 0;
        !*is_running
    }

    /// The task ended, even if subscribers wait.
    pub(crate) fn task_failed(&self) {
        *self.is_running() = false;
    }

    /// Consistent even if a holder of the lock panicked: it is one flag.
    fn is_running(&self) -> MutexGuard<'_, bool> {
        self.is_running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use wire::api::{GameActivity, HuntActivity, LeaderboardActivity, StoryActivity};

    /// A summary with this number.
    pub(crate) fn rendered(number: u64) -> Arc<Rendered> {
        let summary = Summary {
            health: ServerHealth::Ok,
            games: GameActivity { running: 0, waiting: 0, ended_last_minute: 0 },
            stories: StoryActivity { live: 0, open: 0, players_waiting: 0, seats_open: 0 },
            leaderboards: LeaderboardActivity { active: 0, rated_last_minute: 0 },
            worlds: Vec::new(),
            hunts: HuntActivity { open: 0, players: 0 },
            featured: None,
        };
        Arc::new(Rendered::new(summary, number))
    }

    #[test]
    fn the_task_ends_with_its_last_subscriber() {
        let summaries = Summaries::default();
        let subscribed = summaries.newest.subscribe();
        assert!(!summaries.is_over() && *summaries.is_running());
        drop(subscribed);
        assert!(summaries.is_over() && !*summaries.is_running());
    }
}
