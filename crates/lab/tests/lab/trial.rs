//! Whole trials over real sockets, against a small service that does what a test wants.

mod schedule;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lab::report::{Run, Screen};
use lab::scenario::{Document, Scenario};
use lab::trial::{FinishedTrial, Trial};
use lab::verdict::Verdict;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::stub_service::{RequestFate, Stub};

const WORK: &str = r#"
format = 1
name = "work"
summary = "Creates work and follows it"
[vars]
port = 1
token = "none"
[target]
url = "http://127.0.0.1:{{port}}"
ready = "/ready"
metrics = "/metrics"
[[phase]]
name = "create"
arrivals = { batch = 12 }
in_flight_max = 4
journey = "create"
[[journey]]
name = "create"
[[journey.step]]
request = "POST /work"
headers = { idempotency-key = "{{uuid}}" }
expect = 201
denied = 429
keep = { job = "/id" }
starts = "job"
[work.job]
status = "POST /status"
ids = "ids"
bulk = 5
poll = "10ms"
id = "/id"
state = { at = "/state", waiting = "waiting", running = "running", finished = "finished", failed = "failed" }
stuck_after = "200ms"
times = { created = "/created_at", started = "/started_at", finished = "/finished_at" }
figures = { turns = "/turns" }
progress = "turns"
derive = { pace = "run_s / turns" }
totals = { read = "GET /totals", created = "/created", finished = "/finished", failed = "/failed" }
# Whoever shares the machine with other tests is late now and then, and no verdict here is void for that.
[generator]
lag_p99_max = "600s"
[gates]
"create.errors" = "= 0"
"job.stuck" = "= 0"
"job.finished" = "= job.created"
"job.pace.max" = "<= job.figures.turns.max / 3"
"#;

/// A directory of this test's own, removed at the end.
pub(crate) struct OutDir(pub(crate) PathBuf);

impl OutDir {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("lab-trial-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }
}

impl Drop for OutDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn trial(text: &str, settings: &[String], out: &Path, interrupt: CancellationToken) -> Trial {
    let mut document = Document::parse(text).unwrap();
    settings.iter().for_each(|config| document.set(config).unwrap());
    Trial {
        scenario: Scenario::read(&document).unwrap_or_else(|mistakes| panic!("{mistakes}")),
        out_dir: out.to_owned(),
        seed: 1,
        target_pid: Some(std::process::id()),
        writes_samples: true,
        interrupt,
        id: None,
        run_dir: Arc::default(),
        screen: Screen::quiet(),
        document,
        feeds: Vec::new(),
        allowed_hosts: Vec::new(),
        guard: None,
        worker_program: None,
        program: "0.0.0 (test)".to_owned(),
    }
}

pub(crate) async fn run(text: &str, settings: &[&str], stub: &Arc<Stub>, out: &Path) -> FinishedTrial {
    let port = format!("port={}", stub.listen().await.port());
    let settings: Vec<String> = settings.iter().map(|config| (*config).to_owned()).chain([port]).collect();
    let never = CancellationToken::new();
    lab::trial::run(trial(text, &settings, out, never)).await.unwrap()
}

fn failing(run: &Run) -> Vec<&str> {
    run.gates.iter().filter(|gate| !gate.ok).map(|gate| gate.name.as_str()).collect()
}

fn file(finished: &FinishedTrial, name: &str) -> String {
    std::fs::read_to_string(finished.dir.join(name)).unwrap()
}

#[tokio::test]
async fn work_that_finishes_passes_and_leaves_a_whole_record() {
    let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes));
    let finished = run(WORK, &[], &stub, &out.0).await;
    let (run, job) = (&finished.run, &finished.run.results.work["job"]);
    assert_eq!((run.verdict, failing(run)), (Verdict::Passed, vec![]));
    assert_eq!((job.created, job.finished, job.stuck, job.duplicates), (12, 12, 0, 0));
    assert_eq!((job.queue_wait_s.p50, job.run_s.p50, job.figures["turns"].sum), (Some(0.5), Some(3.0), Some(36.0)));
    assert_eq!(job.derived["pace"].max, Some(1.0));
    let create = &run.results.journeys["create"].op;
    assert_eq!((create.count, create.ok, create.latency_ms.count), (12, 12, 12));
    assert!(run.results.server.process.rss_bytes.is_some());
    let [load_step] = run.load_steps.as_slice() else { panic!("{:?}", run.load_steps) };
    assert_eq!((load_step.op.count, load_step.op.ok, load_step.op.latency_ms.count), (12, 12, 12));
    assert!(load_step.throughput_per_s.is_some() && run.results.journeys["create"].throughput_per_s.is_some());

    let record: Value = serde_json::from_str(&file(&finished, "run.json")).unwrap();
    assert_eq!((&record["verdict"], &record["work"]["job"]["finished"]), (&"passed".into(), &12.into()));
    assert!(file(&finished, "report.md").starts_with("# work: PASSED\n"));
    assert_eq!(file(&finished, "samples.csv").lines().count(), 13);
    let rows: Vec<Value> =
        file(&finished, "timeline.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().any(|row| row["kind"] == "sample" && row["metrics"]["jobs{state=\"ready\"}"] == 3.0));
    let last = rows.iter().rfind(|row| row["kind"] == "work").unwrap();
    assert_eq!((&last["finished"], &last["waiting"]), (&12.into(), &0.into()));
}

