//! Journeys: filled-in values, kept values and started work, pauses, repeats, and closed loops with exact counts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use lab::generator::StartedWork;
use lab::measurement::ErrorKind;
use lab::plan::{LoadSpec, Schedule};
use lab::scenario::PerClientLimit;

use super::{Harness, UNUSED_ADDRESS, burst, clients, generator_config, load_spec, run_load, scenario, visit};
use crate::scripted_server::{Latch, ResponseAction, ScriptedServer, ok, response};

#[test]
fn clients_make_exactly_the_journeys_that_they_should() {
    for workers in [1, 2, 5] {
        let target = ScriptedServer::start(|_| ok());
        let results = run_load(visit(), &target, load_spec(clients(3, 7), 1), workers);
        assert_eq!((results.counts(), target.connections(), target.requests()), ((21, 0, 0), 3, 21));
        let indexes: BTreeSet<u64> = results.rows().iter().map(|row| row[1].parse().unwrap()).collect();
        assert!(indexes.into_iter().eq(0..21));
    }
}

#[test]
fn clients_go_on_until_they_are_ended_early_and_finish_their_exchange() {
    let gate = Arc::new(Latch::default());
    let opened = gate.clone();
    let target = ScriptedServer::start(move |request| match request.number {
        0..10 => ok(),
        _ => vec![ResponseAction::Wait(gate.clone()), ResponseAction::Write(response(200, "ok"))],
    });
    let schedule = Schedule::ClosedLoop { clients: 2, each: PerClientLimit::Duration(Duration::from_secs(3600)) };
    let harness = Harness::start(generator_config(visit(), target.address), vec![load_spec(schedule, 1)], 1);
    target.await_requests(12);
    harness.worker_pool.end_load_step(0);
    harness.worker_pool.end_load_step(0);
    harness.await_gauges(|gauges| gauges.done == 10);
    opened.open();
    let results = harness.run_to_end();
    assert_eq!((results.counts(), target.requests()), ((12, 0, 0), 12));
}

#[test]
fn a_refused_client_pauses_and_tries_again() {
    let results = Harness::start(
        generator_config(visit(), UNUSED_ADDRESS.parse().unwrap()),
        vec![load_spec(clients(2, 3), 1)],
        1,
    )
    .run_to_end();
    assert_eq!(results.counts(), (0, 0, 6));
}

const GAME: &str = r#"
[[journey.step]]
name = "create"
request = "POST /games"
headers = { idempotency-key = "{{uuid}}" }
json = { number = "{{index}}" }
expect = 201
denied = 429
keep = { game = "/id" }
starts = "game"
[[journey.step]]
name = "look"
request = "GET /games/{{game}}"
"#;

#[test]
fn kept_values_are_filled_in_and_started_work_is_reported() {
    let target = ScriptedServer::start(|request| match request.head.split(' ').next() {
        Some("POST") => {
            let index: String = request.body.chars().filter(char::is_ascii_digit).collect();
            vec![ResponseAction::Write(response(201, &format!("{{\"id\": \"g{index}\"}}")))]
        }
        _ => ok(),
    });
    let results = run_load(scenario(GAME), &target, load_spec(burst(4), 2), 2);
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(0)), results.counts_of_step(Some(1))),
        ((4, 0, 0), (4, 0, 0), (4, 0, 0))
    );
    let ids: BTreeSet<&str> = results.started_work.iter().map(|begun| &*begun.id).collect();
    assert_eq!(ids, BTreeSet::from(["g0", "g1", "g2", "g3"]));
    assert!(
        results
            .started_work
            .iter()
            .all(|StartedWork { work_index, intended, done, .. }| (*work_index, *intended) == (0, Duration::ZERO)
                && *done > Duration::ZERO)
    );
    let mut looked: Vec<String> =
        target.received_requests().iter().filter_map(|request| path(&request.head, "GET /games/")).collect();
    looked.sort();
    assert_eq!(looked, ["g0", "g1", "g2", "g3"]);
    let keys = target
        .received_requests()
        .into_iter()
        .filter_map(|request| path(&request.head.replace('\n', " "), "idempotency-key: "));
    assert_eq!(keys.collect::<BTreeSet<_>>().len(), 4);
}

/// The word after `mark` in a head.
fn path(head: &str, mark: &str) -> Option<String> {
    Some(head.split_once(mark)?.1.split_whitespace().next()?.to_owned())
}

