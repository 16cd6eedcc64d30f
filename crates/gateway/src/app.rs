//! The state that all parts of the server share: one value, cheap to clone, made once at the start.

use super::auth::BootstrapToken;
use super::budget::Budget;
use super::forward::ForwardPermits;
use super::guests::GuestTokens;
use super::response_budget::ResponseBudget;
use super::shed::LoadShedder;
use crate::grants::Grants;
use hunts::Hunts;
use matches::notifier::Notifier;
use matches::spectate::{Replays, SpectatorPermits};
use metrics::Metrics;
use node::Node;
use node::clock::{Clock, random_bytes};
use node::drain::Drain;
use node::lease::LeaseSlot;
use quotas::Quotas;
use quotas::socket_budget::SocketBudget;
use rate_limit::RateLimiter;
use settings::Config;
use std::ops::Deref;
use std::sync::Arc;
use store::{ReaderPool, Store};
use tables::{self, Tables};
use worlds::{self, Worlds};

/// The shared handles of one process: a pointer, because every layer of every request takes one.
#[derive(Clone)]
pub struct App(Arc<AppState>);

pub struct AppState {
    pub store: Store,
    /// Wakes waiting tasks after commits.
    pub notifier: Notifier,
    pub clock: Clock,
    /// Store, clock and address, for the owners of matches, tables and worlds.
    pub node: Node,
    pub config: Arc<Config>,
    pub metrics: Arc<Metrics>,
    /// Decides whether the server is too busy for new games.
    pub shedder: Arc<LoadShedder>,
    pub limits: Arc<RateLimiter>,
    /// Limits on what the clients of one address may have.
    pub quotas: Quotas,
    /// Whether and why this process is draining.
    pub drain: Drain,
    /// The admin token that is valid as long as this process lives, if one was configured.
    pub bootstrap: Option<BootstrapToken>,
    /// Issues and checks guests' tokens.
    pub guests: GuestTokens,
    /// Open connections and feeds by the credential that opened them; they end with it.
    pub grants: Arc<Grants>,
    /// The slot of the worker that runs matches.
    pub runner_lease: LeaseSlot,
    pub tables: Tables,
    /// The aggregator of claims, and the matchmaker.
    pub hunts: Arc<Hunts>,
    pub worlds: Worlds,
    /// The limit on sockets of clients, bots and other nodes.
    pub socket_budget: Arc<SocketBudget>,
    pub spectators: SpectatorPermits,
    /// Replays of matches for viewers.
    pub replays: Arc<Replays>,
    /// Large responses in flight.
    pub response_budget: ResponseBudget,
    /// The same for health and metrics, separate from the others.
    pub ops_response_budget: ResponseBudget,
    /// Large request bodies in flight.
    pub bodies: Arc<Budget>,
    /// A dedicated reader that checks whether the store is ready.
    pub probe_reader: ReaderPool,
    /// Permits for requests that are forwarded to other nodes.
    pub forwards: ForwardPermits,
    /// A random number that distinguishes this process from every other. It is public: `/healthz` returns it in a header.
    pub process_id: u128,
}

impl App {
    /// The handles of a new process. Let [`server::process`] make it: it opens what these stand for.
    ///
    /// # Panics
    /// When the system cannot start a thread.
    #[must_use]
    pub fn new(store: Store, config: Arc<Config>, metrics: Arc<Metrics>, bootstrap: Option<BootstrapToken>) -> Self {
        AppState::new(store, config, metrics, bootstrap).into()
    }
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

impl AppState {
    /// The state of a new process.
    ///
    /// # Panics
    /// When the system cannot start a thread.
    #[must_use]
    pub fn new(store: Store, config: Arc<Config>, metrics: Arc<Metrics>, bootstrap: Option<BootstrapToken>) -> Self {
        let spectators = SpectatorPermits::new(&config);
        let replays = Replays::new(&store, &config, &metrics);
        let (responses, ops_responses) =
            (ResponseBudget::new(&config, &metrics), ResponseBudget::new(&config, &metrics));
        let bodies = Budget::new(
            config.http_bodies_bytes_max,
            config.http_bodies_bytes_per_address_max,
            &metrics,
            Metrics::body_budget,
        );
        let probe_reader =
            store.dedicated_readers(1, metrics.clone()).expect("the system can start a thread at process start");
        let sockets = Arc::new(SocketBudget::of(&config));
        let shedder = Arc::new(LoadShedder::new(&config));
        let tables = Tables::new(tables::TablesConfig::of(&config), metrics.clone());
        let worlds = Worlds::new(worlds::WorldsConfig::of(&config), metrics.clone());
        let forwards = ForwardPermits::new(tables.config());
        let limits = Arc::new(RateLimiter::new(&config, metrics.clone()));
        let quotas = Quotas::new(&config, metrics.clone(), random_bytes());
        let (clock, drain) = (Clock::default(), Drain::default());
        let node = Node::new(store.clone(), clock.clone(), &config);
        let hunts = Arc::new(Hunts::new(&config, node.clone(), drain.clone(), metrics.clone()));
        let grants = Arc::new(Grants::new(metrics.clone()));
        Self {
            store,
            notifier: Notifier::default(),
            clock,
            node,
            config,
            metrics,
            shedder,
            limits,
            quotas,
            drain,
            bootstrap,
            guests: GuestTokens::default(),
            grants,
            runner_lease: LeaseSlot::default(),
            tables,
            hunts,
            worlds,
            socket_budget: sockets,
            spectators,
            replays,
            response_budget: responses,
            ops_response_budget: ops_responses,
            bodies,
            probe_reader,
            forwards,
            process_id: u128::from_be_bytes(random_bytes()),
        }
    }
}
