//! Worker processes. Their program is this test itself, run with the one test `worker_when_asked` and a variable in its
//! environment.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use lab::generator::{GeneratorConfig, WorkerPool, WorkerProcessSpec};
use rustix::process::{Pid, Resource, Signal, getrlimit, kill_process};

use super::{HOUR, Harness, burst, document, generator_config, hold, load_spec, rate, scenario};
use crate::scripted_server::{ResponseAction, ScriptedServer, ok, response};

const WORKER_ENV: &str = "LAB_WORKER_WHEN_ASKED";

#[test]
fn worker_when_asked() {
    if std::env::var_os(WORKER_ENV).is_some() {
        let _ = lab::generator::run_worker_process();
    }
}

const STEPS: &str = r#"
[[journey.step]]
name = "create"
request = "POST /games"
json = { key = "{{run.id}}" }
expect = 201
keep = { game = "/id" }
starts = "game"
[[journey.step]]
name = "look"
request = "GET /games/{{game}}"
"#;

/// A configuration with worker processes: twice as many connections are needed as this process may open.
pub(super) fn process_config(address: std::net::SocketAddr) -> GeneratorConfig {
    let generator_delay = std::env::current_exe().unwrap();
    let words = ["env".into(), format!("{WORKER_ENV}=1").into(), generator_delay.into_os_string()];
    let test = ["engine::processes::worker_when_asked", "--exact", "--quiet"].map(OsString::from);
    let connections = getrlimit(Resource::Nofile).maximum.unwrap() * 3 / 2;
    let command = words.into_iter().chain(test).collect();
    let processes = WorkerProcessSpec { command, scenario_source: document(STEPS).source(), connections };
    GeneratorConfig { processes: Some(processes), ..generator_config(scenario(STEPS), address) }
}

pub(super) fn creation_script(request: &crate::scripted_server::ReceivedRequest) -> Vec<ResponseAction> {
    if request.head.starts_with("POST") {
        vec![ResponseAction::Write(response(201, &format!("{{\"id\": \"g{}\"}}", request.number)))]
    } else {
        ok()
    }
}

#[test]
fn processes_do_together_what_threads_would() {
    let target = ScriptedServer::start(creation_script);
    let harness = Harness::start(process_config(target.address), vec![load_spec(burst(60), 10)], 3);
    // Two for the connections, with two workers each instead of the three that were requested.
    assert_eq!((harness.worker_pool.pids().len(), harness.worker_pool.worker_count()), (2, 4));
    let pids = harness.worker_pool.pids();
    let results = harness.run_to_end();
    assert_eq!(
        (results.counts(), results.counts_of_step(Some(0)), results.counts_of_step(Some(1))),
        ((60, 0, 0), (60, 0, 0), (60, 0, 0))
    );
    assert_eq!((results.started_work.len(), target.connections()), (60, 10));
    let indexes: BTreeSet<u64> = results.rows().iter().map(|row| row[1].parse().unwrap()).collect();
    assert!(indexes.into_iter().eq(0..60));
    assert_eq!(results.times()[0].len(), 60);
    assert!(
        target
            .received_requests()
            .iter()
            .filter(|request| request.head.starts_with("POST"))
            .all(|request| { request.body == "{\"key\":\"the-run\"}" })
    );
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()), "{pids:?}");
}

#[test]
fn processes_hold_end_early_and_stop_like_threads() {
    let target = ScriptedServer::start(creation_script);
    let specs =
        vec![hold(41, None, HOUR), lab::plan::LoadSpec { load_step: 1, ..load_spec(rate(100.0, 3_600_000), 4) }];
    let harness = Harness::start(process_config(target.address), specs, 2);
    harness.await_gauges(|gauges| gauges.held == 41 && gauges.done >= 19);
    harness.worker_pool.end_load_step(0);
    harness.await_gauges(|gauges| gauges.held == 0);
    let results = harness.stop(Duration::from_secs(20));
    let (good, denied, errors) = results.counts();
    assert!(good >= 19 && (denied, errors) == (0, 0));
}

#[test]
fn a_process_that_dies_ends_the_trial_with_a_message() {
    let target = ScriptedServer::start(creation_script);
    let harness = Harness::start(process_config(target.address), vec![load_spec(rate(100.0, 3_600_000), 4)], 2);
    harness.await_gauges(|gauges| gauges.done >= 10);
    let pid = i32::try_from(harness.worker_pool.pids()[1]).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let message = harness.run_until_failure();
    assert_eq!(message, "a worker process of the lab ended before its work was done (signal: 9 (SIGKILL))");
}

/// Checks the message when they cannot start.
#[track_caller]
fn check_start_failure(change: impl Fn(&mut WorkerProcessSpec), message: &str) {
    let mut config = process_config("127.0.0.1:1".parse().unwrap());
    change(config.processes.as_mut().unwrap());
    let error = WorkerPool::start(config).unwrap_err().to_string();
    assert!(error.contains(message), "{error}");
}

#[test]
fn failures_to_start_are_reported() {
    check_start_failure(|processes| processes.command = vec!["/no/such/program".into()], "No such file or directory");
    check_start_failure(|processes| processes.command = vec!["true".into()], "ended before it began");
    let wrong = |processes: &mut WorkerProcessSpec| {
        let mut changed = document(STEPS);
        changed.set("phase.p.in_flight_max=0").unwrap();
        processes.scenario_source = changed.source();
    };
    check_start_failure(wrong, "in_flight_max");
}
