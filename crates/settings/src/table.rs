//! The table of settings: one row each, which declares the field of [`Config`], its key, flag, range, default and help. The flags, the
//! environment, the keys of the file, `gauntlet config` and `/api/admin/config` are all derived from it, so that none can drift from
//! another.
//!
//! Limits come from [`engine::limits`]: a configuration chooses values below them. Knows nothing of what the values do.

use crate::networks::Networks;
use crate::secret::{DatabaseUrl, Secret};
use crate::source::{Machine, Source};
use crate::telemetry::{
    CollectorUrl, HostPort, KeyValues, Ratio, SecretHeaders, ServiceName, StatsdLabels, TraceSampler,
};
use crate::value::{
    AUTO, Advertise, Bounds, Interface, KeepFor, LogFormat, LogLevel, MILLISECONDS, ServeMode, Targets, Value,
};
use engine::limits;
use rules::world::{Cell, WorldSettings};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// One setting.
pub struct Setting {
    /// Its name in a file and in listings: `section.key`.
    pub key: &'static str,
    /// Its flag, without the dashes; `None` for secrets, which must not appear in a process list.
    pub flag: Option<&'static str>,
    /// Its environment variable, where that is not `GAUNTLET_SECTION_KEY`.
    env: Option<&'static str>,
    /// Another environment variable that sets it, of a standard for many programs. The one of its own goes before it.
    standard_env: Option<&'static str>,
    pub(crate) bounds: Bounds,
    /// The default, as text.
    pub default: &'static str,
    pub(crate) auto: Option<Auto>,
    field: Field,
}

/// What `auto` means, where it is accepted.
pub(crate) struct Auto {
    meaning: &'static str,
    /// Derives the value from the machine and from the rows above.
    pub(crate) derive: fn(&mut Config, Machine),
}

/// What a setting does by the type of its field.
struct Field {
    help: &'static str,
    is_switch: bool,
    is_secret: bool,
    expects: fn(&Bounds) -> String,
    /// `None`, with nothing changed, when the text is not what the setting expects.
    parse: fn(&mut Config, &str, &Bounds) -> Option<()>,
    render: fn(&Config, &Bounds) -> String,
}

impl Setting {
    #[must_use]
    pub fn env(&self) -> String {
        self.env.map_or_else(|| format!("GAUNTLET_{}", self.key.replace('.', "_").to_uppercase()), str::to_owned)
    }

    /// The environment variable of a standard for many programs that sets it, too.
    #[must_use]
    pub fn standard_env(&self) -> Option<&'static str> {
        self.standard_env
    }

    /// What it decides, in a sentence or two.
    #[must_use]
    pub fn help(&self) -> &'static str {
        self.field.help
    }

    /// The texts that it accepts, in words.
    #[must_use]
    pub fn expects(&self) -> String {
        let expects = (self.field.expects)(&self.bounds);
        match &self.auto {
            Some(auto) => format!("{expects}, or auto: {}", auto.meaning),
            None => expects,
        }
    }

    /// Whether its flag takes no value and means `true`.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.field.is_switch
    }

    /// Whether its value must be masked.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.field.is_secret
    }

    /// Sets it to the value of this text; `None`, with nothing changed, when the text is not what it expects.
    pub(crate) fn parse(&self, config: &mut Config, text: &str) -> Option<()> {
        (self.field.parse)(config, text, &self.bounds)
    }

    /// Its value as in a configuration file, with secrets masked.
    pub(crate) fn render(&self, config: &Config) -> String {
        (self.field.render)(config, &self.bounds)
    }

    /// The row with `auto` accepted.
    const fn or_auto(self, meaning: &'static str, derive: fn(&mut Config, Machine)) -> Self {
        Self { auto: Some(Auto { meaning, derive }), ..self }
    }

    /// The row that an environment variable of OpenTelemetry sets, too.
    const fn or_env(self, standard_env: &'static str) -> Self {
        Self { standard_env: Some(standard_env), ..self }
    }
}

/// A setting without a range.
const fn plain(field: Field, key: &'static str, flag: &'static str, default: &'static str) -> Setting {
    ranged(field, key, flag, 0..=0, "", default)
}

/// A setting whose numbers, lengths or seconds are in a range; `unit` is what they count.
const fn ranged(
    field: Field,
    key: &'static str,
    flag: &'static str,
    range: RangeInclusive<u64>,
    unit: &'static str,
    default: &'static str,
) -> Setting {
    let bounds = Bounds { unit, range };
    Setting { key, flag: Some(flag), env: None, standard_env: None, bounds, default, auto: None, field }
}

/// A time in milliseconds.
const fn millis(
    field: Field,
    key: &'static str,
    flag: &'static str,
    range: RangeInclusive<u64>,
    default: &'static str,
) -> Setting {
    ranged(field, key, flag, range, MILLISECONDS, default)
}

