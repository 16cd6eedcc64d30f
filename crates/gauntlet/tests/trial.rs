//! `gauntlet run` and the signals of a terminal: however it is ended, nothing that it started stays behind.

#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

mod house;

use house::{Folder, until};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
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
