//! Relations between settings: derived values, contradictions, and warnings.

use super::error::ValidationError;
use super::{Config, ServeMode, StoreLocation};

/// The limits of the machine from which settings are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    pub cores: usize,
    /// Files that a process may hold open at most.
    pub open_files_max: usize,
}

impl Default for Machine {
    /// A modest machine: two cores and the default file limit of many systems.
    fn default() -> Self {
        Self { cores: 2, open_files_max: 1_024 }
    }
}

/// Files other than sockets of clients, bots or other nodes: the store, the log, the runtime, and a reserve.
const FILES_RESERVED: usize = 256;
/// Bots always have at least one socket in this many, however many clients connect …
const BOT_SOCKETS_DIVISOR: usize = 64;
/// … and clients one in this many, however many bots are called. What one side does not need, the other may have.
const CLIENT_SOCKETS_DIVISOR: usize = 8;
/// Where the file limit leaves hardly anything, each side still gets this many.
const CONNECTIONS_MIN: usize = 16;
/// Number of addresses that it takes at least to exhaust all waits, spectators' permits or response bytes.
const ADDRESSES_TO_EXHAUST_MIN: usize = 4;

/// Fills in the `auto` values, in the order in which they depend on each other.
pub(super) fn derive(config: &mut Config, machine: Machine, is_auto: impl Fn(&str) -> bool) {
    if is_auto("server.advertise") {
        config.advertise = None;
    }
    if is_auto("server.threads") {
        config.threads = machine.cores.max(1);
    }
    if is_auto("server.open_files_max") {
        config.open_files_max = machine.open_files_max;
    }
    if is_auto("store.connections") {
        config.store_connections = match config.store() {
            StoreLocation::Sqlite(_) => 4,
            StoreLocation::Postgres(_) => 8,
        };
    }
    if is_auto("limiter.service") {
        config.limiter_service = config.serve_mode == ServeMode::Limiter;
    }
    if is_auto("http.connections_max") {
        config.http_connections_max = connections_max(config);
    }
    if is_auto("stories.owner_tasks") {
        config.stories_owner_tasks = config.threads.min(engine::limits::TABLE_OWNER_TASKS_MAX);
    }
    if is_auto("stories.waiters_max") {
        config.stories_waiters_max = config.http_connections_max.min(engine::limits::TABLE_WAITERS_MAX);
    }
    if is_auto("stories.waiters_per_address_max") {
        config.stories_waiters_per_address_max = (config.stories_waiters_max / ADDRESSES_TO_EXHAUST_MIN).max(1);
    }
    if is_auto("worlds.sender_threads") {
        config.worlds_sender_threads = (config.threads / 2).clamp(1, engine::limits::WORLD_SENDER_THREADS_MAX);
    }
    if is_auto("spectators.max") {
        config.spectators_max = (config.http_connections_max / 2).min(engine::limits::SPECTATORS_MAX);
    }
    if is_auto("spectators.per_address_max") {
        config.spectators_per_address_max = (config.spectators_max / ADDRESSES_TO_EXHAUST_MIN).max(1);
    }
    if is_auto("replays.threads") {
        config.replays_threads = (config.threads / 2).clamp(1, engine::limits::REPLAY_THREADS_MAX);
    }
    if is_auto("http.response_bytes_per_address_max") {
        config.http_response_bytes_per_address_max = config.http_response_bytes_max / ADDRESSES_TO_EXHAUST_MIN;
    }
    if is_auto("http.bodies_bytes_per_address_max") {
        config.http_bodies_bytes_per_address_max = config.http_bodies_bytes_max / ADDRESSES_TO_EXHAUST_MIN;
    }
}

/// Sockets of clients, bots and other nodes together.
pub(super) fn sockets_max(config: &Config) -> usize {
    let kept_back = FILES_RESERVED + grpc_connections(config) + ops_connections(config);
    config.open_files_max.saturating_sub(kept_back).max(2 * CONNECTIONS_MIN)
}

