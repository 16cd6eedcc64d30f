//! Loads as rows: the text of a phase and what is read, or what is wrong with it.

use std::ops::Add as _;
use std::time::Duration;

use super::super::{EdgeSearch, LoadProfile, OpeningSpec, PerClientLimit, Phase, Reconnect, Schedule};
use super::{GOOD, complaints, read};

const OPEN: &str = "arrivals = { batch = 3 }\nin_flight_max = 2";

fn with(phase: &str) -> String {
    assert!(GOOD.contains(OPEN));
    GOOD.replace(OPEN, phase)
}

/// A phase that holds connections, and the additional keys of the next one.
fn levels(second: &str) -> String {
    let first = "arrivals = { hold = { connections = 20, open_per_s = 10 }, for = \"1s\" }";
    with(&format!("{first}\njourney = \"j\"\n[[phase]]\nname = \"q\"\n{second}"))
}

const HIGHER: &str = "arrivals = { hold = { connections = 50, open_per_s = 10, open_within = \"4s\" }, for = \"1s\" }";

#[test]
fn a_phase_goes_on_with_the_connections_of_an_earlier_one() {
    let read = read(&levels(&format!("{HIGHER}\nkeeps = \"p\"")), &[]).unwrap();
    let (connections, opening) = read.phases[1].load_profile.held().unwrap();
    // Only the missing connections take time.
    assert_eq!(
        (opening.inherited, opening.new_connections(connections), opening.planned_duration(connections)),
        (20, 30, s(3))
    );
    let shown: Vec<_> = read.phases.iter().map(|phase| (phase.resumes_phase, phase.leaves_open)).collect();
    assert_eq!(shown, [(None, true), (Some(0), false)]);
}

#[track_caller]
fn check_keeps(second: &str, expected: &[&str]) {
    let other = "[[journey]]\nname = \"k\"\n[[journey.step]]\nrequest = \"GET /k\"\n";
    let complaints = complaints(&format!("{}{other}", levels(second)));
    let complaints: Vec<&str> = complaints.iter().map(|text| text.split_once(": ").unwrap().1).collect();
    assert_eq!(complaints, expected, "{second}");
}

#[test]
fn connections_are_left_to_one_that_would_have_opened_the_same() {
    check_keeps(&format!("{HIGHER}\nkeeps = \"p\""), &[]);
    check_keeps(
        &format!("{HIGHER}\nkeeps = \"x\""),
        &[LONGER, "`phase.q.keeps` is \"x\", but there is no such [[phase]]; known: p, q"],
    );
    check_keeps(
        &format!("{HIGHER}\nkeeps = \"q\""),
        &[LONGER, "`phase.q.keeps` is \"q\", which is no earlier phase: only one before it can leave it any"],
    );
    check_keeps(
        "arrivals = { clients = 20, requests = 1 }\nkeeps = \"p\"",
        &["`phase.q.keeps` is for held connections alone: no other phase has connections to take over"],
    );
    check_keeps(
        &format!("{HIGHER}\nat = \"5s\"\nkeeps = \"p\""),
        &[
            "`phase.q.keeps` excludes `at`: a phase that takes connections over begins when the phase that had them is over",
        ],
    );
    check_keeps(
        &HIGHER.replace("50", "19").replace("4s", "9s").add("\nkeeps = \"p\""),
        &["`phase.q.keeps` is \"p\", which holds 20 connections: hold at least as many"],
    );
    check_keeps(
        &format!("{HIGHER}\nopening = \"k\"\nkeeps = \"p\""),
        &[
            "`phase.q.keeps` is \"p\", which must have the same `journey` and `opening`: its connections have said those",
        ],
    );
    let twice = format!("{HIGHER}\nkeeps = \"p\"\njourney = \"j\"\n[[phase]]\nname = \"r\"\n{HIGHER}\nkeeps = \"p\"");
    check_keeps(&twice, &["`phase.r.keeps` is \"p\", whose connections another phase has gone on with already"]);
    let other = format!(
        "arrivals = {{ rate = 1, for = \"1s\" }}\nin_flight_max = 1\njourney = \"j\"\n[[phase]]\nname = \"r\"\n{}",
        "arrivals = { hold = { connections = 1 }, for = \"1s\" }\nkeeps = \"q\""
    );
    check_keeps(&other, &["`phase.r.keeps` is \"q\", which must hold connections and have no `at` of its own"]);
}

/// The error of a level that would have to open all of its connections.
const LONGER: &str =
    "`phase.q.arrivals.hold.open_within` must be longer than the 5.0 s that it takes to begin all of them";