#[tokio::test]
async fn the_load_never_uses_more_connections_than_it_may_have_in_flight() {
    let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes));
    let finished = run(WORK, &["phase.create.arrivals.batch=200"], &stub, &out.0).await;
    assert_eq!(finished.run.verdict, Verdict::Passed);
    let generator = &finished.run.results.generator;
    assert_eq!(generator.capped + generator.behind_pauses, 196);
    assert_eq!(stub.connections(), 4);
}

#[tokio::test]
async fn stuck_failed_denied_and_broken_are_told_apart() {
    let fates = [
        RequestFate::Finishes,
        RequestFate::Hangs,
        RequestFate::Fails,
        RequestFate::Denied,
        RequestFate::ServerError,
        RequestFate::Finishes,
    ];
    let (out, stub) = (OutDir::new(), Stub::new(move |n| fates[n as usize % 6]));
    let finished = run(WORK, &[], &stub, &out.0).await;
    let (run, job) = (&finished.run, &finished.run.results.work["job"]);
    assert_eq!(run.verdict, Verdict::Failed);
    // The totals agree with the lab's counts, however bad the run was.
    assert_eq!(failing(run), ["create.errors", "job.stuck", "job.finished"]);
    assert_eq!((job.created, job.finished, job.failed, job.stuck), (8, 4, 2, 2));
    assert_eq!(job.drain_s, None);
    let create = &run.results.journeys["create"].op;
    assert_eq!((create.ok, create.denied, create.errors), (8, 2, 2));
    assert_eq!((run.errors.len(), run.errors[0].kind.as_str(), run.errors[0].count), (1, "status_500", 2));
    assert_eq!(run.errors[0].sample, "500: {\"code\":\"internal\"}");
}

#[tokio::test]
async fn work_that_is_asked_for_one_by_one_is_followed_alike() {
    let fates = [RequestFate::Finishes, RequestFate::Hangs, RequestFate::Fails];
    let (out, stub) = (OutDir::new(), Stub::new(move |n| fates[n as usize % 3]));
    let finished = run(&one_by_one_form(WORK, 3), &[], &stub, &out.0).await;
    let job = &finished.run.results.work["job"];
    assert_eq!((job.created, job.finished, job.failed, job.stuck), (12, 4, 4, 4));
}

