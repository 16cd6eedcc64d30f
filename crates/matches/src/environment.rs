//! All side effects of a runner as one trait: so that the same worker and the same rooms run against real bots and a real store, and in the
//! simulator against a fake clock, fake bots and a store that fails.

use bot_client::BotCall;
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::matches::machine::BotAnswer;
use engine::rows::MatchLogRow;
use metrics::Metrics;
use node::lease::LeaseContext;
use store::StoreError;

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
