//! All side effects of a runner as one trait: so that the same worker and the same rooms run against real bots and a real store, and in the
//! simulator against a fake clock, fake bots and a store that fails.

use bytes::Bytes;
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::matches::machine::BotAnswer;
use engine::rows::MatchLogRow;
use metrics::Metrics;
use node::lease::LeaseContext;
use std::time::Duration;
use store::StoreError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// POST /start: sent once.
    Start,
    /// POST /move: sent again if the bot may not have received it.
    Move,
    /// POST /end: sent once.
    End,
}

impl Webhook {
    /// The last segment of the URL.
    #[must_use]
    pub fn segment(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Move => "move",
            Self::End => "end",
        }
    }
}

#[derive(Clone, Debug)]
pub struct BotCall {
    /// The bot's base URL.
    pub url: String,
    pub webhook: Webhook,
    /// The JSON body.
    pub body: Bytes,
    /// From sending to the end of the answer.
    pub timeout: Duration,
}

/// The effects of a runner.
pub trait MatchEnvironment: Clone + Send + Sync + 'static {
    type Node: LeaseContext;
    /// Its clock, its commits, and what leases need.
    fn node(&self) -> &Self::Node;
    /// The whole log of a match.
    fn read_log(&self, id: MatchId) -> impl Future<Output = Result<Vec<MatchLogRow>, StoreError>> + Send;
    /// A bot's face; the defaults when it does not answer in time.
    fn fetch_face(&self, url: String) -> impl Future<Output = Face> + Send;
    /// Calls a bot. Never fails: every error is a class of answer.
    fn call(&self, call: BotCall) -> impl Future<Output = BotAnswer> + Send;
    /// A match's log has grown and is saved, or its state changed: notifies spectators.
    fn notify_saved(&self, id: MatchId);
    /// Waits until a match may have joined the queue.
    fn queue_notified(&self) -> impl Future<Output = ()> + Send;
    fn metrics(&self) -> &Metrics;
}
