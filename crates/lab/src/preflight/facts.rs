//! Inspects the machine before a run. Does not assess what it finds.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::Facts;
use crate::machine::{HostCounters, free_bytes, local_ports};

impl Facts {
    /// Inspects this machine, and the disk below `dir`.
    #[must_use]
    pub fn gather(dir: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let number = |path: &str| read(path)?.parse::<u64>().ok();
        let reuse = number("/proc/sys/net/ipv4/tcp_tw_reuse");
        Self {
            open_files_max: getrlimit(Resource::Nofile).current,
            open_files_free: read("/proc/sys/fs/file-nr").and_then(|text| open_files_free(&text)),
            ports: local_ports(),
            reuses_ports_on_loopback: reuse.is_some_and(|reuse| reuse >= 1),
            reuses_ports: reuse == Some(1),
            accept_queue_max: number("/proc/sys/net/core/somaxconn"),
            clock_source: read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            cores: std::thread::available_parallelism().ok().map(|cores| cores.get() as u64),
            memory_available_bytes: HostCounters::read().memory_available_bytes,
            disk_free_bytes: free_bytes(dir),
        }
    }
}

/// Three numbers: in use, allocated but free, and the maximum.
fn open_files_free(file_nr: &str) -> Option<u64> {
    let numbers: Vec<u64> = file_nr.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let &[used, kept, max] = numbers.as_slice() else { return None };
    Some(max.saturating_sub(used.saturating_sub(kept)))
}

/// The lab's limit of open files, before and after it was raised. None is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFilesLimit {
    /// The limit with which the lab was started.
    pub before: Option<u64>,
    /// The limit now, which processes that the lab starts inherit.
    pub now: Option<u64>,
}

/// Raises the limit of open files of this process as far as it may by itself. The lab needs a file for every
/// connection, and shells start programs with a limit made for programs that wait with `select`. Processes that the lab
/// starts inherit the raised limit: a trial shall find the target's limit and not the shell's, unless the scenario
/// limits open files itself.
#[must_use]
pub fn raise_open_files() -> OpenFilesLimit {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let now = if raised.is_ok() { limit.maximum } else { limit.current };
    OpenFilesLimit { before: limit.current, now }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file_nr: &str, expected: Option<u64>) {
        assert_eq!(open_files_free(file_nr), expected, "{file_nr}");
    }

    #[test]
    fn free_files() {
        check("601\t0\t2466170", Some(2_465_569));
        check("601\t100\t1000", Some(499));
        check("2000\t0\t1000", Some(0));
        check("1 2", None);
        check("a b c", None);
    }

    #[test]
    fn this_machine_is_known_and_its_limit_is_raised() {
        let raised = raise_open_files();
        let facts = Facts::gather(&std::env::temp_dir());
        assert_eq!(facts.open_files_max, raised.now);
        assert_eq!(getrlimit(Resource::Nofile).maximum, raised.now);
        let known = (facts.ports, facts.accept_queue_max, facts.memory_available_bytes, facts.disk_free_bytes);
        assert!(matches!(known, (Some(_), Some(_), Some(_), Some(_))), "{known:?}");
    }
}
