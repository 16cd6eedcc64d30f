//! A control group of a run: created, written, and removed with everything in it. Its name contains its owner, so that
//! the group of a killed lab can be told from that of a running one. Does not know limits.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::machine::start_ticks;

/// How long killed processes may take to leave a group.
const EMPTY_WITHIN: Duration = Duration::from_millis(500);

/// From one attempt to remove a group to the next.
const TRY_EVERY: Duration = Duration::from_millis(2);

/// The name of a group: `gauntlet-SPACE-PID-START-RUN`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupName {
    /// The namespace in which the process id is valid.
    pid_namespace: String,
    /// The lab's process id.
    pid: u32,
    /// When the lab started: a later process with its id is not the lab.
    started: u64,
    run: String,
}

impl GroupName {
    /// The name of this lab's group for a run; none if /proc does not say which process this is.
    pub(super) fn for_run(run: &str) -> Option<Self> {
        let pid = std::process::id();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
        let run = run.chars().map(plain).collect();
        Some(Self { pid_namespace: own_pid_namespace()?, pid, started: start_ticks(pid)?, run })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_prefix("gauntlet-")?.splitn(4, '-');
        let space = parts.next()?.to_owned();
        let (pid, started) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { pid_namespace: space, pid, started, run: parts.next()?.to_owned() })
    }

    /// Whether its lab is dead. Nothing is known of labs in another namespace.
    fn is_stale(&self) -> bool {
        own_pid_namespace().is_some_and(|own| own == self.pid_namespace) && start_ticks(self.pid) != Some(self.started)
    }
}

impl std::fmt::Display for GroupName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "gauntlet-{}-{}-{}-{}", self.pid_namespace, self.pid, self.started, self.run)
    }
}

/// The link is `pid:[4026531836]`.
fn own_pid_namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = link.to_str()?.chars().filter(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// A group, removed with everything in it when it is dropped.
#[derive(Debug)]
pub(super) struct Group {
    dir: PathBuf,
}

impl Group {
    /// A new group.
    ///
    /// # Errors
    /// The system's, if the parent is not writable.
    pub(super) fn create(parent: &Path, name: &str) -> io::Result<Self> {
        let dir = parent.join(name);
        fs::create_dir(&dir)?;
        Ok(Self { dir })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A process joins the group by writing itself into this file.
    pub(super) fn procs_file(&self) -> PathBuf {
        self.dir.join("cgroup.procs")
    }

    /// Writes one of the kernel's files; a missing one is an error and is not created.
    pub(super) fn write(&self, file: &str, value: &str) -> io::Result<()> {
        write(&self.dir.join(file), value)
    }

    pub(super) fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.dir.join(file)).ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        remove(&self.dir);
    }
}

pub(super) fn write(file: &Path, value: &str) -> io::Result<()> {
    io::Write::write_all(&mut fs::File::options().write(true).open(file)?, value.as_bytes())
}

/// Kills everything in a group and below it, and removes it. What cannot be removed in time stays for the next run.
pub(super) fn remove(dir: &Path) {
    let deadline = Instant::now() + EMPTY_WITHIN;
    loop {
        subgroups(dir).for_each(|child| remove(&child));
        kill_all(dir);
        match fs::remove_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound && Instant::now() < deadline => {
                std::thread::sleep(TRY_EVERY);
            }
            Ok(()) | Err(_) => return,
        }
    }
}

fn subgroups(dir: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

fn kill_all(dir: &Path) {
    let procs = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    // A process of another namespace reads as 0.
    let pids = procs.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0);
    for pid in pids.filter(|pid| u32::try_from(*pid) != Ok(std::process::id())).filter_map(Pid::from_raw) {
        // It may have just ended.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Removes the groups below `parent` whose labs were killed, with what still runs in them.
pub(super) fn remove_stale(parent: &Path) {
    let is_stale = |dir: &PathBuf| {
        let name = dir.file_name().and_then(|name| name.to_str()).and_then(GroupName::parse);
        name.is_some_and(|name| name.is_stale())
    };
    subgroups(parent).filter(is_stale).for_each(|dir| remove(&dir));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(u32, u64, &str)>) {
        let found = GroupName::parse(text);
        assert_eq!(found.as_ref().map(|name| (name.pid, name.started, name.run.as_str())), expected, "{text}");
        if let Some(name) = found {
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn names() {
        check("gauntlet-4026531836-7-99-20260131-120000-ab12", Some((7, 99, "20260131-120000-ab12")));
        check("gauntlet-1-7-99-", Some((7, 99, "")));
        check("gauntlet-1-7-99", None);
        check("gauntlet-1-x-99-run", None);
        check("gauntlet", None);
        check("system.slice", None);
    }

    #[test]
    fn only_the_groups_of_dead_labs_of_this_namespace_are_stale() {
        let own = GroupName::for_run("a/../b c").unwrap();
        assert_eq!(own.run, "a_.._b_c");
        assert!(!own.is_stale());
        assert!(GroupName { started: own.started + 1, ..own.clone() }.is_stale());
        assert!(GroupName { pid: u32::MAX, ..own.clone() }.is_stale());
        assert!(!GroupName { pid: u32::MAX, pid_namespace: "1".to_owned(), ..own }.is_stale());
    }
}
