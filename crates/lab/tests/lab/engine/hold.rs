//! Held connections: opened, kept without a buffer, used in turn, lost and reopened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lab::measurement::ErrorKind;
use lab::plan::{LoadSpec, Schedule};
use lab::scenario::OpeningSpec;

use super::{HOUR, Harness, UNUSED_ADDRESS, generator_config, hold, load_spec, visit};
use crate::scripted_server::{Latch, ResponseAction, ScriptedServer, ok, response};

#[test]
fn idle_connections_are_opened_once_and_held_until_over() {
    let target = ScriptedServer::start(|_| ok());
    let harness = Harness::start(generator_config(visit(), target.address), vec![hold(300, None, HOUR)], 2);
    let gauges = harness.await_gauges(|gauges| gauges.held == 300);
    assert_eq!((gauges.connections, gauges.in_flight), (300, 0));
    harness.worker_pool.end_load_step(0);
    harness.await_gauges(|gauges| gauges.connections == 0);
    target.await_connections(300);
    let results = harness.run_to_end();
    // No requests, so no responses.
    assert_eq!((results.counts(), results.not_sent(), results.held()), ((0, 0, 0), 0, [300, 0, 0, 0, 0]));
    assert_eq!((results.sum(|interval| interval.connects), target.connections(), target.requests()), (300, 300, 0));
}

#[test]
fn a_hold_ends_by_itself() {
    let target = ScriptedServer::start(|_| ok());
    let lasting = Duration::from_millis(50);
    let results =
        Harness::start(generator_config(visit(), target.address), vec![hold(5, None, lasting)], 1).run_to_end();
    assert_eq!((results.counts(), results.held()), ((0, 0, 0), [5, 0, 0, 0, 0]));
}

#[test]
fn openings_keep_to_their_rate() {
    let target = ScriptedServer::start(|_| ok());
    let opening = OpeningSpec { per_s: Some(200.0), ..OpeningSpec::default() };
    let spec = load_spec(Schedule::Hold { connections: 10, opening, rate_per_s: None, lasting: Duration::ZERO }, 1);
    let results = Harness::start(generator_config(visit(), target.address), vec![spec.clone()], 2).run_to_end();
    let due = |connection: u64| spec.opening_due(connection);
    assert!((0..10).all(|connection| due(connection) == Some(Duration::from_millis(connection * 5))));
    // The connections are not reported as open before the last one was due.
    let last = results.opened.iter().map(|opened| opened.2).max();
    assert!(last >= due(9) && results.opened.len() == 2, "{:?}", results.opened);
}

#[test]
fn requests_go_over_all_connections_in_turn() {
    let target = ScriptedServer::start(|_| ok());
    let spec = hold(5, Some(500.0), Duration::from_millis(100));
    let results = Harness::start(generator_config(visit(), target.address), vec![spec], 2).run_to_end();
    // On a busy machine some may be due too late to be sent.
    let ((good, denied, errors), late) = (results.counts(), results.not_sent());
    assert_eq!((good + late, denied, errors, target.connections()), (50, 0, 0, 5));
    let mut by_connection: BTreeMap<u64, u64> = BTreeMap::new();
    target.received_requests().iter().for_each(|request| *by_connection.entry(request.connection).or_default() += 1);
    assert!(by_connection.values().all(|count| (10 - late.min(10)..=10).contains(count)), "{by_connection:?}");
    // They count from the time at which all were open, and not from the first opening.
    let asked_from = results.opened.iter().map(|opened| opened.2).max().unwrap();
    let first = results.rows().iter().map(|row| row[4].parse::<u64>().unwrap()).min();
    assert_eq!(first, Some(asked_from.as_micros() as u64));
}

