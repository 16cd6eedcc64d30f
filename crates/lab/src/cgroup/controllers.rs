//! What is written into the files of a control group to limit it, and how its statistics are read; see cgroups(7) and
//! the kernel's documents on cgroup-v1 and cgroup-v2. PURE. Touches no file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::locate::Version;
use crate::limits::{CPU_PERIOD, CPU_QUOTA_MIN};

/// A controller and its limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ControllerLimit {
    /// In bytes.
    Memory(u64),
    Cpu(Quota),
}

/// A share of processor time: so much of every period, over all processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Processor time in one period, in microseconds.
    pub quota_us: u64,
    /// The period, in microseconds.
    pub period_us: u64,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CgroupFile {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// Whether the limit holds without this file, which some kernels do not have.
    pub(super) is_optional: bool,
}

/// What the limits of a run did to the target, counted by the kernel over all its processes and restarts: waits for the processor since the
/// load began, memory since the target was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitStats {
    /// Processes that the kernel killed for lack of memory.
    pub oom_kills: Option<u64>,
    /// The highest memory use, page cache included, in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// How often the memory limit was reached and memory had to be reclaimed. None with the first interface, whose
    /// count stays 0 in newer kernels.
    pub memory_limit_hits: Option<u64>,
    /// Periods in which the target wanted to run.
    pub cpu_periods: Option<u64>,
    /// Of those: periods in which it had to wait because its quota was used up.
    pub cpu_throttled_periods: Option<u64>,
    /// How long its threads waited for that reason, added up, in microseconds.
    pub cpu_throttled_us: Option<u64>,
}

impl LimitStats {
    /// Without the waits for the processor that were counted before.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let rise = |now: Option<u64>, before: Option<u64>| now.map(|now| now.saturating_sub(before.unwrap_or(0)));
        Self {
            cpu_periods: rise(self.cpu_periods, before.cpu_periods),
            cpu_throttled_periods: rise(self.cpu_throttled_periods, before.cpu_throttled_periods),
            cpu_throttled_us: rise(self.cpu_throttled_us, before.cpu_throttled_us),
            ..self
        }
    }
}

impl Quota {
    /// The share in cores, such as 0.5, in periods of [`CPU_PERIOD`]: short ones, so that a target at its limit is
    /// slowed down evenly instead of standing still for a tenth of a second. The kernel gives no less than
    /// [`CPU_QUOTA_MIN`] at a time, so a very small share needs a longer period.
    #[must_use]
    pub fn from_cores(cores: f64) -> Self {
        let micros = |time: Duration| time.as_micros() as f64;
        let period = micros(CPU_PERIOD).max((micros(CPU_QUOTA_MIN) / cores).ceil());
        Self { quota_us: (cores * period).round().max(micros(CPU_QUOTA_MIN)) as u64, period_us: period as u64 }
    }
}

impl ControllerLimit {
    /// The kernel's name of the controller, which scenarios use as well.
    pub(super) fn controller(self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::Cpu(_) => "cpu",
        }
    }

    /// What to write, in this order.
    pub(super) fn files(self, version: Version) -> Vec<CgroupFile> {
        let must = |file, value| CgroupFile { name: file, value, is_optional: false };
        let extra = |file, value| CgroupFile { name: file, value, is_optional: true };
        match (self, version) {
            // Swapped memory would be memory beyond the limit. The first interface counts both in one figure, which
            // must not be below the memory's; where swap is not counted, swapping itself is turned off.
            (Self::Memory(bytes), Version::V1) => vec![
                must("memory.limit_in_bytes", bytes.to_string()),
                extra("memory.memsw.limit_in_bytes", bytes.to_string()),
                extra("memory.swappiness", "0".to_owned()),
            ],
            (Self::Memory(bytes), Version::V2) => {
                vec![must("memory.max", bytes.to_string()), extra("memory.swap.max", "0".to_owned())]
            }
            (Self::Cpu(Quota { quota_us, period_us }), Version::V1) => {
                vec![must("cpu.cfs_period_us", period_us.to_string()), must("cpu.cfs_quota_us", quota_us.to_string())]
            }
            (Self::Cpu(Quota { quota_us, period_us }), Version::V2) => {
                vec![must("cpu.max", format!("{quota_us} {period_us}"))]
            }
        }
    }

    /// Adds the statistics of a group; `read` returns the text of one of its files.
    pub(super) fn read_stats(self, version: Version, stats: &mut LimitStats, read: &dyn Fn(&str) -> Option<String>) {
        let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
        let count = |file: &str, key: &str| count(&read(file)?, key);
        match (self, version) {
            (Self::Memory(_), Version::V1) => {
                stats.oom_kills = count("memory.oom_control", "oom_kill");
                stats.memory_peak_bytes = number("memory.max_usage_in_bytes");
            }
            (Self::Memory(_), Version::V2) => {
                stats.oom_kills = count("memory.events", "oom_kill");
                stats.memory_peak_bytes = number("memory.peak");
                stats.memory_limit_hits = count("memory.events", "max");
            }
            (Self::Cpu(_), version) => {
                stats.cpu_periods = count("cpu.stat", "nr_periods");
                stats.cpu_throttled_periods = count("cpu.stat", "nr_throttled");
                stats.cpu_throttled_us = match version {
                    // Nanoseconds.
                    Version::V1 => count("cpu.stat", "throttled_time").map(|time| time / 1000),
                    Version::V2 => count("cpu.stat", "throttled_usec"),
                };
            }
        }
    }
}

