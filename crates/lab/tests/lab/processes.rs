//! Processes that a trial starts: ready, watched, stopped in every way out, and clear messages when they fail.
//!
//! The program that these trials start is this test itself: run with the one test `serve_when_asked` and a port in its
//! environment, it is the stub.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use lab::report::Screen;
use lab::scenario::{Document, Scenario};
use lab::trial::{FinishedTrial, Trial};
use lab::verdict::Verdict;
use tokio_util::sync::CancellationToken;

use crate::stub_service::{RequestFate, Stub};
use crate::trial::OutDir;

const PORT: &str = "LAB_STUB_PORT";

#[test]
fn serve_when_asked() {
    let Ok(port) = std::env::var(PORT) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await.unwrap();
        Stub::new(|_| RequestFate::Finishes).serve(listener).await;
    });
}

const SPAWNED: &str = r#"
format = 1
name = "spawned"
summary = "Starts its own target"
[vars]
port = "free"
path = "/work"
[target]
url = "http://127.0.0.1:{{port}}"
spawn = ["gauntlet", "processes::serve_when_asked", "--exact"]
env = { LAB_STUB_PORT = "{{port}}" }
ready = "/ready"
ready_within = "20s"
[[phase]]
name = "p"
arrivals = { rate = 50, for = "100ms" }
in_flight_max = 5
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
request = "POST {{path}}"
timeout = "5s"
[generator]
lag_p99_max = "600s"
[gates]
"visit.errors" = "= 0"
"#;

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn run(text: &str, settings: &[&str], out: &Path) -> Result<FinishedTrial, String> {
    let mut document = Document::parse(text).unwrap();
    settings.iter().for_each(|config| document.set(config).unwrap());
    document.free_port_variables().iter().for_each(|variable| document.set_port(variable, free_port()));
    let never = CancellationToken::new();
    let trial = Trial {
        scenario: Scenario::read(&document).unwrap_or_else(|mistakes| panic!("{mistakes}")),
        out_dir: out.to_owned(),
        seed: 1,
        target_pid: None,
        writes_samples: false,
        interrupt: never,
        id: None,
        run_dir: std::sync::Arc::default(),
        screen: Screen::quiet(),
        document,
        feeds: Vec::new(),
        allowed_hosts: Vec::new(),
        guard: None,
        worker_program: None,
        program: "0.0.0 (test)".to_owned(),
    };
    lab::trial::run(trial).await
}

