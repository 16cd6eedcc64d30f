//! Long polls, repeated steps, and background loops.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lab::measurement::{ErrorKind, OpId};

use super::{Harness, HarnessResults, burst, clients, generator_config, load_spec, run_load, scenario};
use crate::scripted_server::{Latch, ReceivedRequest, ResponseAction, ScriptedServer, response};

fn first_line(request: &ReceivedRequest) -> String {
    request.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned()
}

fn lines(target: &ScriptedServer) -> Vec<String> {
    target.received_requests().iter().map(first_line).collect()
}

fn now_us() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()
}

fn json_answer(body: &str) -> Vec<ResponseAction> {
    vec![ResponseAction::Write(response(200, body))]
}

/// Responses, wake delays, and the longest of each, of a long poll.
fn long_poll_counts(results: &HarnessResults, step: usize) -> (u64, u64, u64, u64) {
    let cells = results.intervals.iter().flat_map(|interval| &interval.ops);
    let waits = cells.filter(|(key, _)| key.op == OpId { journey: 0, step: Some(step) });
    waits
        .flat_map(|(_, stats)| {
            assert!(stats.latency.is_empty() && stats.service.is_empty());
            &stats.long_polls
        })
        .fold((0, 0, 0, 0), |(responses, wakes, waited, wake), cell| {
            let (w, k) = (cell.waited.measured(), cell.wake_delay.measured());
            (responses + w.len(), wakes + k.len(), waited.max(w.max()), wake.max(k.max()))
        })
}

const POLL: &str = r#"
[[journey.step]]
name    = "poll"
request = "GET /feed?after={{seq}}"
waits   = { since = "/at", event = "/events/0" }
keep    = { seq = "/seq" }
follows = { cursor = "seq", items = "/events", number = "/n" }
repeat  = 4
"#;

const ENTER: &str = "[[journey.step]]\nname = \"enter\"\nrequest = \"GET /\"\nkeep = { seq = \"/seq\" }\n";

#[test]
fn events_during_a_poll_are_timed_and_old_ones_are_not() {
    let target = ScriptedServer::start(|request| match request.number {
        0 => json_answer("{\"seq\": 4}"),
        // Older than the first poll.
        1 => json_answer(&format!("{{\"seq\": 5, \"at\": {}, \"events\": [{{\"n\": 5}}]}}", now_us() - 60_000_000)),
        // The end of the wait: the last change is repeated, and is no event.
        2 => json_answer(&format!("{{\"seq\": 5, \"at\": {}, \"events\": []}}", now_us())),
        number => {
            let body =
                format!("{{\"seq\": {}, \"at\": {}, \"events\": [{{\"n\": {}}}]}}", number + 3, now_us(), number + 3);
            vec![ResponseAction::Stall(Duration::from_millis(20)), ResponseAction::Write(response(200, &body))]
        }
    });
    let results = run_load(scenario(&format!("{ENTER}{POLL}")), &target, load_spec(burst(1), 1), 1);
    assert_eq!((results.counts(), results.counts_of_step(Some(1)), results.errors()), ((1, 0, 0), (4, 0, 0), vec![]));
    let (responses, wakes, waited, wake) = long_poll_counts(&results, 1);
    assert_eq!((responses, wakes), (4, 2));
    // An event during a request cannot be older than the request.
    assert!((20_000..=waited).contains(&wake), "{wake} of {waited} us");
    let requests = ["GET /", "GET /feed?after=4", "GET /feed?after=5", "GET /feed?after=5", "GET /feed?after=6"];
    assert_eq!(lines(&target), requests);
}

#[track_caller]
fn check_broken(events: &'static str, expected: ErrorKind) {
    let target = ScriptedServer::start(move |request| match request.number {
        0 => json_answer("{\"seq\": 4}"),
        _ => json_answer(events),
    });
    let results = run_load(scenario(&format!("{ENTER}{POLL}")), &target, load_spec(burst(1), 1), 1);
    assert_eq!((results.counts(), results.counts_of_step(Some(1))), ((0, 0, 1), (0, 0, 1)));
    assert_eq!(results.errors()[0].1, expected, "{:?}", results.errors());
}

