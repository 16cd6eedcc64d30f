//! The processes of a trial, observed from outside: what each uses now, and since observation began, also across
//! restarts. For a process that the lab started, its whole group and all descendants are added up; for a process that
//! was already running, its descendants; for the lab itself, the process alone, because the others are its descendants
//! too. Does not know the timeline.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::aggregate::{ProcessFigures, Rss};
use crate::format::round;
use crate::limits::{PSS_EVERY, PSS_SHARE_MAX};
use crate::machine::{ProcessTable, ProcessUsage, read_pss_of, read_usages, start_ticks};

/// The name under which the lab itself is watched.
pub(super) const GENERATOR: &str = "generator";

/// The name under which the target is watched.
pub(super) const SERVER: &str = "server";

/// Which processes count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProcessScope {
    Single,
    /// The process and its descendants.
    Descendants,
    /// The process group that it leads, and their descendants.
    Group,
}

impl ProcessScope {
    /// The processes that matter for the scope: a single process is found by its id.
    fn scan(self) -> ProcessTable {
        match self {
            Self::Single => ProcessTable::default(),
            Self::Descendants | Self::Group => ProcessTable::scan(),
        }
    }
}

/// A watched process, and since when it is watched.
#[derive(Debug)]
pub(super) struct WatchedProcess {
    name: String,
    pid: u32,
    /// Tells the process from a later one with the same id.
    start_ticks: Option<u64>,
    scope: ProcessScope,
    first_rss_bytes: u64,
    peak_rss_bytes: u64,
    latest: ProcessUsage,
    /// Processes that count as its own but are not its descendants: the lab's worker processes.
    extra_pids: BTreeSet<u32>,
    /// Processes in the latest sample.
    pids: BTreeSet<u32>,
    /// CPU time of each process in the latest sample; and the cores that the busiest of them used since the one before.
    cpu_s_by_pid: BTreeMap<u32, f64>,
    sampled_at: Option<Instant>,
    busiest_cores: Option<f64>,
    /// CPU time before observation began, which does not count.
    cpu_before_s: f64,
    /// CPU time of processes of this name that have exited since.
    cpu_ended_s: f64,
    pss: Pss,
}

/// The proportional set size, which is expensive: read at most every [`PSS_EVERY`], and less often the longer a read
/// takes.
#[derive(Debug, Default)]
struct Pss {
    latest_bytes: Option<u64>,
    next_read_at: Option<Instant>,
}

impl WatchedProcess {
    /// Watches a process, and others that count as its own; none if it does not exist.
    #[must_use]
    pub(super) fn new(name: &str, pid: u32, scope: ProcessScope, also: &[u32]) -> Option<Self> {
        let mut watched = Self {
            name: name.to_owned(),
            pid,
            start_ticks: start_ticks(pid),
            scope,
            first_rss_bytes: 0,
            peak_rss_bytes: 0,
            latest: ProcessUsage::default(),
            extra_pids: also.iter().copied().collect(),
            pids: BTreeSet::new(),
            cpu_s_by_pid: BTreeMap::new(),
            sampled_at: None,
            busiest_cores: None,
            cpu_before_s: 0.0,
            cpu_ended_s: 0.0,
            pss: Pss::default(),
        };
        watched.update(&scope.scan(), Instant::now()).then_some(())?;
        watched.first_rss_bytes = watched.latest.rss_bytes;
        watched.cpu_before_s = watched.cpu_total_s();
        Some(watched)
    }

    /// Whether the process still exists, and not a later one with its id.
    pub(super) fn is_running(&self) -> bool {
        self.start_ticks.is_some() && start_ticks(self.pid) == self.start_ticks
    }

    #[must_use]
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Samples all of them again.
    pub(super) fn sample_all(all: &mut [Self]) {
        let widest = all.iter().map(|watched| watched.scope).max().unwrap_or(ProcessScope::Single);
        let (processes, now) = (widest.scan(), Instant::now());
        all.iter_mut().for_each(|watched| {
            watched.update(&processes, now);
        });
    }

