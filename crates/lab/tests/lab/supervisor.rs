//! Processes that a trial kills, stops, restarts and limits: real ones, whose output and end are observed through a
//! pipe.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::FromArgMatches as _;
use lab::guard::{Guard, GuardArgs};
use lab::measurement::timeline::FaultRow;
use lab::scenario::{Document, Fault, FaultAction, Scenario, Scope, TargetLimits};
use lab::trial::{ProcessSupervisor, ScheduledFault, fault_schedule};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::unix::pipe;
use tokio::time::Instant;

const STUB: &str = "[\"gauntlet\", \"processes::serve_when_asked\", \"--exact\"]";

/// A target of one process, which COMMAND starts.
const TRIAL: &str = r#"
format = 1
name = "supervisor"
summary = "One process"
[vars]
port = 1
[target]
url = "http://127.0.0.1:{{port}}"
spawn = COMMAND
env = { LAB_STUB_PORT = "{{port}}" }
ready = "/ready"
ready_within = "20s"
[[phase]]
name = "p"
arrivals = { batch = 1 }
in_flight_max = 1
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
request = "GET /"
"#;

/// A directory with a pipe to which the processes of a test write. The pipe ends with them.
struct ProcessFixture {
    dir: PathBuf,
    lines: BufReader<pipe::Receiver>,
    port: u16,
}

impl ProcessFixture {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("lab-supervisor-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        for name in ["pipe", "hold"] {
            rustix::fs::mkfifoat(rustix::fs::CWD, dir.join(name), mode).unwrap();
        }
        let words = BufReader::new(pipe::OpenOptions::new().open_receiver(dir.join("pipe")).unwrap());
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { dir, lines: words, port }
    }

    /// The next line; none once all processes that hold the pipe have ended.
    async fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).await.unwrap();
        (read > 0).then(|| line.trim().to_owned())
    }

    /// A scenario whose target is a shell with the pipe as its file 3, and without a readiness check.
    fn shell(&self, script: &str) -> Scenario {
        let script = format!("exec 3>'{}'; {script}", self.dir.join("pipe").display());
        let mut scenario = self.scenario(&format!("[\"sh\", \"-c\", {script:?}]"));
        scenario.target.ready_path = None;
        scenario
    }

    fn scenario(&self, command: &str) -> Scenario {
        let mut document = Document::parse(&TRIAL.replace("COMMAND", command)).unwrap();
        document.set(&format!("port={}", self.port)).unwrap();
        Scenario::read(&document).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    /// Keeps the pipe from ending with its last process, for tests that start another one.
    fn keep_open(&self) -> std::fs::File {
        std::fs::File::options().write(true).open(self.dir.join("pipe")).unwrap()
    }

    /// A second pipe, from which a process may read what a test writes.
    fn second_pipe(&self) -> PathBuf {
        self.dir.join("hold")
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("server.log")).unwrap()
    }

    async fn start(&self, supervisor: &mut ProcessSupervisor, scenario: &Scenario) -> Result<u32, String> {
        let globals = BTreeMap::new();
        supervisor.start(scenario, &Scope::for_run(&globals), &self.dir).await?;
        Ok(supervisor.pids().next().unwrap().1)
    }
}

impl Drop for ProcessFixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Faults that are due now.
fn faults_now(acts: &[FaultAction]) -> Vec<ScheduledFault> {
    let order = |act: &FaultAction| ScheduledFault { at: Duration::ZERO, process: "server".to_owned(), action: *act };
    acts.iter().map(order).collect()
}

/// Carries the faults out until so many have been reported.
async fn run_faults(supervisor: &mut ProcessSupervisor, commands: &[ScheduledFault], count: usize) -> Vec<FaultRow> {
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let all = async {
        let mut rows = Vec::new();
        while rows.len() < count {
            rows.push(heard.recv().await.unwrap());
        }
        rows
    };
    let mut hear = |row: &FaultRow| told.send(row.clone()).unwrap();
    tokio::select! {
        rows = all => rows,
        death = supervisor.supervise(Instant::now(), commands, &mut hear) => panic!("{death}"),
    }
}

/// Carries the orders out until the supervisor has failed.
async fn run_until_failure(supervisor: &mut ProcessSupervisor, commands: &[ScheduledFault]) -> String {
    supervisor.supervise(Instant::now(), commands, &mut |_| {}).await
}