/// Items are polled in the order of their ids. Those that are lost or silent must not keep others from being polled,
/// however many of them there are compared with a chunk.
#[track_caller]
fn check_followed(lost: RequestFate, count: u64, one_by_one: bool, at_once: u64) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        // Without a key the ids are w0, w1, w10, w11, w2 and so on: these are the first ones.
        let first = move |n: u64| ["w0", "w1", "w10", "w11", "w2", "w3"][..count as usize].contains(&&*format!("w{n}"));
        let (out, stub) = (OutDir::new(), Stub::new(move |n| if first(n) { lost } else { RequestFate::Finishes }));
        let text = WORK.replace("headers = { idempotency-key = \"{{uuid}}\" }\n", "");
        // Long enough for the last created items to be polled in time on a busy machine.
        let text = text.replace("stuck_after = \"200ms\"", "stuck_after = \"5s\"");
        let text = match one_by_one {
            true => one_by_one_form(&text, at_once),
            false => text.replace("bulk = 5", &format!("bulk = {at_once}")),
        };
        let finished = run(&text, &[], &stub, &out.0).await;
        let job = &finished.run.results.work["job"];
        let (unknown, stuck) = if lost == RequestFate::Vanishes { (count, 0) } else { (0, count) };
        let expected = (12, 12 - count, unknown, stuck, 0, 0);
        let found = (job.created, job.finished, job.unknown, job.stuck, job.waiting, job.running);
        assert_eq!(found, expected, "{lost:?}, {caller}");
        let mut expected = if stuck > 0 { vec!["job.stuck"] } else { vec![] };
        expected.extend(["job.finished"]);
        expected.extend((unknown > 0).then_some(["job.unknown", "reconciled"]).into_iter().flatten());
        assert_eq!(failing(&finished.run), expected, "{lost:?}, {caller}");
        assert_eq!(job.unknown_ids.len() as u64, unknown.min(5), "{caller}");
        let found = finished.run.findings.iter().any(|finding| finding.code == "unknown_work");
        assert_eq!(found, unknown > 0, "{:?}, {caller}", finished.run.findings);
    }
}

fn one_by_one_form(text: &str, at_once: u64) -> String {
    let one = format!("status = \"GET /status/{{{{id}}}}\"\nat_once = {at_once}\n");
    text.replace("status = \"POST /status\"\nids = \"ids\"\nbulk = 5\n", &one).replace("id = \"/id\"\nstate", "state")
}

#[tokio::test]
async fn work_that_the_server_does_not_know_keeps_no_other_from_being_asked_for() {
    check_followed(RequestFate::Vanishes, 1, true, 1).await;
    check_followed(RequestFate::Vanishes, 3, true, 3).await;
    check_followed(RequestFate::Vanishes, 6, true, 3).await;
    check_followed(RequestFate::Vanishes, 3, false, 3).await;
    check_followed(RequestFate::Vanishes, 6, false, 5).await;
}

#[tokio::test]
async fn silence_about_some_work_keeps_no_other_from_being_asked_for() {
    tokio::join!(
        check_followed(RequestFate::NoStatus, 1, true, 1),
        check_followed(RequestFate::NoStatus, 3, true, 3),
        check_followed(RequestFate::NoStatus, 6, true, 3),
        check_followed(RequestFate::NoStatus, 3, false, 3),
    );
}

#[tokio::test]
async fn a_server_that_counts_otherwise_is_found_out() {
    let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes));
    stub.miscount.store(1, Ordering::Relaxed);
    let finished = run(WORK, &[], &stub, &out.0).await;
    assert_eq!(failing(&finished.run), ["reconciled"]);
    assert_eq!(finished.run.gates.last().unwrap().value, "job finished: lab 12, server 13");
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_again_with_the_same_key() {
    let (out, stub) =
        (OutDir::new(), Stub::new(|n| if n < 3 { RequestFate::DropsOnce } else { RequestFate::Finishes }));
    let text = WORK.replace("expect = 201", "expect = 201\nretry = { times = 5, backoff = \"1ms\" }");
    let finished = run(&text, &["phase.create.arrivals.batch=1", "phase.create.in_flight_max=1"], &stub, &out.0).await;
    let create = &finished.run.results.journeys["create"].op;
    assert_eq!((create.ok, create.errors, create.retries), (1, 0, 1));
    assert_eq!((finished.run.verdict, stub.created()), (Verdict::Passed, 1));
}

