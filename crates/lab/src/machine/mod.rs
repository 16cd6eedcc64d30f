//! The machine that a figure belongs to, and the processes on it, seen through /proc. What cannot be read is
//! missing from the record, never made up.

mod disk;
mod host;
mod process;
mod text;
mod tree;

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

pub use disk::{free_bytes, fsync_ms_p50};
pub use host::{Host, HostFigures, local_ports};
pub use process::{Usage, identity, name_of, pss_bytes, usage};
pub use tree::{Processes, Row};
pub(crate) use tree::{pss_of, usages};

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
        let memory = fs::read_to_string("/proc/meminfo").ok();
        let processor = fs::read_to_string("/proc/cpuinfo").ok();
        Self {
            cores: std::thread::available_parallelism().ok().map(Into::into),
            memory_bytes: memory.and_then(|info| text::kib(text::value(&info, "MemTotal")?)),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
            cpu_model: processor.and_then(|info| text::value(&info, "model name").map(str::to_owned)),
            fsync_ms_p50: fsync_ms_p50(dir).ok(),
        }
    }
}
