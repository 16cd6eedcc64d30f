//! The configuration: defaults, then the file, then the environment, then the flags, validated as a whole before anything starts.
//!
//! One table ([`table::SETTINGS`]) names every setting; the flags, the environment, the file's keys, `gauntlet config` and
//! `/api/admin/config` are all derived from it, so that none can drift from another. Knows nothing of what the values do.

pub mod digest;
mod error;
pub mod escape;
mod load;
mod networks;
mod relations;
mod secret;
mod setting;
mod table;

pub use error::{ConfigError, ValidationError};
pub use load::Sources;
pub use networks::Networks;
pub use relations::Machine;
pub use secret::Secret;
pub use setting::{LogFormat, LogLevel, ServeMode, Setting};
pub use table::SETTINGS;

use rules::world::Cell;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The account that the bootstrap token acts for.
pub const BOOTSTRAP_ACCOUNT: &str = "bootstrap";

/// Every setting of one process, typed and validated. `table.rs` has the meaning and the range of each.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the API is served (`server.interface` and `server.port`).
    pub address: SocketAddr,
    /// Where operators' requests are served, with [`Config::ops_port`] for its port.
    pub ops_address: SocketAddr,
    /// The separate port for operators, if there is one.
    pub ops_port: Option<u16>,
    /// Where other nodes reach this one, if it is not by `address`.
    pub advertise: Option<String>,
    /// Which services run.
    pub serve_mode: ServeMode,
    /// Threads that run tasks.
    pub threads: usize,
    /// The limit of open files and sockets that the process requests.
    pub open_files_max: usize,
    /// Servers under one supervisor; 1 is a plain server.
    pub shards: usize,
    /// The SQLite file, unless [`Config::store_url`] is given.
    pub data: PathBuf,
    /// The PostgreSQL database, if one is used.
    pub store_url: Option<Secret>,
    /// Readers of the store that may be busy at once.
    pub store_connections: usize,
    /// Matches that this process plays at once.
    pub matches_at_once: usize,
    /// Matches taken from the queue by one claim.
    pub claim_size: usize,
    /// How often the queue is read without a notification.
    pub claim_period: Duration,
    /// Turns after which a match ends as a draw among the living.
    pub turns_max: u32,
    /// Claims without progress after which a match is failed.
    pub attempts_max: u32,
    /// Whether bots may have loopback and private addresses.
    pub allow_private_bots: bool,
    /// Connections to one host of bots.
    pub bot_connections_per_host: usize,
    /// A bot's timeout when the request that creates the match sets none.
    pub bot_timeout_default: Duration,
    /// How long a client may take to send a request's head.
    pub http_header_timeout: Duration,
    /// How long a client may take to send a request's body.
    pub http_body_timeout: Duration,
    /// How long a connection may be silent between requests.
    pub http_idle_timeout: Duration,
    /// Connections served at once.
    pub http_connections_max: usize,
    /// Connections of one client address served at once.
    pub http_connections_per_address_max: usize,
    /// Whether that limit applies to loopback addresses, too.
    pub http_limit_loopback: bool,
    /// Bytes of large responses in flight at once.
    pub http_response_bytes_max: usize,
    /// The same for one client address.
    pub http_response_bytes_per_address_max: usize,
    /// How long a client may leave a response unread.
    pub http_response_stall_max: Duration,
    /// The slowest rate at which a client may read a response for longer than that, in bytes a second.
    pub http_response_bytes_per_s_min: u32,
    /// Longest request body.
    pub http_body_bytes_max: usize,
    /// Bytes of large bodies in flight at once.
    pub http_bodies_bytes_max: usize,
    /// The same for one client address.
    pub http_bodies_bytes_per_address_max: usize,
    /// Proxies whose report of the client's address is trusted.
    pub http_trusted_proxies: Networks,
    /// Spectators at once.
    pub spectators_max: usize,
    /// The same from one client address.
    pub spectators_per_address_max: usize,
    /// Threads that replay matches for viewers.
    pub replays_threads: usize,
    /// States of matches that are kept in memory for replays, in bytes.
    pub replays_cache_bytes: usize,
    /// Matches in the queue beyond which new games are refused.
    pub shed_queue_max: Option<u64>,
    /// Wait for the store's writer beyond which new games are refused.
    pub shed_commit_wait: Option<Duration>,
    /// Delay of tasks beyond which new games are refused.
    pub shed_scheduler_delay: Option<Duration>,
    /// The file of the rate limiter's policies, if there is one.
    pub limiter_policies: Option<PathBuf>,
    /// Whether the rate limiter serves other programs, too.
    pub limiter_service: bool,
    /// The port on which it serves proxies over gRPC, if it does.
    pub limiter_grpc_port: Option<u16>,
    /// The token that requests to the rate limiter's HTTP service must have, if any.
    pub limiter_http_token: Option<Secret>,
    /// The token that requests over gRPC must have, if any.
    pub limiter_grpc_token: Option<Secret>,
    /// Keys that the rate limiter counts at once.
    pub limiter_keys_max: usize,
    /// Timestamps that exact logs keep at once.
    pub limiter_timestamps_max: usize,
    /// Whether the rate limiter only decides and counts, without refusing.
    pub limiter_shadow: bool,
    /// Owner tasks among which card tables are divided.
    pub stories_owner_tasks: usize,
    /// Card tables in memory at once.
    pub stories_tables_max: usize,
    /// See `stories.tables_per_player_max`.
    pub stories_tables_per_player_max: usize,
    /// Waits for updates of card tables at once.
    pub stories_waiters_max: usize,
    /// The same for one player.
    pub stories_waiters_per_player_max: usize,
    /// The same for one address.
    pub stories_waiters_per_address_max: usize,
    /// Longest time that a poll may wait for updates of a card table.
    pub stories_poll_wait_max: Duration,
    /// How long a player counts as present after its last poll or stream has ended.
    pub stories_presence_grace: Duration,
    /// A game's default countdown.
    pub stories_countdown: Duration,
    /// After how long without any action a game goes on by itself, or is canceled.
    pub stories_game_timeout: Duration,
    /// How long the next storyteller may take to begin.
    pub stories_next_storyteller_timeout: Duration,
    /// How often card tables without an owner are looked for.
    pub stories_claim_period: Duration,
    /// How long ended card games are kept; `None` for ever.
    pub stories_keep_for: Option<Duration>,
    /// Worlds in memory at once.
    pub worlds_loaded_max: usize,
    /// Inputs that wait for one world.
    pub worlds_mailbox_max: usize,
    /// Threads that encode and send messages to movers.
    pub worlds_sender_threads: usize,
    /// How often a world's soft state is saved.
    pub worlds_snapshot_every: Duration,
    /// After how long without an input a world may be evicted for another one.
    pub worlds_silent: Duration,
    /// How long a world stays in memory without movers.
    pub worlds_idle_timeout: Duration,
    /// Silence on a connection to a world after which TCP probes the other side.
    pub worlds_keepalive: Duration,
    /// Actors that move in the built-in world from the start.
    pub worlds_actors: u32,
    /// Pause before each of them enters.
    pub worlds_actor_start_delay: Duration,
    /// The cell on which they enter; any cell without it.
    pub worlds_actor_spawn: Option<Cell>,
    /// From one move of an actor to its next.
    pub worlds_actor_period: Duration,
    /// The most by which that is longer or shorter each time.
    pub worlds_actor_jitter: Duration,
    /// Threads that move actors.
    pub worlds_actor_threads: usize,
    /// Cells of worlds of players in memory at once.
    pub worlds_players_cells_max: usize,
    /// Whether clients on loopback count by address, too.
    pub quotas_loopback: bool,
    /// Guests that clients of one address may create in an hour.
    pub quotas_guests_per_hour: usize,
    /// Card tables that they may create in an hour.
    pub quotas_tables_per_hour: usize,
    /// Hunts that they may create in an hour.
    pub quotas_hunts_per_hour: usize,
    /// Card tables in memory that they may have opened.
    pub quotas_tables_per_address_max: usize,
    /// Hunts that they may have created and that are not over.
    pub quotas_hunts_per_address_max: usize,
    /// Cells of these.
    pub quotas_cells_per_address_max: usize,
    /// Tickets that they may have that wait, or whose hunt is not over.
    pub quotas_tickets_per_address_max: usize,
    /// Worlds in memory that they may have loaded.
    pub quotas_worlds_per_address_max: usize,
    /// After how long a hunt without players ends.
    pub quotas_unjoined_timeout: Duration,
    /// How long ended matches are kept; `None` for ever.
    pub keep_for: Option<Duration>,
    /// How much the archives of ended matches may take; `None` without a limit.
    pub keep_archive_bytes: Option<u64>,
    /// An admin token that is valid as long as this process lives.
    pub bootstrap_token: Option<Secret>,
    /// The format of log lines.
    pub log_format: LogFormat,
    /// The least severe lines that are logged.
    pub log_level: LogLevel,
    /// Where each value came from, in the order of the table.
    sources: Vec<Source>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreLocation<'a> {
    /// In this SQLite file.
    Sqlite(&'a Path),
    /// In the PostgreSQL database of this URL.
    Postgres(&'a Secret),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The table's default.
    Default,
    /// Configuration file of this path.
    File(PathBuf),
    /// The environment variable of this name.
    Env(String),
    /// The flag of this name.
    Flag(&'static str),
}

/// One setting and its value, with secret parts masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, `section.key`.
    pub key: &'static str,
    /// Its value as a configuration file would have it; `off` where nothing is set.
    pub value: String,
    /// Where it came from.
    pub source: String,
}

impl Config {
    /// The configuration from these sources.
    ///
    /// # Errors
    /// All errors at once, each with what was given, where, and what is expected.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        load::load(sources)
    }

    /// Every setting in the order of the table, for people: secrets are masked.
    #[must_use]
    pub fn entries(&self) -> Vec<Entry> {
        let mut copy = self.clone();
        let rows = SETTINGS.iter().zip(&self.sources);
        rows.map(|(setting, source)| Entry {
            key: setting.key,
            value: (setting.slot)(&mut copy).render(),
            source: source.to_string(),
        })
        .collect()
    }

    #[must_use]
    pub fn store(&self) -> StoreLocation<'_> {
        self.store_url.as_ref().map_or(StoreLocation::Sqlite(&self.data), StoreLocation::Postgres)
    }

    /// The number of sockets of clients, bots and other nodes that the limit of open files allows.
    #[must_use]
    pub fn sockets_max(&self) -> usize {
        relations::sockets_max(self)
    }

    /// How many of them bots may have.
    #[must_use]
    pub fn bot_sockets_max(&self) -> usize {
        relations::bot_sockets_max(self)
    }

    /// How many of them clients may have: the configured number, but never so many that no bot could be called.
    #[must_use]
    pub fn client_sockets_max(&self) -> usize {
        self.http_connections_max.min(relations::connections_max(self))
    }

    /// Warnings about values that are valid but probably not intended.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        relations::warnings(self)
    }

    /// A value of every field's type, to be overwritten by the table's defaults.
    fn blank() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ops_address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ops_port: None,
            advertise: None,
            serve_mode: ServeMode::All,
            threads: 0,
            open_files_max: 0,
            shards: 0,
            data: PathBuf::new(),
            store_url: None,
            store_connections: 0,
            matches_at_once: 0,
            claim_size: 0,
            claim_period: Duration::ZERO,
            turns_max: 0,
            attempts_max: 0,
            allow_private_bots: false,
            bot_connections_per_host: 0,
            bot_timeout_default: Duration::ZERO,
            http_header_timeout: Duration::ZERO,
            http_body_timeout: Duration::ZERO,
            http_idle_timeout: Duration::ZERO,
            http_connections_max: 0,
            http_connections_per_address_max: 0,
            http_limit_loopback: false,
            http_response_bytes_max: 0,
            http_response_bytes_per_address_max: 0,
            http_response_stall_max: Duration::ZERO,
            http_response_bytes_per_s_min: 0,
            http_body_bytes_max: 0,
            http_bodies_bytes_max: 0,
            http_bodies_bytes_per_address_max: 0,
            http_trusted_proxies: Networks::default(),
            spectators_max: 0,
            spectators_per_address_max: 0,
            replays_threads: 0,
            replays_cache_bytes: 0,
            shed_queue_max: None,
            shed_commit_wait: None,
            shed_scheduler_delay: None,
            limiter_policies: None,
            limiter_service: false,
            limiter_grpc_port: None,
            limiter_http_token: None,
            limiter_grpc_token: None,
            limiter_keys_max: 0,
            limiter_timestamps_max: 0,
            limiter_shadow: false,
            stories_owner_tasks: 0,
            stories_tables_max: 0,
            stories_tables_per_player_max: 0,
            stories_waiters_max: 0,
            stories_waiters_per_player_max: 0,
            stories_waiters_per_address_max: 0,
            stories_poll_wait_max: Duration::ZERO,
            stories_presence_grace: Duration::ZERO,
            stories_countdown: Duration::ZERO,
            stories_game_timeout: Duration::ZERO,
            stories_next_storyteller_timeout: Duration::ZERO,
            stories_claim_period: Duration::ZERO,
            stories_keep_for: None,
            worlds_loaded_max: 0,
            worlds_mailbox_max: 0,
            worlds_sender_threads: 0,
            worlds_snapshot_every: Duration::ZERO,
            worlds_silent: Duration::ZERO,
            worlds_idle_timeout: Duration::ZERO,
            worlds_keepalive: Duration::ZERO,
            worlds_actors: 0,
            worlds_actor_start_delay: Duration::ZERO,
            worlds_actor_spawn: None,
            worlds_actor_period: Duration::ZERO,
            worlds_actor_jitter: Duration::ZERO,
            worlds_actor_threads: 0,
            worlds_players_cells_max: 0,
            quotas_loopback: false,
            quotas_guests_per_hour: 0,
            quotas_tables_per_hour: 0,
            quotas_hunts_per_hour: 0,
            quotas_tables_per_address_max: 0,
            quotas_hunts_per_address_max: 0,
            quotas_cells_per_address_max: 0,
            quotas_tickets_per_address_max: 0,
            quotas_worlds_per_address_max: 0,
            quotas_unjoined_timeout: Duration::ZERO,
            keep_for: None,
            keep_archive_bytes: None,
            bootstrap_token: None,
            log_format: LogFormat::Text,
            log_level: LogLevel::Info,
            sources: vec![Source::Default; SETTINGS.len()],
        }
    }
}

impl Default for Config {
    /// The table's defaults on a modest machine, without file, environment and flags.
    fn default() -> Self {
        load::load(&Sources::default()).expect("the table's defaults are valid, as a test shows")
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Env(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag --{name}"),
        }
    }
}

#[cfg(test)]
mod tests;