#[test]
fn a_request_waits_for_its_own_connection() {
    let gate = Arc::new(Latch::default());
    let opened = gate.clone();
    let target = ScriptedServer::start(move |request| match request.number {
        0 => vec![ResponseAction::Wait(gate.clone()), ResponseAction::Write(response(200, "ok"))],
        _ => ok(),
    });
    let harness = Harness::start(generator_config(visit(), target.address), vec![hold(2, Some(100.0), HOUR)], 1);
    // The first connection has five requests waiting, and the other one has answered as many.
    harness.await_gauges(|gauges| gauges.queued >= 5 && gauges.done >= 5);
    opened.open();
    harness.await_gauges(|gauges| gauges.queued == 0 && gauges.done >= 11);
    harness.worker_pool.end_load_step(0);
    let results = harness.run_to_end();
    let (good, ..) = results.counts();
    assert_eq!(good, target.requests());
    assert!(results.sum(|interval| interval.waited_for_slot + interval.waited_behind_pauses) >= 5);
}

#[test]
fn a_lost_connection_is_no_request_and_is_reopened() {
    let target = ScriptedServer::start(|_| ok());
    let harness = Harness::start(generator_config(visit(), target.address), vec![hold(3, None, HOUR)], 1);
    harness.await_gauges(|gauges| gauges.held == 3);
    target.await_connections(3);
    target.hang_up(0);
    // The loss itself may be over before it is observed.
    target.await_connections(4);
    harness.await_gauges(|gauges| gauges.held == 3);
    harness.worker_pool.end_load_step(0);
    let results = harness.run_to_end();
    assert_eq!((results.counts(), results.held(), target.connections()), ((0, 0, 0), [3, 1, 0, 1, 0], 4));
    let message = "a held connection was lost: the connection was closed";
    assert_eq!(results.errors(), [(0, ErrorKind::Closed, 1, message)]);
}

#[test]
fn a_request_that_loses_its_connection_fails_and_the_connection_is_reopened() {
    let target = ScriptedServer::start(|request| if request.number == 0 { vec![ResponseAction::Reset] } else { ok() });
    let steps = "[[journey.step]]\nrequest = \"POST /\"";
    let spec = hold(1, Some(20.0), HOUR);
    let harness = Harness::start(generator_config(super::scenario(steps), target.address), vec![spec], 1);
    // Some were due while it was lost, and waited for it.
    harness.await_gauges(|gauges| gauges.done == 1 && gauges.queued >= 2);
    harness.await_gauges(|gauges| gauges.done >= 4);
    harness.worker_pool.end_load_step(0);
    let results = harness.run_to_end();
    let (good, denied, errors) = results.counts();
    assert_eq!((good + 1, denied, errors), (target.requests(), 0, 1));
    assert_eq!((results.held(), target.connections()), ([1, 1, 0, 0, 1], 2));
    assert!(good >= 3 && results.sum(|interval| interval.waited_for_slot + interval.waited_behind_pauses) >= 2);
    assert_eq!(results.errors().iter().map(|error| (error.1, error.2)).collect::<Vec<_>>(), [(ErrorKind::Reset, 1)]);
}

/// A level that leaves its connections open, and the next one, which resumes them.
fn levels(connections: [u64; 2], rate_per_s: Option<f64>) -> [LoadSpec; 2] {
    let lasting = Duration::from_millis(50);
    let [low, high] = connections.map(|connections| hold(connections, rate_per_s, lasting));
    [LoadSpec { leaves_open: true, ..low }, LoadSpec { phase_index: 1, load_step: 1, resumes_phase: Some(0), ..high }]
}

#[test]
fn the_next_level_opens_only_what_is_missing() {
    // Fewer connections than workers, as many, and more: each worker resumes its own.
    for (low, high) in [(1, 2), (2, 5), (3, 3), (3, 40), (40, 41)] {
        let target = ScriptedServer::start(|_| ok());
        let [first, second] = levels([low, high], Some(400.0));
        let mut harness = Harness::start(generator_config(visit(), target.address), vec![first], 3);
        harness.add_load(0, second);
        let results = harness.run_to_end();
        assert_eq!((results.held(), results.kept()), ([high, 0, 0, 0, 0], low), "{low} and {high}");
        assert_eq!(results.left_open(), [low, 0, 0]);
        // Every request of both levels went over one of them; on a busy machine some may be due too late.
        let (good, denied, errors) = results.counts();
        assert_eq!((good + results.not_sent(), denied, errors, target.connections()), (40, 0, 0, high));
        assert_eq!(results.opened.iter().filter(|opened| opened.1 == 1).count(), 3);
    }
}

