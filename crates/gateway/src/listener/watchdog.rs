//! The watchdog of a connection: detects that its client is too slow, or that the drain stage changed. Polled whenever the
//! connection moves, which is often; so it checks its timer and the stage only where there may be something to see.

use super::connection_state::ConnectionState;
use super::{DrainPhase, ListenerConfig};
use futures_util::future::BoxFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

/// What the watchdog detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchdogEvent {
    /// The client missed one of its deadlines.
    TooSlow,
    /// The drain stage changed.
    Stage(DrainPhase),
}

/// The watchdog of one connection.
pub(super) struct Watchdog {
    config: ListenerConfig,
    state: Arc<ConnectionState>,
    timer: Pin<Box<Sleep>>,
    stage: watch::Receiver<DrainPhase>,
    /// The next change of the stage; false when there will be none, because the sender is gone.
    change: BoxFuture<'static, bool>,
    /// The waker of the timer and of the change.
    waker: Option<Waker>,
}

impl Watchdog {
    /// Starts watching. A change that `stage` has seen is not reported again.
    pub(super) fn new(config: ListenerConfig, state: Arc<ConnectionState>, stage: watch::Receiver<DrainPhase>) -> Self {
        let timer = Box::pin(sleep(config.header_timeout));
        let change = next_change(&stage);
        Self { config, state, timer, stage, change, waker: None }
    }

    /// Ready when there is an event.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<WatchdogEvent> {
        let is_registered = self.waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
        if !is_registered {
            self.waker = Some(context.waker().clone());
        }
        if (!is_registered || !matches!(self.stage.has_changed(), Ok(false)))
            && let Poll::Ready(is_alive) = self.change.as_mut().poll(context)
        {
            let stage = *self.stage.borrow_and_update();
            self.change = next_change(&self.stage);
            self.waker = None;
            return Poll::Ready(WatchdogEvent::Stage(if is_alive { stage } else { DrainPhase::Closed }));
        }
        self.poll_deadlines(context, is_registered).map(|()| WatchdogEvent::TooSlow)
    }

    /// Ready when the client has missed one of its deadlines.
    fn poll_deadlines(&mut self, context: &mut Context<'_>, mut is_registered: bool) -> Poll<()> {
        loop {
            let due = self.state.phase.deadline(self.config.header_timeout, self.config.idle_timeout, Instant::now);
            let due = due.into_iter().chain(self.state.read_rate.deadline()).min();
            // A later deadline needs no reset: it is checked when the timer fires.
            if let Some(due) = due.filter(|due| *due < self.timer.deadline()) {
                self.timer.as_mut().reset(due);
                is_registered = false;
            }
            if is_registered && !self.timer.is_elapsed() {
                return Poll::Pending;
            }
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            match due {
                Some(due) if due <= now => return Poll::Ready(()),
                Some(due) => self.timer.as_mut().reset(due),
                None => self.timer.as_mut().reset(now + self.config.idle_timeout),
            }
            is_registered = false;
        }
    }
}

fn next_change(stage: &watch::Receiver<DrainPhase>) -> BoxFuture<'static, bool> {
    let mut stage = stage.clone();
    Box::pin(async move { stage.changed().await.is_ok() })
}