#[tokio::test]
async fn a_kill_ends_the_whole_group_and_is_no_death() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let pid = fixture.start(&mut supervisor, &fixture.shell("sleep 1000 & echo up >&3; wait")).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    let mut roster = supervisor.process_list();
    assert_eq!(*roster.borrow(), [("server".to_owned(), pid)]);
    let gone = async {
        assert_eq!(fixture.next_line().await, None);
        roster.wait_for(Vec::is_empty).await.unwrap();
    };
    let kill = faults_now(&[FaultAction::Kill]);
    tokio::select! {
        () = gone => {}
        death = run_until_failure(&mut supervisor, &kill) => panic!("{death}"),
    }
    assert_eq!(supervisor.unexpected_exit(), None);
    let row = &supervisor.fault_rows()[0];
    assert_eq!((row.act.as_str(), row.pid_before, row.pid_after, &row.failed), ("kill", Some(pid), None, &None));
}

#[tokio::test]
async fn a_death_without_an_order_is_one_also_after_orders() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let script = format!("echo up >&3; read line < '{}'; exit 3", fixture.second_pipe().display());
    fixture.start(&mut supervisor, &fixture.shell(&script)).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    assert_eq!(supervisor.unexpected_exit(), None);
    run_faults(&mut supervisor, &faults_now(&[FaultAction::Stop, FaultAction::Continue]), 2).await;
    // Returns once the shell opens the pipe for reading.
    std::fs::write(fixture.second_pipe(), "go\n").unwrap();
    let death = run_until_failure(&mut supervisor, &[]).await;
    assert!(death.starts_with("server ended by itself (exit status: 3)"), "{death}");
    assert_eq!(supervisor.unexpected_exit(), Some(death));
}

#[tokio::test]
async fn a_process_stops_and_goes_on() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let script = "trap 'echo on >&3' CONT; echo up >&3; while :; do :; done";
    let pid = fixture.start(&mut supervisor, &fixture.shell(script)).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    let rows = run_faults(&mut supervisor, &faults_now(&[FaultAction::Stop]), 1).await;
    assert_eq!((rows[0].pid_before, rows[0].pid_after), (Some(pid), Some(pid)));
    await_stopped(pid).await;
    run_faults(&mut supervisor, &faults_now(&[FaultAction::Continue]), 1).await;
    assert_eq!(fixture.next_line().await.as_deref(), Some("on"));
    assert_eq!(supervisor.unexpected_exit(), None);
}

/// The kernel reports the stop to the parent.
async fn await_stopped(pid: u32) {
    let pid = Pid::from_raw(pid as i32).unwrap();
    let wait = move || waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT).unwrap();
    assert!(tokio::task::spawn_blocking(wait).await.unwrap().unwrap().stopped());
}

#[tokio::test]
async fn a_stopped_process_hears_that_the_trial_is_over() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    // It waits without starting anything: a shell whose child is stopped before it became another program does not stop
    // itself.
    let script = "trap 'echo bye >&3; exit 0' TERM; echo up >&3; while :; do :; done";
    let pid = fixture.start(&mut supervisor, &fixture.shell(script)).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    run_faults(&mut supervisor, &faults_now(&[FaultAction::Stop]), 1).await;
    await_stopped(pid).await;
    supervisor.stop().await;
    assert_eq!(fixture.next_line().await.as_deref(), Some("bye"));
    assert_eq!(fixture.next_line().await, None);
}

#[tokio::test]
async fn a_process_that_is_told_to_end_may_say_goodbye_and_is_no_death() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let script = "trap 'echo bye >&3; exit 5' TERM; echo up >&3; while :; do sleep 0.01; done";
    fixture.start(&mut supervisor, &fixture.shell(script)).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    let mut roster = supervisor.process_list();
    let gone = async {
        assert_eq!(fixture.next_line().await.as_deref(), Some("bye"));
        assert_eq!(fixture.next_line().await, None);
        roster.wait_for(Vec::is_empty).await.unwrap();
    };
    let term = faults_now(&[FaultAction::Term]);
    tokio::select! {
        () = gone => {}
        death = run_until_failure(&mut supervisor, &term) => panic!("{death}"),
    }
    let rows = run_faults(&mut supervisor, &faults_now(&[FaultAction::Stop]), 1).await;
    assert_eq!(rows[0].failed.as_deref(), Some("server does not run at that moment"));
}