#[test]
fn a_list_of_started_work_is_one_item_for_each_entry() {
    let target = ScriptedServer::start(|_| vec![ResponseAction::Write(response(201, "{\"id\": [\"a\", 7]}"))]);
    let steps = "[[journey.step]]\nrequest = \"POST /\"\nexpect = 201\nkeep = { game = \"/id\" }\nstarts = \"game\"";
    let results = run_load(scenario(steps), &target, load_spec(burst(1), 1), 1);
    assert_eq!(results.started_work.iter().map(|begun| &*begun.id).collect::<Vec<_>>(), ["a", "7"]);
}

#[test]
fn a_journey_ends_where_a_step_fails() {
    let responses = [response(201, "{\"id\": 1}"), response(429, ""), response(201, "{}"), response(503, "no")];
    let target = ScriptedServer::start(move |request| match path(&request.head, "POST ") {
        Some(_) => vec![ResponseAction::Write(responses[request.number as usize % 4].clone())],
        None => vec![ResponseAction::Write(response(404, "gone"))],
    });
    let results = run_load(scenario(GAME), &target, load_spec(clients(1, 1), 1), 1);
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(0)), results.counts_of_step(Some(1))),
        ((0, 0, 1), (1, 0, 0), (0, 0, 1))
    );
    assert_eq!(results.errors(), [(1, ErrorKind::Status(404), 1, "404: gone")]);

    let responses = [response(429, ""), response(201, "{}"), response(503, "no"), response(201, "<html>")];
    let target = ScriptedServer::start(move |request| {
        vec![ResponseAction::Write(responses[request.number as usize % 4].clone())]
    });
    let results = run_load(scenario(GAME), &target, load_spec(clients(1, 4), 1), 1);
    assert_eq!((results.counts(), results.counts_of_step(Some(1))), ((0, 1, 3), (0, 0, 0)));
    let kinds: Vec<_> = results.errors().into_iter().map(|(_, kind, count, _)| (kind, count)).collect();
    assert_eq!(kinds, [(ErrorKind::Answer, 2), (ErrorKind::Status(503), 1)]);
    assert_eq!(results.errors()[0].3, "nothing at `/id`: {}");
}

#[test]
fn a_body_may_be_a_denial_with_a_success_status() {
    let responses =
        [r#"{"go": true}"#, r#"{"go": false}"#, r#"{"go": "false"}"#, r#"{"go": "false"}"#, "no", r#"{"go": false}"#];
    let target = ScriptedServer::start(move |request| {
        vec![ResponseAction::Write(response(200, responses[request.number as usize % 6]))]
    });
    let steps = "[[journey.step]]\nrequest = \"POST /\"\ndenied = { at = \"/go\", is = false }\n\
                 [[journey.step]]\nname = \"then\"\nrequest = \"GET /\"\ndenied = { at = \"/go\", is = \"false\" }";
    // A text is no flag and a flag no text, so three steps succeed; then one is denied, one is not JSON, one is denied.
    let results = run_load(scenario(steps), &target, load_spec(clients(1, 4), 1), 1);
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(0)), results.counts_of_step(Some(1))),
        ((1, 2, 1), (2, 1, 1), (1, 1, 0))
    );
    assert!(results.errors()[0].3.starts_with("not JSON"), "{:?}", results.errors());
}

#[test]
fn retries_carry_the_same_bytes() {
    let target = ScriptedServer::start(|request| match request.number {
        0 | 1 => vec![ResponseAction::Close],
        _ => ok(),
    });
    let steps = "[[journey.step]]\nrequest = \"POST /\"\nheaders = { idempotency-key = \"{{uuid}}\" }\n\
                 retry = { times = 3, backoff = \"1ms\" }";
    let results = run_load(scenario(steps), &target, load_spec(burst(1), 1), 1);
    assert_eq!((results.counts(), results.retries(), target.requests()), ((1, 0, 0), 2, 3));
    let heads: BTreeSet<String> = target.received_requests().into_iter().map(|request| request.head).collect();
    assert_eq!(heads.len(), 1);
}

#[test]
fn retries_end_after_their_number() {
    let target = ScriptedServer::start(|_| vec![ResponseAction::Close]);
    let steps = "[[journey.step]]\nrequest = \"GET /\"\nretry = { times = 3, backoff = \"1ms\" }";
    let results = run_load(scenario(steps), &target, load_spec(burst(1), 1), 1);
    assert_eq!((results.counts(), results.retries(), target.requests()), ((0, 0, 1), 3, 4));
}

