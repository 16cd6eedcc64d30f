//! The state of every route: handles of the process's subsystems, made once at its start (`server::assembly`). Knows how none of them
//! works.

use super::auth::Authenticator;
use super::bans::Bans;
use super::budget::Budget;
use super::check_quotas::CheckQuotas;
use super::forward_permits::ForwardPermits;
use super::guests::GuestTokens;
use super::live_matches::LiveMatches;
use super::response_budget::ResponseBudgets;
use super::shed::LoadShedder;
use super::summaries::Summaries;
use super::trials::TrialsHandle;
use super::view_cache::ViewCache;
use crate::grants::Grants;
use arena::ProductionEnvironment;
use arena::duels::DuelStates;
use arena::tournaments::Tournaments;
use bot_client::statistics::BotStatistics;
use bot_client::{BotClient, SigningSecrets};
use hunts::Hunts;
use matches::notifier::Notifier;
use matches::spectate::{Replays, SpectatorPermits};
use metrics::{History, Metrics};
use node::Node;
use node::drain::Drain;
use quotas::Quotas;
use quotas::socket_budget::SocketBudget;
use rate_limit::RateLimiter;
use settings::Config;
use std::ops::Deref;
use std::sync::Arc;
use store::ReaderPool;
use tables::Tables;
use telemetry::Tracer;
use tokio::sync::Semaphore;
use worlds::Worlds;

/// The shared handles of one process: a pointer, because every layer of every request takes one.
#[derive(Clone)]
pub struct App(Arc<AppState>);

pub struct AppState {
    /// Wakes waiting tasks after commits.
    pub notifier: Notifier,
    /// Store, clock and address.
    pub node: Node,
    pub config: Arc<Config>,
    pub metrics: Arc<Metrics>,
    /// Traces requests and matches; empty where no collector is configured.
    pub tracer: Tracer,
    /// What was measured in the last day.
    pub history: History,
    /// Decides whether the server is too busy for new games.
    pub shedder: Arc<LoadShedder>,
    pub limits: Arc<RateLimiter>,
    /// Limits on what the clients of one address may have.
    pub quotas: Quotas,
    /// Whether and why this process is draining.
    pub drain: Drain,
    pub auth: Authenticator,
    /// Issues and checks guests' tokens.
    pub guests: GuestTokens,
    /// Open connections and feeds by the credential that opened them; they end with it.
    pub grants: Arc<Grants>,
    /// Who may not use the server.
    pub bans: Arc<Bans>,
    pub tables: Tables,
    /// The aggregator of claims, and the matchmaker.
    pub hunts: Arc<Hunts>,
    pub worlds: Worlds,
    /// States of duels in memory.
    pub duels: Arc<DuelStates>,
    pub tournaments: Tournaments<ProductionEnvironment>,
    /// Rendered pages of competitions.
    pub views: ViewCache,
    /// What goes on in public, for the home page.
    pub summaries: Summaries,
    /// Runs of trials, for operators.
    pub trials: TrialsHandle,
    /// Calls bots: for matches, and for checks that their owners request.
    pub bots: BotClient,
    /// How bots answered in the matches of this process.
    pub bot_statistics: BotStatistics,
    /// The secrets with which bots' calls are signed.
    pub signing_secrets: SigningSecrets,
    /// How many checks of bots owners may request.
    pub check_quotas: CheckQuotas,
    /// Permits to recompute ratings, at an operator's request.
    pub recomputations: Arc<Semaphore>,
    /// What the arena's jobs do outside this process.
    pub arena: ProductionEnvironment,
    /// The limit on sockets of clients, bots and other nodes.
    pub socket_budget: Arc<SocketBudget>,
    pub spectators: SpectatorPermits,
    /// Replays of matches for viewers.
    pub replays: Arc<Replays>,
    /// Matches that are watched while they are played.
    pub live_matches: LiveMatches,
    /// Large responses in flight.
    pub response_budgets: Arc<ResponseBudgets>,
    /// Large request bodies in flight.
    pub bodies: Arc<Budget>,
    /// A dedicated reader that checks whether the store is ready.
    pub probe_reader: ReaderPool,
    /// Permits for requests that are forwarded to other nodes.
    pub forwards: ForwardPermits,
    /// A random number that distinguishes this process from every other. It is public: `/healthz` returns it in a header.
    pub process_id: u128,
}

impl Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}

impl From<AppState> for App {
    fn from(shared: AppState) -> Self {
        Self(Arc::new(shared))
    }
}