#[tokio::test]
async fn a_restart_brings_the_same_service_back_and_says_when_it_was_ready() {
    let fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let pid = fixture.start(&mut supervisor, &fixture.scenario(STUB)).await.unwrap();
    let row = run_faults(&mut supervisor, &faults_now(&[FaultAction::Restart]), 1).await.remove(0);
    let after = row.pid_after.unwrap();
    assert_eq!((row.pid_before, &row.failed), (Some(pid), &None));
    assert_ne!(after, pid);
    assert!(row.ready_again_s.is_some_and(|ready_s| ready_s >= row.t_s), "{row:?}");
    assert_eq!(*supervisor.process_list().borrow(), [("server".to_owned(), after)]);
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", fixture.port)).await.is_ok());
    assert_eq!(fixture.log().matches("running 1 test").count(), 2, "{}", fixture.log());
    supervisor.stop().await;
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", fixture.port)).await.is_err());
}

#[tokio::test]
async fn what_was_killed_for_a_time_starts_again() {
    let fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let pid = fixture.start(&mut supervisor, &fixture.scenario(STUB)).await.unwrap();
    let process = "server".to_owned();
    let lasting = Some(Duration::from_millis(1));
    let faults = [Fault { at: Duration::ZERO, action: FaultAction::Kill, process, duration: lasting }];
    let rows = run_faults(&mut supervisor, &fault_schedule(&faults), 2).await;
    assert_eq!(rows.iter().map(|row| row.act.as_str()).collect::<Vec<_>>(), ["kill", "restart"]);
    assert!(rows[1].planned_s == 0.001 && rows[1].ready_again_s.is_some(), "{rows:?}");
    assert!(rows[1].pid_after.is_some_and(|after| after != pid), "{rows:?}");
}

#[tokio::test]
async fn a_restart_that_a_kill_ends_before_it_is_ready_was_carried_out() {
    let fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    fixture.start(&mut supervisor, &fixture.scenario(STUB)).await.unwrap();
    let (mut roster, kill) = (supervisor.process_list(), faults_now(&[FaultAction::Kill]));
    tokio::select! {
        gone = roster.wait_for(Vec::is_empty) => drop(gone.unwrap()),
        failure = run_until_failure(&mut supervisor, &kill) => panic!("{failure}"),
    }
    let faults = faults_now(&[FaultAction::Restart, FaultAction::Kill]);
    let rows = run_faults(&mut supervisor, &faults, 2).await;
    let found: Vec<_> = rows.iter().map(|row| (row.act.as_str(), row.failed.as_deref(), row.ready_again_s)).collect();
    assert_eq!(found, [("restart", None, None), ("kill", None, None)]);
    assert_eq!((rows[0].pid_after.is_some(), rows[0].pid_after), (true, rows[1].pid_before));
    assert_eq!(supervisor.close_pending_faults(&[], 1.0, "the load was over"), []);
}

#[tokio::test]
async fn what_does_not_end_for_a_restart_is_killed() {
    let mut fixture = ProcessFixture::new();
    let _open = fixture.keep_open();
    let mut supervisor = ProcessSupervisor::default();
    let script = "trap '' TERM; echo up >&3; while :; do sleep 1000; done";
    fixture.start(&mut supervisor, &fixture.shell(script)).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    // From here on only timers advance the time.
    tokio::time::pause();
    let row = run_faults(&mut supervisor, &faults_now(&[FaultAction::Restart]), 1).await.remove(0);
    assert!(row.failed.is_none() && row.pid_after != row.pid_before, "{row:?}");
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
}

#[tokio::test]
async fn a_process_that_is_being_restarted_takes_no_other_order() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let script =
        format!("trap '' TERM; echo up >&3; while :; do read line < '{}'; done", fixture.second_pipe().display());
    fixture.start(&mut supervisor, &fixture.shell(&script)).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    tokio::time::pause();
    let rows =
        run_faults(&mut supervisor, &faults_now(&[FaultAction::Restart, FaultAction::Restart, FaultAction::Kill]), 3)
            .await;
    let refused = Some("server is being restarted already");
    let found: Vec<_> = rows.iter().map(|row| (row.act.as_str(), row.failed.as_deref())).collect();
    assert_eq!(found, [("restart", refused), ("kill", refused), ("restart", None)]);
    assert!(rows[2].pid_after.is_some(), "{rows:?}");
}

