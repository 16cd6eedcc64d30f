//! What each subsystem needs of the configuration. The subsystems do not know the settings; here each setting gets to its place.

use arena::ArenaConfig;
use engine::limits::WORLD_DRAIN_MAX;
use limiter::{Capacity, Seed};
use matches::RunnerConfig;
use node::clock::random_bytes;
use node::lease::advertised_address;
use quotas::address_limit::AddressLimit;
use rate_limit::{RateLimitConfig, ServiceToken};
use rls::RlsConfig;
use settings::Config;
use std::time::Duration;
use tables::TablesConfig;
use worlds::WorldsConfig;
use worlds::actors::ActorPlan;

/// The address at which other nodes reach this one.
#[must_use]
pub fn node_address(config: &Config) -> String {
    config.advertise.0.clone().unwrap_or_else(|| advertised_address(config.address()))
}

#[must_use]
pub fn runner(config: &Config) -> RunnerConfig {
    RunnerConfig {
        matches_at_once: config.matches_at_once,
        claim_size: config.claim_size,
        claim_period: config.claim_period,
        attempts_max: config.attempts_max,
    }
}

#[must_use]
pub fn arena(config: &Config) -> ArenaConfig {
    ArenaConfig { ladder_matches_at_once: config.ladder_matches_at_once }
}

#[must_use]
pub fn tables(config: &Config) -> TablesConfig {
    TablesConfig {
        owner_tasks: config.stories_owner_tasks,
        tables_max: config.stories_tables_max,
        tables_per_player_max: config.stories_tables_per_player_max,
        tables_per_address_max: config.quotas_tables_per_address_max,
        waiters_max: config.stories_waiters_max,
        waiters_per_player_max: config.stories_waiters_per_player_max,
        waiters_per_address_max: config.stories_waiters_per_address_max,
        presence_grace: config.stories_presence_grace,
        unjoined_timeout: config.quotas_unjoined_timeout,
        claim_period: config.stories_claim_period,
    }
}

#[must_use]
pub fn worlds(config: &Config) -> WorldsConfig {
    WorldsConfig {
        loaded_max: config.worlds_loaded_max,
        per_address_max: config.quotas_worlds_per_address_max,
        players_cells_max: config.worlds_players_cells_max as u64,
        mailbox_max: config.worlds_mailbox_max,
        sender_threads: config.worlds_sender_threads,
        snapshot_every: config.worlds_snapshot_every,
        silent: config.worlds_silent,
        idle_timeout: config.worlds_idle_timeout,
        drain_max: WORLD_DRAIN_MAX,
        actor_threads: config.worlds_actor_threads,
    }
}

/// The actors that move on the plaza.
#[must_use]
pub fn actor_plan(config: &Config) -> ActorPlan {
    ActorPlan {
        count: config.worlds_actors,
        start_delay: config.worlds_actor_start_delay,
        spawn: config.worlds_actor_spawn,
        period: config.worlds_actor_period,
        jitter: config.worlds_actor_jitter,
    }
}

/// With seeds that no client can know.
#[must_use]
pub fn rate_limit(config: &Config) -> RateLimitConfig {
    RateLimitConfig {
        capacity: Capacity { keys_max: config.limiter_keys_max, timestamps_max: config.limiter_timestamps_max },
        is_shadow: config.limiter_shadow,
        new_seed: || Seed::new(random_bytes()),
    }
}

/// `drain_max` is the time that requests in progress get after the shutdown signal.
#[must_use]
pub fn rls(config: &Config, drain_max: Duration) -> RlsConfig {
    RlsConfig {
        request_timeout: config.http_body_timeout,
        idle_timeout: config.http_idle_timeout,
        connections_max: config.http_connections_max,
        address_limit: AddressLimit::of(config),
        drain_max,
        token: config.limiter_grpc_token.as_ref().map(|token| ServiceToken::new(token.expose())),
    }
}
