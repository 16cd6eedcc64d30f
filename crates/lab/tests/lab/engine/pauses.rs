//! A worker that is stopped for a while: the time is the generator's own delay, whatever waited for it. One of the
//! tests that measure time: how long a process was stopped is their subject.

use std::time::Duration;

use lab::measurement::{Basis, Interval};
use lab::plan::{LoadSpec, Schedule};
use lab::scenario::PerClientLimit;
use rustix::process::{Pid, Signal, kill_process};

use super::processes::{creation_script, process_config};
use super::{Harness, HarnessResults, load_spec, rate};
use crate::scripted_server::ScriptedServer;

const STOPPED: Duration = Duration::from_millis(600);

/// Drives a load with two worker processes, stops one of them for a while once so many journeys have ended, and returns
/// the results of both, and the intervals of the stopped worker.
fn with_a_stop(spec: LoadSpec, after: u64) -> (HarnessResults, Vec<Interval>) {
    let target = ScriptedServer::start(creation_script);
    let harness = Harness::start(process_config(target.address), vec![spec], 2);
    harness.await_gauges(|gauges| gauges.done >= after);
    let pid = Pid::from_raw(i32::try_from(harness.worker_pool.pids()[0]).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    std::thread::sleep(STOPPED);
    kill_process(pid, Signal::CONT).unwrap();
    let results = harness.run_to_end();
    let generator_delay = results.intervals.iter().filter(|interval| interval.worker == 0).cloned().collect();
    (results, generator_delay)
}

fn longest(intervals: &[Interval]) -> Duration {
    let pauses = intervals.iter().flat_map(|interval| &interval.pauses);
    pauses.map(|(from, to)| *to - *from).max().unwrap_or_default()
}

/// How many whole journeys took at least so long, as measured and without the worker's own share.
fn slow_counts(intervals: &[Interval], ms: u64) -> (u64, u64) {
    let cells = intervals.iter().flat_map(|interval| &interval.ops).filter(|(key, _)| key.op.step.is_none());
    cells.fold((0, 0), |(measured, without), (_, stats)| {
        let slow = |basis| stats.latency.on(basis).count_between(ms * 1000, u64::MAX / 2);
        (measured + slow(Basis::Measured), without + slow(Basis::WithoutLab))
    })
}

#[test]
fn what_waits_for_a_slot_behind_a_stopped_worker_is_generator_delay() {
    // A worker with two slots, and 250 arrivals a second: nearly all that are late find no slot.
    let (results, generator_delay) = with_a_stop(load_spec(rate(500.0, 1500), 4), 50);
    assert_eq!(results.counts(), (750, 0, 0));
    assert!(longest(&generator_delay) >= STOPPED * 9 / 10, "{:?}", longest(&generator_delay));
    let lag = |intervals: &[Interval]| -> u64 {
        intervals
            .iter()
            .filter_map(|interval| interval.lag.as_ref())
            .map(|lag| lag.measured().count_between(150_000, u64::MAX / 2))
            .sum()
    };
    let (late, (measured, without)) = (lag(&generator_delay), slow_counts(&generator_delay, 150));
    assert!(late >= 80 && measured >= 80, "{late} of {measured} slow ones left late");
    assert!(without <= measured / 4, "{without} of {measured} are slow without the lab's own share");
    let behind: u64 = generator_delay.iter().map(|interval| interval.waited_behind_pauses).sum();
    assert!(behind >= 80, "{behind}");
}

#[test]
fn a_response_that_a_stopped_worker_could_not_read_was_not_slow() {
    let loops = Schedule::ClosedLoop { clients: 4, each: PerClientLimit::Duration(Duration::from_millis(1500)) };
    let (results, generator_delay) = with_a_stop(load_spec(loops, 4), 50);
    assert_eq!((results.counts().1, results.counts().2), (0, 0));
    let (measured, without) = slow_counts(&generator_delay, 300);
    assert!(measured >= 1 && without == 0, "{without} of {measured}");
}
