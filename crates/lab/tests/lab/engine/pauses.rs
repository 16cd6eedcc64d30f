//! A worker that is stopped for a while: the lab's own doing, whatever waited for it. One of the tests that look at the
//! clock: how long a process was stopped is what they are about.

use std::time::Duration;

use lab::plan::{LoadSpec, Schedule};
use lab::record::Interval;
use lab::scenario::PerClientLimit;
use rustix::process::{Pid, Signal, kill_process};

use super::processes::{creation_script, process_config};
use super::{Harness, HarnessResults, load_spec, rate};
use crate::scripted_server::ScriptedServer;

const STOPPED: Duration = Duration::from_millis(600);

/// Drives a leg with two workers in processes of their own, stops one of them for a while once so many journeys are over,
/// and gives what all said, and what the one did that was stopped.
fn with_a_stop(leg: LoadSpec, after: u64) -> (HarnessResults, Vec<Interval>) {
    let target = ScriptedServer::start(creation_script);
    let rig = Harness::start(process_config(target.address), vec![leg], 2);
    rig.await_gauges(|gauges| gauges.done >= after);
    let pid = Pid::from_raw(i32::try_from(rig.worker_pool.pids()[0]).unwrap()).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    std::thread::sleep(STOPPED);
    kill_process(pid, Signal::CONT).unwrap();
    let said = rig.run_to_end();
    let own = said.intervals.iter().filter(|page| page.worker == 0).cloned().collect();
    (said, own)
}

fn longest(pages: &[Interval]) -> Duration {
    let pauses = pages.iter().flat_map(|page| &page.pauses);
    pauses.map(|(from, to)| *to - *from).max().unwrap_or_default()
}

/// Latencies of whole journeys of at least so much, as measured and without the worker's own share.
fn slow_counts(pages: &[Interval], ms: u64) -> (u64, u64) {
    let cells = pages.iter().flat_map(|page| &page.ops).filter(|cell| cell.op.step.is_none());
    cells.fold((0, 0), |(measured, without), cell| {
        let slow = |histogram: &hdrhistogram::Histogram<u64>| histogram.count_between(ms * 1000, u64::MAX / 2);
        let own = cell
            .generator_delays
            .as_ref()
            .map_or((0, 0), |own| (slow(&own.latency.measured_us), slow(&own.latency.corrected_us)));
        let all = slow(&cell.latency_us);
        (measured + all, without + all - own.0 + own.1)
    })
}

#[test]
fn what_waits_for_a_place_behind_a_stopped_worker_is_late_through_the_lab() {
    // A worker with two places in flight, and 250 arrivals a second: nearly all that are late find no place.
    let (said, own) = with_a_stop(load_spec(rate(500.0, 1500), 4), 50);
    assert_eq!(said.counts(), (750, 0, 0));
    assert!(longest(&own) >= STOPPED * 9 / 10, "{:?}", longest(&own));
    let lag = |pages: &[Interval]| -> u64 {
        pages.iter().filter_map(|page| page.lag_us.as_ref()).map(|lag| lag.count_between(150_000, u64::MAX / 2)).sum()
    };
    let (late, (measured, without)) = (lag(&own), slow_counts(&own, 150));
    assert!(late >= 80 && measured >= 80, "{late} of {measured} slow ones left late");
    assert!(without <= measured / 4, "{without} of {measured} are slow without the lab's own share");
    let behind: u64 = own.iter().map(|page| page.waited_behind_pauses).sum();
    assert!(behind >= 80, "{behind}");
}

#[test]
fn an_answer_that_a_stopped_worker_could_not_read_was_not_slow() {
    let loops = Schedule::ClosedLoop { clients: 4, each: PerClientLimit::Duration(Duration::from_millis(1500)) };
    let (said, own) = with_a_stop(load_spec(loops, 4), 50);
    assert_eq!((said.counts().1, said.counts().2), (0, 0));
    let (measured, without) = slow_counts(&own, 300);
    assert!(measured >= 1 && without == 0, "{without} of {measured}");
}