#[test]
fn omitted_and_repeated_events_are_errors() {
    check_broken("{\"seq\": 6, \"at\": 1, \"events\": [{\"n\": 6}]}", ErrorKind::Sequence);
    check_broken("{\"seq\": 5, \"at\": 1, \"events\": [{\"n\": 4}, {\"n\": 5}]}", ErrorKind::Sequence);
    check_broken("{\"seq\": 3, \"events\": []}", ErrorKind::Sequence);
    check_broken("{\"seq\": 5, \"at\": null, \"events\": [{\"n\": 5}]}", ErrorKind::Answer);
}

#[test]
fn steps_are_repeated_in_their_order() {
    let steps = r#"
[[journey.step]]
repeat = 2
[[journey.step.step]]
name = "a"
request = "GET /a/{{round}}"
[[journey.step.step]]
name = "b"
request = "GET /b/{{round}}"
repeat = { times = 9, until = { at = "/over", is = true } }
[[journey.step]]
name = "c"
request = "GET /c/{{round}}"
"#;
    let target =
        ScriptedServer::start(|request| json_answer(&format!("{{\"over\": {}}}", matches!(request.number, 2 | 4))));
    let results = run_load(scenario(steps), &target, load_spec(burst(1), 1), 1);
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(0)), results.counts_of_step(Some(1))),
        ((1, 0, 0), (2, 0, 0), (3, 0, 0))
    );
    assert_eq!(lines(&target), ["GET /a/0", "GET /b/0", "GET /b/1", "GET /a/2", "GET /b/2", "GET /c/2"]);
}

#[test]
fn a_repeat_that_never_ends_is_an_error() {
    let steps = "[[journey.step]]\nrequest = \"GET /\"\nrepeat = { times = 3, until = { at = \"/over\", is = true } }";
    let target = ScriptedServer::start(|_| json_answer("{\"over\": false}"));
    let results = run_load(scenario(steps), &target, load_spec(clients(1, 2), 1), 1);
    assert_eq!((results.counts(), results.counts_of_step(Some(0)), target.requests()), ((0, 0, 2), (6, 0, 0), 6));
    assert_eq!(results.errors()[0].1, ErrorKind::Answer);
}

const TABLE: &str = r#"
[[journey.step]]
name = "one"
request = "GET /token/1"
keep = { token_1 = "/token" }
[[journey.step]]
name = "two"
request = "GET /token/2"
keep = { token_2 = "/token" }
[[journey.step]]
name = "act"
request = "POST /act"
headers = { idempotency-key = "{{uuid}}-{{round}}" }
repeat = 3
[[journey.background]]
after = "two"
each = { me = ["token_1", "token_2"] }
[[journey.background.step]]
name = "enter"
request = "GET /seq/{{me}}"
keep = { seq = "/seq" }
[[journey.background.step]]
name = "poll"
request = "GET /feed/{{me}}?after={{seq}}"
waits = true
keep = { seq = "/seq" }
timeout = "60s"
retry = { times = 9, backoff = "1ms" }
repeat = "always"
"#;

/// Each of the two loops polls twice, loses so many second polls, and waits with the third one until the latch opens;
/// actions are answered when both wait.
fn table(gate: &Arc<Latch>, losses: usize) -> ScriptedServer {
    let (gate, waiting) = (gate.clone(), (Mutex::new(0), Condvar::new()));
    let second_polls = Mutex::new(Vec::new());
    ScriptedServer::start(move |request| {
        let line = first_line(request);
        let is_lost = line.ends_with("after=1") && {
            let mut polls = second_polls.lock().unwrap();
            polls.push(line.clone());
            polls.iter().filter(|poll| **poll == line).count() <= losses
        };
        let word = line.rsplit(['/', '?']).next().unwrap_or_default().to_owned();
        match line.split('/').nth(1).unwrap_or_default() {
            "token" => json_answer(&format!("{{\"token\": \"t{word}\"}}")),
            "seq" => json_answer("{\"seq\": 0}"),
            "act" => {
                let (count, changed) = &waiting;
                drop(changed.wait_while(count.lock().unwrap(), |count| *count < 2).unwrap());
                json_answer("{}")
            }
            _ if is_lost => vec![ResponseAction::Close],
            _ if word == "after=2" => {
                let (count, changed) = &waiting;
                *count.lock().unwrap() += 1;
                changed.notify_all();
                vec![ResponseAction::Wait(gate.clone())]
            }
            _ => json_answer(&format!("{{\"seq\": {}}}", if word == "after=1" { 2 } else { 1 })),
        }
    })
}

