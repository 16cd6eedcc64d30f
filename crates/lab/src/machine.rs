//! The machine that a figure belongs to, and the processes on it, seen through /proc. What cannot be read is
//! missing from the record, never made up.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Syncs that the median is taken of.
const SYNCS: usize = 31;

/// A slow disk shall not hold the trial up.
const SYNCS_WITHIN: Duration = Duration::from_secs(2);

/// What figures depend on besides the program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors that this process may use.
    pub cores: Option<usize>,
    /// Physical memory.
    pub memory_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The processor's name.
    pub cpu_model: Option<String>,
    /// The median of writing 4 KiB durably into the directory of the run, before the run.
    pub fsync_ms_p50: Option<f64>,
}

impl Machine {
    /// Looks around, and measures the disk below `dir`.
    #[must_use]
    pub fn inspect(dir: &Path) -> Self {
        let line = |path: &str, key: &str| {
            let text = fs::read_to_string(path).ok()?;
            let line = text.lines().find(|line| line.starts_with(key))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        };
        Self {
            cores: std::thread::available_parallelism().ok().map(Into::into),
            memory_bytes: line("/proc/meminfo", "MemTotal").and_then(|text| kib(&text)),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
            cpu_model: line("/proc/cpuinfo", "model name"),
            fsync_ms_p50: fsync_ms_p50(dir).ok(),
        }
    }
}

fn fsync_ms_p50(dir: &Path) -> io::Result<f64> {
    let path = dir.join("fsync.tmp");
    let mut file = File::create(&path)?;
    let (block, begin) = ([0x5a_u8; 4096], Instant::now());
    let mut took = Vec::with_capacity(SYNCS);
    while took.len() < SYNCS && begin.elapsed() < SYNCS_WITHIN {
        let start = Instant::now();
        file.write_all(&block)?;
        file.sync_data()?;
        took.push(start.elapsed());
    }
    drop(file);
    fs::remove_file(path)?;
    took.sort();
    Ok(crate::fold::round(took[took.len() / 2].as_secs_f64() * 1000.0))
}

/// What a process uses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Resident memory.
    pub rss_bytes: u64,
    /// Processor time since it started, user and system.
    pub cpu_s: f64,
}

/// The usage of a living process of this machine.
#[must_use]
pub fn usage(pid: u32) -> Option<Usage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let rss = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let cpu_s = cpu_ticks(&stat)? as f64 / rustix::param::clock_ticks_per_second() as f64;
    Some(Usage { rss_bytes: kib(rss)?, cpu_s })
}

/// Fields 14 and 15 of proc_pid_stat(5). The second field is the program's name and may hold anything, so counting
/// starts behind its last parenthesis.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
}

fn kib(text: &str) -> Option<u64> {
    text.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_behind_any_name() {
        let rest = "S 1 2 3 4 5 6 7 8 9 10 70 30 0 0 20";
        assert_eq!(cpu_ticks(&format!("42 (server) {rest}")), Some(100));
        assert_eq!(cpu_ticks(&format!("42 (a ) b (c) {rest}")), Some(100));
        assert_eq!(cpu_ticks("42 (server"), None);
        assert_eq!(cpu_ticks("42 (server) S 1"), None);
    }

    #[test]
    fn sizes() {
        assert_eq!(kib("   1234 kB"), Some(1_263_616));
        assert_eq!(kib("many"), None);
    }

    #[test]
    fn this_process_has_a_usage_and_an_ended_one_has_none() {
        assert!(usage(std::process::id()).is_some_and(|usage| usage.rss_bytes > 0));
        assert_eq!(usage(u32::MAX), None);
    }
}
