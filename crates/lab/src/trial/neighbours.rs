//! Other users of the CPUs during a trial: programs that belong neither to the lab nor to what it watches, by name, and
//! how many cores each of them used since the previous scan. Every scan reads all processes, and the longer a scan
//! takes, the rarer scans become. Does not know what the programs are for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::watched_process::sample_pause;
use crate::format::round;
use crate::limits::{NEIGHBOUR_CORES_MIN, NEIGHBOURS_SHOWN_MAX, SAMPLER_EVERY};
use crate::machine::{ProcessTable, process_name};

/// What all processes of the machine had used at the previous scan.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    previous: Option<CpuSnapshot>,
    next_scan_at: Option<Instant>,
    /// The result of that scan, valid until the next one.
    latest: BTreeMap<String, f64>,
}

/// CPU time by process, with the start time to tell a later process with the same id apart.
#[derive(Debug)]
struct CpuSnapshot {
    at: Instant,
    used_s: BTreeMap<(u32, u64), f64>,
}

impl Neighbours {
    /// Scans, unless that would take too much of the time; returns the cores that each program used whose processes are
    /// not in `known`, only the busiest few.
    pub(crate) fn scan(&mut self, known: &BTreeSet<u32>) -> BTreeMap<String, f64> {
        let begin = Instant::now();
        if self.next_scan_at.is_some_and(|not_before| begin < not_before) {
            return self.latest.clone();
        }
        let processes = ProcessTable::scan();
        self.next_scan_at = Some(begin + sample_pause(begin.elapsed(), SAMPLER_EVERY / 2));
        let used_s = processes.processes().map(|(pid, stat)| ((pid, stat.started_ticks), stat.cpu_s())).collect();
        let now = CpuSnapshot { at: begin, used_s };
        let busy = self.previous.as_ref().map_or_else(Vec::new, |before| now.usage_since(before, known));
        self.previous = Some(now);
        self.latest = busiest(busy, process_name);
        self.latest.clone()
    }
}

impl CpuSnapshot {
    /// Cores that processes used since an earlier scan. For a process that is new, all its CPU time counts.
    fn usage_since(&self, before: &Self, known: &BTreeSet<u32>) -> Vec<(u32, f64)> {
        let length_s = self.at.duration_since(before.at).as_secs_f64();
        if length_s <= 0.0 {
            return Vec::new();
        }
        let strange = self.used_s.iter().filter(|((pid, _), _)| !known.contains(pid));
        let used = strange.map(|(process, used_s)| {
            let rise_s = used_s - before.used_s.get(process).copied().unwrap_or(0.0);
            (process.0, rise_s.max(0.0) / length_s)
        });
        used.filter(|(_, cores)| *cores > 0.0).collect()
    }
}

/// The busiest programs by name: processes of one name count together.
fn busiest(processes: Vec<(u32, f64)>, name_of: impl Fn(u32) -> Option<String>) -> BTreeMap<String, f64> {
    let mut programs: BTreeMap<String, f64> = BTreeMap::new();
    for (pid, cores) in processes {
        if let Some(name) = name_of(pid) {
            *programs.entry(name).or_default() += cores;
        }
    }
    let mut all: Vec<(String, f64)> = programs.into_iter().filter(|(_, cores)| *cores >= NEIGHBOUR_CORES_MIN).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.into_iter().take(NEIGHBOURS_SHOWN_MAX).map(|(name, cores)| (name, round(cores))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn sample(at: Instant, used_s: &[(u32, u64, f64)]) -> CpuSnapshot {
        CpuSnapshot { at, used_s: used_s.iter().map(|(pid, started, used_s)| ((*pid, *started), *used_s)).collect() }
    }

    #[test]
    fn neighbours_are_listed_by_name() {
        let at = Instant::now();
        let before = sample(at, &[(1, 5, 10.0), (2, 5, 1.0), (3, 5, 1.0), (4, 5, 7.0), (6, 5, 100.0)]);
        // 2 and 3 are one program; 4 is known; 5 is new; 6 has exited, and another process has its id.
        let used = [(1, 5, 10.01), (2, 5, 1.5), (3, 5, 2.0), (4, 5, 9.0), (5, 9, 0.6), (6, 9, 0.1)];
        let now = sample(at + Duration::from_secs(2), &used);
        let names =
            |pid: u32| (pid != 6).then(|| ["", "idler", "rustc", "rustc", "", "browser"][pid as usize].to_owned());
        let found = busiest(now.usage_since(&before, &BTreeSet::from([4])), names);
        assert_eq!(found, [("browser".to_owned(), 0.3), ("rustc".to_owned(), 0.75)].into());
        assert!(now.usage_since(&now, &BTreeSet::new()).is_empty());
    }

    #[test]
    fn a_busy_neighbour_is_seen() {
        let mut shell = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut neighbours = Neighbours::default();
        assert!(neighbours.scan(&BTreeSet::new()).is_empty());
        let found = loop {
            // As soon as the kernel has counted a tick of it, whenever that is.
            neighbours.next_scan_at = None;
            let found = neighbours.scan(&BTreeSet::new());
            if found.contains_key("sh") {
                break found;
            }
        };
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(found["sh"] > 0.0);
    }
}