#[tokio::test]
async fn without_a_key_a_lost_answer_is_an_error_of_its_kind() {
    let (out, stub) =
        (OutDir::new(), Stub::new(|n| if n == 0 { RequestFate::DropsOnce } else { RequestFate::Finishes }));
    let text = WORK.replace("headers = { idempotency-key = \"{{uuid}}\" }\n", "");
    let finished = run(&text, &[], &stub, &out.0).await;
    assert_eq!((finished.run.errors[0].kind.as_str(), finished.run.errors[0].count), ("closed", 1));
    assert_eq!(failing(&finished.run), ["create.errors"]);
}

#[tokio::test]
async fn an_interrupted_trial_still_writes_its_report() {
    let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Hangs));
    let port = format!("port={}", stub.listen().await.port());
    let settings = [port, "phase.create.arrivals={ rate = 200, for = \"1h\" }".to_owned()];
    let interrupt = CancellationToken::new();
    let running = tokio::spawn(lab::trial::run(trial(WORK, &settings, &out.0, interrupt.clone())));
    stub.await_creations(5).await;
    interrupt.cancel();
    let finished = running.await.unwrap().unwrap();
    assert_eq!(finished.run.verdict, Verdict::Interrupted);
    assert!(finished.run.results.journeys["create"].op.ok >= 1);
    assert!(finished.run.results.work["job"].created >= 1);
    assert!(file(&finished, "report.md").starts_with("# work: INTERRUPTED\n"));
    assert!(file(&finished, "run.json").contains("\"verdict\": \"interrupted\""));
}

/// A trial that is interrupted in the middle still checks whether any work was lost.
#[tokio::test]
async fn an_interrupted_trial_follows_its_work_to_the_end_and_reconciles() {
    for miscount in [0, 1] {
        let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes));
        stub.miscount.store(miscount, Ordering::Relaxed);
        let port = format!("port={}", stub.listen().await.port());
        let settings = [port, "phase.create.arrivals={ rate = 200, for = \"1h\" }".to_owned()];
        let interrupt = CancellationToken::new();
        let running = tokio::spawn(lab::trial::run(trial(WORK, &settings, &out.0, interrupt.clone())));
        stub.await_creations(20).await;
        interrupt.cancel();
        let run = running.await.unwrap().unwrap().run;
        let job = &run.results.work["job"];
        assert_eq!(
            (run.verdict, job.created, job.finished),
            (Verdict::Interrupted, stub.created() as u64, job.created)
        );
        let reconciled = run.gates.iter().find(|gate| gate.name == "reconciled").unwrap();
        assert_eq!((reconciled.ok, reconciled.value == "equal"), (miscount == 0, miscount == 0), "{reconciled:?}");
        assert!(!run.notes.iter().any(|note| note.contains("interrupted")), "{:?}", run.notes);
    }
}

const STEPS: &str = r#"
format = 1
name = "steps"
summary = "A secret, a setup, two steps"
[vars]
port = 1
[secrets]
token = { env = "LAB_TEST_TOKEN_THAT_NOBODY_SETS", generate = true }
[target]
url = "http://127.0.0.1:{{port}}"
config = "GET /config"
headers = { authorization = "Bearer {{token}}" }
[[setup]]
request = "GET /config"
keep = { workers = "/workers" }
[[phase]]
name = "p"
arrivals = { rate = 1000, for = "20ms" }
in_flight_max = 5
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
name = "first"
request = "GET /ready?workers={{workers}}"
[[journey.step]]
name = "second"
request = "POST /secret"
expect = 401
[gates]
"visit.steps.second.ok" = "= 20"
"visit.count" = "= 20"
"#;

