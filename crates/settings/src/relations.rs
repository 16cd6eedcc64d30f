//! Relations between settings: what follows from several of them, contradictions, and warnings.

use super::error::ValidationError;
use super::networks::Networks;
use super::secret::DatabaseUrl;
use super::table::Config;
use super::value::{Interface, ServeMode};
use engine::limits;
use engine::limits::{GUEST_RETENTION, MATCH_RETENTION, STORY_GAME_RETENTION};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Files other than sockets of clients, bots or other nodes: the store, the log, the runtime, and a reserve.
const FILES_RESERVED: usize = 256;
/// Bots always have at least one socket in this many, however many clients connect …
const BOT_SOCKETS_DIVISOR: usize = 64;
/// … and clients one in this many, however many bots are called. What one side does not need, the other may have.
const CLIENT_SOCKETS_DIVISOR: usize = 8;
/// Where the file limit leaves hardly anything, each side still gets this many.
const CONNECTIONS_MIN: usize = 16;

/// Where matches are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreLocation<'a> {
    /// In this SQLite file.
    Sqlite(&'a Path),
    /// In the PostgreSQL database of this URL.
    Postgres(&'a DatabaseUrl),
}

impl Config {
    /// Puts periods in the place of those that the store decides: finite ones where it was made with them.
    pub fn resolve_retention(&mut self, has_periods: bool) {
        self.keep_for.resolve(has_periods, MATCH_RETENTION);
        self.stories_keep_for.resolve(has_periods, STORY_GAME_RETENTION);
        self.guests_keep_for.resolve(has_periods, GUEST_RETENTION);
    }

    /// Where the API is served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.interface.0, self.port)
    }

    /// The scheme of the URL at which the API is served.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls_certificate.is_some() { "https" } else { "http" }
    }

    pub fn set_address(&mut self, address: SocketAddr) {
        (self.interface, self.port) = (Interface(address.ip()), address.port());
    }

    #[must_use]
    pub fn store(&self) -> StoreLocation<'_> {
        self.store_url.as_ref().map_or(StoreLocation::Sqlite(&self.data), StoreLocation::Postgres)
    }

    /// The number of sockets of clients, bots and other nodes that the limit of open files allows.
    #[must_use]
    pub fn sockets_max(&self) -> usize {
        let grpc_connections = self.limiter_grpc_port.map_or(0, |_| limits::RLS_CONNECTIONS_MAX);
        let ops_connections = self.ops_port.map_or(0, |_| limits::OPS_CONNECTIONS_MAX);
        let proxy_headers = if self.proxy_protocol { limits::PROXY_HEADERS_AWAITED_MAX } else { 0 };
        let kept_back = FILES_RESERVED + grpc_connections + ops_connections + proxy_headers;
        self.open_files_max.saturating_sub(kept_back).max(2 * CONNECTIONS_MIN)
    }

    /// How many of them bots may have.
    #[must_use]
    pub fn bot_sockets_max(&self) -> usize {
        let sockets = self.sockets_max();
        sockets - (sockets / CLIENT_SOCKETS_DIVISOR).max(CONNECTIONS_MIN)
    }

    /// How many of them clients may have: the configured number, but never so many that no bot could be called.
    #[must_use]
    pub fn client_sockets_max(&self) -> usize {
        self.http_connections_max.min(self.connections_max())
    }

    /// The most that they could have. Where no games are served, no bots are called.
    pub(crate) fn connections_max(&self) -> usize {
        let sockets = self.sockets_max();
        match self.serve_mode {
            ServeMode::All => {
                sockets - (sockets / BOT_SOCKETS_DIVISOR).max(CONNECTIONS_MIN).min(self.bot_connections_per_host)
            }
            ServeMode::Limiter => sockets,
        }
    }

    /// The relations that must hold.
    pub(crate) fn check(&self, errors: &mut Vec<ValidationError>) {
        if self.serve_mode == ServeMode::Limiter && !self.limiter_service {
            errors.push(ValidationError {
                given: "server.only is limiter and limiter.service is false".into(),
                expected: "limiter.service = true, or auto: nothing at all would be served".into(),
            });
        }
        self.check_tls(errors);
        self.check_proxy_protocol(errors);
        if self.shards > 1 {
            check_shards(self, errors);
        }
        if self.limiter_grpc_port.is_some() && !self.limiter_service {
            errors.push(ValidationError {
                given: "limiter.grpc_port is set and limiter.service is false".into(),
                expected: "limiter.service = true, or limiter.grpc_port = off: no requests would be served there"
                    .into(),
            });
        }
        if self.worlds_actor_jitter >= self.worlds_actor_period {
            let (jitter, period) = (self.worlds_actor_jitter.as_millis(), self.worlds_actor_period.as_millis());
            errors.push(ValidationError {
                given: format!("worlds.actor_jitter_ms is {jitter} and worlds.actor_period_ms is {period}"),
                expected: "worlds.actor_jitter_ms < worlds.actor_period_ms: a wait cannot become shorter by itself"
                    .into(),
            });
        }
        let mut at_most = |small: (&str, usize), large: (&str, usize), because: &str| {
            if small.1 > large.1 {
                let given = format!("{} is {} and {} is {}", small.0, small.1, large.0, large.1);
                errors.push(ValidationError { given, expected: format!("{} <= {}: {because}", small.0, large.0) });
            }
        };
        at_most(
            ("matches.claim_size", self.claim_size),
            ("matches.at_once", self.matches_at_once),
            "a claim takes no more matches than can be played",
        );
        at_most(
            ("spectators.max", self.spectators_max),
            ("http.connections_max", self.http_connections_max),
            "every spectator holds a connection",
        );
        at_most(
            ("http.response_bytes_per_address_max", self.http_response_bytes_per_address_max),
            ("http.response_bytes_max", self.http_response_bytes_max),
            "no address can have more than all have",
        );
        at_most(
            ("http.bodies_bytes_per_address_max", self.http_bodies_bytes_per_address_max),
            ("http.bodies_bytes_max", self.http_bodies_bytes_max),
            "no address can have more than all have",
        );
        at_most(
            ("stories.waiters_max", self.stories_waiters_max),
            ("http.connections_max", self.http_connections_max),
            "every waiting client holds a connection",
        );
        at_most(
            ("stories.tables_per_player_max", self.stories_tables_per_player_max),
            ("stories.tables_max", self.stories_tables_max),
            "one player cannot open more tables than all together",
        );
        let ms = |time: std::time::Duration| usize::try_from(time.as_millis()).unwrap_or(usize::MAX);
        at_most(
            ("stories.countdown_ms", ms(self.stories_countdown)),
            ("stories.game_timeout_ms", ms(self.stories_game_timeout)),
            "a countdown that takes longer than the game may be idle never ends",
        );
    }

    /// Whether requests come from other machines, directly or through a proxy.
    pub(crate) fn is_reached_by_others(&self) -> bool {
        !self.interface.0.is_loopback() || !self.http_trusted_proxies.is_empty()
    }

    /// Warnings about values that are valid but probably not intended.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let room = self.connections_max();
        let has_manner = self.worlds_actor_spawn.is_some() || !self.worlds_actor_start_delay.is_zero();
        let is_public = !self.interface.0.is_loopback();
        let has_no_limits =
            !self.limiter_defaults && self.limiter_policies.is_none() && self.serve_mode != ServeMode::Limiter;
        let found = [
            (has_no_limits && self.is_reached_by_others()).then(|| {
                format!(
                    "limiter.defaults is off and limiter.policies is not set while {} can be reached from outside: one client may take all \
                     of this server's time",
                    self.address()
                )
            }),
            (self.http_connections_max > room).then(|| {
                format!(
                    "http.connections_max is {}, and server.open_files_max ({}) leaves room for {room}: further clients will wait \
                     until one leaves; raise the limit of open files (ulimit -n), or lower http.connections_max",
                    self.http_connections_max, self.open_files_max
                )
            }),
            (self.allow_private_bots && is_public).then(|| {
                format!(
                    "bots.allow_private is on while {} can be reached from outside: anyone who may register bots can make this \
                     server call addresses of your own network",
                    self.address()
                )
            }),
            (self.limiter_service && is_public && self.limiter_http_token.is_none()).then(|| {
                format!(
                    "limiter.service is on while {} can be reached from outside, without limiter.http_token: anyone who reaches it may use up \
                     every key and change the quotas of /api/v1; set GAUNTLET_LIMITER_HTTP_TOKEN, or listen on loopback",
                    self.address()
                )
            }),
            (self.limiter_grpc_port.is_some() && is_public && self.limiter_grpc_token.is_none()).then(|| {
                format!(
                    "limiter.grpc_port can be reached from outside at {}, without limiter.grpc_token: anyone who reaches it may use up every \
                     key; set GAUNTLET_LIMITER_GRPC_TOKEN, or listen on loopback",
                    self.interface.0
                )
            }),
            (self.worlds_actors == 0 && has_manner).then(|| {
                "worlds.actor_spawn or worlds.actor_start_delay_ms is set while worlds.actors is 0: it applies to those \
                 actors only; POST /api/worlds/{world}/actors has its own"
                    .to_owned()
            }),
            (self.worlds_actors > 0 && self.serve_mode == ServeMode::Limiter).then(|| {
                "worlds.actors is set while server.only is limiter: without games there is no world, and no actor moves".to_owned()
            }),
        ];
        found.into_iter().flatten().collect()
    }
}

