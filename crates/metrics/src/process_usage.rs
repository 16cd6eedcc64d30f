//! The resource usage of this process, read from `/proc/self`. A value that cannot be read is left out, never guessed.

use std::time::Duration;

/// One entry for each open file.
const OPEN_FILES: &str = "/proc/self/fd";

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessUsage {
    pub rss_bytes: Option<u64>,
    /// Processor time used so far, by programs and kernel, in seconds.
    pub cpu_s: Option<f64>,
    pub threads: Option<u64>,
    pub open_files: Option<u64>,
}

impl ProcessUsage {
    #[must_use]
    pub fn read() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self {
            rss_bytes: field(&status, "VmRSS:").map(|kib| kib * 1_024),
            cpu_s: cpu().map(|cpu| cpu.as_secs_f64()),
            threads: field(&status, "Threads:"),
            open_files: open_files(),
        }
    }
}

/// The number behind a name in the format of `/proc/*/status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

fn cpu() -> Option<Duration> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Some(Duration::new(u64::try_from(used.tv_sec).ok()?, u32::try_from(used.tv_nsec).ok()?))
}

/// Since Linux 6.2 the size of the directory is the number of its entries; before, it is 0 and they are counted. Listing takes a thread of
/// the runtime nearly a microsecond for each: with 14,000 connections it was blocked for 12 ms at every read.
fn open_files() -> Option<u64> {
    match std::fs::metadata(OPEN_FILES).ok()?.len() {
        0 => listed_files(),
        entries => Some(entries),
    }
}

fn listed_files() -> Option<u64> {
    let listed = std::fs::read_dir(OPEN_FILES).ok()?.count();
    // The listing itself holds one open.
    Some((listed as u64).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: &str, name: &str, want: Option<u64>) {
        assert_eq!(field(status, name), want);
    }

    #[test]
    fn fields_of_the_status_are_read() {
        let status = "Name:\tgauntlet\nVmRSS:\t   27340 kB\nThreads:\t5\n";
        check(status, "VmRSS:", Some(27_340));
        check(status, "Threads:", Some(5));
        check(status, "VmSwap:", None);
        check("VmRSS:\tmany kB", "VmRSS:", None);
    }

    #[test]
    fn open_files_are_counted_in_either_way() {
        /// Other tests of this process open and close files meanwhile, but not so many.
        const FILES: u64 = 400;
        if !cfg!(target_os = "linux") {
            return;
        }
        for count in [open_files, listed_files] {
            let before = count().unwrap();
            let files: Vec<_> = (0..FILES).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
            let opened = count().unwrap().saturating_sub(before);
            assert!((FILES / 2..FILES * 3 / 2).contains(&opened), "{opened} of {}", files.len());
        }
    }

    #[test]
    fn a_living_process_takes_something() {
        let own = ProcessUsage::read();
        assert!(own.cpu_s.is_some_and(|cpu_s| cpu_s > 0.0));
        if cfg!(target_os = "linux") {
            assert!(own.rss_bytes > Some(0) && own.threads > Some(0) && own.open_files > Some(0), "{own:?}");
        }
    }
}
