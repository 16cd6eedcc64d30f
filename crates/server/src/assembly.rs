//! Puts a process together: opens every subsystem on one store, one clock and one configuration, and gives their handles to the gateway.
//!
//! Starts nothing; `process` does.

use crate::subsystem_configs;
use arena::ProductionEnvironment;
use arena::tournaments::Tournaments;
use bot_client::statistics::BotStatistics;
use bot_client::{BotClient, LimitedAddresses, SigningSecrets};
use engine::limits::LADDER_RECOMPUTATIONS_AT_ONCE;
use gateway::app::AppState;
use gateway::auth::{Authenticator, BootstrapToken};
use gateway::bans::Bans;
use gateway::budget::Budget;
use gateway::check_quotas::CheckQuotas;
use gateway::forward_permits::ForwardPermits;
use gateway::grants::Grants;
use gateway::guests::GuestTokens;
use gateway::live_matches::LiveMatches;
use gateway::response_budget::ResponseBudgets;
use gateway::shed::LoadShedder;
use gateway::summaries::Summaries;
use gateway::trials::TrialsHandle;
use gateway::view_cache::ViewCache;
use hunts::Hunts;
use matches::notifier::Notifier;
use matches::spectate::{Replays, SpectatorPermits};
use metrics::Metrics;
use node::Node;
use node::clock::{Clock, random_bytes};
use node::drain::Drain;
use quotas::Quotas;
use quotas::socket_budget::SocketBudget;
use rate_limit::RateLimiter;
use settings::Config;
use std::sync::Arc;
use store::Store;
use tables::Tables;
use telemetry::Tracer;
use tokio::sync::Semaphore;
use worlds::Worlds;

/// The handles of a new process.
///
/// # Panics
/// When the system cannot start a thread.
#[must_use]
pub fn assemble(
    store: Store,
    config: Arc<Config>,
    metrics: Arc<Metrics>,
    bootstrap: Option<BootstrapToken>,
) -> AppState {
    let drain = Drain::default();
    let node = Node::new(store, Clock::default(), subsystem_configs::node_address(&config));
    let tables = Tables::new(subsystem_configs::tables(&config), metrics.clone());
    let guests = GuestTokens::new(node.store.clone());
    let bans = Arc::new(Bans::new(node.clock.clone(), metrics.clone()));
    let socket_budget = Arc::new(SocketBudget::of(&config));
    let bots = BotClient::new(
        config.bot_connections_per_host,
        config.allow_private_bots,
        if config.limit_loopback_bots { LimitedAddresses::All } else { LimitedAddresses::OffLoopback },
        metrics.clone(),
        socket_budget.clone(),
    );
    let probe_reader = node.store.dedicated_readers(1, metrics.clone());
    let notifier = Notifier::default();
    let arena = arena_environment(&node, &metrics, &notifier);
    AppState {
        notifier,
        tournaments: Tournaments::new(arena.clone()),
        bots,
        bot_statistics: BotStatistics::new(metrics.clone()),
        check_quotas: CheckQuotas::new(random_bytes()),
        recomputations: Arc::new(Semaphore::new(LADDER_RECOMPUTATIONS_AT_ONCE)),
        signing_secrets: SigningSecrets::new(node.store.clone(), random_bytes()),
        arena,
        shedder: Arc::new(LoadShedder::new(&config)),
        limits: Arc::new(RateLimiter::new(subsystem_configs::rate_limit(&config), metrics.clone())),
        quotas: Quotas::new(&config, metrics.clone(), random_bytes()),
        auth: Authenticator::new(&node, config.clone(), guests.clone(), bootstrap),
        guests,
        grants: Arc::new(Grants::new(bans.clone(), metrics.clone())),
        bans,
        forwards: ForwardPermits::new(config.stories_waiters_max, config.stories_waiters_per_address_max),
        tables,
        duels: Arc::default(),
        views: ViewCache::new(metrics.clone()),
        summaries: Summaries::default(),
        trials: TrialsHandle::new(None),
        hunts: Arc::new(Hunts::new(
            config.quotas_tickets_per_address_max,
            node.clone(),
            drain.clone(),
            metrics.clone(),
        )),
        worlds: Worlds::new(subsystem_configs::worlds(&config), metrics.clone()),
        socket_budget,
        spectators: SpectatorPermits::new(config.spectators_max, config.spectators_per_address_max),
        replays: Replays::new(&node.store, config.replays_threads, config.replays_cache_bytes, &metrics),
        live_matches: LiveMatches::default(),
        history: gateway::history::new(),
        response_budgets: Arc::new(ResponseBudgets::new(&config, &metrics)),
        bodies: Budget::new(
            config.http_bodies_bytes_max,
            config.http_bodies_bytes_per_address_max,
            &metrics,
            Metrics::body_budget,
        ),
        probe_reader: probe_reader.expect("the system can start a thread at process start"),
        process_id: u128::from_be_bytes(random_bytes()),
        node,
        drain,
        config,
        metrics,
        tracer: Tracer::OFF,
    }
}

/// The arena's effects on this process: its store, its workers, and the spectators of matches.
fn arena_environment(node: &Node, metrics: &Arc<Metrics>, notifier: &Notifier) -> ProductionEnvironment {
    let (of_queue, of_matches) = (notifier.clone(), notifier.clone());
    let notify_match = move |id| of_matches.notify(id);
    ProductionEnvironment::new(node.clone(), metrics.clone(), move || of_queue.notify_queue(), notify_match)
}