#[test]
fn pauses_are_the_users_own_time() {
    let pause = Some((Duration::from_millis(30), Duration::from_millis(60)));
    let two =
        "[[journey.step]]\nname = \"a\"\nrequest = \"GET /\"\n[[journey.step]]\nname = \"b\"\nrequest = \"GET /\"";
    let mut paused = scenario(two);
    paused.journeys[0].steps[1].pause = pause;
    let target = ScriptedServer::start(|_| ok());
    let results = run_load(paused, &target, load_spec(clients(3, 2), 1), 1);
    assert_eq!(results.counts(), (6, 0, 0));
    let number = |row: &[String], at: usize| row[at].parse::<u64>().unwrap();
    let rows = results.rows();
    let steps = |step: &'static str| rows.iter().filter(move |row| row[3] == step);
    let mut pauses = BTreeSet::new();
    for second in steps("1") {
        let first = steps("0").find(|first| first[1] == second[1]).unwrap();
        let pause = number(second, 4) - number(first, 7);
        assert!((30_000..=60_001).contains(&pause), "{pause}");
        pauses.insert(pause / 100);
    }
    assert!(pauses.len() > 1, "each is drawn: {pauses:?}");

    let mut paused = visit();
    paused.journeys[0].steps[0].pause = Some((Duration::from_millis(40), Duration::from_millis(40)));
    let results = run_load(paused, &target, load_spec(burst(2), 2), 1);
    // The journey is due after the pause: it is no latency.
    assert!(results.rows().iter().all(|row| row[4] == "40000"), "{:?}", results.rows());
}

#[test]
fn no_journey_starts_after_a_pause_that_ends_too_late() {
    let mut paused = visit();
    paused.journeys[0].steps[0].pause = Some((Duration::from_millis(80), Duration::from_millis(80)));
    let target = ScriptedServer::start(|_| ok());
    let schedule = Schedule::ClosedLoop { clients: 2, each: PerClientLimit::Duration(Duration::from_millis(150)) };
    let results = run_load(paused, &target, load_spec(schedule, 1), 1);
    // Each client has time for one pause; on a busy machine for none.
    let (good, denied, errors) = results.counts();
    assert!(good <= 2 && (denied, errors) == (0, 0) && target.requests() == good, "{:?}", results.counts());
    assert!(results.rows().iter().all(|row| row[4].parse::<u64>().unwrap() <= 150_000), "{:?}", results.rows());
}

#[test]
fn a_client_whose_requests_cannot_be_built_still_takes_commands() {
    let steps = "[[journey.step]]\nrequest = \"GET /{{index}}{{run.id}}\"";
    let target = ScriptedServer::start(|_| ok());
    let mut broken = generator_config(scenario(steps), target.address);
    broken.inputs.globals.clear();
    let schedule = Schedule::ClosedLoop { clients: 2, each: PerClientLimit::Duration(Duration::from_secs(3600)) };
    let harness = Harness::start(broken, vec![load_spec(schedule, 1)], 1);
    harness.await_gauges(|gauges| gauges.done >= 4);
    harness.worker_pool.end_load_step(0);
    let results = harness.run_to_end();
    assert!(results.errors()[0].1 == ErrorKind::Request && target.requests() == 0);
}

#[test]
fn a_client_that_pauses_when_its_load_step_ends_is_abandoned() {
    let two =
        "[[journey.step]]\nname = \"a\"\nrequest = \"GET /\"\n[[journey.step]]\nname = \"b\"\nrequest = \"GET /\"";
    let mut paused = scenario(two);
    paused.journeys[0].steps[1].pause = Some((Duration::from_secs(3600), Duration::from_secs(3600)));
    let target = ScriptedServer::start(|_| ok());
    let harness = Harness::start(generator_config(paused, target.address), vec![load_spec(clients(2, 9), 1)], 1);
    target.await_requests(2);
    harness.worker_pool.end_load_step(0);
    let results = harness.run_to_end();
    assert_eq!((results.counts(), results.sum(|interval| interval.abandoned)), ((0, 0, 0), 2));

    // Before its first step nothing of it was due.
    let mut paused = visit();
    paused.journeys[0].steps[0].pause = Some((Duration::from_secs(3600), Duration::from_secs(3600)));
    let spec = LoadSpec { load_step: 2, ..load_spec(clients(2, 9), 1) };
    let harness = Harness::start(generator_config(paused, target.address), vec![spec], 1);
    harness.worker_pool.end_load_step(2);
    assert_eq!(harness.run_to_end().counts(), (0, 0, 0));
}
