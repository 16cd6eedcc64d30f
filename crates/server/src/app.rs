//! What every part of the server shares: one value, cheap to clone, made once at the start.

use crate::clock::{Clock, jitter, random_bytes};
use crate::config::Config;
use crate::gateway::auth::BootstrapToken;
use crate::gateway::budget::Budget;
use crate::gateway::forward::ForwardPermits;
use crate::gateway::guests::GuestTokens;
use crate::gateway::response_budget::ResponseBudget;
use crate::gateway::shed::LoadShedder;
use crate::grants::Grants;
use crate::hunts::Hunts;
use crate::lease::{LeaseContext, LeaseSlot, advertised};
use crate::metrics::Metrics;
use crate::notifier::Notifier;
use crate::quotas::Quotas;
use crate::rate_limit::RateLimiter;
use crate::socket_budget::SocketBudget;
use crate::spectate::{Replays, SpectatorPermits};
use crate::tables::{self, Tables};
use crate::worlds::{self, Worlds};
use engine::commands::{Command, Outcome};
use engine::limits::DRAIN_JITTER_MAX;
use engine::time::UnixMs;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use store::{ReaderPool, Store, StoreError};
use tokio::sync::watch;
use tokio::time::sleep;

/// The shared handles of one process: a pointer, because every layer of every request takes one.
#[derive(Clone)]
pub struct App(Arc<AppState>);

/// What an [`App`] points to.
pub struct AppState {
    /// What lasts.
    pub store: Store,
    /// Who waits for what.
    pub notifier: Notifier,
    /// The time.
    pub clock: Clock,
    /// What is in force.
    pub config: Arc<Config>,
    /// What is measured.
    pub metrics: Arc<Metrics>,
    /// Whether there is too much to do for new games.
    pub shedder: Arc<LoadShedder>,
    /// Who may do how much.
    pub limits: Arc<RateLimiter>,
    /// How much the clients of one address may have.
    pub quotas: Quotas,
    /// Whether and why this process is leaving.
    pub drain: Drain,
    /// The admin token that lives as long as this process, if one was handed in.
    pub bootstrap: Option<BootstrapToken>,
    /// What guests' tokens are made and checked with.
    pub guests: GuestTokens,
    /// What is open by a token or by a guest, and ends with it.
    pub grants: Arc<Grants>,
    /// The place of whoever plays matches.
    pub runner_lease: LeaseSlot,
    /// The card tables.
    pub tables: Tables,
    /// What is counted of hunts, and who waits for one.
    pub hunts: Hunts,
    /// The worlds.
    pub worlds: Worlds,
    /// What clients, bots and other nodes are talked to over.
    pub socket_budget: Arc<SocketBudget>,
    /// Permits for spectators.
    pub spectators: SpectatorPermits,
    /// What viewers are shown of matches.
    pub replays: Arc<Replays>,
    /// Large answers under way.
    pub response_budget: ResponseBudget,
    /// The same of what says how the server is, apart from the others.
    pub ops_response_budget: ResponseBudget,
    /// Large bodies of requests under way.
    pub bodies: Arc<Budget>,
    /// The reader that finds out whether the store is ready, apart from the others.
    pub probe_reader: ReaderPool,
    /// Places for requests on their way to other nodes.
    pub forwards: ForwardPermits,
    /// A random number that tells this process from every other. It is public: `/healthz` has it in a header.
    pub process_id: u128,
}

impl App {
    /// The handles of a process that begins now. Make [`crate::process`] do it: it opens what these stand for.
    ///
    /// # Panics
    /// When there are no threads to be had.
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
    /// What a process has that begins now.
    ///
    /// # Panics
    /// When there are no threads to be had.
    #[must_use]
    pub fn new(store: Store, config: Arc<Config>, metrics: Arc<Metrics>, bootstrap: Option<BootstrapToken>) -> Self {
        let spectators = SpectatorPermits::new(&config);
        let replays = Replays::new(&store, &config, &metrics);
        let (answers, ops_answers) = (ResponseBudget::new(&config, &metrics), ResponseBudget::new(&config, &metrics));
        let bodies = Budget::new(
            config.http_bodies_bytes_max,
            config.http_bodies_bytes_per_address_max,
            &metrics,
            Metrics::body_budget,
        );
        let probe_reader = store.dedicated_readers(1, metrics.clone()).expect("a process that begins finds a thread");
        let sockets = Arc::new(SocketBudget::of(&config));
        let shedder = Arc::new(LoadShedder::new(&config));
        let tables = Tables::new(tables::TablesConfig::of(&config), metrics.clone());
        let worlds = Worlds::new(worlds::WorldsConfig::of(&config), metrics.clone());
        let forwards = ForwardPermits::new(tables.config());
        let limits = Arc::new(RateLimiter::new(&config, metrics.clone()));
        let quotas = Quotas::new(&config, metrics.clone(), random_bytes());
        let hunts = Hunts::new(&config, metrics.clone());
        let grants = Arc::new(Grants::new(metrics.clone()));
        Self {
            store,
            notifier: Notifier::default(),
            clock: Clock::default(),
            config,
            metrics,
            shedder,
            limits,
            quotas,
            drain: Drain::default(),
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
            response_budget: answers,
            ops_response_budget: ops_answers,
            bodies,
            probe_reader,
            forwards,
            process_id: u128::from_be_bytes(random_bytes()),
        }
    }
}

/// Whoever owns something under a lease in this process writes it so.
impl LeaseContext for App {
    fn now(&self) -> UnixMs {
        self.clock.now()
    }

    fn random_bytes(&self) -> [u8; 10] {
        random_bytes()
    }

    fn address(&self) -> String {
        advertised(&self.config)
    }

    fn has_exclusive_store(&self) -> bool {
        !self.store.is_shared()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.store.commit(command).await
    }
}

/// The one signal to leave: set once, seen by all.
#[derive(Clone)]
pub struct Drain {
    flag: Arc<AtomicBool>,
    sender: Arc<watch::Sender<bool>>,
}

impl Default for Drain {
    fn default() -> Self {
        Self { flag: Arc::default(), sender: Arc::new(watch::channel(false).0) }
    }
}

impl Drain {
    /// Begins to leave. Repeating it changes nothing.
    pub fn begin(&self) {
        self.flag.store(true, Ordering::Release);
        self.sender.send_replace(true);
    }

    /// Whether this process is leaving.
    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    /// Waits until this process is leaving.
    pub async fn begun(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives in `self`, so the wait can only end with the flag set.
        let _ = receiver.wait_for(|is_leaving| *is_leaving).await;
    }

    /// Waits until this process is leaving, and a client that it holds has to go: not all in one instant, for they will not stay
    /// away.
    pub async fn begun_with_jitter(&self) {
        self.begun().await;
        sleep(jitter(DRAIN_JITTER_MAX)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;
    use std::time::Duration;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn not_all_are_sent_away_in_one_instant_and_none_after_the_longest_jitter() {
        let drain = Drain::default();
        let (begun, clients) = (Instant::now(), (0..8).map(|_| drain.clone()));
        let sent_away = clients.map(|drain| async move {
            drain.begun_with_jitter().await;
            begun.elapsed()
        });
        drain.begin();
        let after = join_all(sent_away).await;
        // An alarm rings at the next whole millisecond.
        let longest = DRAIN_JITTER_MAX + Duration::from_millis(1);
        assert!(after.iter().all(|after| *after <= longest), "{after:?}");
        assert!(after.iter().any(|other| *other != after[0]), "{after:?}");
    }
}
