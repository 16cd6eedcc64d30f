//! The watch beside a connection: whether its client is too slow, and what the house has decided meanwhile. Asked whenever the
//! connection moves, which is often; so it looks at its alarm and at the house only where there may be something to see.

use super::connection_state::ConnectionState;
use super::{DrainStage, ListenerConfig};
use futures_util::future::BoxFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

/// What the watch has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchdogEvent {
    /// The client has overdrawn one of its times.
    TooSlow,
    /// The house is at another stage now.
    Stage(DrainStage),
}

/// The watch beside one connection.
pub(super) struct Watchdog {
    config: ListenerConfig,
    state: Arc<ConnectionState>,
    timer: Pin<Box<Sleep>>,
    stage: watch::Receiver<DrainStage>,
    /// The next change of the stage; false when there will be none, because nobody is left who could make it.
    change: BoxFuture<'static, bool>,
    /// Whom the alarm and the change wake.
    waker: Option<Waker>,
}

impl Watchdog {
    /// Begins to watch. A change that `stage` has seen is not told again.
    pub(super) fn new(
        limits: ListenerConfig,
        shared: Arc<ConnectionState>,
        stage: watch::Receiver<DrainStage>,
    ) -> Self {
        let alarm = Box::pin(sleep(limits.header_timeout));
        let change = next_change(&stage);
        Self { config: limits, state: shared, timer: alarm, stage, change, waker: None }
    }

    /// Ready when there is something to be done.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<WatchdogEvent> {
        let wakes_us = self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if !wakes_us {
            self.waker = Some(context.waker().clone());
        }
        if (!wakes_us || !matches!(self.stage.has_changed(), Ok(false)))
            && let Poll::Ready(is_alive) = self.change.as_mut().poll(context)
        {
            let stage = *self.stage.borrow_and_update();
            self.change = next_change(&self.stage);
            self.waker = None;
            return Poll::Ready(WatchdogEvent::Stage(if is_alive { stage } else { DrainStage::Closed }));
        }
        self.poll_deadlines(context, wakes_us).map(|()| WatchdogEvent::TooSlow)
    }

    /// Ready when the client has overdrawn one of its times.
    fn poll_deadlines(&mut self, context: &mut Context<'_>, mut wakes_us: bool) -> Poll<()> {
        loop {
            let due = self.state.phase.deadline(self.config.header_timeout, self.config.idle_timeout, Instant::now);
            let due = due.into_iter().chain(self.state.read_rate.deadline()).min();
            // A later alarm needs no new setting: it is looked at when it rings.
            if let Some(due) = due.filter(|due| *due < self.timer.deadline()) {
                self.timer.as_mut().reset(due);
                wakes_us = false;
            }
            if wakes_us && !self.timer.is_elapsed() {
                return Poll::Pending;
            }
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            match due {
                Some(due) if due <= now => return Poll::Ready(()),
                Some(due) => self.timer.as_mut().reset(due),
                None => self.timer.as_mut().reset(now + self.config.idle_timeout),
            }
            wakes_us = false;
        }
    }
}

fn next_change(stage: &watch::Receiver<DrainStage>) -> BoxFuture<'static, bool> {
    let mut stage = stage.clone();
    Box::pin(async move { stage.changed().await.is_ok() })
}
