//! Hunters over the network, as real processes: they come into the world of a real server, walk, and dig.

#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

mod house;

use house::Folder;

/// The number before these words in the line that hunters end with.
#[track_caller]
fn count(said: &str, words: &str) -> u64 {
    let before = said.split(words).next().unwrap_or_default();
    let number = before.rsplit(|letter: char| !letter.is_ascii_digit()).next();
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no {words:?} in {said}"))
}

#[test]
fn hunters_come_walk_and_leave() {
    let folder = Folder::new();
    let mut server = folder.serve("");
    let words = format!("bots --hunt {} --count 8 --rate 15 --for 4s", server.address());
    let output = folder.gauntlet(&words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let last = said.lines().last().unwrap_or_default();
    assert!(output.status.success(), "{said} {}", String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("gauntlet bots hunt at "), "{said}");
    assert!(count(last, " steps") >= 8, "{last}");
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
    assert!(error.contains("no hunter came into the world"), "{error}");
}
