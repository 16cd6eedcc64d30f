//! What one process uses, read from /proc/PID. The parsers are pure; the functions that read are below them. Does not
//! know which process matters, and does not add several up: [`super::process_table`] does.
//!
//! Measured on a busy 2-core machine: 0.05 ms for [`usage`] of a process with one thread and 15 µs more for every
//! further thread; 11 ms per GiB of small pages for [`read_pss_bytes`].

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use super::proc_text::{count_of, kib_to_bytes, value_of};
use crate::limits::THREADS_READ_MAX;

/// What a process uses, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUsage {
    /// Resident memory. For several processes the sum: shared pages count once for each of them.
    pub rss_bytes: u64,
    /// Processor time since it started, in the program's own code.
    pub cpu_user_s: f64,
    /// Processor time since it started, in the kernel.
    pub cpu_system_s: f64,
    /// The same of children that have ended and were waited for, user and system.
    pub cpu_children_s: f64,
    pub threads: u64,
    /// Open files, if this process may see them.
    pub open_files: Option<u64>,
    /// Voluntary context switches, over the living threads; none beyond [`THREADS_READ_MAX`] threads.
    pub switches_voluntary: Option<u64>,
    /// Involuntary context switches.
    pub switches_involuntary: Option<u64>,
}

impl ProcessUsage {
    /// Processor time of the process itself, user and system.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.cpu_user_s + self.cpu_system_s
    }

    /// The sum of both; what is unknown of one is unknown of the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        Self {
            rss_bytes: self.rss_bytes + other.rss_bytes,
            cpu_user_s: self.cpu_user_s + other.cpu_user_s,
            cpu_system_s: self.cpu_system_s + other.cpu_system_s,
            cpu_children_s: self.cpu_children_s + other.cpu_children_s,
            threads: self.threads + other.threads,
            open_files: sum(self.open_files, other.open_files),
            switches_voluntary: sum(self.switches_voluntary, other.switches_voluntary),
            switches_involuntary: sum(self.switches_involuntary, other.switches_involuntary),
        }
    }
}

/// The fields of proc_pid_stat(5) that are used here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub parent: u32,
    pub group: u32,
    pub(super) user_ticks: u64,
    pub(super) system_ticks: u64,
    pub(super) children_ticks: u64,
    pub(super) threads: u64,
    /// When it started, in ticks since the machine did; distinguishes it from a later process with the same id.
    pub started_ticks: u64,
}

impl Stat {
    /// The second field is the program's name and may contain anything, so counting starts after its last parenthesis.
    fn parse(stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // The first of them is the third field of the manual page.
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            parent: field(4)?.try_into().ok()?,
            group: field(5)?.try_into().ok()?,
            user_ticks: field(14)?,
            system_ticks: field(15)?,
            children_ticks: field(16)?.checked_add(field(17)?)?,
            threads: field(20)?,
            started_ticks: field(22)?,
        })
    }

    /// Processor time since it started, user and system, in seconds.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        seconds(self.user_ticks + self.system_ticks)
    }

    pub(super) fn read(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Voluntary and involuntary context switches of one thread's status.
fn parse_context_switches(status: &str) -> Option<(u64, u64)> {
    Some((count_of(status, "voluntary_ctxt_switches")?, count_of(status, "nonvoluntary_ctxt_switches")?))
}

/// The proportional set size of a smaps_rollup: shared pages are divided among the processes that share them.
fn parse_pss(rollup: &str) -> Option<u64> {
    kib_to_bytes(value_of(rollup, "Pss")?)
}

/// The name of a process: at most 15 arbitrary characters.
#[must_use]
pub fn process_name(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim_end().to_owned())
}

/// The usage of one living process of this machine; none of a zombie.
#[must_use]
pub fn read_usage(pid: u32) -> Option<ProcessUsage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let stat = Stat::read(pid)?;
    let switches = context_switches_of(pid, stat.threads);
    Some(ProcessUsage {
        rss_bytes: kib_to_bytes(value_of(&status, "VmRSS")?)?,
        cpu_user_s: seconds(stat.user_ticks),
        cpu_system_s: seconds(stat.system_ticks),
        cpu_children_s: seconds(stat.children_ticks),
        threads: stat.threads,
        open_files: open_files(pid),
        switches_voluntary: switches.map(|both| both.0),
        switches_involuntary: switches.map(|both| both.1),
    })
}

