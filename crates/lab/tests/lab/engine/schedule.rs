//! The generator's own schedule. With `trial::schedule`, the only tests that measure time: the test runner gives them the
//! machine alone, and each may try three times, because no machine is ever quite alone.

use std::time::{Duration, Instant};

use super::{HarnessResults, load_spec, rate, run_load, visit};
use crate::scripted_server::{ResponseAction, ScriptedServer, ok, response};
use crate::wake_probe::{WakeProbe, quantile_ms};

const TRIES: usize = 3;

/// A constant rate over one connection, and a target that stops for half of the run: half of the arrivals wait between
/// nothing and the whole stop, evenly, so one tenth of all wait at least three quarters of it, however busy the machine
/// is. Only one request is in flight at a time: all service times together fit into the run.
#[test]
fn a_stall_shows_in_latency_and_leaves_service_times_alone() {
    let stall = Duration::from_secs(1);
    let target = ScriptedServer::start(move |request| {
        let pause = if request.number == 100 { stall } else { Duration::ZERO };
        vec![ResponseAction::Stall(pause), ResponseAction::Write(response(200, "ok"))]
    });
    let (watch, began) = (WakeProbe::start(), Instant::now());
    let results = run_load(visit(), &target, load_spec(rate(200.0, 2000), 1), 1);
    let (lasted, own_ms) = (began.elapsed(), watch.finish_p99_ms());
    assert_eq!((results.counts(), target.connections()), ((400, 0, 0), 1));
    let [latency, service, lag] = results.times();
    assert!(quantile_ms(&latency, 0.9) >= 750.0, "{latency:?}");
    let sum_s = service.mean() * service.len() as f64 / 1e6;
    assert!((1.0..=lasted.as_secs_f64() * 1.01).contains(&sum_s), "{sum_s} s of service in {lasted:?}");
    // The wait for a free slot is due to the target, and so is no lag.
    let lag_ms = quantile_ms(&lag, 0.99);
    assert!(lag_ms < 100.0 || lag_ms < 2.0 * own_ms, "{lag_ms} ms, and a thread that sleeps {own_ms} ms");
}

#[test]
fn a_perfect_target_leaves_the_lab_on_time() {
    let lag_ms = |results: &HarnessResults| quantile_ms(&results.times()[2], 0.99);
    for _ in 0..TRIES {
        let target = ScriptedServer::start(|_| ok());
        let watch = WakeProbe::start();
        let results = run_load(visit(), &target, load_spec(rate(500.0, 1000), 50), 1);
        let own_ms = watch.finish_p99_ms();
        assert_eq!((results.counts(), results.times()[2].len()), ((500, 0, 0), 500));
        // On a machine that wakes threads late, the generator is no later than a thread that only sleeps.
        if lag_ms(&results) < 1.0 || lag_ms(&results) < 2.0 * own_ms {
            return;
        }
        eprintln!("p99 of the lag: {} ms, of a thread that sleeps: {own_ms} ms", lag_ms(&results));
    }
    panic!("the lab was late three times");
}