#[tokio::test]
async fn what_cannot_be_started_again_has_failed() {
    let fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let program = fixture.dir.join("program");
    std::os::unix::fs::symlink("/bin/sleep", &program).unwrap();
    let mut scenario = fixture.scenario(&format!("[{program:?}, \"1000\"]"));
    scenario.target.ready_path = None;
    fixture.start(&mut supervisor, &scenario).await.unwrap();
    std::fs::remove_file(&program).unwrap();
    let failure = run_until_failure(&mut supervisor, &faults_now(&[FaultAction::Restart])).await;
    assert!(failure.starts_with("server could not be started again: "), "{failure}");
    let again = run_until_failure(&mut supervisor, &faults_now(&[FaultAction::Restart])).await;
    assert_eq!(again, failure);
    let acts: Vec<_> =
        supervisor.fault_rows().iter().map(|row| (row.pid_before.is_some(), row.failed.is_some())).collect();
    assert_eq!(acts, [(true, true), (false, true)]);
}

#[tokio::test]
async fn what_does_not_come_back_has_failed() {
    let fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let script = format!(
        "[ -e '{0}' ] && exit 4; touch '{0}'; echo up >&3; exec sleep 1000",
        fixture.dir.join("been").display()
    );
    let mut fixture = fixture;
    fixture.start(&mut supervisor, &fixture.shell(&script)).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("up"));
    let death = run_until_failure(&mut supervisor, &faults_now(&[FaultAction::Restart])).await;
    assert!(death.starts_with("server ended by itself (exit status: 4)"), "{death}");
}

#[tokio::test]
async fn what_comes_back_and_is_never_ready_has_failed() {
    let fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let exe = std::env::current_exe().unwrap();
    let script = format!(
        "[ -e '{0}' ] && exec sleep 1000; touch '{0}'; exec '{1}' processes::serve_when_asked --exact",
        fixture.dir.join("been").display(),
        exe.display()
    );
    let scenario = fixture.scenario(&format!("[\"sh\", \"-c\", {script:?}]"));
    fixture.start(&mut supervisor, &scenario).await.unwrap();
    // The twenty seconds that it may take pass as soon as nothing else happens.
    tokio::time::pause();
    let failure = run_until_failure(&mut supervisor, &faults_now(&[FaultAction::Restart])).await;
    assert!(failure.starts_with("after its restart, server was not ready within 20s: http://127.0.0.1:"), "{failure}");
    assert_eq!(supervisor.fault_rows()[0].failed.as_ref(), Some(&failure));
}

#[tokio::test]
async fn orders_for_strangers_are_refused_before_anything_happens() {
    let fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::default();
    let order =
        |process: &str| [ScheduledFault { at: Duration::ZERO, process: process.to_owned(), action: FaultAction::Kill }];
    let nobody = supervisor.check_faults(&order("server")).unwrap_err();
    assert!(nobody.ends_with("it starts nothing, but not server"), "{nobody}");
    fixture.start(&mut supervisor, &fixture.shell("exec sleep 1000")).await.unwrap();
    assert_eq!(supervisor.check_faults(&order("server")), Ok(()));
    let other = supervisor.check_faults(&order("bots")).unwrap_err();
    assert!(other.ends_with("it starts server, but not bots"), "{other}");
}

#[tokio::test]
async fn a_target_that_should_run_already_must_be_there_at_once() {
    let fixture = ProcessFixture::new();
    let mut scenario = fixture.scenario(STUB);
    scenario.target.spawn = None;
    let refusal = fixture.start(&mut ProcessSupervisor::default(), &scenario).await.unwrap_err();
    assert!(
        refusal.starts_with(&format!("nothing accepts a connection at http://127.0.0.1:{}", fixture.port)),
        "{refusal}"
    );
    assert!(refusal.contains("Connection refused") && refusal.contains("start the service"), "{refusal}");
}

/// This test is the guard of the tests below, if a variable in its environment says so.
#[test]
fn guard_when_asked() {
    let words: Vec<OsString> = std::env::args_os().skip_while(|word| word != "--").skip(1).collect();
    if words.is_empty() {
        return;
    }
    let definition = <GuardArgs as clap::Args>::augment_args(clap::Command::new("guard").no_binary_name(true));
    let args = GuardArgs::from_arg_matches(&definition.get_matches_from(words)).unwrap();
    // What this test prints before must not be on the guard's line.
    println!();
    let refused = lab::guard::run(&args);
    // The code is opaque, but it can be compared.
    let code = (125..=127).find(|code| std::process::ExitCode::from(*code) == refused);
    std::process::exit(code.unwrap().into());
}

