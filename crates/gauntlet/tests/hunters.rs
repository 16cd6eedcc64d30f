//! Hunters over the network, as real processes: they come into the world of a real server, walk, and dig.

#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

mod house;

use house::{Folder, Server, until};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;

/// The number before these words in the line that hunters end with.
#[track_caller]
fn count(said: &str, words: &str) -> u64 {
    let before = said.split(words).next().unwrap_or_default();
    let number = before.rsplit(|letter: char| !letter.is_ascii_digit()).next();
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {words:?} in {said}"))
}

/// The server's figure of this name.
fn figure(server: &Server, name: &str) -> u64 {
    let page = server.get("/metrics", "");
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()).unwrap_or_default()
}

#[test]
fn hunters_come_walk_and_leave() {
    let folder = Folder::new();
    let mut server = folder.serve("");
    let words = format!("bots --hunt {} --count 8 --rate 15", server.address());
    let mut hunters = folder.gauntlet(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("hunters walk and look", || {
        let has_come = |name| figure(&server, name) >= 50;
        (has_come("gauntlet_world_inputs_total") && has_come("gauntlet_world_views_total")).then_some(())
    });
    kill_process(Pid::from_child(&hunters), Signal::INT).unwrap();
    let ended = until("the hunters leave", || hunters.try_wait().unwrap());
    let said = std::io::read_to_string(hunters.stdout.take().unwrap()).unwrap();
    let last = said.lines().last().unwrap_or_default();
    assert!(ended.success(), "{said} {}", std::io::read_to_string(hunters.stderr.take().unwrap()).unwrap());
    assert!(said.starts_with("gauntlet bots hunt at "), "{said}");
    assert!(count(last, " steps") + count(last, " chests") + count(last, " refused") >= 8, "{last}");
    assert!(count(last, " steps") >= 1, "{last}");
    assert!(count(last, " views") >= 8, "{last}");
    assert_eq!(count(last, " connections lost"), 0, "{last}");
    assert_eq!(server.leave(), Some(0));
}

#[test]
fn hunters_who_find_nobody_say_so() {
    let folder = Folder::new();
    let output = folder.gauntlet("bots --hunt 127.0.0.1:1 --count 2 --for 1s").output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    for part in ["no hunter came into the world at 127.0.0.1:1 in hunt", "Connection refused", "`gauntlet serve`"] {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}
