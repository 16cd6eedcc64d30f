//! All side effects of a runner as one trait: so that the same worker and the same rooms run against real bots and a real store, and in the
//! simulator against a fake clock, fake bots and a store that fails.

use bot_client::BotCall;
use bot_client::signing::{CallSigner, SigningKeys};
use bot_client::statistics::Presence;
use engine::ids::{AccountId, BotId, MatchId};
use engine::matches::entry::{AnswerClass, Face};
use engine::matches::machine::BotAnswer;
use engine::rows::{MatchLogRow, SigningRow};
use metrics::Metrics;
use node::lease::LeaseContext;
use std::sync::Arc;
use store::StoreError;
use telemetry::Tracer;

/// The effects of a runner.
pub trait MatchEnvironment: Clone + Send + Sync + 'static {
    type Node: LeaseContext;
    /// Its clock, its commits, and what leases need.
    fn node(&self) -> &Self::Node;
    /// The whole log of a match.
    fn read_log(&self, id: MatchId) -> impl Future<Output = Result<Vec<MatchLogRow>, StoreError>> + Send;
    /// A bot's face; the defaults when it does not answer in time.
    fn fetch_face(
        &self,
        url: String,
        signer: Option<CallSigner>,
        account: AccountId,
    ) -> impl Future<Output = Face> + Send;
    /// Calls a bot. Never fails: every error is a class of answer.
    fn call(&self, call: BotCall) -> impl Future<Output = BotAnswer> + Send;
    /// With which keys the calls of a bot are signed.
    fn signing_keys(&self, row: SigningRow) -> impl Future<Output = Result<Arc<SigningKeys>, StoreError>> + Send;
    /// A call for a move ended, and its turn is saved.
    fn record_call(&self, bot: BotId, class: AnswerClass, latency_ms: u16);
    /// How a bot looks in a match that begins.
    fn record_face(&self, bot: BotId, face: &Face);
    /// A match ended in which a bot had a seat, and gave valid moves or none.
    fn record_match(&self, bot: BotId, presence: Presence, is_competing: bool);
    /// A match's log has grown and is saved, or its state changed: notifies spectators.
    fn notify_saved(&self, id: MatchId);
    /// Waits until a match may have joined the queue.
    fn queue_notified(&self) -> impl Future<Output = ()> + Send;
    fn metrics(&self) -> &Metrics;
    fn tracer(&self) -> &Tracer;
}
