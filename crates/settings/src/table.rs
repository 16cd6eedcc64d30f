//! The table of settings: one row each, from which everything about a setting is derived.
//!
//! Limits come from [`engine::limits`]: a configuration chooses values below them.

use super::Config;
use super::slot::Slot;
use engine::limits;
use rules::world::WorldSettings;
use std::ops::RangeInclusive;
use std::time::Duration;

/// One setting.
pub struct Setting {
    /// Its name in a file and in listings: `section.key`.
    pub key: &'static str,
    /// Its flag, without the dashes; `None` for secrets, which must not appear in a process list.
    pub flag: Option<&'static str>,
    /// Its environment variable, where that is not `GAUNTLET_SECTION_KEY`.
    env: Option<&'static str>,
    /// What a number counts.
    pub unit: &'static str,
    /// The numbers, lengths or seconds that are accepted.
    pub range: RangeInclusive<u64>,
    /// The default, as text.
    pub default: &'static str,
    /// What `auto` means, where it is accepted.
    pub auto: Option<&'static str>,
    /// What it decides, in a sentence.
    pub help: &'static str,
    /// The field in the configuration.
    pub(super) slot: fn(&mut Config) -> Slot<'_>,
}

/// The text that requests a derived value.
pub(super) const AUTO: &str = "auto";

impl Setting {
    #[must_use]
    pub fn env(&self) -> String {
        self.env.map_or_else(|| format!("GAUNTLET_{}", self.key.replace('.', "_").to_uppercase()), str::to_owned)
    }

    /// The texts that it accepts, in words.
    #[must_use]
    pub fn expects(&self) -> String {
        let expects = (self.slot)(&mut Config::blank()).expects(self);
        self.auto.map_or_else(|| expects.clone(), |auto| format!("{expects}, or auto: {auto}"))
    }

    /// Whether its flag takes no value and means `true`.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        (self.slot)(&mut Config::blank()).is_switch()
    }

    /// Whether its value must be masked.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        (self.slot)(&mut Config::blank()).is_secret()
    }
}

const ANY: RangeInclusive<u64> = 0..=0;
const QUOTA: RangeInclusive<u64> = 1..=limits::QUOTA_MAX as u64;
const HOUR_MS: u64 = 3_600_000;
const CENTURY_S: u64 = 100 * 365 * 86_400;

const fn ms(time: Duration) -> u64 {
    time.as_millis() as u64
}

