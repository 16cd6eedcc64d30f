//! `gauntlet run` and the signals of a terminal: however it is ended, it leaves no process behind.

use crate::support::{Folder, until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A trial of four games that bots play at once.
const SMALL: &str =
    "run demo --quiet --set think_ms=1 --set phase.create.arrivals.batch=4 --set phase.create.arrivals.times=1";

/// The ids of the processes that `parent` has started and that still run.
fn children(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // After the name in brackets, which may hold anything: the state, then the parent.
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        rest.split(' ').nth(1).and_then(|id| id.parse().ok()) == Some(parent)
    };
    let names = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).filter(is_child).collect()
}

/// Starts a trial and waits until it has started its server and its bots.
fn start(mut command: Command) -> (Child, Vec<u32>) {
    let lab = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // A guard that waits for the lab's end is there only where the machine has a control group for the run.
    let is_watch =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().contains("--kill-group=");
    let started = until("server and bots run", || {
        let all = children(lab.id());
        (all.iter().filter(|pid| !is_watch(pid)).count() == 2).then_some(all)
    });
    (lab, started)
}

fn ended(mut lab: Child) -> Option<i32> {
    until("the trial ends", || lab.try_wait().unwrap()).code()
}

#[track_caller]
fn check_nothing_is_left(signal: Signal) {
    let folder = Folder::new();
    // This test itself may have been started to outlive its terminal, and what is ignored is inherited.
    let (lab, started) = start(folder.command_by(&["env", "--default-signal=HUP"], "run demo --quiet"));
    kill_process(Pid::from_child(&lab), signal).unwrap();
    assert_eq!(ended(lab), Some(130), "{signal:?}");
    let left: Vec<u32> = started.into_iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
    assert!(left.is_empty(), "{signal:?} left {left:?}");
}

#[test]
fn a_trial_that_is_interrupted_leaves_nothing_behind() {
    check_nothing_is_left(Signal::INT);
    check_nothing_is_left(Signal::TERM);
}

/// A trial of games that runs for an hour, in a process group of its own, as a shell starts it at a terminal.
fn start_at_terminal(folder: &Folder, more: &str) -> (Child, Vec<u32>) {
    let line = format!("run demo --set phase.create.arrivals.batch=2 --set phase.create.arrivals.times=720 {more}");
    let mut command = folder.command(&line);
    command.process_group(0);
    start(command)
}

/// Ctrl-C: the terminal's signal goes to the whole group.
fn ctrl_c(lab: &Child) {
    kill_process_group(Pid::from_child(lab), Signal::INT).unwrap();
}

/// What stands in a file of the run.
fn recorded(folder: &Folder, name: &str) -> Option<String> {
    let run = fs::read_dir(folder.path().join("runs")).ok()?.flatten().next()?;
    fs::read_to_string(run.path().join(name)).ok()
}

/// Whether games were seen under way.
fn has_games(folder: &Folder) -> Option<()> {
    let timeline = recorded(folder, "timeline.jsonl")?;
    let rows = timeline.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut works = rows.filter(|row| row["kind"] == "work");
    works.any(|row| row["running"].as_u64() > Some(0)).then_some(())
}

