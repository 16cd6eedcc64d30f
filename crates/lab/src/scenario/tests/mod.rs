//! Scenarios as rows: a text and its errors; a setting and what it changes.

use std::time::Duration;

use super::{BUILTIN_FILES, Document, LoadProfile, Scenario, Schedule, builtins};

mod environment;
mod journeys;
mod phases;
mod reference;
mod templates;

/// The smallest valid scenario.
const GOOD: &str = r#"format = 1
name = "t"
summary = "A trial"
[target]
url = "http://127.0.0.1:4000"
[[phase]]
name = "p"
arrivals = { batch = 3 }
in_flight_max = 2
journey = "j"
[[journey]]
name = "j"
[[journey.step]]
request = "GET /x"
"#;

const WORK: &str = r#"
[work.w]
status = "POST /status"
ids = "ids"
bulk = 10
id = "/id"
state = { at = "/s", finished = "f" }
stuck_after = "10s"
figures = { turns = "/n" }
"#;

fn read(text: &str, settings: &[&str]) -> Result<Scenario, String> {
    let mut document = Document::parse(text).map_err(|errors| errors.to_string())?;
    for setting in settings {
        document.set(setting).map_err(|errors| errors.to_string())?;
    }
    Scenario::read(&document).map_err(|errors| errors.to_string())
}

