//! A control group of the second interface that contains everything that a run has started, whatever its session: all
//! of it is killed at once when the lab drops the group, and by a guard that waits for the lab's end if the lab is
//! killed. Does not know what runs in it.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::group::{Group, GroupName, remove, remove_stale, write};
use super::locate::unified;
use super::refused;

/// The suffix of the group's name: a target with limits has a group of the plain name.
const GROUP_SUFFIX: &str = ".all";

/// The file that kills everything in a group and below it; the kernel has it since 5.14.
const KILL_FILE: &str = "cgroup.kill";

/// The group of a run. Dropping it kills what is in it and removes it.
#[derive(Debug)]
pub struct TrialCgroup {
    group: Group,
    /// After the group, because it must find nothing.
    _watch: CgroupWatchdog,
}

/// The guard that waits for the lab's end.
#[derive(Debug)]
struct CgroupWatchdog {
    child: Child,
    /// It ends when the lab closes it, or is gone.
    stdin: Option<ChildStdin>,
}

impl TrialCgroup {
    /// Creates the group of a run. A watchdog, started by the command line that `watchdog_args` gives for some groups, kills what is in
    /// this group and in `others` once the lab is gone.
    ///
    /// # Errors
    /// Why this machine does not allow it, as part of a sentence.
    pub fn create(
        run: &str,
        watchdog_args: impl Fn(&[&Path]) -> Vec<OsString>,
        others: &[PathBuf],
    ) -> Result<Self, String> {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let own = unified(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"));
        let own = own.ok_or("no control groups of the second interface (cgroup2) are mounted")?;
        let name = GroupName::for_run(run).ok_or("this system has no /proc")?;
        remove_stale(&own);
        let group = Self::group(&own, &format!("{name}{GROUP_SUFFIX}"))?;
        let dirs: Vec<&Path> = others.iter().map(PathBuf::as_path).chain([group.dir()]).collect();
        let _watch = CgroupWatchdog::start(&watchdog_args(&dirs))
            .map_err(|error| format!("no guard can be started: {error}"))?;
        Ok(Self { group, _watch })
    }

    fn group(own: &Path, name: &str) -> Result<Group, String> {
        // Who moves from a group into one below it must be able to write both.
        let procs = own.join("cgroup.procs");
        fs::File::options().write(true).open(&procs).map_err(|error| refused(&procs, &error))?;
        let group = Group::create(own, name).map_err(|error| refused(own, &error))?;
        if group.read("cgroup.type").is_none_or(|kind| kind.trim() != "domain") {
            return Err(format!("{} takes no processes", group.dir().display()));
        }
        if !group.dir().join(KILL_FILE).exists() {
            return Err(format!("{} has no {KILL_FILE}: that needs Linux 5.14 or later", group.dir().display()));
        }
        Ok(group)
    }

    /// A process joins the group by writing itself into this file.
    #[must_use]
    pub fn procs(&self) -> PathBuf {
        self.group.procs_file()
    }
}

impl Drop for TrialCgroup {
    fn drop(&mut self) {
        let _ = write(&self.group.dir().join(KILL_FILE), "1");
    }
}

impl CgroupWatchdog {
    fn start(words: &[OsString]) -> std::io::Result<Self> {
        let (program, arguments) = words.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A Ctrl-C is for the lab alone.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let line = child.stdin.take();
        Ok(Self { child, stdin: line })
    }
}

impl Drop for CgroupWatchdog {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Waits until the lab closes its end of standard input, which happens when it dies, and then kills what is in these
/// groups.
pub(crate) fn kill_after_parent(dirs: &[PathBuf]) {
    let mut nothing = [0; 64];
    let mut line = std::io::stdin().lock();
    while line.read(&mut nothing).is_ok_and(|count| count > 0) {}
    for dir in dirs {
        let _ = write(&dir.join(KILL_FILE), "1");
        remove(dir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_control_group_is_refused_with_its_reason() {
        let dir = std::env::temp_dir().join(format!("lab-together-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let refusal = |name: &str| TrialCgroup::group(&dir, name).unwrap_err();
        assert!(refusal("a").contains("cgroup.procs: No such file"), "{}", refusal("a"));
        fs::write(dir.join("cgroup.procs"), "").unwrap();
        assert!(refusal("a").contains("takes no processes"), "{}", refusal("a"));
        // Nothing was left behind.
        assert!(!dir.join("a").exists());
        fs::remove_dir_all(&dir).unwrap();
    }
}