#[test]
fn a_ctrl_c_ends_the_load_and_the_report_counts_lost_games() {
    let folder = Folder::new();
    let (lab, started) = start_at_terminal(&folder, "--set think_ms=2");
    until("games run", || has_games(&folder));
    ctrl_c(&lab);
    assert_eq!(ended(lab), Some(130));
    let record: serde_json::Value = serde_json::from_str(&recorded(&folder, "run.json").unwrap()).unwrap();
    let game = &record["work"]["game"];
    assert_eq!(
        (record["verdict"].as_str(), game["created"].as_u64()),
        (Some("interrupted"), game["finished"].as_u64())
    );
    let gate =
        |name: &str| record["gates"].as_array().unwrap().iter().find(|gate| gate["name"] == name).unwrap().clone();
    assert_eq!((&gate("reconciled")["value"], &gate("alive")["value"]), (&"equal".into(), &"yes".into()));
    assert!(started.into_iter().all(is_dead));
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_leaves_no_process() {
    let folder = Folder::new();
    // Games that last for minutes: each move takes as long as it may.
    let (mut lab, started) = start_at_terminal(&folder, "--set think_ms=10000 --set timeout_ms=1000");
    let mut printed = BufReader::new(lab.stderr.take().unwrap()).lines();
    until("games run", || has_games(&folder));
    ctrl_c(&lab);
    assert!(printed.any(|line| line.unwrap().contains("winding down")));
    // It is not over: the games are given a while.
    assert_eq!(lab.try_wait().unwrap(), None);
    ctrl_c(&lab);
    assert_eq!(ended(lab), Some(130));
    assert!(printed.any(|line| line.unwrap().contains("ended at once")) && recorded(&folder, "run.json").is_none());
    until("server and bots have ended", || started.iter().all(|pid| is_dead(*pid)).then_some(()));
}

/// Gone, or dead and not yet reaped by its new parent.
fn is_dead(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn a_trial_that_is_killed_takes_what_it_started_with_it() {
    let folder = Folder::new();
    let (mut lab, started) = start(folder.command("run demo --quiet"));
    lab.kill().unwrap();
    lab.wait().unwrap();
    until("server and bots have ended", || started.iter().all(|pid| is_dead(*pid)).then_some(()));
}

#[test]
fn a_trial_whose_terminal_is_closed_leaves_nothing_behind() {
    check_nothing_is_left(Signal::HUP);
}

#[test]
fn a_trial_that_was_started_to_outlive_its_terminal_does() {
    let folder = Folder::new();
    let (mut lab, _) = start(folder.command_by(&["env", "--ignore-signal=HUP"], SMALL));
    kill_process(Pid::from_child(&lab), Signal::HUP).unwrap();
    let stderr = lab.stderr.take().unwrap();
    let code = ended(lab);
    let printed = std::io::read_to_string(stderr).unwrap();
    assert!(matches!(code, Some(0 | 3 | 4)), "it ended with {code:?}, and not with a verdict: {printed}");
}

/// Whether this process could make a control group that can be killed at once.
fn has_control_groups() -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (mounts, own) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).and_then(|line| line.split(' ').nth(4));
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let Some((mount, path)) = mount.zip(path) else { return false };
    let own = Path::new(mount).join(path);
    let dir = own.join(format!("test-{}", std::process::id()));
    let is_made =
        fs::File::options().write(true).open(own.join("cgroup.procs")).is_ok() && fs::create_dir(&dir).is_ok();
    let is_able = is_made && dir.join("cgroup.kill").exists();
    let _ = fs::remove_dir(&dir);
    is_able
}

/// A target that starts another process in a session of its own. That one keeps the pipe open, and prints later that it
/// is still running.
const DAEMON: &str = r#"
format = 1
name = "daemon"
summary = "Starts a process that leaves its group"
[target]
url = "http://127.0.0.1:PORT"
spawn = ["sh", "-c", "setsid sh -c 'echo up >&3; sleep 15; echo survived >&3' 3>'PIPE' & exec 'PROGRAM' bots --port PORT"]
ready = "/healthz"
[[phase]]
name = "p"
arrivals = { rate = 1, for = "LASTING" }
in_flight_max = 1
journey = "visit"
[[journey]]
name = "visit"
[[journey.step]]
request = "GET /"
"#;

#[test]
fn processes_outside_the_group_end_with_a_killed_lab_or_are_reported() {
    let folder = Folder::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    let is_able = has_control_groups();
    let pipe = folder.path().join("pipe").display().to_string();
    let scenario = DAEMON.replace("PORT", &port.to_string()).replace("LASTING", if is_able { "60s" } else { "1s" });
    let scenario = scenario.replace("PIPE", &pipe).replace("PROGRAM", env!("CARGO_BIN_EXE_gauntlet"));
    folder.write("daemon.toml", &scenario);
    let mut lab =
        folder.command("run daemon.toml --quiet").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut words = BufReader::new(fs::File::open(folder.path().join("pipe")).unwrap());
    let mut word = String::new();
    words.read_line(&mut word).unwrap();
    assert_eq!(word, "up\n");
    if !is_able {
        lab.wait().unwrap();
        let run = recorded(&folder, "run.json").unwrap();
        assert!(run.contains("in sessions of their own stays behind: there is no control group for them"), "{run}");
        return;
    }
    lab.kill().unwrap();
    lab.wait().unwrap();
    // The pipe ends with the last process that holds it.
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut words, &mut rest).unwrap();
    assert_eq!(rest, "");
}