#[test]
fn background_loops_have_their_own_values_and_end_with_their_journey() {
    let gate = Arc::new(Latch::default());
    let target = table(&gate, 0);
    let harness = Harness::start(generator_config(scenario(TABLE), target.address), vec![load_spec(burst(1), 1)], 1);
    let results = harness.run_to_end();
    gate.open();
    assert_eq!((results.counts(), results.errors(), results.retries()), ((1, 0, 0), vec![], 0));
    // Two good polls each; the third ones were dropped, and count nowhere.
    assert_eq!(
        (results.counts_of_step(Some(2)), results.counts_of_step(Some(3)), results.counts_of_step(Some(4))),
        ((3, 0, 0), (2, 0, 0), (4, 0, 0))
    );
    assert_eq!(target.connections(), 3);
    let mut polls: Vec<String> = lines(&target).into_iter().filter(|line| line.contains("feed")).collect();
    polls.sort();
    let each = |me: &str| (0..3).map(|seq| format!("GET /feed/{me}?after={seq}")).collect::<Vec<_>>();
    assert_eq!(polls, [each("t1"), each("t2")].concat());
}

#[test]
fn a_loop_whose_connection_is_lost_continues_with_its_cursor() {
    let gate = Arc::new(Latch::default());
    let target = table(&gate, 3);
    let results =
        Harness::start(generator_config(scenario(TABLE), target.address), vec![load_spec(burst(1), 1)], 1).run_to_end();
    gate.open();
    assert_eq!((results.counts(), results.counts_of_step(Some(4)), results.errors()), ((1, 0, 0), (4, 0, 0), vec![]));
    let again = lines(&target).iter().filter(|line| line.ends_with("after=1")).count();
    assert_eq!(again, 8, "each was lost three times");
}

#[test]
fn a_failure_in_a_background_loop_fails_the_journey() {
    let target = ScriptedServer::start(move |request| match first_line(request).split('/').nth(1) {
        Some("token") => json_answer("{\"token\": \"t\"}"),
        Some("seq") => json_answer("{\"seq\": 0}"),
        Some("act") => json_answer("{}"),
        _ => vec![ResponseAction::Write(response(500, "broken"))],
    });
    // It would run for an hour.
    let steps = TABLE.replace("repeat = 3", "repeat = { for = \"1h\" }").replace(", \"token_2\"]", "]");
    let results = run_load(scenario(&steps), &target, load_spec(burst(1), 1), 1);
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(3)), results.counts_of_step(Some(4))),
        ((0, 0, 1), (1, 0, 0), (0, 0, 1))
    );
    assert_eq!(results.errors(), [(4, ErrorKind::Status(500), 1, "500: broken")]);
}

#[test]
fn polls_in_flight_are_counted_and_end_at_a_stop() {
    let gate = Arc::new(Latch::default());
    let target = table(&gate, 0);
    let steps = TABLE.replace("repeat = 3", "repeat = 3\npause = \"1h\"");
    let harness = Harness::start(generator_config(scenario(&steps), target.address), vec![load_spec(burst(1), 1)], 1);
    let gauges = harness.await_gauges(|gauges| gauges.long_polls == 2);
    assert_eq!(gauges.in_flight, 1);
    let results = harness.stop(Duration::ZERO);
    gate.open();
    assert_eq!((results.counts(), results.sum(|interval| interval.abandoned)), ((0, 0, 0), 1));
}

#[test]
fn a_response_that_asks_for_a_retry_is_no_error_if_the_scenario_says_so() {
    let steps = |retry: &str| {
        format!("[[journey.step]]\nrequest = \"GET /\"\nretry = {{ times = 2, backoff = \"1ms\"{retry} }}")
    };
    let target = || {
        ScriptedServer::start(|request| {
            vec![ResponseAction::Write(response(if request.number < 2 { 503 } else { 200 }, ""))]
        })
    };
    let results = run_load(scenario(&steps(", statuses = [503]")), &target(), load_spec(burst(1), 1), 1);
    assert_eq!((results.counts(), results.retries(), results.errors()), ((1, 0, 0), 2, vec![]));
    let results = run_load(scenario(&steps("")), &target(), load_spec(burst(1), 1), 1);
    assert_eq!((results.counts(), results.retries()), ((0, 0, 1), 0));
}