fn complaints(text: &str) -> Vec<String> {
    read(text, &[]).err().unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Replaces `from` by `to` in the valid scenario with work, and compares every error.
#[track_caller]
fn check(from: &str, to: &str, expected: &[&str]) {
    let good = format!("{GOOD}{WORK}");
    assert!(good.contains(from), "{from} stands in the scenario");
    assert_eq!(complaints(&good.replacen(from, to, 1)), expected);
}

#[test]
fn nothing_is_wrong_with_the_good_one() {
    check("t", "t", &[]);
}

#[test]
fn errors_name_line_key_and_what_was_expected() {
    check("format = 1", "", &["line 1: needs `format`: the version of the format: format = 1"]);
    check("format = 1", "format = 2", &["line 1: `format` must be 1: this lab reads no other version"]);
    check(
        "format = 1",
        "format = ",
        &["line 1: this is not TOML: string values must be quoted, expected literal string"],
    );
    check(
        "name = \"t\"",
        "name = \"t\"\nname = \"u\"",
        &["line 3: this is not TOML: duplicate key `name`: it stands in this table already"],
    );
    check("name = \"t\"", "name = 5", &["line 2: `name` must be a text, not a whole number"]);
    check(
        "name = \"t\"",
        "name = 1979-05-27",
        &["line 2: dates have no meaning in a scenario: write a text in quotes"],
    );
    check(
        "http://127",
        "ftp://127",
        &["line 5: `target.url` must start with http:// or https://, not \"ftp://127.0.0.1:4000\""],
    );
    check(
        "4000\"",
        "4000/api\"",
        &["line 5: `target.url` must end with the port: requests carry their own paths, not \"/api\""],
    );
    check(
        "url = \"http://127.0.0.1:4000\"",
        "url = \"http://127.0.0.1:4000\"\nspawn = [\"x\"]\nspeed = 1",
        &[
            "line 4: `target` needs `ready` beside `spawn`: the path that answers 2xx when the service is ready",
            "line 7: `target.speed` is not a key that stands here; known: url, spawn, env, ready, ready_within, metrics, \
             config, headers, ca, insecure, limits, socket",
        ],
    );
    check(
        "in_flight_max = 2",
        "in_flight_max = 0",
        &["line 9: `phase.p.in_flight_max` must be from 1 to 20000, not 0"],
    );
    check(
        "GET /x",
        "GET /caf\u{e9}?q={{run.id}}",
        &[
            "line 14: `journey.j.step.0.request` must have a path of visible ASCII: write %C3%A9 for '\u{e9}' in \"GET /caf\u{e9}?q={{run.id}}\"",
        ],
    );
    check(
        "GET /x",
        "GET /x\\ty",
        &[
            "line 14: `journey.j.step.0.request` must have a path of visible ASCII: write %09 for '\\t' in \"GET /x\\ty\"",
        ],
    );
    check(
        "GET /x\"",
        "GET /x\"\nheaders = { X-A = \"{{run.id}}\\r\\nX-B: c\", X-C = \"caf\u{e9}\", X-D = \"a\\tb c\" }",
        &[
            "line 15: `journey.j.step.0.headers.X-A` must be a value of printable ASCII, without line breaks: it has '\\r'",
            "line 15: `journey.j.step.0.headers.X-C` must be a value of printable ASCII, without line breaks: it has '\u{e9}'",
        ],
    );
    check(
        "4000\"",
        "4000\"\nmetrics = \"/m\u{e9}\"",
        &["line 6: `target.metrics` must be a path such as \"/readyz\", not \"/m\u{e9}\""],
    );
    check("GET /x\"", "GET /x\"\ndenied = { at = \"/ok\", is = 0 }", &[]);
    check(
        "GET /x\"",
        "GET /x\"\ndenied = { at = \"ok\", is = 0.5 }",
        &[
            "line 15: `journey.j.step.0.denied.at` must be a JSON pointer such as \"/id\", not a text",
            "line 15: `journey.j.step.0.denied.is` must be true, false, a whole number or a text",
        ],
    );
    check(
        "GET /x\"",
        "GET /x\"\ndenied = { at = \"/ok\" }",
        &["line 15: `journey.j.step.0.denied` needs `is`: what stands there then"],
    );
    check(
        "journey = \"j\"",
        "journey = \"k\"",
        &["line 10: `phase.p.journey` is \"k\", but there is no such [[journey]]; known: j"],
    );
    check(
        "GET /x",
        "FETCH /x",
        &["line 14: `journey.j.step.0.request` must start with GET, HEAD, POST, PUT, PATCH or DELETE, not \"FETCH\""],
    );
    check(
        "GET /x",
        "GET x",
        &["line 14: `journey.j.step.0.request` must be a method and a path, such as \"POST /api/games\""],
    );
    check(
        "GET /x",
        "GET /{{y}}",
        &[
            "line 14: `journey.j.step.0.request` uses `{{y}}`, which nothing has set before; known here: run.dir, run.id",
        ],
    );
    check("GET /x", "GET /{{y", &["line 14: `journey.j.step.0.request` has `{{` without `}}`"]);
    check(
        "request = \"GET /x\"",
        "request = \"POST /x\"\nretry = { times = 1, backoff = \"1s\" }",
        &[
            "line 13: `journey.j.step.0` has `retry`, but a repeat could do its work twice: give it an `idempotency-key` header",
        ],
    );
    check(
        "request = \"GET /x\"",
        "request = \"GET /x\"\nstarts = \"w\"",
        &["line 15: `journey.j.step.0.starts` needs the id of what it starts: keep = { w = \"/id\" }"],
    );
    check(
        "[[journey]]\nname = \"j\"",
        "[[journey]]\nname = \"w\"",
        &[
            "line 10: `phase.p.journey` is \"j\", but there is no such [[journey]]; known: w",
            "line 16: `work.w` is \"w\" as well, like a [[journey]] before it (line 12): each needs a name of its own",
        ],
    );
    check(", finished = \"f\"", "", &["line 21: `work.w.state` needs `finished`: without it no work ever ends"]);
    check(
        "stuck_after",
        "stack_after",
        &[
            "line 16: `work.w` needs `stuck_after`: no progress for how long is stuck, such as \"60s\"",
            "line 22: `work.w.stack_after` is not a key that stands here; known: status, ids, bulk, poll, stuck_after, \
             give_up_after, items, id, state, times, figures, progress, group, derive, totals",
        ],
    );
    check(
        "figures = { turns = \"/n\" }",
        "figures = { turns = \"/n\" }\nprogress = \"moves\"\nderive = { pace = \"speed * 2\", stuck = \"1\" }",
        &[
            "line 24: `work.w.progress` names \"moves\", which is not one of `figures`",
            "line 25: `work.w.derive.pace` uses `speed`; known here: turns, queue_wait_s, run_s, completion_s",
            "line 25: `work.w.derive.stuck` must be a name of small letters, digits and _ that no other figure of the work has",
        ],
    );
    check(
        "format = 1",
        "format = 1\nfaults = [{ at = \"1s\" }]",
        &[
            "line 2: `faults` is not a key that stands here; known: format, name, summary, vars, secrets, feed, key, target, \
             process, work, setup, pick, observe, journey, push, phase, fault, generator, bounds, signals, gates, headline",
        ],
    );
}

#[test]
fn gates_are_checked_before_a_byte_is_sent() {
    #[track_caller]
    fn gate(gate: &str, expected: &[&str]) {
        assert_eq!(complaints(&format!("{GOOD}{WORK}[gates]\n{gate}\n")), expected);
    }
    gate("\"j.errors\" = \"= 0\"", &[]);
    gate("\"w.drain_s\" = \"<= w.figures.turns.max * 0.2 + 15\"", &[]);
    gate("\"w.figures.turns.p50\" = [\">= 100\", \"<= 130\"]", &[]);
    gate("\"j.errors\" = \"0\"", &["line 25: `gates.j.errors` must start with one of = != < <= > >="]);
    gate("\"j.errors\" = 0", &["line 25: `gates.j.errors` must be a text, not a whole number"]);
    gate(
        "\"j.mistakes\" = \"= 0\"",
        &[
            "line 25: `gates.j.mistakes` is a figure that this trial does not have: `j.mistakes`; `j` has answered_per_s, count, denied, \
           errors, failed_ms, latency_ms, not_sent, ok, requests, retries, service_ms, throughput_per_s",
        ],
    );
    gate(
        "\"k.errors\" = \"= 0\"",
        &[
            "line 25: `gates.k.errors` is a figure that this trial does not have: `k.errors` must start with generator, j, p, \
           server, total, w",
        ],
    );
    gate(
        "\"w.drain_s\" = \"< w.figures.moves.max\"",
        &[
            "line 25: `gates.w.drain_s` is a figure that this trial does not have: `w.figures.moves.max`; `w.figures` has \
           turns",
        ],
    );
    gate(
        "\"j.latency_ms.p98\" = \"< 9\"",
        &["line 25: `gates.j.latency_ms.p98` is a figure that this trial does not have: `j.latency_ms.p98`; \
           `j.latency_ms` has avg, count, max, min, p50, p90, p95, p99, p999, p9999, p99999, sum"],
    );
}

#[test]
fn formulas_of_derived_figures_are_reported_as_they_are_written() {
    let text = format!("{GOOD}{WORK}derive = {{ pace = \"run_s*1000/(turns * 200)\" }}\n");
    let formulas = read(&text, &[]).unwrap().derived_formulas();
    assert_eq!(formulas, [("w.pace".to_owned(), "run_s*1000/(turns * 200)".to_owned())].into());
}

#[test]
fn settings_change_variables_and_any_key() {
    let text = format!("{GOOD}[vars]\nsize = 3\n").replace("batch = 3", "batch = \"{{size}}\"");
    let batch = |settings: &[&str]| match read(&text, settings) {
        Ok(scenario) => match scenario.phases[0].load_profile {
            LoadProfile::Single(Schedule::Bursts { batch, .. }) => Ok(batch),
            _ => Ok(0),
        },
        Err(complaint) => Err(complaint),
    };
    assert_eq!(batch(&[]), Ok(3));
    assert_eq!(batch(&["size=7"]), Ok(7));
    assert_eq!(batch(&["vars.size=8"]), Ok(8));
    assert_eq!(batch(&["phase.p.arrivals.batch=10"]), Ok(10));
    assert_eq!(batch(&["phase.0.arrivals.batch=11"]), Ok(11));
    assert_eq!(batch(&["phase.p.arrivals={ rate = 5, for = \"1s\" }"]), Ok(0));
    let wrong = [
        ("size", "--set size: expected KEY=VALUE"),
        ("sice=1", "--set sice=1: `sice` is neither a variable nor a key of this scenario"),
        ("vars.sice=1", "--set vars.sice=1: `vars.sice` is not a variable of this scenario"),
        ("phase.q.after=1", "--set phase.q.after=1: `phase.q.after` leads nowhere: there is no `q` in `phase`"),
        ("name.x=1", "--set name.x=1: `name.x` leads nowhere: `name` is a text"),
        (
            "size=many",
            "--set size=many: `phase.p.arrivals.batch` must be a whole number from 1 to 100000000, not a text",
        ),
        (
            "phase.p.spped=1",
            "--set phase.p.spped=1: `phase.p.spped` is not a key that stands here; known: name, arrivals, keeps, in_flight_max, \
             journey, opening, after, at, reconnect",
        ),
    ];
    for (setting, complaint) in wrong {
        // The error about a variable has the line where it is used.
        let found = batch(&[setting]).unwrap_err();
        assert_eq!(
            found.split_once("`").map(|(_, rest)| rest),
            complaint.split_once("`").map(|(_, rest)| rest),
            "{found}"
        );
    }
}

#[test]
fn a_gate_can_be_set_although_its_name_has_dots() {
    let text = format!("{GOOD}[gates]\n\"j.errors\" = \"= 0\"\n");
    let gates = |setting| read(&text, &[setting]).unwrap().gates.into_iter().map(|gate| gate.name + &gate.limit);
    assert_eq!(gates("gates.j.errors=<= 2").collect::<Vec<_>>(), ["j.errors<= 2"]);
    assert_eq!(gates("gates.j.denied==0").collect::<Vec<_>>(), ["j.errors= 0", "j.denied=0"]);
}

#[test]
fn settings_belong_to_the_identity_and_free_ports_do_not() {
    let text = format!("{GOOD}[vars]\nport = \"free\"\nother = 1\n").replace("4000", "{{port}}");
    let document = Document::parse(&text).unwrap();
    assert_eq!(document.free_port_variables(), ["port"]);
    let mut placed = document.clone();
    placed.set_port("port", 4321);
    assert_eq!(placed.hash(), document.hash());
    assert_eq!(Scenario::read(&placed).unwrap().target.url.port, 4321);
    let mut changed = document.clone();
    changed.set("other=2").unwrap();
    assert_ne!(changed.hash(), document.hash());
    assert_eq!(changed.text_hash(), document.text_hash());
}

#[test]
fn another_target_is_not_spawned() {
    let text = GOOD.replace("[[phase]]", "spawn = [\"x\"]\nenv = { A = \"b\" }\nready = \"/r\"\n[[phase]]");
    let mut document = Document::parse(&text).unwrap();
    document.set_target("http://10.0.0.1:80");
    let scenario = Scenario::read(&document).unwrap();
    assert_eq!((scenario.target.url.host.as_str(), scenario.spawns_processes()), ("10.0.0.1", false));
}

#[test]
fn secrets_stay_out_of_command_lines() {
    let text = format!("{GOOD}[secrets]\ntoken = {{ generate = true }}\n")
        .replace("[[phase]]", "spawn = [\"x\", \"{{token}}\"]\nenv = { T = \"{{token}}\" }\nready = \"/r\"\n[[phase]]");
    let complaint = read(&text, &[]).unwrap_err();
    assert!(complaint.contains("`target.spawn.1` uses `{{token}}`, which nothing has set before"), "{complaint}");
    assert_eq!(complaint.lines().count(), 1, "only there");
}

#[test]
fn every_built_in_scenario_is_right() {
    for builtin in builtins() {
        let mut document = Document::parse(builtin.toml).unwrap();
        for (variable, port) in document.free_port_variables().iter().zip(5000..) {
            document.set_port(variable, port);
        }
        BUILTIN_FILES.iter().for_each(|(name, text)| document.add_file(name, text));
        assert!(document.required_files().is_empty(), "{} brings its files along", builtin.name);
        let scenario = Scenario::read(&document).unwrap_or_else(|errors| panic!("{}:\n{errors}", builtin.name));
        assert_eq!(scenario.name, builtin.name);
        assert!(!scenario.gates.is_empty() && scenario.spawns_processes());
    }
}

#[test]
fn the_leaderboard_is_the_one_of_the_report() {
    let leaderboard = builtins().iter().find(|builtin| builtin.name == "leaderboard").unwrap();
    let mut document = Document::parse(leaderboard.toml).unwrap();
    document.free_port_variables().iter().for_each(|variable| document.set_port(variable, 5000));
    let phase = Scenario::read(&document).unwrap().phases.remove(0);
    assert_eq!(phase.load_profile.max_count(), Some(6501));
    assert_eq!(
        phase.load_profile,
        LoadProfile::Single(Schedule::Bursts { batch: 2167, every: Duration::from_secs(60), times: 3 })
    );
}