fn out(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("lab-processes-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn port_of(finished: &FinishedTrial) -> u16 {
    finished.run.scenario.target.rsplit(':').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_target_is_started_awaited_watched_and_stopped() {
    let out = out("started");
    let finished = run(SPAWNED, &[], &out).await.unwrap();
    assert_eq!(finished.run.verdict, Verdict::Passed);
    let alive = finished.run.gates.last().unwrap();
    assert_eq!((alive.name.as_str(), alive.ok), ("alive", true));
    assert!(finished.run.results.server.process.rss_bytes.is_some_and(|rss| rss.peak > 0));
    assert!(finished.dir.join("server.log").exists());
    // The port is free again.
    TcpListener::bind(("127.0.0.1", port_of(&finished))).unwrap();
    std::fs::remove_dir_all(out).unwrap();
}

#[tokio::test]
async fn a_target_that_dies_under_load_has_failed_and_the_report_says_so() {
    let out = out("dies");
    let finished = run(SPAWNED, &["path=/die", "phase.p.arrivals.for=1h"], &out).await.unwrap();
    assert_eq!(finished.run.verdict, Verdict::Failed);
    let alive = finished.run.gates.last().unwrap();
    let found = alive.value.as_str().unwrap();
    assert!(!alive.ok && found.starts_with("server ended by itself (exit status: 7)"), "{found}");
    let notes = &finished.run.notes;
    let cut =
        notes.iter().find(|note| note.starts_with("The run was cut short: ")).unwrap_or_else(|| panic!("{notes:?}"));
    assert!(cut.ends_with(" of 180,000 planned arrivals were never sent."), "{cut}");
    std::fs::remove_dir_all(out).unwrap();
}

#[track_caller]
fn check(result: Result<FinishedTrial, String>, load_steps: &[&str]) {
    let message = result.unwrap_err();
    load_steps.iter().for_each(|load_step| assert!(message.contains(load_step), "{load_step} in: {message}"));
}

fn shell(script: &str) -> String {
    SPAWNED.replace(
        "[\"gauntlet\", \"processes::serve_when_asked\", \"--exact\"]",
        &format!("[\"sh\", \"-c\", {script:?}]"),
    )
}

#[tokio::test]
async fn what_goes_wrong_at_the_start_is_said_with_the_end_of_the_log() {
    let out = out("wrong");
    let dies = shell("echo the disk is full >&2; exit 3");
    check(run(&dies, &[], &out).await, &["server ended by itself (exit status: 3)", "the disk is full"]);
    let nothing = SPAWNED.replace("\"gauntlet\"", "\"no-such-program-anywhere\"");
    check(run(&nothing, &[], &out).await, &["server could not be started: no-such-program-anywhere: "]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!("port={}", taken.local_addr().unwrap().port());
    check(run(SPAWNED, &[&port], &out).await, &["server cannot be started on 127.0.0.1:", "--target"]);
    std::fs::remove_dir_all(out).unwrap();
}

#[tokio::test]
async fn what_is_never_ready_is_stopped_with_everything_that_it_started() {
    let out = out("late");
    let pids = out.join("pids");
    let script = format!("sleep 1000 & echo $$ $! > {}; wait", pids.display());
    let late = shell(&script).replace("\"20s\"", "\"500ms\"");
    check(run(&late, &[], &out).await, &["server was not ready within 500ms", "its log", "is empty"]);
    for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
        assert!(has_ended(pid), "process {pid} still runs");
    }
    std::fs::remove_dir_all(out).unwrap();
}

/// Gone, or a zombie that its new parent has not collected yet.
fn has_ended(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with('Z'))
}

/// A load that ends before its target responds or before a fault is due, and what became of the faults.
#[track_caller]
fn check_faults(
    faults: &str,
    verdict: Verdict,
    faults_gate: &'static [&'static str],
    alive: &'static [&'static str],
) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    let faults = faults.to_owned();
    async move {
        let out = OutDir::new();
        let text =
            SPAWNED.replace("[gates]\n\"visit.errors\" = \"= 0\"", &format!("{faults}[gates]\nerrors = \"off\""));
        let batch = "phase.p.arrivals={ batch = 1, every = \"400ms\", times = 2 }";
        let finished =
            run(&text, &[batch, "path=/ready"], &out.0).await.unwrap_or_else(|reason| panic!("{reason}, {caller}"));
        let value = |name: &str| {
            let gate =
                finished.run.gates.iter().find(|gate| gate.name == name).unwrap_or_else(|| panic!("{name}, {caller}"));
            gate.value.as_str().unwrap().to_owned()
        };
        let says = |found: &str, words: &[&str]| words.iter().all(|word| found.contains(word));
        assert!(says(&value("faults"), faults_gate), "{}, {caller}", value("faults"));
        assert!(says(&value("alive"), alive), "{}, {caller}", value("alive"));
        assert_eq!(finished.run.verdict, verdict, "{:?}, {caller}", finished.run.gates);
        let missed = finished.run.faults.iter().filter(|row| row.failed.is_some()).count();
        assert_eq!(missed > 0, verdict == Verdict::Failed, "{:?}, {caller}", finished.run.faults);
    }
}

fn fault(keys: &str) -> String {
    format!("[[fault]]\n{}\n", keys.replace(", ", "\n"))
}

#[tokio::test]
async fn a_fault_that_is_not_carried_out_fails_the_trial() {
    let missed = &["not carried out: kill of server, due at 60 s: the load was over at"];
    check_faults(&fault("at = \"60s\", do = \"kill\""), Verdict::Failed, missed, &["yes"]).await;
    // Its end belongs to a fault.
    let missed = &["not carried out: restart of server, due at 60.1 s: the load was over at"];
    let killed = &["no: server was killed by the fault at 0.1", "and not started again"];
    check_faults(&fault("at = \"100ms\", do = \"kill\", for = \"60s\""), Verdict::Failed, missed, killed).await;
    // Nothing is left to be stopped.
    let twice = fault("at = \"100ms\", do = \"kill\"") + &fault("at = \"150ms\", do = \"stop\"");
    let missed = &["not carried out: stop of server, due at 0.15", "does not run at that moment"];
    check_faults(&twice, Verdict::Failed, missed, killed).await;
}

#[tokio::test]
async fn what_a_fault_ended_is_not_called_alive() {
    let killed = &["no: server was killed by the fault at 0.1", "and not started again"];
    check_faults(&fault("at = \"100ms\", do = \"kill\""), Verdict::Passed, &["1 of 1"], killed).await;
    let ended = &["no: server was ended by the fault at 0.1", "and not started again"];
    check_faults(&fault("at = \"100ms\", do = \"term\""), Verdict::Passed, &["1 of 1"], ended).await;
    let back = fault("at = \"100ms\", do = \"stop\", for = \"50ms\"");
    check_faults(&back, Verdict::Passed, &["2 of 2"], &["yes"]).await;
}