/// The bots' part of these.
pub(super) fn bot_sockets_max(config: &Config) -> usize {
    let sockets = sockets_max(config);
    sockets - (sockets / CLIENT_SOCKETS_DIVISOR).max(CONNECTIONS_MIN)
}

/// The clients' part of these. Where no games are served, no bots are called.
pub(super) fn connections_max(config: &Config) -> usize {
    let sockets = sockets_max(config);
    match config.serve_mode {
        ServeMode::All => {
            sockets - (sockets / BOT_SOCKETS_DIVISOR).max(CONNECTIONS_MIN).min(config.bot_connections_per_host)
        }
        ServeMode::Limiter => sockets,
    }
}

fn grpc_connections(config: &Config) -> usize {
    config.limiter_grpc_port.map_or(0, |_| engine::limits::RLS_CONNECTIONS_MAX)
}

fn ops_connections(config: &Config) -> usize {
    config.ops_port.map_or(0, |_| engine::limits::OPS_CONNECTIONS_MAX)
}

/// Settings that several servers under one supervisor cannot share.
fn check_shards(config: &Config, errors: &mut Vec<ValidationError>) {
    let mut refuse = |what: &str, expected: &str| {
        let given = format!("server.shards is {} and {what}", config.shards);
        errors.push(ValidationError { given, expected: expected.to_owned() });
    };
    if config.store_url.is_some() {
        refuse(
            "store.url is set",
            "store.url = off: each shard has a data file of its own; servers that share a database are started one by one",
        );
    }
    if config.advertise.is_some() {
        refuse("server.advertise is set", "server.advertise = auto: each shard has a port of its own");
    }
    if config.serve_mode == ServeMode::Limiter {
        refuse("server.only is limiter", "server.shards = 1: each shard would count for itself alone");
    }
    if config.limiter_grpc_port.is_some() {
        refuse("limiter.grpc_port is set", "limiter.grpc_port = off: only one server can listen there");
    }
    let port = config.address.port();
    if port > 0 && usize::from(port) + config.shards > usize::from(u16::MAX) {
        refuse(&format!("server.port is {port}"), "a lower port: each shard takes one of those behind it");
    }
    if let Some(ops_port) = config.ops_port {
        let is_free = ops_port > 0 && usize::from(ops_port) + config.shards <= usize::from(u16::MAX);
        if !is_free || port > 0 && usize::from(ops_port.abs_diff(port)) <= config.shards {
            refuse(
                &format!("server.ops_port is {ops_port}"),
                "a port that has, as server.port has, one for each shard behind it, and none of them twice",
            );
        }
    }
}