fn guard() -> Guard {
    let exe = std::env::current_exe().unwrap();
    let words =
        ["supervisor::guard_when_asked", "--exact", "--nocapture", "--test-threads=1", "--"].map(OsString::from);
    Guard::from_args([exe.into_os_string()].into_iter().chain(words))
}

#[tokio::test]
async fn a_guarded_process_keeps_its_id_and_says_when_it_is_no_program() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::with_guard(guard());
    let pid = fixture.start(&mut supervisor, &fixture.shell("echo $$ >&3; exec sleep 1000")).await.unwrap();
    assert_eq!(fixture.next_line().await, Some(pid.to_string()));
    supervisor.stop().await;
    let missing = fixture.scenario("[\"no-such-program-anywhere\"]");
    let message = fixture.start(&mut supervisor, &missing).await.unwrap_err();
    assert!(message.starts_with("server could not be started: no-such-program-anywhere: No such file"), "{message}");
}

#[tokio::test]
async fn open_files_are_limited() {
    let mut fixture = ProcessFixture::new();
    let mut supervisor = ProcessSupervisor::with_guard(guard());
    supervisor.apply_limits(&TargetLimits { open_files: Some(77), ..TargetLimits::default() }, "files").unwrap();
    assert_eq!(supervisor.limits_applied().unwrap().open_files, Some(77));
    fixture.start(&mut supervisor, &fixture.shell("echo $(ulimit -Sn) $(ulimit -Hn) >&3")).await.unwrap();
    assert_eq!(fixture.next_line().await.as_deref(), Some("77 77"));
}

#[tokio::test]
async fn a_target_is_held_within_its_limits_over_a_restart_or_they_are_refused() {
    let mut fixture = ProcessFixture::new();
    let _open = fixture.keep_open();
    let mut supervisor = ProcessSupervisor::with_guard(guard());
    let limits = TargetLimits { memory_bytes: Some(64 << 20), cpu_cores: Some(0.5), open_files: None };
    if let Err(refusal) = supervisor.apply_limits(&limits, "held") {
        assert!(refusal.starts_with("[target.limits] "), "{refusal}");
        assert!(refusal.contains("as root") || refusal.contains("control groups"), "{refusal}");
        assert_eq!((supervisor.limits_applied(), supervisor.limit_stats()), (None, None));
        return;
    }
    assert_eq!(supervisor.limits_applied().unwrap().memory_bytes, Some(64 << 20));
    // Its children are in its groups too. The first one's memory is soon used up, and it reports how it ended.
    let script =
        "head -c 256M /dev/zero | tail | wc -c >/dev/null; grep -c gauntlet- /proc/self/cgroup >&3; exec sleep 1000";
    let first = fixture.start(&mut supervisor, &fixture.shell(script)).await.unwrap();
    let groups: u32 = fixture.next_line().await.unwrap().parse().unwrap();
    assert!(groups >= 1);
    let row = run_faults(&mut supervisor, &faults_now(&[FaultAction::Restart]), 1).await.remove(0);
    assert_eq!(row.pid_before, Some(first));
    assert_eq!(fixture.next_line().await, Some(groups.to_string()));
    let before_stop = supervisor.limit_stats().unwrap();
    supervisor.stop().await;
    let seen = supervisor.limit_stats().unwrap();
    assert!(seen.oom_kills.is_some_and(|kills| kills >= 2), "{seen:?}");
    assert!(seen.cpu_periods >= before_stop.cpu_periods && seen.cpu_periods.is_some(), "{seen:?}");
}

#[test]
fn limits_without_a_guard_are_refused() {
    let limits = TargetLimits { open_files: Some(77), ..TargetLimits::default() };
    let refusal = ProcessSupervisor::default().apply_limits(&limits, "none").unwrap_err();
    assert!(refusal.contains("need a guard"), "{refusal}");
    assert_eq!(ProcessSupervisor::default().apply_limits(&TargetLimits::default(), "none"), Ok(()));
}
