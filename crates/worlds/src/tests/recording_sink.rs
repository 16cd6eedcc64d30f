//! A sink that records what it receives, and wakes waiting tests.

use super::super::{ClientSink, CloseReason, OutboundMessage};
use engine::worlds::{Answer, Done, HuntEvent, Refusal, ViewDelta, ViewOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;

/// Longer than anything here takes.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// One message that was received.
#[derive(Clone, Debug)]
pub(super) enum Received {
    Answer(Answer),
    View(Box<ViewDelta>),
    Event(HuntEvent),
    ViewChanged(Option<ViewOptions>),
    End(CloseReason),
}

#[derive(Default)]
pub(super) struct RecordingSink {
    received: Mutex<Vec<Received>>,
    notify: Notify,
    /// What the sink reports.
    pub(super) is_behind: AtomicBool,
    /// Whether encoding panics.
    pub(super) is_broken: AtomicBool,
}

impl RecordingSink {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(super) fn all(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The first message that `find` finds, now or later.
    pub(super) async fn wait<T>(&self, what: &str, find: impl Fn(&Received) -> Option<T>) -> T {
        let found = async {
            loop {
                let notified = self.notify.notified();
                let found = self.received.lock().unwrap().iter().find_map(&find);
                match found {
                    Some(found) => return found,
                    None => notified.await,
                }
            }
        };
        let found = timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| panic!("never received {what}: {:?}", self.all()))
    }

    /// The result of the input with this number.
    pub(super) async fn answer(&self, seq: u32) -> Result<Done, Refusal> {
        self.wait("an answer", |received| match received {
            Received::Answer(answer) if answer.seq == seq => Some(answer.result),
            _ => None,
        })
        .await
    }

    /// Why the connection was closed.
    pub(super) async fn end(&self) -> CloseReason {
        self.wait("the end", |received| if let Received::End(reason) = received { Some(*reason) } else { None }).await
    }

    fn record(&self, received: Received) {
        self.received.lock().unwrap().push(received);
        self.notify.notify_waiters();
    }
}

impl ClientSink for RecordingSink {
    fn encode(&self, message: &OutboundMessage<'_>, out: &mut Vec<u8>) {
        assert!(!self.is_broken.load(Ordering::Relaxed), "made to panic");
        out.push(0);
        self.record(match message {
            OutboundMessage::Answer(answer) => Received::Answer(**answer),
            OutboundMessage::View(view) => Received::View(Box::new((*view).clone())),
            OutboundMessage::Event(event) => Received::Event((*event).clone()),
            OutboundMessage::ViewChanged(options) => Received::ViewChanged(*options),
        });
    }

    fn send(&self, frames: &[u8]) {
        assert!(!frames.is_empty(), "an empty frame is not sent");
    }

    fn is_behind(&self) -> bool {
        self.is_behind.load(Ordering::Relaxed)
    }

    fn close(&self, reason: CloseReason) {
        self.record(Received::End(reason));
    }
}
