//! Open loops: exact counts, the visible cap, early ends and stops.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use lab::plan::{LoadSpec, Schedule};

use super::{Harness, burst, generator_config, load_spec, rate, run_load, visit};
use crate::scripted_server::{Latch, ResponseAction, ScriptedServer, ok, response};

#[test]
fn a_burst_is_sent_once_and_whole_by_any_number_of_workers() {
    for workers in [1, 3] {
        let target = ScriptedServer::start(|_| ok());
        let results = run_load(visit(), &target, load_spec(burst(50), 50), workers);
        assert_eq!((results.counts(), target.requests()), ((50, 0, 0), 50));
        let indexes: BTreeSet<u64> = results.rows().iter().map(|row| row[1].parse().unwrap()).collect();
        assert!(indexes.into_iter().eq(0..50));
    }
}

#[test]
fn the_cap_bounds_connections_and_is_counted() {
    let target = ScriptedServer::start(|_| ok());
    let results = run_load(visit(), &target, load_spec(burst(200), 5), 2);
    let waited = results.sum(|interval| interval.waited_for_slot + interval.waited_behind_pauses);
    assert_eq!((results.counts(), waited), ((200, 0, 0), 195));
    assert_eq!((target.connections(), results.sum(|interval| interval.connects)), (5, 5));
    assert_eq!(results.sum(|interval| interval.received_bytes), 200 * response(200, "ok").len() as u64);
    let request = "GET / HTTP/1.1\r\nhost: 127.0.0.1:1\r\n\r\n";
    assert_eq!(results.sum(|interval| interval.sent_bytes), 200 * request.len() as u64);
}

#[test]
fn workers_beyond_the_slots_have_nothing_to_do() {
    let target = ScriptedServer::start(|_| ok());
    let results = run_load(visit(), &target, load_spec(burst(20), 1), 3);
    assert_eq!((results.counts(), target.connections()), ((20, 0, 0), 1));
}

#[test]
fn each_burst_is_a_load_step() {
    let target = ScriptedServer::start(|_| ok());
    let schedule = Schedule::Bursts { batch: 6, every: Duration::from_millis(5), times: 4 };
    let results = run_load(visit(), &target, LoadSpec { load_step: 3, ..load_spec(schedule, 6) }, 2);
    let cells = results.intervals.iter().flat_map(|interval| &interval.ops);
    let mut load_steps = [0; 4];
    cells.for_each(|(key, stats)| load_steps[key.load_step as usize - 3] += stats.counts.total());
    assert_eq!(load_steps, [6; 4]);
    let intended: BTreeSet<u64> = results.rows().iter().map(|row| row[4].parse().unwrap()).collect();
    assert!(intended.into_iter().eq([0, 5_000, 10_000, 15_000]));
}

#[test]
fn a_rate_is_kept_to_its_plan() {
    let target = ScriptedServer::start(|_| ok());
    let results = run_load(visit(), &target, load_spec(rate(1000.0, 100), 100), 2);
    assert_eq!(results.counts(), (100, 0, 0));
    let mut intended: Vec<u64> = results.rows().iter().map(|row| row[4].parse().unwrap()).collect();
    intended.sort_unstable();
    assert!(intended.into_iter().eq((0..100).map(|index| index * 1000)));
}

#[test]
fn what_waits_for_a_slot_when_its_load_step_ends_was_not_sent() {
    let gate = Arc::new(Latch::default());
    let opened = gate.clone();
    let target = ScriptedServer::start(move |_| {
        vec![ResponseAction::Wait(gate.clone()), ResponseAction::Write(response(200, "ok"))]
    });
    let specs = vec![load_spec(burst(10), 4), LoadSpec { load_step: 1, ..load_spec(rate(0.001, 3_600_000), 5) }];
    let harness = Harness::start(generator_config(visit(), target.address), specs, 2);
    // Two arrivals of the rate are due in its first second: one for each worker, of which one has it.
    let gauges = harness.await_gauges(|gauges| gauges.queued == 6 && gauges.in_flight == 5);
    assert_eq!((gauges.due, gauges.done), (11, 0));
    target.await_requests(5);
    harness.worker_pool.end_load_step(0);
    harness.worker_pool.end_load_step(1);
    harness.await_gauges(|gauges| gauges.queued == 0 && gauges.done == 6);
    opened.open();
    let results = harness.run_to_end();
    assert_eq!((results.counts(), results.not_sent(), target.requests()), ((5, 0, 0), 6, 5));
}

#[test]
fn what_is_in_flight_at_a_stop_is_abandoned() {
    let gate = Arc::new(Latch::default());
    let target = ScriptedServer::start(move |_| vec![ResponseAction::Wait(gate.clone())]);
    let harness = Harness::start(generator_config(visit(), target.address), vec![load_spec(burst(10), 4)], 1);
    target.await_requests(4);
    harness.await_gauges(|gauges| gauges.queued == 6);
    let results = harness.stop(Duration::from_millis(1));
    assert_eq!((results.counts(), results.not_sent(), results.sum(|interval| interval.abandoned)), ((0, 0, 0), 6, 4));
}

#[test]
fn responses_within_the_grace_count() {
    let gate = Arc::new(Latch::default());
    let opened = gate.clone();
    let target = ScriptedServer::start(move |_| {
        vec![ResponseAction::Wait(gate.clone()), ResponseAction::Write(response(200, "ok"))]
    });
    let harness = Harness::start(generator_config(visit(), target.address), vec![load_spec(burst(10), 4)], 1);
    target.await_requests(4);
    harness.await_gauges(|gauges| gauges.queued == 6);
    harness.worker_pool.stop(Duration::from_secs(60));
    harness.await_gauges(|gauges| gauges.queued == 0);
    opened.open();
    let results = harness.stop(Duration::from_secs(60));
    assert_eq!((results.counts(), results.not_sent()), ((4, 0, 0), 6));
}

#[test]
fn dropping_the_pool_stops_it_at_once() {
    let gate = Arc::new(Latch::default());
    let target = ScriptedServer::start(move |_| vec![ResponseAction::Wait(gate.clone())]);
    let harness = Harness::start(generator_config(visit(), target.address), vec![load_spec(burst(10), 4)], 2);
    target.await_requests(4);
    drop(harness);
}

#[test]
fn a_request_that_cannot_be_built_is_an_error_of_its_kind() {
    let steps = "[[journey.step]]\nrequest = \"GET /{{index}}\"\nheaders = { x-key = \"{{run.id}}\" }";
    let target = ScriptedServer::start(|_| ok());
    let mut broken = generator_config(super::scenario(steps), target.address);
    broken.inputs.globals.clear();
    let results = Harness::start(broken, vec![load_spec(burst(3), 1)], 1).run_to_end();
    assert_eq!((results.counts(), target.requests()), ((0, 0, 3), 0));
    let expected = (0, lab::measurement::ErrorKind::Request, 3, "`run.id` has no value yet");
    assert_eq!(results.errors(), [expected]);
}