    /// Continues with the processes that now have the watched names: a restarted process has another id.
    pub(super) fn follow_restarts(all: &mut [Self], process_list: &[(String, u32)]) {
        for (name, pid) in process_list {
            if let Some(watched) = all.iter_mut().find(|watched| watched.name == *name && watched.pid != *pid) {
                watched.switch_pid(*pid);
            }
        }
    }

    fn switch_pid(&mut self, pid: u32) {
        self.cpu_ended_s += self.cpu_total_s() - self.cpu_before_s;
        (self.pid, self.start_ticks) = (pid, start_ticks(pid));
        (self.cpu_before_s, self.latest) = (0.0, ProcessUsage::default());
    }

    /// Whether any process was found. What has exited keeps its last figures.
    fn update(&mut self, processes: &ProcessTable, now: Instant) -> bool {
        if start_ticks(self.pid).is_some_and(|found| self.start_ticks != Some(found)) {
            return false;
        }
        let pids = match self.scope {
            ProcessScope::Single => BTreeSet::from([self.pid]),
            ProcessScope::Descendants => processes.descendants(self.pid),
            ProcessScope::Group => processes.group(self.pid),
        };
        let pids = &pids | &self.extra_pids;
        // Each is read once: with a hundred processes a sample takes milliseconds of a CPU that the trial needs.
        let used = read_usages(&pids);
        let Some(usage) = used.values().copied().reduce(ProcessUsage::plus) else { return false };
        self.latest = usage;
        self.update_busiest(&used, now);
        self.peak_rss_bytes = self.peak_rss_bytes.max(usage.rss_bytes);
        self.pss.update(&pids, now);
        self.pids = pids;
        true
    }

    /// The process ids of the latest sample.
    pub(super) fn pids(&self) -> &BTreeSet<u32> {
        &self.pids
    }

    /// For several processes, what the busiest of them used since the previous sample.
    fn update_busiest(&mut self, used: &BTreeMap<u32, ProcessUsage>, now: Instant) {
        if used.len() < 2 {
            (self.sampled_at, self.busiest_cores) = (None, None);
            return self.cpu_s_by_pid.clear();
        }
        let each_s: BTreeMap<u32, f64> = used.iter().map(|(pid, usage)| (*pid, usage.cpu_s())).collect();
        let length_s = self.sampled_at.map(|before| now.duration_since(before).as_secs_f64()).filter(|s| *s > 0.0);
        let rise_s = |(pid, used_s): (&u32, &f64)| Some(used_s - self.cpu_s_by_pid.get(pid)?);
        let most_s = each_s.iter().filter_map(rise_s).max_by(f64::total_cmp);
        self.busiest_cores = most_s.zip(length_s).map(|(most_s, length_s)| round(most_s.max(0.0) / length_s));
        (self.cpu_s_by_pid, self.sampled_at) = (each_s, Some(now));
    }

    /// User and system time; for a tree also that of its exited processes, so that the sum does not shrink when one
    /// exits.
    fn cpu_total_s(&self) -> f64 {
        match self.scope {
            ProcessScope::Single => self.latest.cpu_s(),
            ProcessScope::Descendants | ProcessScope::Group => self.latest.cpu_s() + self.latest.cpu_children_s,
        }
    }

    fn cpu_since_s(&self) -> f64 {
        (self.cpu_ended_s + self.cpu_total_s() - self.cpu_before_s).max(0.0)
    }

    /// Its figures since observation began.
    #[must_use]
    pub(super) fn figures(&self) -> ProcessFigures {
        let rss = Rss { first: self.first_rss_bytes, peak: self.peak_rss_bytes, last: self.latest.rss_bytes };
        ProcessFigures { rss_bytes: Some(rss), cpu_s: Some(round(self.cpu_since_s())) }
    }

