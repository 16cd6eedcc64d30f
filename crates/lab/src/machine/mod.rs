//! The machine that a figure belongs to, and the processes on it, read from /proc. What cannot be read is missing from
//! the record, never made up.

mod disk;
mod host;
mod proc_text;
mod process;
mod process_table;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use disk::{free_bytes, fsync_ms_p50};
pub use host::{HostCounters, local_ports};
pub use process::{ProcessUsage, process_name, read_pss_bytes, read_usage, start_ticks};
pub use process_table::ProcessTable;
pub(crate) use process_table::{read_pss_of, read_usages};

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
    /// Inspects the machine, and measures the disk below `dir`.
    #[must_use]
    pub fn inspect(dir: &Path) -> Self {
        let memory = fs::read_to_string("/proc/meminfo").ok();
        let processor = fs::read_to_string("/proc/cpuinfo").ok();
        Self {
            cores: std::thread::available_parallelism().ok().map(Into::into),
            memory_bytes: memory.and_then(|info| proc_text::kib_to_bytes(proc_text::value_of(&info, "MemTotal")?)),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
            cpu_model: processor.and_then(|info| proc_text::value_of(&info, "model name").map(str::to_owned)),
            fsync_ms_p50: fsync_ms_p50(dir).ok(),
        }
    }
}
