//! `gauntlet run` and the signals of a terminal: however it is ended, nothing that it started stays behind.

#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

mod house;

use house::{Folder, until};
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
    let started = until("server and bots run", || Some(children(lab.id())).filter(|pids| pids.len() == 2));
    (lab, started)
}

fn ended(mut lab: Child) -> Option<i32> {
    until("the trial ends", || lab.try_wait().unwrap()).code()
}

#[track_caller]
fn check_nothing_is_left(signal: Signal) {
    let folder = Folder::new();
    // This test itself may have been started to outlive its terminal, and what is ignored is inherited.
    let (lab, started) = start(folder.gauntlet_by(&["env", "--default-signal=HUP"], "run demo --quiet"));
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

/// A trial of games that goes on for an hour, in a process group of its own, as a shell starts it at a terminal.
fn start_at_terminal(folder: &Folder, more: &str) -> (Child, Vec<u32>) {
    let line = format!("run demo --set phase.create.arrivals.batch=2 --set phase.create.arrivals.times=720 {more}");
    let mut command = folder.gauntlet(&line);
    command.process_group(0);
    start(command)
}

/// Ctrl-C: the terminal's signal goes to everybody in the group.
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
fn a_ctrl_c_ends_the_load_and_the_report_says_whether_any_game_was_lost() {
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
    let mut said = BufReader::new(lab.stderr.take().unwrap()).lines();
    until("games run", || has_games(&folder));
    ctrl_c(&lab);
    assert!(said.any(|line| line.unwrap().contains("winding down")));
    // It is not over: the games are given a while.
    assert_eq!(lab.try_wait().unwrap(), None);
    ctrl_c(&lab);
    assert_eq!(ended(lab), Some(130));
    assert!(said.any(|line| line.unwrap().contains("ended at once")) && recorded(&folder, "run.json").is_none());
    until("server and bots have ended", || started.iter().all(|pid| is_dead(*pid)).then_some(()));
}

/// Gone, or dead and not yet collected by whoever inherited it.
fn is_dead(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

#[test]
fn a_trial_that_is_killed_takes_what_it_started_with_it() {
    let folder = Folder::new();
    let (mut lab, started) = start(folder.gauntlet("run demo --quiet"));
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
    let (mut lab, _) = start(folder.gauntlet_by(&["env", "--ignore-signal=HUP"], SMALL));
    kill_process(Pid::from_child(&lab), Signal::HUP).unwrap();
    let stderr = lab.stderr.take().unwrap();
    let code = ended(lab);
    let said = std::io::read_to_string(stderr).unwrap();
    assert!(matches!(code, Some(0 | 3 | 4)), "it ended with {code:?}, and not with a verdict: {said}");
}