    /// The values of the latest sample, by name, without unknown ones. `cpu_s` counts from the beginning of
    /// observation, the rest is as the kernel reports it.
    #[must_use]
    pub(super) fn current(&self) -> BTreeMap<String, f64> {
        let count = |value: Option<u64>| value.map(|value| value as f64);
        let latest = &self.latest;
        let all = [
            ("rss_bytes", Some(latest.rss_bytes as f64)),
            ("pss_bytes", count(self.pss.latest_bytes)),
            ("cpu_s", Some(round(self.cpu_since_s()))),
            ("cpu_user_s", Some(round(latest.cpu_user_s))),
            ("cpu_system_s", Some(round(latest.cpu_system_s))),
            ("processes", Some(self.pids.len() as f64)),
            ("busiest_cores", self.busiest_cores),
            ("threads", Some(latest.threads as f64)),
            ("open_files", count(latest.open_files)),
            ("switches_voluntary", count(latest.switches_voluntary)),
            ("switches_involuntary", count(latest.switches_involuntary)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

impl Pss {
    fn update(&mut self, pids: &BTreeSet<u32>, now: Instant) {
        if self.next_read_at.is_some_and(|not_before| now < not_before) {
            return;
        }
        let begin = Instant::now();
        self.latest_bytes = read_pss_of(pids);
        self.next_read_at = Some(now + sample_pause(begin.elapsed(), PSS_EVERY));
    }
}

/// How long to wait, at least, after a sample that took this long.
pub(super) fn sample_pause(took: Duration, least: Duration) -> Duration {
    least.max(took.div_f64(PSS_SHARE_MAX))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::process::{Child, Command, Stdio};

    use super::*;

    #[track_caller]
    fn check_pause(took_ms: u64, expected_s: u64) {
        assert_eq!(
            sample_pause(Duration::from_millis(took_ms), PSS_EVERY),
            Duration::from_secs(expected_s),
            "{took_ms} ms"
        );
    }

    #[test]
    fn an_expensive_sample_is_rare() {
        check_pause(0, 10);
        check_pause(100, 10);
        check_pause(500, 50);
    }

    /// A process that uses CPU time (in rounds of a loop), prints that it has, and waits to be terminated.
    fn busy(rounds: u32) -> Child {
        let script = format!("i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done; echo; read line");
        let mut shell = Command::new("sh");
        let mut child = shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn cpu_time_continues_across_a_restart_and_starts_with_observation() {
        let first = busy(300_000);
        let mut all = vec![WatchedProcess::new("server", first.id(), ProcessScope::Descendants, &[]).unwrap()];
        assert_eq!(all[0].figures().cpu_s, Some(0.0));
        end(first);
        let second = busy(300_000);
        WatchedProcess::follow_restarts(&mut all, &[("bots".to_owned(), 1), ("server".to_owned(), second.id())]);
        WatchedProcess::sample_all(&mut all);
        let after_second = all[0].figures().cpu_s.unwrap();
        end(second);
        let third = busy(1);
        WatchedProcess::follow_restarts(&mut all, &[("server".to_owned(), third.id())]);
        WatchedProcess::sample_all(&mut all);
        let after_third = all[0].figures().cpu_s.unwrap();
        end(third);
        assert!(after_second > 0.0 && after_third >= after_second, "{after_second} {after_third}");
    }

    #[test]
    fn an_exited_process_keeps_its_figures_and_a_missing_one_is_not_watched() {
        let child = busy(1);
        let mut all = vec![WatchedProcess::new("server", child.id(), ProcessScope::Descendants, &[]).unwrap()];
        let before = all[0].current();
        assert!(all[0].is_running());
        end(child);
        assert!(!all[0].is_running());
        WatchedProcess::sample_all(&mut all);
        assert_eq!(all[0].current(), before);
        assert!(before["rss_bytes"] > 0.0 && before["processes"] == 1.0 && before.contains_key("pss_bytes"));
        assert!(WatchedProcess::new("server", u32::MAX, ProcessScope::Descendants, &[]).is_none());
        assert!(WatchedProcess::new("server", u32::MAX, ProcessScope::Single, &[]).is_none());
    }
}