/// The status of a process counts only the switches of its first thread, so each thread is read.
fn context_switches_of(pid: u32, threads: u64) -> Option<(u64, u64)> {
    if threads > THREADS_READ_MAX {
        return None;
    }
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of_thread = |task: fs::DirEntry| parse_context_switches(&fs::read_to_string(task.path().join("status")).ok()?);
    // A thread that ended a moment ago is missing from the sum.
    let all = tasks.filter_map(Result::ok).filter_map(of_thread);
    Some(all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
}

/// Since Linux 6.2 the size of the directory is the number of its entries; before, it is 0 and they are counted.
fn open_files(pid: u32) -> Option<u64> {
    let dir = format!("/proc/{pid}/fd");
    // Only a process that may list the directory knows how many there are.
    let entries = fs::read_dir(&dir).ok()?;
    match fs::metadata(&dir).ok()?.size() {
        0 => Some(entries.count() as u64),
        size => Some(size),
    }
}

/// The proportional set size: a process's share of the memory that it uses, so that the sizes of all processes add up.
/// The kernel walks all pages for it and keeps the process from mapping memory meanwhile, so this is not for every
/// second. None without permission.
#[must_use]
pub fn read_pss_bytes(pid: u32) -> Option<u64> {
    parse_pss(&fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?)
}

/// When a process started, in ticks since the machine did: an id with the same start is the same process.
#[must_use]
pub fn start_ticks(pid: u32) -> Option<u64> {
    Some(Stat::read(pid)?.started_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &str = "S 7 8 9 0 -1 4194560 1 2 3 4 70 30 5 6 20 0 12 0 99 1000 200";

    #[track_caller]
    fn check(text: &str, expected: Option<Stat>) {
        assert_eq!(Stat::parse(text), expected, "{text}");
    }

    #[test]
    fn fields_are_found_after_any_name() {
        let (user_ticks, system_ticks, children_ticks) = (70, 30, 11);
        let stat =
            Stat { parent: 7, group: 8, user_ticks, system_ticks, children_ticks, threads: 12, started_ticks: 99 };
        check(&format!("42 (server) {FIELDS}"), Some(stat));
        check(&format!("42 (a ) b (c) {FIELDS}"), Some(stat));
        check(&format!("42 (server) {}", FIELDS.replace("70", "-1")), None);
        check("42 (server", None);
        check("42 (server) S 1", None);
    }

    #[test]
    fn switches_need_both_counts() {
        let both = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(parse_context_switches(both), Some((12, 3)));
        assert_eq!(parse_context_switches("nonvoluntary_ctxt_switches:\t3\n"), None);
    }

    #[test]
    fn the_proportional_size_is_one_line_of_many() {
        let rollup = "00400000-7fff ---p 00000000 00:00 0 [rollup]\nRss: 9 kB\nPss: 4 kB\nPss_Dirty: 1 kB\n";
        assert_eq!(parse_pss(rollup), Some(4096));
        assert_eq!(parse_pss("Pss_Dirty: 1 kB\n"), None);
    }

    #[test]
    fn this_process_has_a_usage_and_an_ended_one_has_none() {
        let own = std::process::id();
        let before = read_usage(own).unwrap();
        assert!(before.rss_bytes > 0 && before.threads > 0 && before.switches_voluntary.is_some());
        assert!(read_pss_bytes(own).is_some_and(|bytes| bytes > 0 && bytes <= read_usage(own).unwrap().rss_bytes * 2));
        assert_eq!(start_ticks(own), start_ticks(own));
        assert_eq!((read_usage(u32::MAX), read_pss_bytes(u32::MAX), start_ticks(u32::MAX)), (None, None, None));
    }

    #[test]
    fn open_files_are_counted() {
        // Other tests of this process open files too, so this uses a process of its own.
        let mut child = std::process::Command::new("sh")
            .args(["-c", "exec 3</dev/null 4</dev/null; echo; read line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let seen = read_usage(child.id()).unwrap().open_files.unwrap();
        let listed = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().count() as u64;
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(seen >= 5, "{seen}");
        assert_eq!(seen, listed);
    }

    #[test]
    fn a_sum_has_only_what_all_parts_have() {
        let known =
            ProcessUsage { rss_bytes: 5, cpu_user_s: 1.0, threads: 2, open_files: Some(3), ..ProcessUsage::default() };
        let both = known.plus(known);
        assert_eq!((both.rss_bytes, both.threads, both.open_files, both.cpu_s()), (10, 4, Some(6), 2.0));
        assert_eq!(known.plus(ProcessUsage::default()).open_files, None);
    }
}