#[tokio::test]
async fn journeys_of_several_steps_have_figures_for_each() {
    let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes));
    let finished = run(STEPS, &[], &stub, &out.0).await;
    assert_eq!((finished.run.verdict, failing(&finished.run)), (Verdict::Passed, vec![]));
    assert_eq!(finished.run.results.journeys["visit"].steps["first"].ok, 20);
    assert_eq!(finished.run.results.server.config.as_ref().unwrap()["workers"], 4);
}

#[tokio::test]
async fn a_setup_that_fails_is_a_trial_that_could_not_run() {
    let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes));
    let text = STEPS
        .replace("request = \"GET /config\"", "request = \"POST /secret\"")
        .replace("keep = { w", "keep = { nope = \"/no\", w");
    let port = [format!("port={}", stub.listen().await.port())];
    let never = CancellationToken::new();
    let message = lab::trial::run(trial(&text, &port, &out.0, never)).await.unwrap_err();
    assert_eq!(
        message,
        "the setup's POST /secret failed: 401: {\"code\":\"unauthorized\"}\nThe secret was made up for this run; for a \
         service that runs already, set LAB_TEST_TOKEN_THAT_NOBODY_SETS"
    );
}

#[tokio::test]
async fn a_target_that_accepts_no_connection_is_said_before_anything_is_sent() {
    let out = OutDir::new();
    let never = CancellationToken::new();
    let message = lab::trial::run(trial(WORK, &[], &out.0, never)).await.unwrap_err();
    let tried = "nothing accepts a connection at http://127.0.0.1:1 (tried 127.0.0.1:1: Connection refused";
    assert!(message.starts_with(tried), "{message}");
    // Nothing happened that would need a directory.
    assert_eq!(std::fs::read_dir(&out.0).map_or(0, Iterator::count), 0);
}

const TWO: &str = r#"
format = 1
name = "two"
summary = "A journey that goes well, and one that does not"
[vars]
port = 1
[target]
url = "http://127.0.0.1:{{port}}"
[[phase]]
name = "well"
arrivals = { batch = 4 }
in_flight_max = 4
journey = "well"
[[phase]]
name = "badly"
arrivals = { batch = 8 }
in_flight_max = 4
journey = "badly"
[[journey]]
name = "well"
[[journey.step]]
request = "GET /ready"
[[journey]]
name = "badly"
[[journey.step]]
request = "GET /nowhere"
denied = 429
[generator]
lag_p99_max = "600s"
[gates]
"#;

/// The gates of a trial of which two thirds fail, and which of them do not hold.
async fn check_total(text: &str, gates: &str, failed: &[&str]) -> Run {
    let (out, stub) = (OutDir::new(), Stub::new(|_| RequestFate::Finishes));
    let run = run(&format!("{text}{gates}"), &[], &stub, &out.0).await.run;
    let verdict = if failed.is_empty() { Verdict::Passed } else { Verdict::Failed };
    assert_eq!((run.verdict, failing(&run)), (verdict, failed.to_vec()), "{gates}");
    run
}

#[tokio::test]
async fn a_verdict_speaks_for_the_whole_run() {
    check_total(TWO, "", &["total.errors"]).await;
    let run = check_total(TWO, "\"well.errors\" = \"= 0\"", &["badly.journey.errors"]).await;
    let total = lab::report::headline(&run).total.unwrap();
    assert_eq!(total, "total: 12 arrivals, 4 ok, 8 errors, 0 denied");
    check_total(TWO, "\"total.errors\" = \"<= 8\"", &[]).await;
    let run = check_total(TWO, "errors = \"off\"", &[]).await;
    assert!(run.notes.iter().any(|note| note.contains("errors = \"off\"")), "{:?}", run.notes);
    // Denials of the scenario are no errors.
    check_total(&TWO.replace("denied = 429", "denied = 404"), "", &[]).await;
}