impl Config {
    fn check_tls(&self, errors: &mut Vec<ValidationError>) {
        let mut refuse = |given: &str, expected: &str| {
            errors.push(ValidationError { given: given.to_owned(), expected: expected.to_owned() });
        };
        match (&self.tls_certificate, &self.tls_key) {
            (Some(_), None) => refuse(
                "tls.certificate is set and tls.key is off",
                "both of them, or none: the key of the certificate (PEM)",
            ),
            (None, Some(_)) => refuse(
                "tls.key is set and tls.certificate is off",
                "both of them, or none: the certificate of the key (PEM)",
            ),
            (Some(_), Some(_)) if self.shards > 1 || self.store_url.is_some() => refuse(
                "tls.certificate is set, and server.shards or store.url",
                "tls.certificate = off: several servers speak to each other without TLS; let a proxy in front of them have the certificate (docs/proxy.md)",
            ),
            _ => {}
        }
    }
}

impl Config {
    /// Whether clients on loopback may do no more than others.
    #[must_use]
    pub fn counts_loopback(&self) -> bool {
        self.quotas_loopback && self.http_limit_loopback
    }

    /// The proxies in front of this server whose connections must begin with a header of the PROXY protocol; without it, none.
    #[must_use]
    pub fn proxy_protocol_peers(&self) -> Networks {
        if self.proxy_protocol { self.http_trusted_proxies.clone() } else { Networks::default() }
    }

