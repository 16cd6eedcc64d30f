//! Settings as users write them, and the resulting configuration.

use super::*;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Loads `file`, `env` (`NAME=value` words) and `flags` (`name=value` words) on a machine with 4 cores and 20,000 files.
fn load(file: &str, env: &str, flags: &[(&'static str, &str)]) -> Result<Config, ConfigError> {
    let env = env.split_whitespace().filter_map(|word| word.split_once('='));
    Config::load(&Sources {
        file: (!file.is_empty()).then(|| (PathBuf::from("g.toml"), file.to_owned())),
        env: env.map(|(name, text)| (name.to_owned(), text.to_owned())).collect(),
        flags: flags.iter().map(|(name, text)| (*name, (*text).to_owned())).collect(),
        machine: Machine { cores: 4, open_files_max: 20_000 },
    })
}

/// The value and source of `key` must come out as `want`.
#[track_caller]
fn check(file: &str, env: &str, flags: &[(&'static str, &str)], key: &str, want: &str) {
    let config = load(file, env, flags).unwrap();
    let entry = config.entries().into_iter().find(|entry| entry.key == key).unwrap();
    assert_eq!(format!("{} ({})", entry.value, entry.source), want);
}

/// Checks that exactly these errors are returned, in this order.
#[track_caller]
fn refused(file: &str, env: &str, flags: &[(&'static str, &str)], want: &[&str]) {
    let errors = load(file, env, flags).unwrap_err().0;
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), want);
}

#[test]
fn a_later_layer_covers_an_earlier_one() {
    let file = "[server]\nport = 4001";
    let env = "GAUNTLET_SERVER_PORT=4002";
    check("", "", &[], "server.port", "4000 (default)");
    check(file, "", &[], "server.port", "4001 (file g.toml)");
    check(file, env, &[], "server.port", "4002 (environment GAUNTLET_SERVER_PORT)");
    check(file, env, &[("port", "4003")], "server.port", "4003 (flag --port)");
    check("", "PORT=1 HOME=/", &[], "server.port", "4000 (default)");
    check("", "GAUNTLET_TOKEN=x GAUNTLET_CONFIG=y", &[], "server.port", "4000 (default)");
}

#[test]
fn each_kind_of_value_is_read_and_shown() {
    check("[server]\ninterface = \"::1\"", "", &[], "server.interface", "::1 (file g.toml)");
    check("", "", &[], "server.advertise", "auto (default)");
    check(
        "",
        "",
        &[("advertise", "node-1.example:4000")],
        "server.advertise",
        "node-1.example:4000 (flag --advertise)",
    );
    check("", "", &[("advertise", "[2001:db8::1]:80")], "server.advertise", "[2001:db8::1]:80 (flag --advertise)");
    check(
        "[server]\nadvertise = \"node-1:4000\"",
        "",
        &[("advertise", "auto")],
        "server.advertise",
        "auto (flag --advertise)",
    );
    for wrong in [
        "node-1",
        ":4000",
        "node:0",
        "node:65536",
        "a b:1",
        "2001:db8::1:80",
        "[::]:80",
        "0.0.0.0:80",
        "[node]:80",
        "a/b:80",
        "http://node:80",
        "[::ffff:0.0.0.0]:80",
        "0:80",
        "127.1:80",
        "",
    ] {
        assert!(load("", "", &[("advertise", wrong)]).is_err(), "{wrong}");
    }
    check("[bots]\nallow_private = true", "", &[], "bots.allow_private", "true (file g.toml)");
    check("", "", &[("keep-for", "36h")], "retention.keep_for", "36h (flag --keep-for)");
    check("", "", &[("keep-for", "48h")], "retention.keep_for", "2d (flag --keep-for)");
    check("", "", &[], "retention.keep_for", "auto (default)");
    check(
        "[retention]\nkeep_for = \"1d\"",
        "",
        &[("keep-for", "auto")],
        "retention.keep_for",
        "auto (flag --keep-for)",
    );
    check("", "", &[("keep-for", "off")], "retention.keep_for", "off (flag --keep-for)");
    check(
        "",
        "",
        &[("archive-bytes-max", "1048576")],
        "retention.archive_bytes_max",
        "1048576 (flag --archive-bytes-max)",
    );
    check("", "", &[], "limiter.grpc_port", "off (default)");
    check("", "", &[("grpc-port", "0"), ("only", "limiter")], "limiter.grpc_port", "0 (flag --grpc-port)");
    check("", "", &[("log-format", "json")], "log.format", "json (flag --log-format)");
    check("", "", &[("claim-period-ms", "20")], "matches.claim_period_ms", "20 (flag --claim-period-ms)");
    check(
        "",
        "GAUNTLET_BOOTSTRAP_TOKEN=0123456789abcdef",
        &[],
        "auth.bootstrap_token",
        "*** (environment GAUNTLET_BOOTSTRAP_TOKEN)",
    );
    check(
        "",
        "GAUNTLET_LIMITER_HTTP_TOKEN=0123456789abcdef",
        &[],
        "limiter.http_token",
        "*** (environment GAUNTLET_LIMITER_HTTP_TOKEN)",
    );
    check(
        "",
        "GAUNTLET_LIMITER_GRPC_TOKEN=0123456789abcdef",
        &[],
        "limiter.grpc_token",
        "*** (environment GAUNTLET_LIMITER_GRPC_TOKEN)",
    );
    check(
        "[store]\nurl = \"postgres://ann:hunter2@db/games\"",
        "",
        &[],
        "store.url",
        "postgres://ann:***@db/games (file g.toml)",
    );
}

#[test]
fn targets_of_trials_are_addresses_of_services() {
    let key = "trials.targets";
    let check_targets = |text: &str, want: &str| check("", "", &[("trials-targets", text)], key, want);
    check_targets("off", "off (flag --trials-targets)");
    check_targets("http://127.0.0.1:4001", "http://127.0.0.1:4001 (flag --trials-targets)");
    check_targets("http://a,https://b.example:8443", "http://a, https://b.example:8443 (flag --trials-targets)");
    check_targets("http://[2001:db8::1]:80", "http://[2001:db8::1]:80 (flag --trials-targets)");
    for text in [
        "",
        "a",
        "ftp://a",
        "http://",
        "http://a/b",
        "http://a:0",
        "http://a:x",
        "http://u@a",
        "http://a,",
        "http://[x]",
        "http://a b",
    ] {
        assert!(load("", "", &[("trials-targets", text)]).is_err(), "{text:?}");
    }
}

#[test]
fn networks_and_optional_values_are_read_and_shown() {
    check("", "", &[], "http.trusted_proxies", "off (default)");
    check(
        "[http]\ntrusted_proxies = \"10.1.2.3/8,::1\"",
        "",
        &[],
        "http.trusted_proxies",
        "10.0.0.0/8, ::1/128 (file g.toml)",
    );
    check("", "", &[("http-trusted-proxies", "off")], "http.trusted_proxies", "off (flag --http-trusted-proxies)");
    check("", "", &[], "shed.queue_max", "off (default)");
    check("[shed]\nqueue_max = 5000", "", &[], "shed.queue_max", "5000 (file g.toml)");
    check(
        "",
        "GAUNTLET_SHED_COMMIT_WAIT_MS=250",
        &[],
        "shed.commit_wait_ms",
        "250 (environment GAUNTLET_SHED_COMMIT_WAIT_MS)",
    );
    refused(
        "[shed]\nqueue_max = 0\n[http]\ntrusted_proxies = \"proxy.example\"",
        "",
        &[("shed-scheduler-delay-ms", "60001")],
        &[
            "http.trusted_proxies is \"proxy.example\" (file g.toml); expected: networks and addresses separated by commas, such \
             as 10.0.0.0/8, 192.0.2.7, or off",
            "shed.queue_max is \"0\" (file g.toml); expected: a whole number from 1 to 1000000000 (matches), or off",
            "shed.scheduler_delay_ms is \"60001\" (flag --shed-scheduler-delay-ms); expected: a whole number from 1 to 60000 \
             (milliseconds), or off",
        ],
    );
}

#[test]
fn settings_of_actors_are_read_and_checked() {
    check("", "", &[], "worlds.actor_spawn", "off (default)");
    check("[worlds]\nactor_spawn = \"500, 400\"", "", &[], "worlds.actor_spawn", "500,400 (file g.toml)");
    let env = "GAUNTLET_WORLDS_ACTOR_SPAWN=0,4095 GAUNTLET_WORLDS_ACTORS=1";
    check("", env, &[], "worlds.actor_spawn", "0,4095 (environment GAUNTLET_WORLDS_ACTOR_SPAWN)");
    check("", env, &[("actor-spawn", "off")], "worlds.actor_spawn", "off (flag --actor-spawn)");
    check("", "", &[], "worlds.actor_start_delay_ms", "0 (default)");
    check("", "", &[("actor-start-delay-ms", "10")], "worlds.actor_start_delay_ms", "10 (flag --actor-start-delay-ms)");
    check("", "", &[("actor-jitter-ms", "999")], "worlds.actor_jitter_ms", "999 (flag --actor-jitter-ms)");
    for wrong in ["500", "1,2,3", "-1,0", "4096,0", "0,4096", "a,b", "", ","] {
        let expected = "a column and a row (x,y), each from 0 to 4095, such as 500,500, or off";
        let want = format!("worlds.actor_spawn is \"{wrong}\" (flag --actor-spawn); expected: {expected}");
        refused("", "", &[("actor-spawn", wrong)], &[&want]);
    }
    refused(
        "",
        "",
        &[("actor-start-delay-ms", "60001")],
        &[
            "worlds.actor_start_delay_ms is \"60001\" (flag --actor-start-delay-ms); expected: a whole number from 0 to 60000 \
           (milliseconds)",
        ],
    );
    refused(
        "",
        "",
        &[("actor-jitter-ms", "1000")],
        &["worlds.actor_jitter_ms is 1000 and worlds.actor_period_ms is 1000; expected: worlds.actor_jitter_ms < \
           worlds.actor_period_ms: a wait cannot become shorter by itself"],
    );
}

#[test]
fn auto_values_follow_from_the_machine_and_the_other_settings() {
    check("", "", &[], "server.threads", "4 (default)");
    check("", "", &[("threads", "auto")], "server.threads", "4 (flag --threads)");
    check("[server]\nthreads = 3", "", &[("threads", "auto")], "server.threads", "4 (flag --threads)");
    check("", "", &[], "http.connections_max", "19436 (default)");
    check("", "", &[("bot-connections-per-host", "64")], "http.connections_max", "19680 (default)");
    check("", "", &[("open-files-max", "1024")], "http.connections_max", "752 (default)");
    check("", "", &[("open-files-max", "64")], "http.connections_max", "16 (default)");
    check("", "", &[("only", "limiter")], "http.connections_max", "19744 (default)");
    check("", "", &[("only", "limiter"), ("grpc-port", "0")], "http.connections_max", "18720 (default)");
    check("", "", &[("ops-port", "0")], "http.connections_max", "19373 (default)");
    let proxied = [("proxy-protocol", "true"), ("http-trusted-proxies", "10.0.0.5"), ("only", "limiter")];
    check("", "", &proxied, "http.connections_max", "19488 (default)");
    check("", "", &[], "spectators.max", "9718 (default)");
    check("", "", &[], "spectators.per_address_max", "2429 (default)");
    check("", "", &[], "replays.threads", "2 (default)");
    check("", "", &[("threads", "1")], "replays.threads", "1 (default)");
    check("", "", &[], "http.response_bytes_per_address_max", "16777216 (default)");
    check("", "", &[("http-response-bytes-max", "1048576")], "http.response_bytes_per_address_max", "262144 (default)");
    check("", "", &[("http-bodies-bytes-max", "8388608")], "http.bodies_bytes_per_address_max", "2097152 (default)");
    check("", "", &[], "store.connections", "4 (default)");
    check("", "", &[("store-url", "postgres://db/games")], "store.connections", "8 (default)");
    check("", "", &[], "limiter.defaults", "false (default)");
    check("", "", &[("interface", "0.0.0.0")], "limiter.defaults", "true (default)");
    check("", "", &[("http-trusted-proxies", "127.0.0.1")], "limiter.defaults", "true (default)");
    check("", "", &[("interface", "0.0.0.0"), ("only", "limiter")], "limiter.defaults", "false (default)");
    check("[telemetry]\nsampler_ratio = 0.05", "", &[], "telemetry.sampler_ratio", "0.05 (file g.toml)");
    check(
        "",
        "",
        &[("interface", "0.0.0.0"), ("limiter-defaults", "false")],
        "limiter.defaults",
        "false (flag --limiter-defaults)",
    );
}

#[test]
fn all_errors_are_returned_at_once() {
    refused(
        "[server]\nport = 70000\nprot = 1\n[matches]\nat_once = [1]\n[serverr]\nport = 1",
        "GAUNTLET_SERVER_PROT=1 GAUNTLET_LOG_LEVEL=loud GAUNTLET_BOOTSTRAP_TOKEN=short",
        &[("threads", "many"), ("store-url", "mysql://ann:hunter2@db")],
        &[
            "matches.at_once is of the type array (file g.toml); expected: a whole number from 1 to 100000 (matches)",
            "server.prot (file g.toml) is not a setting; expected: the name of a setting: is server.port meant? `gauntlet config` \
             lists all",
            "serverr.port (file g.toml) is not a setting; expected: the name of a setting: is server.port meant? `gauntlet \
             config` lists all",
            "GAUNTLET_SERVER_PROT (environment) is not a setting; expected: the name of a setting: is GAUNTLET_SERVER_PORT \
             meant? `gauntlet config` lists all",
            "server.port is \"70000\" (file g.toml); expected: a whole number from 0 to 65535 (port; 0 for any free one)",
            "log.level is \"loud\" (environment GAUNTLET_LOG_LEVEL); expected: one of error, warn, info, debug, trace",
            "auth.bootstrap_token is a value that is not shown (environment GAUNTLET_BOOTSTRAP_TOKEN); expected: 16 to 128 \
             printable ASCII characters without spaces, or off",
            "server.threads is \"many\" (flag --threads); expected: a whole number from 1 to 1024 (threads), or auto: one for \
             each core",
            "store.url is a value that is not shown (flag --store-url); expected: a URL such as \
             postgres://user:password@host:5432/database, or off",
        ],
    );
}

#[test]
fn an_invalid_value_that_is_overridden_is_still_an_error() {
    let want = ["log.level is \"loud\" (file g.toml); expected: one of error, warn, info, debug, trace"];
    refused("[log]\nlevel = \"loud\"", "", &[("log-level", "info")], &want);
}

#[test]
fn values_that_contradict_each_other_are_refused() {
    refused(
        "",
        "",
        &[("claim-size", "11"), ("matches-at-once", "10")],
        &[
            "matches.claim_size is 11 and matches.at_once is 10; expected: matches.claim_size <= matches.at_once: a claim takes \
           no more matches than can be played",
        ],
    );
    refused(
        "",
        "",
        &[("http-connections-max", "10"), ("spectators-max", "11")],
        &[
            "spectators.max is 11 and http.connections_max is 10; expected: spectators.max <= http.connections_max: every \
           spectator holds a connection",
        ],
    );
    let expected =
        "expected: a port that has, as server.port has, one for each shard behind it, and none of them twice";
    for ops_port in ["0", "3998", "4000", "4002", "65534"] {
        let want = format!("server.shards is 2 and server.ops_port is {ops_port}; {expected}");
        refused("", "", &[("shards", "2"), ("ops-port", ops_port)], &[&want]);
    }
    for ops_port in ["3997", "4003", "65533"] {
        load("", "", &[("shards", "2"), ("ops-port", ops_port)]).unwrap();
    }
}

#[test]
fn headers_of_proxies_are_read_where_they_can_be() {
    const ON: (&str, &str) = ("proxy-protocol", "true");
    check("", "", &[], "server.proxy_protocol", "false (default)");
    check(
        "[http]\ntrusted_proxies = \"10.0.0.5\"",
        "",
        &[("proxy-protocol", "true")],
        "server.proxy_protocol",
        "true (flag --proxy-protocol)",
    );
    refused(
        "",
        "",
        &[ON],
        &[
            "server.proxy_protocol is true and http.trusted_proxies is off; expected: http.trusted_proxies = the addresses of the load \
           balancers, whose headers alone are read; or server.proxy_protocol = false",
        ],
    );
    refused(
        "",
        "",
        &[ON, ("http-trusted-proxies", "10.0.0.5"), ("shards", "2")],
        &[
            "server.shards is 2 and server.proxy_protocol is true; expected: server.proxy_protocol = false: shards and their supervisor \
           speak to each other without a header; start servers one by one, or let clients connect to the shards directly",
        ],
    );
    let of_nodes = |host: &str| {
        format!(
            "server.proxy_protocol is true, and http.trusted_proxies contains {host}, where other nodes reach this one; expected: \
             http.trusted_proxies without the nodes of store.url, which connect to each other without a header"
        )
    };
    let database = ("store-url", "postgres://db/games");
    let (near, far) = (("http-trusted-proxies", "10.0.0.0/8, 2001:db8::/32"), ("http-trusted-proxies", "192.0.2.7"));
    for (host, advertise) in [("10.1.2.3", "10.1.2.3:4000"), ("2001:db8::1", "[2001:db8::1]:4000")] {
        refused("", "", &[ON, database, near, ("advertise", advertise)], &[&of_nodes(host)]);
        load("", "", &[ON, database, far, ("advertise", advertise)]).unwrap();
        load("", "", &[database, near, ("advertise", advertise)]).unwrap();
        load("", "", &[ON, near, ("advertise", advertise)]).unwrap();
    }
    refused("", "", &[ON, database, near, ("interface", "10.1.2.3")], &[&of_nodes("10.1.2.3")]);
    for interface in ["0.0.0.0", "127.0.0.1"] {
        load("", "", &[ON, database, near, ("interface", interface)]).unwrap();
    }
    load("", "", &[ON, database, near, ("advertise", "node-1:4000")]).unwrap();
}

#[test]
fn grpc_needs_the_service() {
    refused(
        "",
        "",
        &[("grpc-port", "8081")],
        &[
            "limiter.grpc_port is set and limiter.service is false; expected: limiter.service = true, or limiter.grpc_port = \
             off: no requests would be served there",
        ],
    );
}

#[test]
fn matches_are_kept_in_one_place() {
    let file = "[store]\nurl = \"postgres://db/games\"";
    let postgres = DatabaseUrl::new("postgres://db/games");
    assert_eq!(load(file, "", &[]).unwrap().store(), StoreLocation::Postgres(&postgres));
    assert_eq!(load(file, "", &[("data", "x.db")]).unwrap().store(), StoreLocation::Sqlite(Path::new("x.db")));
    refused(
        "",
        "",
        &[("data", "x.db"), ("store-url", "postgres://db/games")],
        &[
            "store.data (flag --data) and store.url (flag --store-url) are both given; expected: one of them: matches are kept \
           in a SQLite file or in a PostgreSQL database",
        ],
    );
}

#[test]
fn a_broken_file_is_one_error() {
    let errors = load("[server\nport = 1", "", &[]).unwrap_err().0;
    assert_eq!(errors.len(), 1);
    assert!(errors[0].given.starts_with("g.toml is not TOML: "), "{}", errors[0].given);
}

#[test]
fn unintended_values_are_warned_about() {
    assert_eq!(load("", "", &[]).unwrap().warnings(), [""; 0]);
    let risky = load("", "", &[("allow-private-bots", "true"), ("interface", "0.0.0.0")]).unwrap().warnings();
    assert!(matches!(&risky[..], [warning] if warning.starts_with("bots.allow_private is on")), "{risky:?}");
    for (flags, part) in [
        (&[("actor-spawn", "1,1")][..], "while worlds.actors is 0"),
        (&[("actor-start-delay-ms", "5")], "while worlds.actors is 0"),
        (&[("actors", "1"), ("only", "limiter")], "no actor moves"),
        (&[("actors", "1"), ("actor-spawn", "1,1")], ""),
        (&[("only", "limiter")], ""),
        (&[("only", "limiter"), ("interface", "0.0.0.0")], "without limiter.http_token"),
        (&[("interface", "0.0.0.0")], ""),
        (&[("interface", "0.0.0.0"), ("limiter-defaults", "false")], "limiter.defaults is off"),
        (&[("interface", "0.0.0.0"), ("limiter-defaults", "false"), ("limiter-policies", "p.toml")], ""),
    ] {
        let warnings = load("", "", flags).unwrap().warnings();
        assert!(warnings.len() == usize::from(!part.is_empty()), "{flags:?}: {warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains(part)), "{flags:?}: {warnings:?}");
    }
    let both = [("only", "limiter"), ("interface", "0.0.0.0"), ("grpc-port", "0")];
    let tokens = "GAUNTLET_LIMITER_HTTP_TOKEN=0123456789abcdef GAUNTLET_LIMITER_GRPC_TOKEN=0123456789abcdef";
    assert_eq!(load("", "", &both).unwrap().warnings().len(), 2);
    assert_eq!(load("", tokens, &both).unwrap().warnings(), [""; 0]);
    let crowded = load("", "", &[("open-files-max", "1024"), ("http-connections-max", "753")]).unwrap();
    let warnings = crowded.warnings();
    let want = "http.connections_max is 753, and server.open_files_max (1024) leaves room for 752: ";
    assert!(matches!(&warnings[..], [warning] if warning.starts_with(want)), "{warnings:?}");
    assert_eq!(crowded.client_sockets_max(), 752, "no bot could be called");
}

#[test]
fn the_variables_of_opentelemetry_are_read_behind_our_own() {
    let key = "telemetry.service_name";
    check("", "OTEL_SERVICE_NAME=a", &[], key, "a (environment OTEL_SERVICE_NAME)");
    check("[telemetry]\nservice_name = \"c\"", "OTEL_SERVICE_NAME=a", &[], key, "a (environment OTEL_SERVICE_NAME)");
    let both = "GAUNTLET_TELEMETRY_SERVICE_NAME=b OTEL_SERVICE_NAME=a";
    check("", both, &[], key, "b (environment GAUNTLET_TELEMETRY_SERVICE_NAME)");
    check("", both, &[("telemetry-service-name", "d")], key, "d (flag --telemetry-service-name)");
    check("", "OTEL_SERVICE_NAME=", &[], key, "gauntlet (default)");
    check("", "OTEL_TRACES_EXPORTER=console", &[], key, "gauntlet (default)");
    let (key, secret) = ("telemetry.otlp_headers", "OTEL_EXPORTER_OTLP_HEADERS=api-key=hunter2");
    check("", secret, &[], key, "api-key=*** (environment OTEL_EXPORTER_OTLP_HEADERS)");
    let refused = load("", "OTEL_EXPORTER_OTLP_HEADERS=hunter2", &[]).unwrap_err().to_string();
    assert!(refused.contains("OTEL_EXPORTER_OTLP_HEADERS") && !refused.contains("hunter2"), "{refused}");
    let key = "telemetry.otlp_endpoint";
    check(
        "",
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://otlp:4318/",
        &[],
        key,
        "http://otlp:4318 (environment OTEL_EXPORTER_OTLP_ENDPOINT)",
    );
    let wrong = "OTEL_EXPORTER_OTLP_ENDPOINT=https://ann:hunter2@otlp.example";
    let refused = load("", wrong, &[]).unwrap_err().to_string();
    assert!(refused.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && !refused.contains("hunter2"), "{refused}");
}

#[test]
fn the_table_is_sound() {
    Config::default();
    let mut seen = HashSet::new();
    for setting in SETTINGS {
        assert!(seen.insert(setting.key.to_owned()), "{} stands twice", setting.key);
        assert!(seen.insert(setting.env()), "{} stands twice", setting.env());
        assert!(
            setting.standard_env().is_none_or(|env| seen.insert(env.to_owned())),
            "{:?} stands twice",
            setting.standard_env()
        );
        assert!(setting.flag.is_none_or(|flag| seen.insert(flag.to_owned())), "{:?} stands twice", setting.flag);
        assert!(setting.help().ends_with('.'), "{}: the help is a sentence", setting.key);
        assert!(
            !setting.is_secret()
                || setting.flag.is_none()
                || ["store.url", "telemetry.otlp_endpoint"].contains(&setting.key),
            "{}",
            setting.key
        );
    }
    assert_eq!(SETTINGS.iter().filter(|setting| setting.default == "auto").count(), 20);
    assert!(SETTINGS.iter().all(|setting| (setting.default == "auto") == setting.auto.is_some()));
}

/// A row may only be derived from rows above it: deriving all once more changes nothing.
#[test]
fn derived_values_follow_from_rows_above() {
    let mut config = load("", "", &[]).unwrap();
    let values = |config: &Config| SETTINGS.iter().map(|setting| setting.render(config)).collect::<Vec<_>>();
    let once = values(&config);
    let machine = Machine { cores: 4, open_files_max: 20_000 };
    SETTINGS.iter().filter_map(|setting| setting.auto.as_ref()).for_each(|auto| (auto.derive)(&mut config, machine));
    assert_eq!(values(&config), once);
}

/// What `stories.keep_for` is once the store is known.
#[track_caller]
fn check_retention(typed: &str, has_periods: bool, want: Option<Duration>) {
    let mut config = load("", "", &[("stories-keep-for", typed)]).unwrap();
    config.resolve_retention(has_periods);
    assert_eq!(config.stories_keep_for.period(), want, "{typed}");
}

#[test]
fn an_older_store_deletes_nothing_until_a_period_is_set() {
    let day = Duration::from_secs(86_400);
    check_retention("auto", true, Some(90 * day));
    check_retention("auto", false, None);
    for has_periods in [true, false] {
        check_retention("1d", has_periods, Some(day));
        check_retention("off", has_periods, None);
    }
}