fn phase(text: &str) -> Phase {
    read(&with(text), &[]).unwrap_or_else(|complaint| panic!("{text}:\n{complaint}")).phases.remove(0)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[track_caller]
fn open(load: &str, expected: &LoadProfile, count: Option<u64>, duration: Duration) {
    let phase = phase(&format!("arrivals = {load}\nin_flight_max = 7"));
    assert_eq!((&phase.load_profile, phase.in_flight_max), (expected, 7));
    assert_eq!((phase.load_profile.max_count(), phase.load_profile.min_duration()), (count, duration));
}

#[track_caller]
fn closed(load: &str, expected: &LoadProfile, in_flight: u64, count: Option<u64>, duration: Duration) {
    let phase = phase(&format!("arrivals = {load}"));
    assert_eq!((&phase.load_profile, phase.in_flight_max), (expected, in_flight));
    assert_eq!((phase.load_profile.max_count(), phase.load_profile.min_duration()), (count, duration));
}

#[test]
fn open_loads() {
    let batch = |every, times| LoadProfile::Single(Schedule::Bursts { batch: 3, every, times });
    open("{ batch = 3 }", &batch(s(0), 1), Some(3), s(0));
    open("{ batch = 3, every = \"60s\", times = 4 }", &batch(s(60), 4), Some(12), s(180));
    open(
        "{ batch = 3, every = \"done\", times = 4 }",
        &LoadProfile::BurstsInTurn { batch: 3, times: 4 },
        Some(12),
        s(0),
    );
    open(
        "{ rate = 2.5, for = \"4s\" }",
        &LoadProfile::Single(Schedule::ConstantRate { rate_per_s: 2.5, lasting: s(4) }),
        Some(10),
        s(4),
    );
    let ramp = LoadProfile::Single(Schedule::Ramp { from_per_s: 0.0, to_per_s: 10.0, lasting: s(4) });
    open("{ ramp = { from = 0, to = 10 }, for = \"4s\" }", &ramp, Some(20), s(4));
    // Far more than ever arrive: the mean of 100, eight standard deviations, and 16.
    open(
        "{ poisson = 25, for = \"4s\" }",
        &LoadProfile::Single(Schedule::Poisson { rate_per_s: 25.0, lasting: s(4) }),
        Some(196),
        s(4),
    );
}

#[test]
fn closed_loads() {
    let clients = |per_client| LoadProfile::Single(Schedule::ClosedLoop { clients: 8, each: per_client });
    closed("{ clients = 8, requests = 5 }", &clients(PerClientLimit::Requests(5)), 8, Some(40), s(0));
    closed("{ clients = 8, for = \"3s\" }", &clients(PerClientLimit::Duration(s(3))), 8, None, s(3));
    let ladder = |per_client, pause| LoadProfile::Ladder { levels: vec![1, 9, 5], per_client, pause };
    closed("{ ladder = [1, 9, 5], requests = 2 }", &ladder(PerClientLimit::Requests(2), s(0)), 9, Some(30), s(0));
    closed(
        "{ ladder = [1, 9, 5], for = \"2s\", pause = \"1s\" }",
        &ladder(PerClientLimit::Duration(s(2)), s(1)),
        9,
        None,
        s(8),
    );
    let hold = |open_per_s, rate_per_s| {
        let opening = OpeningSpec { per_s: open_per_s, ..OpeningSpec::default() };
        let within = opening.planned_duration(20) + opening.timeout;
        let opening = OpeningSpec { timeout: within, ..opening };
        LoadProfile::Single(Schedule::Hold { connections: 20, opening, rate_per_s, lasting: s(60) })
    };
    closed("{ hold = { connections = 20 }, for = \"60s\" }", &hold(None, None), 20, Some(0), s(60));
    closed(
        "{ hold = { connections = 20, open_per_s = 2 }, rate = 5, for = \"60s\" }",
        &hold(Some(2.0), Some(5.0)),
        20,
        Some(300),
        s(70),
    );
}

#[test]
fn searches() {
    let least = EdgeSearch {
        from_per_s: 10.0,
        to_per_s: 500.0,
        level_duration: s(5),
        hold_duration: s(30),
        precision: 0.03,
        poisson: false,
        latency_ms: None,
        error_share: None,
        backlog: true,
    };
    let text = "{ edge = { from = 10, to = 500, overload = { backlog = true } } }";
    open(text, &LoadProfile::Edge(least.clone()), None, s(35));
    let all = EdgeSearch {
        level_duration: s(2),
        hold_duration: s(9),
        precision: 0.1,
        poisson: true,
        latency_ms: Some((0.999, 250.0)),
        error_share: Some(0.015),
        backlog: false,
        ..least
    };
    let text = "{ edge = { from = 10, to = 500, level = \"2s\", hold = \"9s\", precision = 0.1, poisson = true, \
                overload = { latency = \"p999 > 250ms\", errors = \"> 1.5 %\" } } }";
    open(text, &LoadProfile::Edge(all), None, s(11));
}

#[test]
fn reconnecting() {
    let read = |key: &str| phase(&format!("{OPEN}\n{key}")).reconnect;
    assert_eq!(read(""), Reconnect::Never);
    assert_eq!(read("reconnect = \"never\""), Reconnect::Never);
    assert_eq!(read("reconnect = \"journey\""), Reconnect::Journey);
    assert_eq!(read("reconnect = \"request\""), Reconnect::Request);
}

/// A load (line 8) and its errors, after the path of its phase.
#[track_caller]
fn wrong(load: &str, expected: &[&str]) {
    let closed = ["clients", "ladder", "hold ="].iter().any(|kind| load.starts_with(&format!("{{ {kind}")));
    let cap = if closed { "" } else { "\nin_flight_max = 2" };
    let found = complaints(&with(&format!("arrivals = {load}{cap}")));
    let expected: Vec<String> = expected.iter().map(|rest| format!("line 8: `phase.p.arrivals{rest}")).collect();
    assert_eq!(found, expected);
}

#[test]
fn errors_in_loads() {
    let kinds = "` must be one of { batch, every, times }, { rate, for }, { ramp = { from, to }, for }, { poisson, for }, \
                 { clients, requests or for }, { ladder, requests or for, pause }, \
                 { hold = { connections, open_per_s, open_within, opening_max }, rate, for } or { edge = { from, to, overload } }";
    wrong("{}", &[kinds]);
    wrong("{ storm = 3 }", &[kinds]);
    wrong("{ batch = 3, rate = 3, for = \"1s\" }", &[kinds]);
    wrong("5", &["` must be a table, not a whole number"]);

    wrong("{ batch = 0 }", &[".batch` must be from 1 to 100000000, not 0"]);
    wrong(
        "{ batch = 3, times = 2 }",
        &["` needs `every` beside `times`: the time from one burst to the next, or \"done\""],
    );
    wrong(
        "{ batch = 3, every = \"later\", times = 1001 }",
        &[
            ".every` must be a duration such as \"500ms\", \"30s\" or \"5m\", not \"later\"",
            ".times` must be from 1 to 1000, not 1001",
        ],
    );
    wrong(
        "{ batch = 50000000, every = \"1s\", times = 3 }",
        &["` must be at most 100000000 arrivals, these are 150000000"],
    );
    wrong("{ batch = 3, for = \"1s\" }", &[".for` is not a key that stands here; known: batch, every, times"]);

    wrong("{ rate = 1 }", &["` needs `for`: how long, such as \"30s\""]);
    wrong("{ rate = 0, for = \"1s\" }", &[".rate` must be above 0, and at most 10000000, not 0"]);
    wrong("{ rate = 1e9, for = \"1s\" }", &[".rate` must be above 0, and at most 10000000, not 1000000000"]);
    wrong("{ rate = \"many\", for = \"1s\" }", &[".rate` must be a number above 0, and at most 10000000, not a text"]);
    wrong(
        "{ rate = 1, for = \"soon\" }",
        &[".for` must be a duration such as \"500ms\", \"30s\" or \"5m\", not \"soon\""],
    );

    wrong("{ ramp = 3, for = \"1s\" }", &[".ramp` must be a table, not a whole number"]);
    wrong("{ ramp = { from = 1 }, for = \"1s\" }", &[".ramp` needs `to`: arrivals per second at the end"]);
    wrong("{ ramp = { from = 0, to = 0 }, for = \"1s\" }", &[".ramp` goes from 0 to 0: nothing ever arrives"]);
    wrong("{ poisson = -1, for = \"1s\" }", &[".poisson` must be above 0, and at most 10000000, not -1"]);

    let each = "` needs either `requests`, how many each client makes, or `for`, how long they go on";
    wrong("{ clients = 3 }", &[each]);
    wrong("{ clients = 3, requests = 3, for = \"1s\" }", &[each]);
    wrong("{ clients = 2000001, requests = 1 }", &[".clients` must be from 1 to 2000000, not 2000001"]);
    wrong("{ clients = 200000, requests = 1000 }", &["` must be at most 100000000 arrivals, these are 200000000"]);
    wrong("{ ladder = [], requests = 1 }", &[".ladder` must list from 1 to 1000 levels"]);
    wrong("{ ladder = [1, 0], requests = 1 }", &[".ladder.1` must be from 1 to 2000000, not 0"]);

    wrong("{ hold = 5, for = \"1s\" }", &[".hold` must be a table, not a whole number"]);
    wrong("{ hold = {}, for = \"1s\" }", &[".hold` needs `connections`: how many are held"]);
    wrong(
        "{ hold = { connections = 100, open_per_s = 10, open_within = \"10s\" }, for = \"1s\" }",
        &[".hold.open_within` must be longer than the 10.0 s that it takes to begin all of them"],
    );
    wrong(
        "{ hold = { connections = 9, opening_max = 20001 }, for = \"1s\" }",
        &[".hold.opening_max` must be from 1 to 20000, not 20001"],
    );
}

#[test]
fn errors_in_searches() {
    let edge = |keys: &str| format!("{{ edge = {{ {keys} }} }}");
    wrong(
        &edge(""),
        &[
            ".edge` needs `from`: the first rate to try, per second",
            ".edge` needs `overload`: what is too much: { latency, errors, backlog }, at least one of them",
            ".edge` needs `to`: the rate per second at which the search ends",
        ],
    );
    let backlog = "overload = { backlog = true }";
    wrong(&edge(&format!("from = 5, to = 5, {backlog}")), &[".edge` must have a `from` below its `to`"]);
    wrong(
        &edge(&format!("from = 5, to = 5000000, {backlog}")),
        &[".edge` must be at most 100000000 arrivals at any level: lower `to`, or shorten it"],
    );
    wrong(
        &edge(&format!("from = 5, to = 9, level = \"9s\", hold = \"8s\", {backlog}")),
        &[".edge` must have a `hold` that lasts at least as long as its `level`"],
    );
    wrong(
        &edge(&format!("from = 5, to = 9, level = \"1s\", precision = 2, {backlog}")),
        &[".edge.level` must be from 2s to 86400s, not 1s", ".edge.precision` must be from 0.001 to 0.5, not 2"],
    );
    let over = |overload: &str| edge(&format!("from = 5, to = 9, overload = {{ {overload} }}"));
    let none = ".edge.overload` needs at least one of latency = \"p99 > 250ms\", errors = \"> 1%\", backlog = true";
    wrong(&over(""), &[none]);
    wrong(&over("backlog = false"), &[none]);
    for latency in ["p98 > 1s", "p99 < 1s", "p99 > 5", "p99 > 0s"] {
        let expected = format!(
            ".edge.overload.latency` must be a percentile (p50, p90, p95, p99, p999) and a limit, such as \"p99 > 250ms\", \
             not \"{latency}\""
        );
        wrong(&over(&format!("latency = \"{latency}\"")), &[&expected]);
    }
    for errors in ["1%", "> 1", "> 100%", "> -1%"] {
        let expected =
            format!(".edge.overload.errors` must be a share of the arrivals such as \"> 1%\", not \"{errors}\"");
        wrong(&over(&format!("errors = \"{errors}\"")), &[&expected]);
    }
}

#[test]
fn errors_besides_the_load() {
    #[track_caller]
    fn phase(keys: &str, expected: &[&str]) {
        assert_eq!(complaints(&with(keys)), expected);
    }
    phase(
        "arrivals = { batch = 3 }",
        &["line 6: `phase.p` needs `in_flight_max`: how many arrivals may be under way at once"],
    );
    phase(
        "arrivals = { clients = 3, requests = 1 }\nin_flight_max = 3",
        &["line 9: `phase.p.in_flight_max` is for open loops alone: clients and held connections bound themselves"],
    );
    // A load that cannot be read causes no second error.
    phase(
        "arrivals = { clients = 3 }",
        &[
            "line 8: `phase.p.arrivals` needs either `requests`, how many each client makes, or `for`, how long they go on",
        ],
    );
    phase(
        &format!("{OPEN}\nreconnect = \"often\""),
        &["line 10: `phase.p.reconnect` must be one of \"never\", \"journey\", \"request\", not \"often\""],
    );
    phase(
        &format!("{OPEN}\nreconnect = 3"),
        &["line 10: `phase.p.reconnect` must be one of \"never\", \"journey\", \"request\", not a whole number"],
    );
    let two = "arrivals = { batch = 1, every = \"1s\", times = 1000 }\nin_flight_max = 2\njourney = \"j\"\n\
               [[phase]]\nname = \"q\"\narrivals = { ladder = [1], requests = 1 }";
    phase(two, &["line 1: has 1001 bursts and levels in its phases, each with figures of its own: at most 1000"]);
    let again = |number: usize| format!("\n[[phase]]\nname = \"p{number}\"\n{OPEN}\njourney = \"long\"");
    let step = |number: usize| format!("\n[[journey.step]]\nname = \"s{number}\"\nrequest = \"GET /\"");
    let steps = (0..200).map(step).collect::<String>();
    let long = |phases: usize| {
        let phases = (0..phases).map(again).collect::<String>();
        format!("{OPEN}\njourney = \"j\"{phases}\n[[journey]]\nname = \"long\"{steps}\n[[phase]]\nname = \"q\"\n{OPEN}")
    };
    phase(&long(49), &[]);
    phase(
        &long(50),
        &[
            "line 1: has phases that take 10054 journeys and steps, each with figures of its own in each phase: at most 10000",
        ],
    );
}