/// What the target does to one of four connections between two levels; how many were then closed in order and lost
/// otherwise, and the error.
#[track_caller]
fn check_between(lose: fn(&ScriptedServer), lost: [u64; 2], kind: ErrorKind, message: &str) {
    let target = ScriptedServer::start(|_| ok());
    let [first, second] = levels([4, 4], None);
    let mut harness = Harness::start(generator_config(visit(), target.address), vec![first], 1);
    harness.add_load(0, unrelated_burst());
    harness.await_gauges(|gauges| gauges.held == 4 && gauges.done == 1);
    lose(&target);
    harness.await_gauges(|gauges| gauges.held == 3);
    harness.add_load(2, second);
    let results = harness.run_to_end();
    // It was lost in neither level.
    assert_eq!((results.held(), results.kept(), target.connections()), ([5, 0, 0, 0, 0], 3, 6));
    assert_eq!(results.left_open(), [4, lost[0], lost[1]]);
    assert_eq!(results.errors(), [(0, kind, 1, message)]);
}

#[test]
fn a_loss_between_two_levels_is_reopened_by_the_second() {
    let closed = "a held connection was lost: the connection was closed";
    check_between(|target| target.hang_up(0), [1, 0], ErrorKind::Closed, closed);
    // Half-closed: the target will send no more, and would still read.
    check_between(|target| target.half_close(0), [1, 0], ErrorKind::Closed, closed);
    let unasked = "a held connection was lost: bytes that belong to no answer";
    check_between(
        |target| target.send_unsolicited(0, b"HTTP/1.1 408 Late\r\n\r\n"),
        [0, 1],
        ErrorKind::ExcessBytes,
        unasked,
    );
}

/// A load between two levels: one arrival, over a connection of its own.
fn unrelated_burst() -> LoadSpec {
    LoadSpec {
        phase_index: 2,
        load_step: 2,
        reconnect: lab::scenario::Reconnect::Request,
        ..load_spec(super::burst(1), 1)
    }
}

#[test]
fn connections_left_for_a_level_that_never_comes_are_closed_at_the_end() {
    let target = ScriptedServer::start(|_| ok());
    let [first, _] = levels([7, 9], None);
    let harness = Harness::start(generator_config(visit(), target.address), vec![first], 2);
    let results = harness.run_to_end();
    // Closed by the lab, and so not lost.
    assert_eq!((results.held(), results.left_open()), ([7, 0, 0, 0, 0], [7, 0, 0]));
}

#[test]
fn failed_openings_are_reported() {
    let address = UNUSED_ADDRESS.parse().unwrap();
    for rate_per_s in [None, Some(40.0)] {
        let harness = Harness::start(generator_config(visit(), address), vec![hold(4, rate_per_s, Duration::ZERO)], 2);
        harness.await_failures(4);
        harness.worker_pool.end_load_step(0);
        let results = harness.run_to_end();
        // No request was due over them yet, so none was left unsent.
        assert_eq!((results.counts(), results.not_sent(), results.opened.len()), ((0, 0, 0), 0, 0));
        let [opened, .., closed, dropped] = results.held();
        assert_eq!((opened, closed, dropped, results.errors()[0].1), (0, 0, 0, ErrorKind::Connect));
    }
}

#[test]
fn requests_in_flight_end_before_their_connection_is_closed() {
    let gate = Arc::new(Latch::default());
    let opened = gate.clone();
    let target = ScriptedServer::start(move |_| {
        vec![ResponseAction::Wait(gate.clone()), ResponseAction::Write(response(200, "ok"))]
    });
    let harness = Harness::start(generator_config(visit(), target.address), vec![hold(3, Some(1000.0), HOUR)], 1);
    harness.await_gauges(|gauges| gauges.in_flight == 3);
    target.await_requests(3);
    harness.worker_pool.end_load_step(0);
    harness.await_gauges(|gauges| gauges.queued == 0 && gauges.held == 3 && gauges.in_flight == 3);
    opened.open();
    let results = harness.run_to_end();
    assert_eq!(results.counts(), (3, 0, 0));
}
