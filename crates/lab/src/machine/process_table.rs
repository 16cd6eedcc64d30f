//! Process trees: a target that a shell starts, or a server with worker processes, consists of more processes than the
//! one whose id is known. One scan of /proc finds them all; finding is pure. Does not know what the trees are for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::process::{ProcessUsage, Stat, read_pss_bytes, read_usage};

/// A row of the process table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessRow {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    /// When it started, in ticks since the machine did; distinguishes it from a later process with the same id.
    pub started_ticks: u64,
    /// Processor time since then, user and system, in ticks.
    pub cpu_ticks: u64,
}

impl ProcessRow {
    /// Processor time since it started, in seconds.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.cpu_ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    }
}

/// All processes of this machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessTable {
    rows: Vec<ProcessRow>,
}

impl ProcessTable {
    /// Scans /proc. On a busy 2-core machine with 115 processes that took 1.6 ms.
    #[must_use]
    pub fn scan() -> Self {
        let of_entry = |entry: fs::DirEntry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = Stat::read(pid)?;
            let cpu_ticks = stat.user_ticks + stat.system_ticks;
            Some(ProcessRow {
                pid,
                parent: stat.parent,
                group: stat.group,
                started_ticks: stat.started_ticks,
                cpu_ticks,
            })
        };
        let entries = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        Self { rows: entries.filter_map(of_entry).collect() }
    }

    pub fn rows(&self) -> impl Iterator<Item = &ProcessRow> {
        self.rows.iter()
    }

    /// The process, if it exists, and all its descendants.
    #[must_use]
    pub fn descendants(&self, pid: u32) -> BTreeSet<u32> {
        self.with_descendants(self.rows.iter().filter(|row| row.pid == pid).map(|row| row.pid))
    }

    /// Every process of the group, and all their descendants: including those whose parent has ended, and those in a
    /// group of their own.
    #[must_use]
    pub fn group(&self, group: u32) -> BTreeSet<u32> {
        self.with_descendants(self.rows.iter().filter(|row| row.group == group).map(|row| row.pid))
    }

    fn with_descendants(&self, roots: impl Iterator<Item = u32>) -> BTreeSet<u32> {
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for row in &self.rows {
            children.entry(row.parent).or_default().push(row.pid);
        }
        let (mut found, mut open) = (BTreeSet::new(), roots.collect::<Vec<_>>());
        while let Some(pid) = open.pop() {
            if found.insert(pid) {
                open.extend(children.get(&pid).into_iter().flatten());
            }
        }
        found
    }
}

impl FromIterator<ProcessRow> for ProcessTable {
    fn from_iter<I: IntoIterator<Item = ProcessRow>>(rows: I) -> Self {
        Self { rows: rows.into_iter().collect() }
    }
}

/// What each of these processes uses, as far as they live.
pub(crate) fn read_usages(pids: &BTreeSet<u32>) -> BTreeMap<u32, ProcessUsage> {
    pids.iter().filter_map(|pid| Some((*pid, read_usage(*pid)?))).collect()
}

/// The sum of their proportional set sizes; none if one of them is not readable.
pub(crate) fn read_pss_of(pids: &BTreeSet<u32>) -> Option<u64> {
    let living = pids.iter().filter(|pid| read_usage(**pid).is_some());
    living.map(|pid| read_pss_bytes(*pid)).reduce(|sum, one| Some(sum? + one?)).flatten()
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    /// Process ids with their parents and groups.
    const ALL: [(u32, u32, u32); 7] =
        [(1, 0, 1), (10, 1, 10), (11, 10, 10), (12, 11, 12), (13, 1, 10), (20, 1, 20), (21, 20, 20)];

    #[track_caller]
    fn check(found: &BTreeSet<u32>, expected: &[u32]) {
        assert_eq!(found.iter().copied().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn process_trees_are_found() {
        let all: ProcessTable = ALL
            .into_iter()
            .map(|(pid, parent, group)| ProcessRow { pid, parent, group, ..ProcessRow::default() })
            .collect();
        check(&all.descendants(10), &[10, 11, 12]);
        check(&all.group(10), &[10, 11, 12, 13]);
        check(&all.descendants(12), &[12]);
        check(&all.descendants(99), &[]);
        check(&all.group(99), &[]);
    }

    #[test]
    fn a_scan_while_ids_are_reused_terminates() {
        let circle: ProcessTable = [(5, 6, 5), (6, 5, 5)]
            .map(|(pid, parent, group)| ProcessRow { pid, parent, group, ..ProcessRow::default() })
            .into_iter()
            .collect();
        check(&circle.descendants(5), &[5, 6]);
    }

    #[test]
    fn a_shell_and_its_child_are_one_tree() {
        let mut shell =
            Command::new("sh").args(["-c", "sleep 1000 & echo $!; wait"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let child: u32 = line.trim().parse().unwrap();
        let found = ProcessTable::scan().descendants(shell.id());
        let (both, alone) =
            (read_usages(&found).into_values().reduce(ProcessUsage::plus).unwrap(), read_usage(shell.id()).unwrap());
        let pss = read_pss_of(&found);
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(child as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        shell.wait().unwrap();
        check(&found, &[shell.id(), child]);
        assert!(both.rss_bytes > alone.rss_bytes && both.threads == 2, "{both:?} {alone:?}");
        assert!(pss.is_some_and(|bytes| bytes > 0));
    }
}