/// A row without the rarer columns.
const fn row(
    key: &'static str,
    flag: &'static str,
    (unit, range): (&'static str, RangeInclusive<u64>),
    default: &'static str,
    slot: fn(&mut Config) -> Slot<'_>,
    help: &'static str,
) -> Setting {
    Setting { key, flag: Some(flag), env: None, unit, range, default, auto: None, help, slot }
}

impl Setting {
    /// The row with `auto` accepted and as its default.
    const fn or_auto(self, auto: &'static str) -> Self {
        Self { auto: Some(auto), default: AUTO, ..self }
    }

    /// The row without a flag (which a process list would show), with its own environment variable.
    const fn without_flag(self, env: &'static str) -> Self {
        Self { flag: None, env: Some(env), ..self }
    }
}

/// Every setting, in the order of listings.
#[rustfmt::skip] // a table is read by its rows
pub const SETTINGS: &[Setting] = &[
    row("server.interface", "interface", ("", ANY), "127.0.0.1", |c| Slot::Ip(&mut c.address),
        "Address of the network interface on which the server listens."),
    row("server.port", "port", ("port; 0 for any free one", 0..=65_535), "4000", |c| Slot::Port(&mut c.address),
        "TCP port of the API."),
    row("server.advertise", "advertise", ("port", 1..=65_535), "", |c| Slot::Advertise(&mut c.advertise),
        "Address at which the other nodes of a shared database reach this one.")
        .or_auto("server.interface, or the machine's name where that is every interface, and server.port"),
    row("server.ops_interface", "ops-interface", ("", ANY), "127.0.0.1", |c| Slot::Ip(&mut c.ops_address),
        "Address of the network interface on which server.ops_port listens."),
    row("server.ops_port", "ops-port", ("port; 0 for any free one", 0..=65_535), "off", |c| Slot::PortOrOff(&mut c.ops_port),
        "Separate TCP port for /healthz, /readyz, /metrics, /api/admin and policies: it responds even when the API accepts no further connection."),
    row("server.only", "only", ("", ANY), "all", |c| Slot::ServeMode(&mut c.serve_mode),
        "Which services run: all of them, or the rate limiter alone, without games and runners."),
    row("server.threads", "threads", ("threads", 1..=1_024), "", |c| Slot::Size(&mut c.threads),
        "Threads that run tasks.").or_auto("one for each core"),
    row("server.open_files_max", "open-files-max", ("files", limits::OPEN_FILES_MIN as u64..=10_000_000), "", |c| Slot::Size(&mut c.open_files_max),
        "Limit of open files and sockets that the process requests from the system.").or_auto("the hard limit"),
    row("server.shards", "shards", ("servers", 1..=limits::SHARDS_MAX as u64), "1", |c| Slot::Size(&mut c.shards),
        "Servers that one supervisor starts, each with its own worlds, data file and port (the ports that follow server.port)."),
    row("store.data", "data", ("", ANY), "gauntlet-data/gauntlet.db", |c| Slot::Path(&mut c.data),
        "SQLite file that holds all durable data; its folder is created."),
    row("store.url", "store-url", ("", ANY), "off", |c| Slot::Url(&mut c.store_url),
        "PostgreSQL database that is used instead of the SQLite file; several servers may share one."),
    row("store.connections", "store-connections", ("connections", 1..=256), "", |c| Slot::Size(&mut c.store_connections),
        "Reads of the store that run at the same time. On PostgreSQL each has a connection, in addition to one for writing, one for each of replays.threads and one for /readyz.").or_auto("4 on SQLite, 8 on PostgreSQL"),
    row("matches.at_once", "matches-at-once", ("matches", 1..=limits::MATCHES_AT_ONCE_MAX as u64), "10000",
        |c| Slot::Size(&mut c.matches_at_once),
        "Matches that this process plays at the same time."),
    row("matches.claim_size", "claim-size", ("matches", 1..=limits::CLAIM_MAX as u64), "24",
        |c| Slot::Size(&mut c.claim_size),
        "Matches that are taken from the queue at once, every 10 ms at most."),
    row("matches.claim_period_ms", "claim-period-ms", ("milliseconds", 10..=2_000), "250",
        |c| Slot::Millis(&mut c.claim_period),
        "How often the queue is polled when no notification arrives."),
    row("matches.turns_max", "turns-max", ("turns", 1..=limits::TURNS_MAX as u64), "5000",
        |c| Slot::Count(&mut c.turns_max),
        "A match ends at the latest after this many turns, as a draw among the living."),
    row("matches.attempts_max", "attempts-max", ("attempts", 1..=limits::ATTEMPTS_MAX as u64), "5",
        |c| Slot::Count(&mut c.attempts_max),
        "Claims without any progress after which a match fails; its log is kept."),
    row("bots.allow_private", "allow-private-bots", ("", ANY), "false", |c| Slot::Switch(&mut c.allow_private_bots),
        "Bots may have loopback and private addresses: for play on one machine or in one network."),
    row("bots.connections_per_host", "bot-connections-per-host", ("connections", 1..=1_000_000), "16384",
        |c| Slot::Size(&mut c.bot_connections_per_host),
        "Most connections to one host of bots: they share the limit of open files with clients."),
    row("bots.timeout_default_ms", "bot-timeout-default-ms",
        ("milliseconds", limits::BOT_TIMEOUT_MIN.as_millis() as u64..=limits::BOT_TIMEOUT_MAX.as_millis() as u64), "500",
        |c| Slot::Millis(&mut c.bot_timeout_default),
        "Time that a bot has to respond when the request that creates the match sets none."),
    row("http.header_timeout_ms", "http-header-timeout-ms", ("milliseconds", 50..=HOUR_MS), "10000",
        |c| Slot::Millis(&mut c.http_header_timeout),
        "Time that a client has to send the head of a request."),
    row("http.body_timeout_ms", "http-body-timeout-ms", ("milliseconds", 50..=HOUR_MS), "30000",
        |c| Slot::Millis(&mut c.http_body_timeout),
        "Time that a client has to send the body of a request."),
    row("http.idle_timeout_ms", "http-idle-timeout-ms", ("milliseconds", 50..=HOUR_MS), "75000",
        |c| Slot::Millis(&mut c.http_idle_timeout),
        "Time that a connection may be silent between requests, or while the client does not read a response."),
    row("http.connections_max", "http-connections-max", ("connections", 1..=1_000_000), "",
        |c| Slot::Size(&mut c.http_connections_max),
        "Connections that are served at the same time. A further one evicts another (first one without a known client, then a guest's, of the address that has most; never an account's), or is refused.")
        .or_auto("nearly all that the limit of open files allows; bots share them and always have some"),
    row("http.connections_per_address_max", "http-connections-per-address-max", ("connections", 1..=1_000_000), "256",
        |c| Slot::Size(&mut c.http_connections_per_address_max),
        "Connections of one client address, or one network of IPv6 (/64), at the same time; trusted proxies and loopback may have any number."),
    row("http.limit_loopback", "http-limit-loopback", ("", ANY), "false", |c| Slot::Switch(&mut c.http_limit_loopback),
        "Loopback addresses may have no more connections than others: for trying the limit out on one machine."),
    row("http.body_bytes_max", "http-body-bytes-max", ("bytes", 1_024..=limits::REQUEST_BODY_BYTES_MAX as u64), "2097152",
        |c| Slot::Size(&mut c.http_body_bytes_max),
        "Longest request body of a batch; other requests may have 16384 bytes, lists of ids or cells 65536."),
    row("http.bodies_bytes_max", "http-bodies-bytes-max", ("bytes", 4 * limits::REQUEST_BODY_BYTES_MAX as u64..=limits::BODIES_BYTES_MAX as u64), "67108864",
        |c| Slot::Size(&mut c.http_bodies_bytes_max),
        "Bytes of large request bodies (over 16 KiB) in flight at the same time. Beyond it, a body is refused with 503, or a connection of the address that has most is evicted."),
    row("http.bodies_bytes_per_address_max", "http-bodies-bytes-per-address-max", ("bytes", limits::REQUEST_BODY_BYTES_MAX as u64..=limits::BODIES_BYTES_MAX as u64), "",
        |c| Slot::Size(&mut c.http_bodies_bytes_per_address_max),
        "The same for one address, or one network of IPv6 (/64).").or_auto("a quarter of http.bodies_bytes_max"),
    row("http.response_bytes_max", "http-response-bytes-max", ("bytes", 4 * limits::REPLAY_RESPONSE_BYTES as u64..=limits::RESPONSE_BYTES_MAX as u64), "67108864",
        |c| Slot::Size(&mut c.http_response_bytes_max),
        "Bytes of large responses (over 16 KiB) in flight at the same time; a replay counts as 262144, whatever its length. Replays and other responses each have a budget of this size. Beyond it, a response is refused with 503, or a connection of the address that has most is evicted."),
    row("http.response_bytes_per_address_max", "http-response-bytes-per-address-max", ("bytes", limits::REPLAY_RESPONSE_BYTES as u64..=limits::RESPONSE_BYTES_MAX as u64), "",
        |c| Slot::Size(&mut c.http_response_bytes_per_address_max),
        "The same for one address, or one network of IPv6 (/64).").or_auto("a quarter of http.response_bytes_max"),
    row("http.response_stall_ms", "http-response-stall-ms", ("milliseconds", 50..=HOUR_MS), "30000",
        |c| Slot::Millis(&mut c.http_response_stall_max),
        "Time for which a client may leave a response unread, or read it more slowly than http.response_bytes_per_s_min."),
    row("http.response_bytes_per_s_min", "http-response-bytes-per-s-min", ("bytes a second", 1..=1_000_000_000), "1024",
        |c| Slot::Count(&mut c.http_response_bytes_per_s_min),
        "Rate at which a client must read a response once its connection is full; each byte makes up for the time that it takes at this rate. A large response (http.response_bytes_max) must be read faster: all of its bytes within http.response_stall_ms."),
    row("http.trusted_proxies", "http-trusted-proxies", ("", ANY), "off", |c| Slot::Networks(&mut c.http_trusted_proxies),
        "Proxies whose header X-Forwarded-For is trusted: the rate limiter counts by the address of the client behind them."),
    row("spectators.max", "spectators-max", ("spectators", 0..=limits::SPECTATORS_MAX as u64), "",
        |c| Slot::Size(&mut c.spectators_max),
        "Spectators at the same time.").or_auto("half of http.connections_max"),
    row("spectators.per_address_max", "spectators-per-address-max", ("spectators", 1..=limits::SPECTATORS_MAX as u64), "",
        |c| Slot::Size(&mut c.spectators_per_address_max),
        "The same from one address, or one network of IPv6 (/64).").or_auto("a quarter of spectators.max"),
    row("replays.threads", "replays-threads", ("threads", 1..=limits::REPLAY_THREADS_MAX as u64), "",
        |c| Slot::Size(&mut c.replays_threads),
        "Threads that replay matches for viewers, each with a connection to the store in addition to store.connections.")
        .or_auto("one for every two of server.threads"),
    row("replays.cache_bytes", "replays-cache-bytes", ("bytes", 0..=limits::REPLAY_CACHE_BYTES_MAX as u64), "67108864",
        |c| Slot::Size(&mut c.replays_cache_bytes),
        "States of matches, one every 100 turns, that are kept in memory so that later turns need no replay from the first."),
    row("shed.queue_max", "shed-queue-max", ("matches", 1..=1_000_000_000), "off", |c| Slot::Amount(&mut c.shed_queue_max),
        "Matches waiting in the queue beyond which new games are refused, until it is down to 80 % of that."),
    row("shed.commit_wait_ms", "shed-commit-wait-ms", ("milliseconds", 1..=60_000), "off",
        |c| Slot::MillisOrOff(&mut c.shed_commit_wait),
        "Wait for the store's writer (99th percentile of the last seconds) beyond which new games are refused."),
    row("shed.scheduler_delay_ms", "shed-scheduler-delay-ms", ("milliseconds", 1..=60_000), "off",
        |c| Slot::MillisOrOff(&mut c.shed_scheduler_delay),
        "Delay of tasks for want of a processor (99th percentile of the last seconds) beyond which new games are refused."),
    row("limiter.policies", "limiter-policies", ("", ANY), "off", |c| Slot::PathOrOff(&mut c.limiter_policies),
        "TOML file of the rate limiter's policies; read again on SIGHUP. Without policies there are no limits."),
    row("limiter.service", "limiter-service", ("", ANY), "", |c| Slot::Switch(&mut c.limiter_service),
        "The rate limiter also serves other programs, on /api/limits/check and /api/v1, for every client that reaches the port.")
        .or_auto("true with server.only = limiter, false otherwise"),
    row("limiter.http_token", "", ("characters", 16..=128), "off", |c| Slot::Secret(&mut c.limiter_http_token),
        "Secret that every request to /api/limits/check and /api/v1 must carry (authorization: Bearer ...), except /api/v1/health.")
        .without_flag("GAUNTLET_LIMITER_HTTP_TOKEN"),
    row("limiter.grpc_port", "grpc-port", ("port; 0 for any free one", 0..=65_535), "off",
        |c| Slot::PortOrOff(&mut c.limiter_grpc_port),
        "TCP port on which proxies ask the rate limiter over gRPC (Envoy's rate limit service, version 3)."),
    row("limiter.grpc_token", "", ("characters", 16..=128), "off", |c| Slot::Secret(&mut c.limiter_grpc_token),
        "Secret that every request to the gRPC port must carry (authorization: Bearer ...), except health checks.")
        .without_flag("GAUNTLET_LIMITER_GRPC_TOKEN"),
    row("limiter.keys_max", "limiter-keys-max", ("keys", 1_024..=limits::LIMIT_KEYS_MAX as u64), "2000000",
        |c| Slot::Size(&mut c.limiter_keys_max),
        "Keys that are counted at the same time: this many for the gateway, for other policies, and for /api/v1. A key takes at most 64 bytes and its own length."),
    row("limiter.timestamps_max", "limiter-timestamps-max", ("timestamps", 1_024..=limits::LIMIT_TIMESTAMPS_MAX as u64), "50000000",
        |c| Slot::Size(&mut c.limiter_timestamps_max),
        "Timestamps that exact logs keep at the same time, over all policies; each takes 8 bytes."),
    row("limiter.shadow", "limiter-shadow", ("", ANY), "false", |c| Slot::Switch(&mut c.limiter_shadow),
        "Shadow mode: the rate limiter decides and counts but refuses no request, to try policies out."),
    row("stories.owner_tasks", "stories-owner-tasks", ("tasks", 1..=limits::TABLE_OWNER_TASKS_MAX as u64), "",
        |c| Slot::Size(&mut c.stories_owner_tasks),
        "Owner tasks among which card tables are divided.").or_auto("one for each of server.threads"),
    row("stories.tables_max", "stories-tables-max", ("tables", 1..=limits::TABLES_MAX as u64), "250000",
        |c| Slot::Size(&mut c.stories_tables_max),
        "Card tables in memory at the same time; a table without a game leaves memory when no player is present."),
    row("stories.tables_per_player_max", "stories-tables-per-player-max", ("tables", 1..=limits::TABLES_PER_PLAYER_MAX as u64), "64",
        |c| Slot::Size(&mut c.stories_tables_per_player_max),
        "The same that one player, or guest, has opened."),
    row("stories.waiters_max", "stories-waiters-max", ("waits", 1..=limits::TABLE_WAITERS_MAX as u64), "",
        |c| Slot::Size(&mut c.stories_waiters_max),
        "Polls, event streams and sockets that wait for updates of card tables at the same time.").or_auto("http.connections_max"),
    row("stories.waiters_per_player_max", "stories-waiters-per-player-max", ("waits", 1..=10_000), "16",
        |c| Slot::Size(&mut c.stories_waiters_per_player_max),
        "The same for one player, at all tables."),
    row("stories.waiters_per_address_max", "stories-waiters-per-address-max", ("waits", 1..=limits::TABLE_WAITERS_MAX as u64), "",
        |c| Slot::Size(&mut c.stories_waiters_per_address_max),
        "The same from one address, or one network of IPv6 (/64), as the rate limiter counts addresses.")
        .or_auto("a quarter of stories.waiters_max"),
    row("stories.poll_wait_max_ms", "stories-poll-wait-max-ms", ("milliseconds", 0..=ms(limits::POLL_WAIT_MAX)), "600000",
        |c| Slot::Millis(&mut c.stories_poll_wait_max),
        "Longest time that a poll may wait for an update."),
    row("stories.presence_grace_ms", "stories-presence-grace-ms", ("milliseconds", 100..=HOUR_MS), "15000",
        |c| Slot::Millis(&mut c.stories_presence_grace),
        "Time that a player counts as present after the end of the last poll or stream."),
    row("stories.countdown_ms", "stories-countdown-ms", ("milliseconds", ms(limits::STORY_TIMEOUT_MIN)..=ms(limits::STORY_COUNTDOWN_MAX)), "60000",
        |c| Slot::Millis(&mut c.stories_countdown),
        "Countdown to the next phase of a game once enough players are ready, unless the game sets another."),
    row("stories.game_timeout_ms", "stories-game-timeout-ms", ("milliseconds", ms(limits::STORY_TIMEOUT_MIN)..=ms(limits::STORY_GAME_TIMEOUT_MAX)), "86400000",
        |c| Slot::Millis(&mut c.stories_game_timeout),
        "Time without any action after which a game continues by itself, or is canceled."),
    row("stories.next_storyteller_timeout_ms", "stories-next-storyteller-timeout-ms", ("milliseconds", ms(limits::STORY_TIMEOUT_MIN)..=ms(limits::STORY_NEXT_STORYTELLER_TIMEOUT_MAX)), "60000",
        |c| Slot::Millis(&mut c.stories_next_storyteller_timeout),
        "Time that the next storyteller has to begin before another player may."),
    row("stories.claim_period_ms", "stories-claim-period-ms", ("milliseconds", 10..=2_000), "1000",
        |c| Slot::Millis(&mut c.stories_claim_period),
        "How often the server looks for card tables whose owner is gone."),
    row("stories.keep_for", "stories-keep-for", ("", 60..=CENTURY_S), "off", |c| Slot::Span(&mut c.stories_keep_for),
        "Age after which ended card games are deleted."),
    row("worlds.loaded_max", "worlds-loaded-max", ("worlds", 1..=limits::WORLDS_LOADED_MAX as u64), "256",
        |c| Slot::Size(&mut c.worlds_loaded_max),
        "Worlds in memory at the same time, a thread each; built-in worlds, which never end, are loaded even beyond it. A world leaves memory when no mover is in it."),
    row("worlds.mailbox_max", "worlds-mailbox-max", ("inputs", 1_024..=limits::WORLD_MAILBOX_MAX as u64), "65536",
        |c| Slot::Size(&mut c.worlds_mailbox_max),
        "Inputs that wait for one world; further ones are refused (busy)."),
    row("worlds.sender_threads", "worlds-sender-threads", ("threads", 1..=limits::WORLD_SENDER_THREADS_MAX as u64), "",
        |c| Slot::Size(&mut c.worlds_sender_threads),
        "Threads that send answers, views and events to movers.").or_auto("one for every two of server.threads"),
    row("worlds.snapshot_ms", "worlds-snapshot-ms", ("milliseconds", 100..=HOUR_MS), "5000",
        |c| Slot::Millis(&mut c.worlds_snapshot_every),
        "How often positions in a world are saved, if any changed: a crash loses at most this much."),
    row("worlds.idle_ms", "worlds-idle-ms", ("milliseconds", 0..=HOUR_MS), "30000", |c| Slot::Millis(&mut c.worlds_idle_timeout),
        "Time that a world stays in memory after its last mover left."),
    row("worlds.silent_ms", "worlds-silent-ms", ("milliseconds", 1_000..=HOUR_MS), "60000", |c| Slot::Millis(&mut c.worlds_silent),
        "Time without an input after which a world with an end may be unloaded for another one, when worlds.loaded_max is reached."),
    row("worlds.keepalive_ms", "worlds-keepalive-ms", ("milliseconds", 1_000..=ms(limits::WORLD_KEEPALIVE_AFTER_MAX)), "30000",
        |c| Slot::Millis(&mut c.worlds_keepalive),
        "Silence on a connection to a world after which TCP probes the peer; half a minute without a response ends the connection."),
    row("worlds.actors", "actors", ("actors", 0..=limits::ACTORS_MAX as u64), "0", |c| Slot::Count(&mut c.worlds_actors),
        "Built-in actors that move in the world plaza from the start, each with its own timer."),
    row("worlds.actor_start_delay_ms", "actor-start-delay-ms", ("milliseconds", 0..=ms(limits::ACTOR_START_DELAY_MAX)), "0",
        |c| Slot::Millis(&mut c.worlds_actor_start_delay),
        "Pause before each of these actors joins; with 0 they join as fast as the world admits them."),
    row("worlds.actor_spawn", "actor-spawn", ("x,y", 0..=WorldSettings::SIDE_MAX as u64 - 1), "off",
        |c| Slot::CellOrOff(&mut c.worlds_actor_spawn),
        "Cell of the plaza on which all of these actors start, or the nearest one without a tree; with off each starts anywhere."),
    row("worlds.actor_period_ms", "actor-period-ms",
        ("milliseconds", ms(limits::ACTOR_PERIOD_MIN)..=ms(limits::ACTOR_PERIOD_MAX)), "1000",
        |c| Slot::Millis(&mut c.worlds_actor_period),
        "Time from one move of an actor to its next."),
    row("worlds.actor_jitter_ms", "actor-jitter-ms", ("milliseconds", 0..=ms(limits::ACTOR_PERIOD_MAX)), "0",
        |c| Slot::Millis(&mut c.worlds_actor_jitter),
        "Most by which each of these periods is longer or shorter, drawn anew each time."),
    row("worlds.actor_threads", "actor-threads", ("threads", 1..=limits::ACTOR_THREADS_MAX as u64), "1",
        |c| Slot::Size(&mut c.worlds_actor_threads),
        "Threads that move the actors."),
    row("worlds.players_cells_max", "worlds-players-cells-max", ("cells", 1..=limits::WORLD_CELLS_MAX), "64000000",
        |c| Slot::Size(&mut c.worlds_players_cells_max),
        "Cells of worlds that players made, in memory at the same time: some 9 bytes each."),
    row("quotas.loopback", "quotas-loopback", ("", ANY), "false", |c| Slot::Switch(&mut c.quotas_loopback),
        "Clients on loopback are counted by address, too: to test the quotas. A proxy on this machine belongs in http.trusted_proxies."),
    row("quotas.guests_per_hour", "quotas-guests-per-hour", ("guests", QUOTA), "600",
        |c| Slot::Size(&mut c.quotas_guests_per_hour),
        "Guests that the clients of one address (IPv6: of one /64) make in an hour."),
    row("quotas.tables_per_hour", "quotas-tables-per-hour", ("tables", QUOTA), "300",
        |c| Slot::Size(&mut c.quotas_tables_per_hour),
        "Card tables that they make in an hour."),
    row("quotas.hunts_per_hour", "quotas-hunts-per-hour", ("hunts", QUOTA), "120",
        |c| Slot::Size(&mut c.quotas_hunts_per_hour),
        "Hunts that they make in an hour; those of the matchmaker are counted as tickets."),
    row("quotas.tables_per_address_max", "quotas-tables-per-address-max", ("tables", QUOTA), "100",
        |c| Slot::Size(&mut c.quotas_tables_per_address_max),
        "Card tables in memory that they have opened."),
    row("quotas.hunts_per_address_max", "quotas-hunts-per-address-max", ("hunts", QUOTA), "32",
        |c| Slot::Size(&mut c.quotas_hunts_per_address_max),
        "Hunts that they have made and that are not over."),
    row("quotas.cells_per_address_max", "quotas-cells-per-address-max", ("cells", 1..=limits::WORLD_CELLS_MAX), "8000000",
        |c| Slot::Size(&mut c.quotas_cells_per_address_max),
        "Cells of these hunts together."),
    row("quotas.tickets_per_address_max", "quotas-tickets-per-address-max", ("tickets", QUOTA), "256",
        |c| Slot::Size(&mut c.quotas_tickets_per_address_max),
        "Tickets of theirs that wait, or whose hunt is not over."),
    row("quotas.worlds_per_address_max", "quotas-worlds-per-address-max", ("worlds", QUOTA), "64",
        |c| Slot::Size(&mut c.quotas_worlds_per_address_max),
        "Worlds in memory that they loaded; built-in worlds and those of operators are not counted."),
    row("quotas.unjoined_ms", "quotas-unjoined-ms", ("milliseconds", 1_000..=ms(limits::HUNT_UNJOINED_TIMEOUT_MAX)), "1800000",
        |c| Slot::Millis(&mut c.quotas_unjoined_timeout),
        "Time after which a hunt ends that no player but its creator joined, and in which no player was."),
    row("retention.keep_for", "keep-for", ("", 60..=CENTURY_S), "off", |c| Slot::Span(&mut c.keep_for),
        "Age after which ended matches are deleted."),
    row("retention.archive_bytes_max", "archive-bytes-max", ("bytes", 1_048_576..=u64::MAX >> 1), "off",
        |c| Slot::Amount(&mut c.keep_archive_bytes),
        "Size of the archives of ended matches beyond which the oldest are deleted."),
    row("auth.bootstrap_token", "", ("characters", 16..=128), "off", |c| Slot::Secret(&mut c.bootstrap_token),
        "Secret of an admin token that is valid as long as this process runs.").without_flag("GAUNTLET_BOOTSTRAP_TOKEN"),
    row("log.format", "log-format", ("", ANY), "text", |c| Slot::Format(&mut c.log_format),
        "Format of log lines."),
    row("log.level", "log-level", ("", ANY), "info", |c| Slot::Level(&mut c.log_level),
        "Least severe log lines that are written."),
];
