//! The watch beside a connection: whether its client is too slow, and what the house has decided meanwhile. Asked whenever the
//! connection moves, which is often; so it looks at its alarm and at the house only where there may be something to see.

use super::place::Shared;
use super::{Limits, Stage};
use futures_util::future::BoxFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use tokio::sync::watch;
use tokio::time::{Instant, Sleep, sleep};

/// What the watch has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// The client has overdrawn one of its times.
    TooSlow,
    /// The house is at another stage now.
    Stage(Stage),
}

/// The watch beside one connection.
pub(super) struct Watch {
    limits: Limits,
    shared: Arc<Shared>,
    alarm: Pin<Box<Sleep>>,
    stage: watch::Receiver<Stage>,
    /// The next change of the stage; false when there will be none, because nobody is left who could make it.
    change: BoxFuture<'static, bool>,
    /// Whom the alarm and the change wake.
    waker: Option<Waker>,
}

impl Watch {
    /// Begins to watch. A change that `stage` has seen is not told again.
    pub(super) fn new(limits: Limits, shared: Arc<Shared>, stage: watch::Receiver<Stage>) -> Self {
        let alarm = Box::pin(sleep(limits.header_timeout));
        let change = next_change(&stage);
        Self { limits, shared, alarm, stage, change, waker: None }
    }

    /// Ready when there is something to be done.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Seen> {
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
            return Poll::Ready(Seen::Stage(if is_alive { stage } else { Stage::Closed }));
        }
        self.poll_times(context, wakes_us).map(|()| Seen::TooSlow)
    }

    /// Ready when the client has overdrawn one of its times.
    fn poll_times(&mut self, context: &mut Context<'_>, mut wakes_us: bool) -> Poll<()> {
        loop {
            let due = self.shared.pulse.due(self.limits.header_timeout, self.limits.idle_timeout, Instant::now);
            let due = due.into_iter().chain(self.shared.reading.due()).min();
            // A later alarm needs no new setting: it is looked at when it rings.
            if let Some(due) = due.filter(|due| *due < self.alarm.deadline()) {
                self.alarm.as_mut().reset(due);
                wakes_us = false;
            }
            if wakes_us && !self.alarm.is_elapsed() {
                return Poll::Pending;
            }
            ready!(self.alarm.as_mut().poll(context));
            let now = Instant::now();
            match due {
                Some(due) if due <= now => return Poll::Ready(()),
                Some(due) => self.alarm.as_mut().reset(due),
                None => self.alarm.as_mut().reset(now + self.limits.idle_timeout),
            }
            wakes_us = false;
        }
    }
}

fn next_change(stage: &watch::Receiver<Stage>) -> BoxFuture<'static, bool> {
    let mut stage = stage.clone();
    Box::pin(async move { stage.changed().await.is_ok() })
}
