//! The built program, as a user types it: what it prints, how it ends, what it refuses.

use crate::support::{Folder, until};
use rustix::process::Signal;
use std::io::Read;
use std::net::TcpListener;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The program must end with this code and print each of these on the error output.
#[track_caller]
fn check_refused(output: &Output, code: i32, printed: &[&str]) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    for part in printed {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

/// The line of `gauntlet config` for this key must read so.
#[track_caller]
fn check_config(file: &str, env: &[(&str, &str)], flags: &str, want: &str) {
    let folder = Folder::new();
    if !file.is_empty() {
        folder.write("gauntlet.toml", file);
    }
    let output = folder.command(&format!("config {flags}")).envs(env.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let squeezed = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    assert!(squeezed.clone().any(|line| line == want), "{want} is not in\n{shown}");
}

#[test]
fn settings_come_from_defaults_the_file_the_environment_and_flags() {
    let file = "[server]\nport = 4001\n";
    let env = [("GAUNTLET_SERVER_PORT", "4002")];
    check_config("", &[], "", "port = 4000 # default");
    check_config(file, &[], "", "port = 4001 # file gauntlet.toml");
    check_config(file, &env, "", "port = 4002 # environment GAUNTLET_SERVER_PORT");
    check_config(file, &env, "--port 4003", "port = 4003 # flag --port");
    check_config("", &[], "--allow-private-bots", "allow_private = true # flag --allow-private-bots");
    check_config("", &[], "--allow-private-bots=false", "allow_private = false # flag --allow-private-bots");
    let token = [("GAUNTLET_BOOTSTRAP_TOKEN", "0123456789abcdef")];
    check_config("", &token, "", r#"bootstrap_token = "***" # environment GAUNTLET_BOOTSTRAP_TOKEN"#);
}

#[test]
fn a_named_file_is_read_and_must_be_there() {
    let folder = Folder::new();
    folder.write("other.toml", "[log]\nlevel = \"debug\"\n");
    let output = folder.command("config --config other.toml").output().unwrap();
    assert!(text(&output.stdout).contains("# file other.toml"));
    let output = folder.command("config --config missing.toml").output().unwrap();
    check_refused(&output, 2, &["missing.toml cannot be read"]);
}

#[test]
fn config_prints_an_equivalent_configuration() {
    let folder = Folder::new();
    let first = folder.command("config --port 4005 --keep-for 30d --threads 2").output().unwrap();
    folder.write("gauntlet.toml", &text(&first.stdout));
    let values = |bytes: &[u8]| {
        let text = text(bytes);
        text.lines().map(|line| line.split("  #").next().unwrap().trim().to_owned()).collect::<Vec<_>>()
    };
    let second = folder.command("config").output().unwrap();
    // A file may name one place of the matches; the listing shows both, and the one that is off must not count.
    assert!(second.status.success(), "{}", text(&second.stderr));
    assert_eq!(values(&first.stdout), values(&second.stdout));
}

#[test]
fn config_speaks_json_to_programs() {
    let output = Folder::new().command("config --json --port 4007").output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let port = serde_json::json!({"key": "server.port", "value": "4007", "source": "flag --port"});
    assert!(shown["entries"].as_array().unwrap().contains(&port), "{shown}");
}

#[test]
fn all_mistakes_are_named_at_once() {
    let folder = Folder::new();
    folder.write("gauntlet.toml", "[server]\nprot = 1\n[matches]\nclaim_size = 0\n");
    let mut command = folder.command("serve --threads many");
    let output = command.env("GAUNTLET_SERVER_PROT", "1").env("GAUNTLET_LOG_LEVEL", "loud").output().unwrap();
    let printed = [
        "the configuration has 5 mistakes",
        "server.prot (file gauntlet.toml) is not a setting; expected: the name of a setting: is server.port meant?",
        "GAUNTLET_SERVER_PROT (environment) is not a setting",
        "matches.claim_size is \"0\" (file gauntlet.toml); expected: a whole number from 1 to 1024",
        "log.level is \"loud\" (environment GAUNTLET_LOG_LEVEL)",
        "server.threads is \"many\" (flag --threads)",
    ];
    check_refused(&output, 2, &printed);
}

#[test]
fn help_is_help_and_a_wrong_flag_is_usage() {
    let folder = Folder::new();
    for words in [
        "--help",
        "serve --help",
        "config --help",
        "token --help",
        "token create --help",
        "token sign-in --help",
        "account --help",
        "account delete --help",
        "ban --help",
        "ban add --help",
        "audit --help",
        "bots --help",
        "run --help",
    ] {
        let output = folder.command(words).output().unwrap();
        assert!(output.status.success() && text(&output.stdout).contains("Usage: gauntlet"), "{words}");
    }
    assert!(text(&folder.command("serve --help").output().unwrap().stdout).contains("GAUNTLET_SERVER_PORT"));
    check_refused(&folder.command("serve --prot 1").output().unwrap(), 2, &["--prot", "--port"]);
    check_refused(&folder.command("dance").output().unwrap(), 2, &["dance"]);
    assert!(text(&folder.command("--version").output().unwrap().stdout).starts_with("gauntlet "));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = Folder::new();
    let mut child = folder.command("config").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert!(child.wait().unwrap().success(), "{error}");
    assert!(!error.contains("panicked"), "{error}");
}

#[test]
fn a_busy_port_is_named_with_what_to_do() {
    let (folder, taken) = (Folder::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = taken.local_addr().unwrap().port();
    let output = folder.command(&format!("serve --port {port}")).output().unwrap();
    check_refused(&output, 1, &[&format!("cannot listen on 127.0.0.1:{port}"), "choose another port with --port"]);
    let output = folder.command(&format!("bots --port {port}")).output().unwrap();
    check_refused(&output, 1, &[&port.to_string(), "--port"]);
}

#[test]
fn a_signal_ends_a_server_in_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = Folder::new();
        let mut server = folder.serve("");
        assert!(server.line.contains("sqlite gauntlet-data/gauntlet.db"), "{}", server.line);
        until("it is ready", || server.get("/readyz", "").starts_with("HTTP/1.1 200").then_some(()));
        server.signal(signal);
        assert_eq!(server.code(), Some(0));
    }
}

#[test]
fn a_second_server_on_the_same_file_is_refused() {
    let folder = Folder::new();
    let server = folder.serve("--data games.db");
    let output = folder.command("serve --port 0 --data games.db").output().unwrap();
    let pid = format!("process {}", server.pid());
    check_refused(&output, 1, &["games.db is in use by another process of Gauntlet", &pid, "--data"]);
}

#[test]
fn tokens_are_made_listed_and_revoked_while_a_server_runs() {
    let folder = Folder::new();
    let server = folder.serve("--data games.db");
    let created = folder
        .command("token create --data games.db --role operator --for load-test --account ann --name ops")
        .output()
        .unwrap();
    let secret = text(&created.stdout).trim().to_owned();
    assert!(created.status.success() && !secret.is_empty(), "{}", text(&created.stderr));
    assert!(!text(&created.stderr).contains(&secret), "the secret stands on standard output only");
    assert!(server.get("/api/admin/stats", &secret).starts_with("HTTP/1.1 200"));

    let listed = text(&folder.command("token list --data games.db --account ann").output().unwrap().stdout);
    let (id, rest) = listed.split_once(' ').unwrap();
    assert_eq!(rest.split_whitespace().collect::<Vec<_>>(), ["operator", "load_test", "ops"]);
    assert!(!listed.contains(&secret));

    let revoke = || folder.command(&format!("token revoke --data games.db {id}")).output().unwrap();
    assert!(revoke().status.success());
    check_refused(&revoke(), 1, &["there is no token"]);
    let until = Instant::now() + Duration::from_secs(20);
    while !server.get("/api/admin/stats", &secret).starts_with("HTTP/1.1 401") {
        assert!(Instant::now() < until, "a revoked token still works");
    }
}

#[test]
fn bans_are_made_listed_and_lifted_while_a_server_runs() {
    let folder = Folder::new();
    let server = folder.serve("--data games.db");
    let run = |words: &str| folder.command(words).output().unwrap();
    let add = "ban add --data games.db --reason floods --address";
    for (given, shown) in [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7/24", "192.0.2.0/24"),
        ("2001:db8::7", "2001:db8::7"),
        ("::ffff:198.51.100.7", "198.51.100.7"),
        ("127.0.0.1", "127.0.0.1"),
    ] {
        let added = text(&run(&format!("{add} {given}")).stdout);
        assert!(added.contains(&format!("  address:{shown}  until lifted  floods")), "{added}");
        check_refused(&run(&format!("{add} {given}")), 1, &["is banned already", "gauntlet ban remove"]);
    }
    until("the ban holds", || server.get("/api/games/live", "").starts_with("HTTP/1.1 403").then_some(()));
    assert!(server.get("/healthz", "").starts_with("HTTP/1.1 200"));
    let listed = text(&run("ban list --data games.db").stdout);
    assert_eq!(listed.lines().count(), 5, "{listed}");
    let id = listed.split_once(' ').unwrap().0;
    assert!(listed.lines().next().unwrap().contains("127.0.0.1"), "newest first: {listed}");
    let remove = format!("ban remove --data games.db {id}");
    check_refused(&run(&remove), 0, &["is lifted"]);
    check_refused(&run(&remove), 1, &["there is no ban"]);
    until("the ban is lifted", || server.get("/api/games/live", "").starts_with("HTTP/1.1 200").then_some(()));
    check_refused(&run("ban add --data games.db --reason x --account nobody"), 1, &["there is no account nobody"]);
    check_refused(
        &run("ban add --data games.db --reason x --address example.org"),
        2,
        &["example.org is not an address"],
    );
    check_refused(&run("ban add --data games.db --reason x --hours 0 --guest 17"), 2, &["--hours is 0"]);
    check_refused(
        &run("ban add --data games.db --reason \u{202e} --guest 17"),
        2,
        &["--reason: ", "one of them visible"],
    );
    check_refused(&run("token create --data games.db --account a\u{202e}b"), 2, &["--account: ", "direction of text"]);
    check_refused(&run("ban add --data games.db --reason x --address ::/0"), 2, &["::/0 is too wide", "16 of an IPv6"]);
    until("the server has its own account, which nobody bans", || {
        let add = folder.command("ban add --data games.db --reason x --account").arg("(this server)").output().unwrap();
        text(&add.stderr).contains("the server's own").then_some(())
    });
    check_refused(&run("ban add --data games.db --reason x"), 2, &["--account", "--guest", "--address"]);
    // What was done is in the audit log, what was refused by a command is not.
    let logged = text(&run("audit --data games.db --limit 3").stdout);
    let newest = logged.lines().next().unwrap();
    assert!(
        logged.lines().count() == 3 && newest.contains("  command line  lift_ban  done  address:127.0.0.1"),
        "{logged}"
    );
    let bans = text(&run("audit --data games.db --action create_ban --target address:192.0.2.0/24").stdout);
    assert!(bans.lines().count() == 1 && bans.trim_end().ends_with("  floods"), "{bans}");
}

#[test]
fn bans_and_changes_name_accounts() {
    let folder = Folder::new();
    let server = folder.serve("--data games.db");
    let run = |words: &str| folder.command(words).output().unwrap();
    let secret = text(&run("token create --data games.db --role operator --account olga --hours 24").stdout);
    check_refused(&run("token create --data games.db --account bob"), 0, &["of account bob"]);
    assert!(text(&run("token list --data games.db --account olga").stdout).contains("  until "));
    check_refused(&run("ban add --data games.db --account bob --reason cheats"), 0, &[]);
    let listed = text(&run("ban list --data games.db").stdout);
    assert!(
        listed.contains(" (bob)  until lifted  cheats  (made 2") && listed.contains("by command line)"),
        "{listed}"
    );
    // What the command line made only admins lift.
    let id = listed.split_once(' ').unwrap().0;
    let lift = server.exchange("DELETE", &format!("/api/admin/bans/{id}"), secret.trim(), "").unwrap();
    assert!(lift.starts_with("HTTP/1.1 403"), "{lift}");
    let logged = text(&run("audit --data games.db --account olga").stdout);
    assert!(
        logged.contains("  olga  lift_ban  role_too_weak  account:") && logged.contains("from:127.0.0.1"),
        "{logged}"
    );
    check_refused(&run("audit --data games.db --account nobody"), 1, &["there is no account nobody"]);
    check_refused(&run("audit --data games.db --from yesterday"), 2, &["2026-01-31T12:00:00Z"]);
    check_refused(&run("audit --data other.db"), 1, &["there is no audit log"]);
}

#[test]
fn tokens_with_impossible_wishes_are_refused() {
    let folder = Folder::new();
    check_refused(&folder.command("token create --role king").output().unwrap(), 2, &["king", "operator"]);
    check_refused(&folder.command("token create --for fun").output().unwrap(), 2, &["fun", "use", "load-test"]);
    check_refused(&folder.command("token list --account nobody").output().unwrap(), 1, &["there is no account nobody"]);
    check_refused(&folder.command("token revoke 17").output().unwrap(), 2, &["17 is not an id"]);
}

#[test]
fn looking_for_tokens_in_a_file_that_is_not_there_makes_none() {
    let folder = Folder::new();
    let id = "00000000-0000-7000-8000-000000000000";
    for words in ["token list --data games/typo.db".to_owned(), format!("token revoke --data games/typo.db {id}")] {
        check_refused(&folder.command(&words).output().unwrap(), 1, &["there is no data file games/typo.db", "--data"]);
        assert!(!folder.path().join("games").exists(), "{words} made a file");
    }
    let made = folder.command("token create --data games/new.db").output().unwrap();
    check_refused(&made, 0, &["there was no data file games/new.db, so it was made", "(store: sqlite games/new.db)"]);
    let more = folder.command("token create --data games/new.db").output().unwrap();
    assert!(!text(&more.stderr).contains("there was no data file"), "{more:?}");
}

#[test]
fn a_bootstrap_token_lives_as_long_as_its_server() {
    let folder = Folder::new();
    let token = "a-secret-of-twenty-characters";
    folder.write("gauntlet.toml", &format!("[auth]\nbootstrap_token = \"{token}\"\n"));
    let mut server = folder.serve("");
    assert!(server.get("/api/admin/stats", token).starts_with("HTTP/1.1 200"));
    assert!(!server.get("/api/admin/config", token).contains(token));
    server.signal(Signal::TERM);
    assert_eq!(server.code(), Some(0));
    folder.write("gauntlet.toml", "");
    assert!(folder.serve("").get("/api/admin/stats", token).starts_with("HTTP/1.1 401"));
}

#[test]
fn comparisons_and_sweeps_that_cannot_be_are_refused() {
    let folder = Folder::new();
    let refused = |typed: &str, code: i32, printed: &[&str]| {
        check_refused(&folder.command(typed).output().unwrap(), code, printed);
    };
    refused("compare runs/a runs/b", 1, &["runs/a/run.json"]);
    refused("compare runs/a", 2, &["Usage"]);
    refused("compare runs/a runs/b --fail-on-regression much", 2, &["percent"]);
    refused("sweep demo", 2, &["--vary"]);
    refused("sweep demo --vary think_ms", 2, &["KEY=VALUE"]);
    refused("sweep demo --vary nothing=1,2", 2, &["nothing", "nothing was sent"]);
    refused("sweep demo --vary think_ms=1,2 --best game.luck", 2, &["game.luck", "no such figure"]);
}

#[test]
fn a_server_with_too_few_open_files_reports_what_it_needs() {
    let folder = Folder::new();
    for words in ["serve --port 0", "serve --port 0 --shards 2"] {
        let output = folder.command_by(&["prlimit", "--nofile=48"], words).output().unwrap();
        check_refused(&output, 1, &["may hold 48 files open", "needs 64", "ulimit -Hn"]);
    }
}

/// The smallest scenario with a feed; nothing listens at its target.
const WITH_FEED: &str = r#"format = 1
name = "checked"
summary = "Asks for every row of a file"
[target]
url = "http://127.0.0.1:9"
[feed.users]
file = "users.csv"
[[phase]]
name = "p"
arrivals = { batch = 3 }
in_flight_max = 2
journey = "j"
[[journey]]
name = "j"
[[journey.step]]
request = "GET /{{feed.users.name}}"
[gates]
"j.errors" = "= 0"
"#;

#[test]
fn a_scenario_is_checked_with_its_files_and_nothing_is_sent() {
    let folder = Folder::new();
    folder.write("trial.toml", WITH_FEED);
    let check = |flags: &str| folder.command(&format!("run trial.toml {flags}")).output().unwrap();
    let missing = ["nothing was sent", "line 7: `feed.users.file` cannot be read: users.csv"];
    check_refused(&check("--check"), 2, &missing);
    check_refused(&check(""), 2, &missing);
    folder.write("users.csv", "nmae\nann\n");
    check_refused(&check("--check"), 2, &["line 7: `feed.users.file`", "has no column `name`", "it has nmae"]);
    folder.write("users.csv", "name\nann\n");
    let checked = check("--check");
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    assert_eq!(text(&checked.stdout), "checked can be run: 1 phase, 1 journey, 1 gate, 1 feed; nothing was sent\n");
}