/// The relations that must hold.
pub(super) fn check(config: &Config, errors: &mut Vec<ValidationError>) {
    if config.serve_mode == ServeMode::Limiter && !config.limiter_service {
        errors.push(ValidationError {
            given: "server.only is limiter and limiter.service is false".into(),
            expected: "limiter.service = true, or auto: nothing at all would be served".into(),
        });
    }
    if config.shards > 1 {
        check_shards(config, errors);
    }
    if config.limiter_grpc_port.is_some() && !config.limiter_service {
        errors.push(ValidationError {
            given: "limiter.grpc_port is set and limiter.service is false".into(),
            expected: "limiter.service = true, or limiter.grpc_port = off: no requests would be served there".into(),
        });
    }
    if config.worlds_actor_jitter >= config.worlds_actor_period {
        let (jitter, period) = (config.worlds_actor_jitter.as_millis(), config.worlds_actor_period.as_millis());
        errors.push(ValidationError {
            given: format!("worlds.actor_jitter_ms is {jitter} and worlds.actor_period_ms is {period}"),
            expected: "worlds.actor_jitter_ms < worlds.actor_period_ms: a wait cannot become shorter by itself".into(),
        });
    }
    let mut at_most = |small: (&str, usize), large: (&str, usize), because: &str| {
        if small.1 > large.1 {
            let given = format!("{} is {} and {} is {}", small.0, small.1, large.0, large.1);
            errors.push(ValidationError { given, expected: format!("{} <= {}: {because}", small.0, large.0) });
        }
    };
    at_most(
        ("matches.claim_size", config.claim_size),
        ("matches.at_once", config.matches_at_once),
        "a claim takes no more matches than can be played",
    );
    at_most(
        ("spectators.max", config.spectators_max),
        ("http.connections_max", config.http_connections_max),
        "every spectator holds a connection",
    );
    at_most(
        ("http.response_bytes_per_address_max", config.http_response_bytes_per_address_max),
        ("http.response_bytes_max", config.http_response_bytes_max),
        "no address can have more than all have",
    );
    at_most(
        ("http.bodies_bytes_per_address_max", config.http_bodies_bytes_per_address_max),
        ("http.bodies_bytes_max", config.http_bodies_bytes_max),
        "no address can have more than all have",
    );
    at_most(
        ("stories.waiters_max", config.stories_waiters_max),
        ("http.connections_max", config.http_connections_max),
        "every waiting client holds a connection",
    );
    at_most(
        ("stories.tables_per_player_max", config.stories_tables_per_player_max),
        ("stories.tables_max", config.stories_tables_max),
        "one player cannot open more tables than all together",
    );
    let ms = |time: std::time::Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
    at_most(
        ("stories.countdown_ms", ms(config.stories_countdown)),
        ("stories.game_timeout_ms", ms(config.stories_game_timeout)),
        "a countdown that takes longer than the game may be idle never ends",
    );
}

/// Warnings about values that are valid but probably not intended.
pub(super) fn warnings(config: &Config) -> Vec<String> {
    let room = connections_max(config);
    let has_manner = config.worlds_actor_spawn.is_some() || !config.worlds_actor_start_delay.is_zero();
    let is_public = !config.address.ip().is_loopback();
    let found = [
        (config.http_connections_max > room).then(|| {
            format!(
                "http.connections_max is {}, and server.open_files_max ({}) leaves room for {room}: further clients will wait \
                 until one leaves; raise the limit of open files (ulimit -n), or lower http.connections_max",
                config.http_connections_max, config.open_files_max
            )
        }),
        (config.allow_private_bots && is_public).then(|| {
            format!(
                "bots.allow_private is on while {} can be reached from outside: anyone who may register bots can make this \
                 server call addresses of your own network",
                config.address
            )
        }),
        (config.limiter_service && is_public && config.limiter_http_token.is_none()).then(|| {
            format!(
                "limiter.service is on while {} can be reached from outside, without limiter.http_token: anyone who reaches it may use up \
                 every key and change the quotas of /api/v1; set GAUNTLET_LIMITER_HTTP_TOKEN, or listen on loopback",
                config.address
            )
        }),
        (config.limiter_grpc_port.is_some() && is_public && config.limiter_grpc_token.is_none()).then(|| {
            format!(
                "limiter.grpc_port can be reached from outside at {}, without limiter.grpc_token: anyone who reaches it may use up every \
                 key; set GAUNTLET_LIMITER_GRPC_TOKEN, or listen on loopback",
                config.address.ip()
            )
        }),
        (config.worlds_actors == 0 && has_manner).then(|| {
            "worlds.actor_spawn or worlds.actor_start_delay_ms is set while worlds.actors is 0: it applies to those \
             actors only; POST /api/worlds/{world}/actors has its own"
                .to_owned()
        }),
        (config.worlds_actors > 0 && config.serve_mode == ServeMode::Limiter).then(|| {
            "worlds.actors is set while server.only is limiter: without games there is no world, and no actor moves".to_owned()
        }),
    ];
    found.into_iter().flatten().collect()
}