/// The number after a key, in lines of `key number`.
fn count(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_share(cores: f64, quota_us: u64, period_us: u64) {
        assert_eq!(Quota::from_cores(cores), Quota { quota_us, period_us }, "{cores}");
    }

    /// The start of the target waits for the processor, too; its memory stays in use.
    #[test]
    fn waits_count_since_the_load_began() {
        let stats = |periods, throttled, us| LimitStats {
            memory_peak_bytes: Some(7),
            cpu_periods: Some(periods),
            cpu_throttled_periods: Some(throttled),
            cpu_throttled_us: Some(us),
            ..LimitStats::default()
        };
        assert_eq!(stats(10_000, 4_100, 900).since(stats(4_000, 4_000, 700)), stats(6_000, 100, 200));
        assert_eq!(stats(5, 4, 3).since(LimitStats::default()), stats(5, 4, 3));
    }

    #[test]
    fn shares() {
        check_share(0.5, 2_500, 5_000);
        check_share(1.0, 5_000, 5_000);
        check_share(1.75, 8_750, 5_000);
        check_share(0.2, 1_000, 5_000);
        check_share(0.1, 1_000, 10_000);
        check_share(0.001, 1_000, 1_000_000);
        check_share(64.0, 320_000, 5_000);
    }

    proptest::proptest! {
        #[test]
        fn a_share_is_what_was_asked_for_and_what_the_kernel_takes(cores in 0.001f64..128.0) {
            let Quota { quota_us, period_us } = Quota::from_cores(cores);
            let given = quota_us as f64 / period_us as f64;
            proptest::prop_assert!((given - cores).abs() <= 0.001 * cores.max(0.2), "{given} for {cores}");
            // From kernel/sched: both at least 1 ms, the period at most 1 s.
            proptest::prop_assert!(quota_us >= 1_000 && (1_000..=1_000_000).contains(&period_us));
        }
    }

    #[track_caller]
    fn check_settings(limit: ControllerLimit, version: Version, expected: &[(&str, &str)]) {
        let settings = limit.files(version);
        let found: Vec<_> = settings.iter().map(|setting| (setting.name, setting.value.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn settings() {
        let half = ControllerLimit::Cpu(Quota::from_cores(0.5));
        check_settings(half, Version::V1, &[("cpu.cfs_period_us", "5000"), ("cpu.cfs_quota_us", "2500")]);
        check_settings(half, Version::V2, &[("cpu.max", "2500 5000")]);
        let memory =
            [("memory.limit_in_bytes", "4096"), ("memory.memsw.limit_in_bytes", "4096"), ("memory.swappiness", "0")];
        check_settings(ControllerLimit::Memory(4096), Version::V1, &memory);
        check_settings(ControllerLimit::Memory(4096), Version::V2, &[("memory.max", "4096"), ("memory.swap.max", "0")]);
    }

    #[track_caller]
    fn check_seen(limit: ControllerLimit, version: Version, files: &[(&str, &str)], expected: LimitStats) {
        let read = |name: &str| Some(files.iter().find(|(file, _)| *file == name)?.1.to_owned());
        let mut stats = LimitStats::default();
        limit.read_stats(version, &mut stats, &read);
        assert_eq!(stats, expected);
    }

    #[test]
    fn what_memory_limits_did() {
        let memory = ControllerLimit::Memory(1);
        let expected = LimitStats {
            oom_kills: Some(3),
            memory_peak_bytes: Some(77),
            memory_limit_hits: Some(9),
            ..LimitStats::default()
        };
        let v1 = [
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
            ("memory.max_usage_in_bytes", "77\n"),
            ("memory.failcnt", "0\n"),
        ];
        check_seen(memory, Version::V1, &v1, LimitStats { memory_limit_hits: None, ..expected });
        let v2 =
            [("memory.events", "low 0\nhigh 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 1\n"), ("memory.peak", "77\n")];
        check_seen(memory, Version::V2, &v2, expected);
        check_seen(memory, Version::V2, &[], LimitStats::default());
        check_seen(memory, Version::V2, &[("memory.events", "oom_kill many")], LimitStats::default());
    }

    #[test]
    fn what_processor_limits_did() {
        let half = ControllerLimit::Cpu(Quota::from_cores(0.5));
        let expected = LimitStats {
            cpu_periods: Some(40),
            cpu_throttled_periods: Some(30),
            cpu_throttled_us: Some(5),
            ..LimitStats::default()
        };
        let v1 = "nr_periods 40\nnr_throttled 30\nthrottled_time 5999\nnr_bursts 0\n";
        check_seen(half, Version::V1, &[("cpu.stat", v1)], expected);
        let v2 = "usage_usec 1\nnr_periods 40\nnr_throttled 30\nthrottled_usec 5\n";
        check_seen(half, Version::V2, &[("cpu.stat", v2)], expected);
    }
}