    fn check_proxy_protocol(&self, errors: &mut Vec<ValidationError>) {
        let mut refuse = |given: String, expected: &str| {
            errors.push(ValidationError { given, expected: expected.to_owned() });
        };
        if self.proxy_protocol && self.http_trusted_proxies.is_empty() {
            refuse(
                "server.proxy_protocol is true and http.trusted_proxies is off".to_owned(),
                "http.trusted_proxies = the addresses of the load balancers, whose headers alone are read; or server.proxy_protocol = false",
            );
        }
        // Other nodes send no header. A host with a name is found out when the node asks itself at that address.
        let is_trusted = |host: IpAddr| self.proxy_protocol_peers().contains(host);
        if self.store_url.is_some()
            && let Some(host) = self.advertised_ip().filter(|host| is_trusted(*host))
        {
            refuse(
                format!(
                    "server.proxy_protocol is true, and http.trusted_proxies contains {host}, where other nodes reach this one"
                ),
                "http.trusted_proxies without the nodes of store.url, which connect to each other without a header",
            );
        }
    }

    /// The address at which other nodes reach this one, if it is known as such.
    fn advertised_ip(&self) -> Option<IpAddr> {
        match &self.advertise.0 {
            Some(advertised) => {
                let (host, _) = advertised.rsplit_once(':')?;
                host.trim_start_matches('[').trim_end_matches(']').parse().ok()
            }
            None => Some(self.interface.0).filter(|host| !host.is_unspecified()),
        }
    }
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
    if config.advertise.0.is_some() {
        refuse("server.advertise is set", "server.advertise = auto: each shard has a port of its own");
    }
    if config.serve_mode == ServeMode::Limiter {
        refuse("server.only is limiter", "server.shards = 1: each shard would count for itself alone");
    }
    if config.proxy_protocol {
        refuse(
            "server.proxy_protocol is true",
            "server.proxy_protocol = false: shards and their supervisor speak to each other without a header; start servers one by one, \
             or let clients connect to the shards directly",
        );
    }
    if config.limiter_grpc_port.is_some() {
        refuse("limiter.grpc_port is set", "limiter.grpc_port = off: only one server can listen there");
    }
    let port = config.port;
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
