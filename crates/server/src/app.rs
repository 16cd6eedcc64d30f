//! The state that all parts of the server share: one value, cheap to clone, made once at the start.

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

pub struct AppState {
    pub store: Store,
    /// Wakes waiting tasks after commits.
    pub notifier: Notifier,
    pub clock: Clock,
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
    pub hunts: Hunts,
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
    /// The handles of a new process. Let [`crate::process`] make it: it opens what these stand for.
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
            response_budget: responses,
            ops_response_budget: ops_responses,
            bodies,
            probe_reader,
            forwards,
            process_id: u128::from_be_bytes(random_bytes()),
        }
    }
}

/// How workers of this process write their leases.
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

/// The signal to drain: set once, seen by all.
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
    /// Begins the drain; idempotent.
    pub fn begin(&self) {
        self.flag.store(true, Ordering::Release);
        self.sender.send_replace(true);
    }

    #[must_use]
    pub fn has_begun(&self) -> bool {
        self.flag.load(Ordering::Acquire)
    }

    /// Waits for the drain.
    pub async fn begun(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives in `self`, so the wait can only end with the flag set.
        let _ = receiver.wait_for(|is_draining| *is_draining).await;
    }

    /// Waits for the drain plus a random delay, for tasks that disconnect clients: the clients will reconnect, and must not all do so at
    /// one instant.
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
    async fn clients_are_disconnected_at_different_times_within_the_longest_jitter() {
        let drain = Drain::default();
        let (begun, clients) = (Instant::now(), (0..8).map(|_| drain.clone()));
        let sent_away = clients.map(|drain| async move {
            drain.begun_with_jitter().await;
            begun.elapsed()
        });
        drain.begin();
        let after = join_all(sent_away).await;
        // Timers fire at the next whole millisecond.
        let longest = DRAIN_JITTER_MAX + Duration::from_millis(1);
        assert!(after.iter().all(|after| *after <= longest), "{after:?}");
        assert!(after.iter().any(|other| *other != after[0]), "{after:?}");
    }
}