/// A killed lab has sampled its target a little longer than it has written seconds of the load: rates are those of the
/// written seconds.
#[tokio::test]
async fn rates_of_a_killed_run_count_the_seconds_that_were_recorded() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let finished = run(WORK, &[], &stub, &out.0).await;
    let path = finished.dir.join("timeline.jsonl");
    let rows = std::fs::read_to_string(&path).unwrap();
    let of = |row: &str| -> Value { serde_json::from_str(row).unwrap() };
    let last_s = rows.lines().map(of).filter(|row| row["kind"] == "op").filter_map(|row| row["t_s"].as_f64());
    let recorded_s = last_s.fold(0.0, f64::max) + 1.0;
    let is_end = |row: &&str| of(row)["kind"] == "load_step" && of(row)["over"] == true;
    let mut kept: String = rows.lines().filter(|row| !is_end(row)).map(|row| format!("{row}\n")).collect();
    let mut look = of(rows.lines().find(|row| of(row)["kind"] == "sample").unwrap());
    look["t_s"] = Value::from(100.0);
    kept.push_str(&format!("{look}\n"));
    std::fs::write(&path, kept).unwrap();
    std::fs::remove_file(finished.dir.join("run.json")).unwrap();
    let again = lab::report::load_or_rebuild(&finished.dir).unwrap().run;
    let load_step = &again.load_steps[0];
    assert!((load_step.start_s + load_step.length_s - recorded_s).abs() < 0.01, "{recorded_s}: {load_step:?}");
}

/// The last seconds before a lab was killed have no rows yet; what it had counted by then is in its samples.
#[tokio::test]
async fn a_killed_run_says_what_was_over_and_not_written() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let finished = run(WORK, &[], &stub, &out.0).await;
    let path = finished.dir.join("timeline.jsonl");
    let rows = std::fs::read_to_string(&path).unwrap();
    let of = |row: &str| -> Value { serde_json::from_str(row).unwrap() };
    let mut look = of(rows.lines().find(|row| of(row)["kind"] == "sample").unwrap());
    (look["t_s"], look["ok"], look["errors"]) = (Value::from(2.0), Value::from(100), Value::from(3));
    let unwritten = |row: &&str| !["op", "sample", "lag"].contains(&of(row)["kind"].as_str().unwrap());
    let mut kept: String = rows.lines().filter(unwritten).map(|row| format!("{row}\n")).collect();
    kept.push_str(&format!("{look}\n"));
    std::fs::write(&path, kept).unwrap();
    std::fs::remove_file(finished.dir.join("run.json")).unwrap();
    std::fs::remove_file(finished.dir.join("intervals.hlog")).unwrap();
    let mut again = lab::report::load_or_rebuild(&finished.dir).unwrap().run;
    let total = again.results.total.unwrap();
    assert_eq!((total.arrivals, total.ok, total.errors), (103, 100, 3));
    let note = "The last 2 s before the lab was ended are known only as a sum: 103 more arrivals were over by 2 s";
    assert!(again.notes.iter().any(|found| found.starts_with(note)), "{:?}", again.notes);
    again.results.work.clear();
    let headline = lab::report::headline(&again);
    assert_eq!(headline.amount.sentence, "103 arrivals were over, 100 of them ok.");
}

/// Missing metrics, and those that disappear, are reported once.
#[tokio::test]
async fn what_could_not_be_read_is_said_in_the_report() {
    let (stub, out) = (Stub::new(|_| RequestFate::Finishes), OutDir::new());
    let text = WORK.replace("metrics = \"/metrics\"", "metrics = \"/nothing-here\"").replace(
        "[generator]",
        "[[observe]]\nname = \"depth\"\nread = \"GET /totals\"\nfigures = { a = \"/no_such\" }\n[generator]",
    );
    let run = run(&text, &[], &stub, &out.0).await.run;
    let said = |start: &str| run.notes.iter().filter(|note| note.starts_with(start)).count();
    assert_eq!(
        said("The target's metrics (/nothing-here) could not be read at least once; the first time: it answered 4"),
        1,
        "{:?}",
        run.notes
    );
    let observer =
        "The observer `depth` could not be read at least once; the first time: the answer has no number for `a`";
    assert_eq!(said(observer), 1, "{:?}", run.notes);
}
