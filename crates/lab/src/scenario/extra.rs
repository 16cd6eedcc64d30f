//! What a trial does besides sending requests: faults, limits of the target, observers, feeds and keys, the bounds of
//! the run, the generator's own shape, and which of the target's metrics mean what. Refuses to carry any of it out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::template::Template;

/// Something that is done to a process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When, from the start of the plan.
    pub at: Duration,
    /// What.
    pub act: FaultAct,
    /// To which process: `server`, or the name of a `[[process]]`.
    pub process: String,
    /// How long it lasts: a stopped process goes on, a killed one starts again after this time.
    pub lasting: Option<Duration>,
}

/// What is done to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAct {
    /// SIGKILL to its group.
    Kill,
    /// SIGSTOP to its group.
    Stop,
    /// SIGCONT to its group.
    Continue,
    /// SIGTERM.
    Term,
    /// Ended, if it lives, and started again with the same command.
    Restart,
}

/// What the target may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TargetLimits {
    /// Memory of all its processes; beyond it the kernel kills.
    pub memory_bytes: Option<u64>,
    /// Processor time, in cores.
    pub cpu_share: Option<f64>,
    /// Open files of a process.
    pub open_files: Option<u64>,
}

/// Figures of an endpoint of the target, read once in a while and put on the timeline.
#[derive(Clone, Debug)]
pub struct Observe {
    /// Its name: figures are found under it.
    pub name: String,
    /// The request that reads them.
    pub path: Template,
    /// From one reading to the next.
    pub every: Duration,
    /// Figures: name and JSON pointer.
    pub figures: Vec<(String, String)>,
}

/// Rows from a file, whose columns templates use as `{{feed.NAME.COLUMN}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Its name.
    pub name: String,
    /// The file, relative to the scenario's.
    pub file: String,
    /// CSV with a heading, or one JSON object per line.
    pub format: FeedFormat,
    /// Which row an arrival gets.
    pub order: FeedOrder,
}

/// How a feed's file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FeedFormat {
    Csv,
    JsonLines,
}

/// Which row an arrival gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedOrder {
    /// One after the other, from the beginning again at the end.
    Cycle,
    /// Any, by the arrival's seed.
    Random,
}

/// Keys that arrivals draw from, as `{{key.NAME}}`: a number from 0 to below `count`.
#[derive(Clone, Debug, PartialEq)]
pub struct Keys {
    /// Its name.
    pub name: String,
    /// Different keys.
    pub count: u64,
    /// How often each is drawn.
    pub spread: Spread,
}

/// How often each key is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// All alike.
    Uniform,
    /// Key k with a weight of 1 / (k + 1)^s (Zipf's law).
    Zipf(f64),
}

/// Bounds of the whole run; what reaches one ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// From the first moment of the plan.
    pub time: Duration,
    /// Requests.
    pub requests: u64,
    /// Connections open at once.
    pub connections: u64,
}

/// The lab itself.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorSpec {
    /// The 99th percentile of schedule lag beyond which a failed gate is void.
    pub lag_p99_max: Duration,
    /// Worker threads; the lab decides when it says nothing.
    pub workers: Option<usize>,
    /// Source addresses; the lab decides when it lists none.
    pub sources: Vec<IpAddr>,
}

/// Which of the target's metrics mean what, so that findings can name a bottleneck: role and name of the metric. The
/// metrics of our own server are known without.
pub type Signals = BTreeMap<String, String>;