/// A secret, which has no flag: a process list would show it.
const fn secret(field: Field, key: &'static str, env: &'static str) -> Setting {
    Setting { flag: None, env: Some(env), ..ranged(field, key, "", 16..=128, "characters", "off") }
}

/// A text with secrets, which has no flag either.
const fn hidden(field: Field, key: &'static str) -> Setting {
    Setting { flag: None, ..plain(field, key, "", "off") }
}

/// Declares the configuration and the table of its settings: `/// help`, `field: type = kind(key, flag, …, default)`.
macro_rules! settings {
    ($($(#[doc = $help:literal])+ $field:ident: $type:ty = $kind:ident($($column:expr),+) $(.$with:ident($($with_column:expr),+))?;)+) => {
        /// Every setting of one process, typed and validated.
        #[derive(Clone, Debug)]
        pub struct Config {
            $($(#[doc = $help])+ pub $field: $type,)+
            /// Where each value came from, in the order of the table.
            pub(crate) sources: Vec<Source>,
        }

        impl Config {
            /// A value of every field's type, to be overwritten by the table's defaults.
            pub(crate) fn blank() -> Self {
                Self { $($field: <$type>::default(),)+ sources: vec![Source::Default; SETTINGS.len()] }
            }
        }

        /// Every setting, in the order of listings.
        pub const SETTINGS: &[Setting] = &[$($kind(
            Field {
                help: concat!($($help),+).trim_ascii_start(),
                is_switch: <$type as Value>::IS_SWITCH,
                is_secret: <$type as Value>::IS_SECRET,
                expects: <$type as Value>::expects,
                parse: |config, text, bounds| { config.$field = Value::parse(text, bounds)?; Some(()) },
                render: |config, bounds| config.$field.render(bounds),
            },
            $($column),+
        )$(.$with($($with_column),+))?),+];
    };
}

const QUOTA: RangeInclusive<u64> = 1..=limits::QUOTA_MAX as u64;
const HOUR_MS: u64 = 3_600_000;
const CENTURY_S: u64 = 100 * 365 * 86_400;
const BODY_BYTES: u64 = limits::REQUEST_BODY_BYTES_MAX as u64;
const REPLAY_BYTES: u64 = limits::REPLAY_RESPONSE_BYTES as u64;
/// Number of addresses that it takes at least to exhaust all waits, spectators' permits or response bytes.
const ADDRESSES_TO_EXHAUST_MIN: usize = 4;

const fn ms(time: Duration) -> u64 {
    time.as_millis() as u64
}

settings! {
    /// Address of the network interface on which the server listens.
    interface: Interface = plain("server.interface", "interface", "127.0.0.1");
    /// TCP port of the API.
    port: u16 = ranged("server.port", "port", 0..=65_535, "port; 0 for any free one", "4000");
    /// Address at which the other nodes of a shared database reach this one.
    advertise: Advertise = ranged("server.advertise", "advertise", 1..=65_535, "port", AUTO)
        .or_auto("server.interface, or the machine's name where that is every interface, and server.port",
            |c, _| c.advertise = Advertise::default());
    /// Address of the network interface on which server.ops_port listens.
    ops_interface: Interface = plain("server.ops_interface", "ops-interface", "127.0.0.1");
    /// Separate TCP port for /healthz, /readyz, /metrics, /api/admin and policies: it responds even when the API accepts no further
    /// connection.
    ops_port: Option<u16> = ranged("server.ops_port", "ops-port", 0..=65_535, "port; 0 for any free one", "off");
    /// Connections from http.trusted_proxies to server.port begin with a header of the PROXY protocol, version 2, which names the client;
    /// without one they are closed. All other connections are taken as they are.
    proxy_protocol: bool = plain("server.proxy_protocol", "proxy-protocol", "false");
    /// How long the server goes on as before while /readyz already says that it leaves: for a load balancer to notice it first.
    drain_delay: Duration = millis("server.drain_delay_ms", "drain-delay-ms", 0..=ms(limits::DRAIN_DELAY_MAX), "0");
    /// Which services run: all of them, or the rate limiter alone, without games and runners.
    serve_mode: ServeMode = plain("server.only", "only", "all");
    /// Threads that run tasks.
    threads: usize = ranged("server.threads", "threads", 1..=1_024, "threads", AUTO)
        .or_auto("one for each core", |c, machine| c.threads = machine.cores.max(1));
    /// Limit of open files and sockets that the process requests from the system.
    open_files_max: usize =
        ranged("server.open_files_max", "open-files-max", limits::OPEN_FILES_MIN as u64..=10_000_000, "files", AUTO)
        .or_auto("the hard limit", |c, machine| c.open_files_max = machine.open_files_max);
    /// Servers that one supervisor starts, each with its own worlds, data file and port (the ports that follow server.port).
    shards: usize = ranged("server.shards", "shards", 1..=limits::SHARDS_MAX as u64, "servers", "1");
    /// SQLite file that holds all durable data; its folder is created.
    data: PathBuf = plain("store.data", "data", "gauntlet-data/gauntlet.db");
    /// PostgreSQL database that is used instead of the SQLite file; several servers may share one.
    store_url: Option<DatabaseUrl> = plain("store.url", "store-url", "off");
    /// Reads of the store that run at the same time. On PostgreSQL each has a connection, in addition to one for writing, one for each
    /// of replays.threads and one for /readyz.
    store_connections: usize = ranged("store.connections", "store-connections", 1..=256, "connections", AUTO)
        .or_auto("4 on SQLite, 8 on PostgreSQL", |c, _| c.store_connections = if c.store_url.is_some() { 8 } else { 4 });
    /// Matches that this process plays at the same time.
    matches_at_once: usize = ranged("matches.at_once", "matches-at-once", 1..=limits::MATCHES_AT_ONCE_MAX as u64, "matches", "10000");
    /// Matches that are taken from the queue at once, every 10 ms at most.
    claim_size: usize = ranged("matches.claim_size", "claim-size", 1..=limits::CLAIM_MAX as u64, "matches", "24");
    /// How often the queue is polled when no notification arrives.
    claim_period: Duration = millis("matches.claim_period_ms", "claim-period-ms", 10..=2_000, "250");
    /// A match ends at the latest after this many turns, as a draw among the living.
    turns_max: u32 = ranged("matches.turns_max", "turns-max", 1..=limits::TURNS_MAX as u64, "turns", "5000");
    /// Claims without any progress after which a match fails; its log is kept.
    attempts_max: u32 = ranged("matches.attempts_max", "attempts-max", 1..=limits::ATTEMPTS_MAX as u64, "attempts", "5");
    /// Matches of ladders that may be under way at the same time, on all nodes together.
    ladder_matches_at_once: usize = ranged("ladders.matches_at_once", "ladder-matches-at-once", 1..=limits::MATCHES_AT_ONCE_MAX as u64, "matches", AUTO)
        .or_auto("256, but at most half of matches.at_once", |c, _| {
            c.ladder_matches_at_once = limits::LADDER_MATCHES_AT_ONCE_DEFAULT.min(c.matches_at_once / 2).max(1);
        });
    /// Bots may have loopback and private addresses: for play on one machine or in one network.
    allow_private_bots: bool = plain("bots.allow_private", "allow-private-bots", "false");
    /// The limits of calls to hosts that do not answer as bots do hold for loopback addresses, too: for trying them out on one machine.
    limit_loopback_bots: bool = plain("bots.limit_loopback", "limit-loopback-bots", "false");
    /// Most connections to one host of bots: they share the limit of open files with clients.
    bot_connections_per_host: usize =
        ranged("bots.connections_per_host", "bot-connections-per-host", 1..=1_000_000, "connections", "16384");
    /// Time that a bot has to respond when the request that creates the match sets none.
    bot_timeout_default: Duration =
        millis("bots.timeout_default_ms", "bot-timeout-default-ms", ms(limits::BOT_TIMEOUT_MIN)..=ms(limits::BOT_TIMEOUT_MAX), "500");
    /// Time that a client has to send the head of a request.
    http_header_timeout: Duration = millis("http.header_timeout_ms", "http-header-timeout-ms", 50..=HOUR_MS, "10000");
    /// Time that a client has to send the body of a request.
    http_body_timeout: Duration = millis("http.body_timeout_ms", "http-body-timeout-ms", 50..=HOUR_MS, "30000");
    /// Time that a connection may be silent between requests, or while the client does not read a response.
    http_idle_timeout: Duration = millis("http.idle_timeout_ms", "http-idle-timeout-ms", 50..=HOUR_MS, "75000");
    /// Connections that are served at the same time. A further one evicts another (first one without a known client, then a guest's,
    /// of the address that has most; never an account's), or is refused.
    http_connections_max: usize = ranged("http.connections_max", "http-connections-max", 1..=1_000_000, "connections", AUTO)
        .or_auto("nearly all that the limit of open files allows; bots share them and always have some",
            |c, _| c.http_connections_max = c.connections_max());
    /// Connections of one client address, or one network of IPv6 (/64), at the same time; trusted proxies and loopback may have any
    /// number.
    http_connections_per_address_max: usize =
        ranged("http.connections_per_address_max", "http-connections-per-address-max", 1..=1_000_000, "connections", "256");
    /// Loopback addresses may have no more connections than others: for trying the limit out on one machine.
    http_limit_loopback: bool = plain("http.limit_loopback", "http-limit-loopback", "false");
    /// Longest request body of a batch; other requests may have 16384 bytes, lists of ids or cells 65536.
    http_body_bytes_max: usize = ranged("http.body_bytes_max", "http-body-bytes-max", 1_024..=BODY_BYTES, "bytes", "2097152");
    /// Bytes of large request bodies (over 16 KiB) in flight at the same time. Beyond it, a body is refused with 503, or a connection
    /// of the address that has most is evicted.
    http_bodies_bytes_max: usize =
        ranged("http.bodies_bytes_max", "http-bodies-bytes-max", 4 * BODY_BYTES..=limits::BODIES_BYTES_MAX as u64, "bytes", "67108864");
    /// The same for one address, or one network of IPv6 (/64).
    http_bodies_bytes_per_address_max: usize =
        ranged("http.bodies_bytes_per_address_max", "http-bodies-bytes-per-address-max",
            BODY_BYTES..=limits::BODIES_BYTES_MAX as u64, "bytes", AUTO)
        .or_auto("a quarter of http.bodies_bytes_max",
            |c, _| c.http_bodies_bytes_per_address_max = c.http_bodies_bytes_max / ADDRESSES_TO_EXHAUST_MIN);
    /// Bytes of large responses (over 16 KiB) in flight at the same time; a replay counts as 262144, whatever its length. Replays and
    /// other responses each have a budget of this size. Beyond it, a response is refused with 503, or a connection of the address that
    /// has most is evicted.
    http_response_bytes_max: usize =
        ranged("http.response_bytes_max", "http-response-bytes-max",
            4 * REPLAY_BYTES..=limits::RESPONSE_BYTES_MAX as u64, "bytes", "67108864");
    /// The same for one address, or one network of IPv6 (/64).
    http_response_bytes_per_address_max: usize =
        ranged("http.response_bytes_per_address_max", "http-response-bytes-per-address-max",
            REPLAY_BYTES..=limits::RESPONSE_BYTES_MAX as u64, "bytes", AUTO)
        .or_auto("a quarter of http.response_bytes_max",
            |c, _| c.http_response_bytes_per_address_max = c.http_response_bytes_max / ADDRESSES_TO_EXHAUST_MIN);
    /// Time for which a client may leave a response unread, or read it more slowly than http.response_bytes_per_s_min.
    http_response_stall_max: Duration = millis("http.response_stall_ms", "http-response-stall-ms", 50..=HOUR_MS, "30000");
    /// Rate at which a client must read a response once its connection is full; each byte makes up for the time that it takes at this
    /// rate. A large response (http.response_bytes_max) must be read faster: all of its bytes within http.response_stall_ms.
    http_response_bytes_per_s_min: u32 =
        ranged("http.response_bytes_per_s_min", "http-response-bytes-per-s-min", 1..=1_000_000_000, "bytes a second", "1024");
    /// Proxies whose header X-Forwarded-For is trusted: the rate limiter counts by the address of the client behind them.
    http_trusted_proxies: Networks = plain("http.trusted_proxies", "http-trusted-proxies", "off");
    /// Certificate of the server, with those between it and its authority (PEM): the API is served over TLS. SIGHUP reads it again.
    tls_certificate: Option<PathBuf> = plain("tls.certificate", "tls-certificate", "off");
    /// Private key of tls.certificate (PEM).
    tls_key: Option<PathBuf> = plain("tls.key", "tls-key", "off");
    /// Spectators at the same time.
    spectators_max: usize = ranged("spectators.max", "spectators-max", 0..=limits::SPECTATORS_MAX as u64, "spectators", AUTO)
        .or_auto("half of http.connections_max", |c, _| c.spectators_max = (c.http_connections_max / 2).min(limits::SPECTATORS_MAX));
    /// The same from one address, or one network of IPv6 (/64).
    spectators_per_address_max: usize =
        ranged("spectators.per_address_max", "spectators-per-address-max", 1..=limits::SPECTATORS_MAX as u64, "spectators", AUTO)
        .or_auto("a quarter of spectators.max",
            |c, _| c.spectators_per_address_max = (c.spectators_max / ADDRESSES_TO_EXHAUST_MIN).max(1));
    /// Threads that replay matches for viewers, each with a connection to the store in addition to store.connections.
    replays_threads: usize = ranged("replays.threads", "replays-threads", 1..=limits::REPLAY_THREADS_MAX as u64, "threads", AUTO)
        .or_auto("one for every two of server.threads",
            |c, _| c.replays_threads = (c.threads / 2).clamp(1, limits::REPLAY_THREADS_MAX));
    /// States of matches, one every 100 turns, that are kept in memory so that later turns need no replay from the first.
    replays_cache_bytes: usize =
        ranged("replays.cache_bytes", "replays-cache-bytes", 0..=limits::REPLAY_CACHE_BYTES_MAX as u64, "bytes", "67108864");
    /// Matches waiting in the queue beyond which new games are refused, until it is down to 80 % of that.
    shed_queue_max: Option<u64> = ranged("shed.queue_max", "shed-queue-max", 1..=1_000_000_000, "matches", "off");
    /// Wait for the store's writer (99th percentile of the last seconds) beyond which new games are refused.
    shed_commit_wait: Option<Duration> = millis("shed.commit_wait_ms", "shed-commit-wait-ms", 1..=60_000, "off");
    /// Delay of tasks for want of a processor (99th percentile of the last seconds) beyond which new games are refused.
    shed_scheduler_delay: Option<Duration> = millis("shed.scheduler_delay_ms", "shed-scheduler-delay-ms", 1..=60_000, "off");
    /// Share of its control group's memory that this process may take before new games, event streams, sockets and connections to worlds
    /// are refused. Where no control group limits memory it has no effect.
    shed_memory_percent: Option<u64> = ranged("shed.memory_percent", "shed-memory-percent", 10..=99, "percent", "90");
    /// The rate limiter's built-in policies are in force; one of the same name in limiter.policies takes the place of a built-in one.
    limiter_defaults: bool = plain("limiter.defaults", "limiter-defaults", AUTO)
        .or_auto("true where others reach the server (server.interface or http.trusted_proxies) and games are served, false otherwise",
            |c, _| c.limiter_defaults = c.is_reached_by_others() && c.serve_mode != ServeMode::Limiter);
    /// TOML file of the rate limiter's policies; read again on SIGHUP. Without policies there are no limits.
    limiter_policies: Option<PathBuf> = plain("limiter.policies", "limiter-policies", "off");
    /// The rate limiter also serves other programs, on /api/limits/check and /api/v1, for every client that reaches the port.
    limiter_service: bool = plain("limiter.service", "limiter-service", AUTO)
        .or_auto("true with server.only = limiter, false otherwise", |c, _| c.limiter_service = c.serve_mode == ServeMode::Limiter);
    /// Secret that every request to /api/limits/check and /api/v1 must carry (authorization: Bearer ...), except /api/v1/health.
    limiter_http_token: Option<Secret> = secret("limiter.http_token", "GAUNTLET_LIMITER_HTTP_TOKEN");
    /// TCP port on which proxies ask the rate limiter over gRPC (Envoy's rate limit service, version 3).
    limiter_grpc_port: Option<u16> = ranged("limiter.grpc_port", "grpc-port", 0..=65_535, "port; 0 for any free one", "off");
    /// Secret that every request to the gRPC port must carry (authorization: Bearer ...), except health checks.
    limiter_grpc_token: Option<Secret> = secret("limiter.grpc_token", "GAUNTLET_LIMITER_GRPC_TOKEN");
    /// Keys that are counted at the same time: this many for the gateway, for other policies, and for /api/v1. A key takes at most 64
    /// bytes and its own length.
    limiter_keys_max: usize = ranged("limiter.keys_max", "limiter-keys-max", 1_024..=limits::LIMIT_KEYS_MAX as u64, "keys", "2000000");
    /// Timestamps that exact logs keep at the same time, over all policies; each takes 8 bytes.
    limiter_timestamps_max: usize =
        ranged("limiter.timestamps_max", "limiter-timestamps-max", 1_024..=limits::LIMIT_TIMESTAMPS_MAX as u64, "timestamps", "50000000");
    /// Shadow mode: the rate limiter decides and counts but refuses no request, to try policies out.
    limiter_shadow: bool = plain("limiter.shadow", "limiter-shadow", "false");
    /// Owner tasks among which card tables are divided.
    stories_owner_tasks: usize =
        ranged("stories.owner_tasks", "stories-owner-tasks", 1..=limits::TABLE_OWNER_TASKS_MAX as u64, "tasks", AUTO)
        .or_auto("one for each of server.threads", |c, _| c.stories_owner_tasks = c.threads.min(limits::TABLE_OWNER_TASKS_MAX));
    /// Card tables in memory at the same time; a table without a game leaves memory when no player is present.
    stories_tables_max: usize = ranged("stories.tables_max", "stories-tables-max", 1..=limits::TABLES_MAX as u64, "tables", "250000");
    /// The same that one player, or guest, has opened.
    stories_tables_per_player_max: usize =
        ranged("stories.tables_per_player_max", "stories-tables-per-player-max", 1..=limits::TABLES_PER_PLAYER_MAX as u64, "tables", "64");
    /// Polls, event streams and sockets that wait for updates of card tables at the same time.
    stories_waiters_max: usize =
        ranged("stories.waiters_max", "stories-waiters-max", 1..=limits::TABLE_WAITERS_MAX as u64, "waits", AUTO)
        .or_auto("http.connections_max", |c, _| c.stories_waiters_max = c.http_connections_max.min(limits::TABLE_WAITERS_MAX));
    /// The same for one player, at all tables.
    stories_waiters_per_player_max: usize =
        ranged("stories.waiters_per_player_max", "stories-waiters-per-player-max", 1..=10_000, "waits", "16");
    /// The same from one address, or one network of IPv6 (/64), as the rate limiter counts addresses.
    stories_waiters_per_address_max: usize =
        ranged("stories.waiters_per_address_max", "stories-waiters-per-address-max", 1..=limits::TABLE_WAITERS_MAX as u64, "waits", AUTO)
        .or_auto("a quarter of stories.waiters_max",
            |c, _| c.stories_waiters_per_address_max = (c.stories_waiters_max / ADDRESSES_TO_EXHAUST_MIN).max(1));
    /// Longest time that a poll may wait for an update: of a game of Stories, a tournament or a ticket.
    poll_wait_max: Duration =
        millis("stories.poll_wait_max_ms", "stories-poll-wait-max-ms", 0..=ms(limits::POLL_WAIT_MAX), "600000");
    /// Time that a player counts as present after the end of the last poll or stream.
    stories_presence_grace: Duration = millis("stories.presence_grace_ms", "stories-presence-grace-ms", 100..=HOUR_MS, "15000");
    /// Countdown to the next phase of a game once enough players are ready, unless the game sets another.
    stories_countdown: Duration =
        millis("stories.countdown_ms", "stories-countdown-ms", ms(limits::STORY_TIMEOUT_MIN)..=ms(limits::STORY_COUNTDOWN_MAX), "60000");
    /// Time without any action after which a game continues by itself, or is canceled.
    stories_game_timeout: Duration =
        millis("stories.game_timeout_ms", "stories-game-timeout-ms",
            ms(limits::STORY_TIMEOUT_MIN)..=ms(limits::STORY_GAME_TIMEOUT_MAX), "86400000");
    /// Time that the next storyteller has to begin before another player may.
    stories_next_storyteller_timeout: Duration =
        millis("stories.next_storyteller_timeout_ms", "stories-next-storyteller-timeout-ms",
            ms(limits::STORY_TIMEOUT_MIN)..=ms(limits::STORY_NEXT_STORYTELLER_TIMEOUT_MAX), "60000");
    /// How often the server looks for card tables whose owner is gone.
    stories_claim_period: Duration = millis("stories.claim_period_ms", "stories-claim-period-ms", 10..=2_000, "1000");
    /// Age after which ended card games are deleted.
    stories_keep_for: KeepFor = ranged("stories.keep_for", "stories-keep-for", 60..=CENTURY_S, "", AUTO)
        .or_auto("90d in a store that a version with this default made, off in an older one", |c, _| c.stories_keep_for = KeepFor::ByStore);
    /// Worlds in memory at the same time, a thread each; built-in worlds, which never end, are loaded even beyond it. A world leaves
    /// memory when no mover is in it.
    worlds_loaded_max: usize = ranged("worlds.loaded_max", "worlds-loaded-max", 1..=limits::WORLDS_LOADED_MAX as u64, "worlds", "256");
    /// Inputs that wait for one world; further ones are refused (busy).
    worlds_mailbox_max: usize =
        ranged("worlds.mailbox_max", "worlds-mailbox-max", 1_024..=limits::WORLD_MAILBOX_MAX as u64, "inputs", "65536");
    /// Threads that send answers, views and events to movers.
    worlds_sender_threads: usize =
        ranged("worlds.sender_threads", "worlds-sender-threads", 1..=limits::WORLD_SENDER_THREADS_MAX as u64, "threads", AUTO)
        .or_auto("one for every two of server.threads",
            |c, _| c.worlds_sender_threads = (c.threads / 2).clamp(1, limits::WORLD_SENDER_THREADS_MAX));
    /// How often positions in a world are saved, if any changed: a crash loses at most this much.
    worlds_snapshot_every: Duration = millis("worlds.snapshot_ms", "worlds-snapshot-ms", 100..=HOUR_MS, "5000");
    /// Time that a world stays in memory after its last mover left.
    worlds_idle_timeout: Duration = millis("worlds.idle_ms", "worlds-idle-ms", 0..=HOUR_MS, "30000");
    /// Time without an input after which a world with an end may be unloaded for another one, when worlds.loaded_max is reached.
    worlds_silent: Duration = millis("worlds.silent_ms", "worlds-silent-ms", 1_000..=HOUR_MS, "60000");
    /// Silence on a connection to a world after which TCP probes the peer; half a minute without a response ends the connection.
    worlds_keepalive: Duration =
        millis("worlds.keepalive_ms", "worlds-keepalive-ms", 1_000..=ms(limits::WORLD_KEEPALIVE_AFTER_MAX), "30000");
    /// Built-in actors that move in the world plaza from the start, each with its own timer.
    worlds_actors: u32 = ranged("worlds.actors", "actors", 0..=limits::ACTORS_MAX as u64, "actors", "0");
    /// Pause before each of these actors joins; with 0 they join as fast as the world admits them.
    worlds_actor_start_delay: Duration =
        millis("worlds.actor_start_delay_ms", "actor-start-delay-ms", 0..=ms(limits::ACTOR_START_DELAY_MAX), "0");
    /// Cell of the plaza on which all of these actors start, or the nearest one without a tree; with off each starts anywhere.
    worlds_actor_spawn: Option<Cell> =
        ranged("worlds.actor_spawn", "actor-spawn", 0..=WorldSettings::SIDE_MAX as u64 - 1, "x,y", "off");
    /// Time from one move of an actor to its next.
    worlds_actor_period: Duration =
        millis("worlds.actor_period_ms", "actor-period-ms", ms(limits::ACTOR_PERIOD_MIN)..=ms(limits::ACTOR_PERIOD_MAX), "1000");
    /// Most by which each of these periods is longer or shorter, drawn anew each time.
    worlds_actor_jitter: Duration = millis("worlds.actor_jitter_ms", "actor-jitter-ms", 0..=ms(limits::ACTOR_PERIOD_MAX), "0");
    /// Threads that move the actors.
    worlds_actor_threads: usize =
        ranged("worlds.actor_threads", "actor-threads", 1..=limits::ACTOR_THREADS_MAX as u64, "threads", "1");
    /// Cells of worlds that players made, in memory at the same time: some 9 bytes each.
    worlds_players_cells_max: usize =
        ranged("worlds.players_cells_max", "worlds-players-cells-max", 1..=limits::WORLD_CELLS_MAX, "cells", "64000000");
    /// Clients on loopback are counted by address, too: to test the quotas. A proxy on this machine belongs in http.trusted_proxies.
    quotas_loopback: bool = plain("quotas.loopback", "quotas-loopback", "false");
    /// Guests that the clients of one address (IPv6: of one /64) make in an hour.
    quotas_guests_per_hour: usize = ranged("quotas.guests_per_hour", "quotas-guests-per-hour", QUOTA, "guests", "600");
    /// Card tables that they make in an hour.
    quotas_tables_per_hour: usize = ranged("quotas.tables_per_hour", "quotas-tables-per-hour", QUOTA, "tables", "300");
    /// Hunts that they make in an hour; those of the matchmaker are counted as tickets.
    quotas_hunts_per_hour: usize = ranged("quotas.hunts_per_hour", "quotas-hunts-per-hour", QUOTA, "hunts", "120");
    /// Codes of invitations and sign-in links that they send, valid or not.
    quotas_sign_ins_per_hour: usize = ranged("quotas.sign_ins_per_hour", "quotas-sign-ins-per-hour", QUOTA, "codes", "600");
    /// Card tables in memory that they have opened.
    quotas_tables_per_address_max: usize =
        ranged("quotas.tables_per_address_max", "quotas-tables-per-address-max", QUOTA, "tables", "100");
    /// Hunts that they have made and that are not over.
    quotas_hunts_per_address_max: usize = ranged("quotas.hunts_per_address_max", "quotas-hunts-per-address-max", QUOTA, "hunts", "32");
    /// Cells of these hunts together.
    quotas_cells_per_address_max: usize =
        ranged("quotas.cells_per_address_max", "quotas-cells-per-address-max", 1..=limits::WORLD_CELLS_MAX, "cells", "8000000");
    /// Tickets of theirs that wait, or whose hunt is not over.
    quotas_tickets_per_address_max: usize =
        ranged("quotas.tickets_per_address_max", "quotas-tickets-per-address-max", QUOTA, "tickets", "256");
    /// Worlds in memory that they loaded; built-in worlds and those of operators are not counted.
    quotas_worlds_per_address_max: usize =
        ranged("quotas.worlds_per_address_max", "quotas-worlds-per-address-max", QUOTA, "worlds", "64");
    /// Time after which a hunt ends that no player but its creator joined, and in which no player was.
    quotas_unjoined_timeout: Duration =
        millis("quotas.unjoined_ms", "quotas-unjoined-ms", 1_000..=ms(limits::HUNT_UNJOINED_TIMEOUT_MAX), "1800000");
    /// Folder of runs of trials, which operators see at /trials; there they also start trials and stop them. It must be there.
    trials_dir: Option<PathBuf> = plain("trials.dir", "trials", "off");
    /// Services, besides a server of its own, that a trial started there may load.
    trials_targets: Targets = plain("trials.targets", "trials-targets", "off");
    /// Age after which ended matches are deleted.
    keep_for: KeepFor = ranged("retention.keep_for", "keep-for", 60..=CENTURY_S, "", AUTO)
        .or_auto("30d in a store that a version with this default made, off in an older one", |c, _| c.keep_for = KeepFor::ByStore);
    /// Age after which hunts that are over are deleted, with their rounds, claims and members; the number that is kept has a limit, too.
    hunts_keep_for: Duration = ranged("retention.hunts_keep_for", "hunts-keep-for", 60..=CENTURY_S, "", "1d");
    /// How long after the end of a guest's token their standing in Stories and their row among the hunters are deleted.
    guests_keep_for: KeepFor = ranged("retention.guests_keep_for", "guests-keep-for", 60..=CENTURY_S, "", AUTO)
        .or_auto("90d in a store that a version with this default made, off in an older one", |c, _| c.guests_keep_for = KeepFor::ByStore);
    /// Age after which ended duels and tournaments are deleted, with their logs and results; ladders never are.
    competitions_keep_for: Option<Duration> =
        ranged("retention.competitions_keep_for", "competitions-keep-for", 60..=CENTURY_S, "", "off");
    /// How long the answers of idempotency keys are kept: for as long a request can be repeated.
    answers_keep_for: Duration =
        ranged("retention.answers_keep_for", "answers-keep-for", 60..=limits::IDEMPOTENCY_RETENTION.as_secs(), "", "1d");
    /// Size of the archives of ended matches beyond which the oldest are deleted.
    keep_archive_bytes: Option<u64> =
        ranged("retention.archive_bytes_max", "archive-bytes-max", 1_048_576..=u64::MAX >> 1, "bytes", "off");
    /// Age after which entries of the audit log are deleted.
    audit_keep_for: Duration = ranged("audit.keep_for", "audit-keep-for", 60..=CENTURY_S, "", "365d");
    /// Secret of an admin token that is valid as long as this process runs.
    bootstrap_token: Option<Secret> = secret("auth.bootstrap_token", "GAUNTLET_BOOTSTRAP_TOKEN");
    /// Collector to which traces and metrics are sent by OTLP over HTTP (/v1/traces and /v1/metrics are added to it).
    telemetry_otlp_endpoint: Option<CollectorUrl> =
        plain("telemetry.otlp_endpoint", "otlp-endpoint", "off").or_env("OTEL_EXPORTER_OTLP_ENDPOINT");
    /// Headers of each request to the collector, such as its key. They are secret.
    telemetry_otlp_headers: Option<SecretHeaders> = hidden("telemetry.otlp_headers").or_env("OTEL_EXPORTER_OTLP_HEADERS");
    /// Time that the collector has to answer; what it has not taken by then is given up.
    telemetry_otlp_timeout: Duration = millis("telemetry.otlp_timeout_ms", "otlp-timeout-ms", 100..=60_000, "10000")
        .or_env("OTEL_EXPORTER_OTLP_TIMEOUT");
    /// Metrics are sent to the collector, too; false where Prometheus reads them from /metrics.
    telemetry_otlp_metrics: bool = plain("telemetry.otlp_metrics", "otlp-metrics", "true");
    /// How often metrics are sent, by OTLP and by StatsD.
    telemetry_metrics_interval: Duration =
        millis("telemetry.metrics_interval_ms", "telemetry-metrics-interval-ms", 100..=HOUR_MS, "10000")
        .or_env("OTEL_METRIC_EXPORT_INTERVAL");
    /// Name of this service in traces and metrics.
    telemetry_service_name: ServiceName = plain("telemetry.service_name", "telemetry-service-name", "gauntlet").or_env("OTEL_SERVICE_NAME");
    /// Further attributes of this process in traces and metrics.
    telemetry_resource_attributes: KeyValues =
        plain("telemetry.resource_attributes", "telemetry-resource-attributes", "off").or_env("OTEL_RESOURCE_ATTRIBUTES");
    /// Which requests and matches are traced. With parentbased the sampled flag of a caller's traceparent decides where the caller is
    /// an operator, another node, or a proxy under telemetry.trust_proxies; of others it never does.
    telemetry_sampler: TraceSampler =
        plain("telemetry.sampler", "telemetry-sampler", "parentbased_traceidratio").or_env("OTEL_TRACES_SAMPLER");
    /// Share of requests and matches that are traced, with a sampler by ratio.
    telemetry_sampler_ratio: Ratio =
        plain("telemetry.sampler_ratio", "telemetry-sampler-ratio", "0.01").or_env("OTEL_TRACES_SAMPLER_ARG");
    /// The sampled flag that comes through http.trusted_proxies decides: only for proxies that set traceparent themselves, and pass none of
    /// their clients'.
    telemetry_trust_proxies: bool = plain("telemetry.trust_proxies", "telemetry-trust-proxies", "false");
    /// Address to which metrics are sent by StatsD over UDP.
    telemetry_statsd_address: Option<HostPort> =
        ranged("telemetry.statsd_address", "statsd-address", 1..=65_535, "port", "off");
    /// How StatsD gets labels: none, in the name of the metric, or datadog, as tags behind the value.
    telemetry_statsd_tags: StatsdLabels = plain("telemetry.statsd_tags", "statsd-tags", "none");
    /// Format of log lines.
    log_format: LogFormat = plain("log.format", "log-format", "text");
    /// Least severe log lines that are written.
    log_level: LogLevel = plain("log.level", "log-level", "info");
}
