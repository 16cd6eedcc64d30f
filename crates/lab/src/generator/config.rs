//! What a load generator is started with: the same for all of its workers, except their share of the plan. Does not know
//! how workers run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::monotonic_time::MonotonicTime;
use crate::scenario::{FeedRows, Scenario, ScenarioSource};

#[derive(Clone, Debug)]
pub struct GeneratorConfig {
    pub scenario: Arc<Scenario>,
    pub inputs: RunInputs,
    /// The share of the plan that this pool drives.
    pub segment: Segment,
    /// How worker processes are started, if this process may not open all connections; without it all workers are
    /// threads of this process.
    pub processes: Option<WorkerProcessSpec>,
}

/// What the run adds to its scenario: the same for all workers, in whichever process they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunInputs {
    /// The target, resolved: the first address that accepts a connection is used.
    pub addresses: Vec<SocketAddr>,
    /// The message endpoints, resolved, in the scenario's order.
    pub message_endpoints: Vec<Vec<SocketAddr>>,
    /// Names and values of the headers of every request; the names are in lower case.
    pub headers: Vec<(String, String)>,
    /// Values of the whole run: its id, secrets, what the setup kept.
    pub globals: BTreeMap<String, String>,
    /// The lists to pick from.
    pub picks: Vec<Vec<String>>,
    /// The rows of every feed.
    pub feeds: Vec<FeedRows>,
    pub run_id: String,
    /// The start of the plan: the same in every process of the machine.
    pub start: MonotonicTime,
    /// Addresses that connections come from, in turn; the system chooses if there are none.
    pub source_addresses: Vec<IpAddr>,
    /// Whether rows of samples.csv are written.
    pub writes_samples: bool,
}

/// A share of the plan: some of its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The number of the first worker.
    pub first: u32,
    /// Workers of this share.
    pub count: u32,
    pub total_workers: u32,
}

impl Segment {
    /// The whole plan, for so many workers.
    #[must_use]
    pub fn whole(workers: u32) -> Self {
        Self { first: 0, count: workers, total_workers: workers }
    }
}

/// The hidden command of the binary.
pub const WORKER_COMMAND: &str = "lab-worker";

/// How worker processes are started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerProcessSpec {
    /// The program and its arguments: one that calls [`super::run_worker_process`].
    pub command: Vec<OsString>,
    pub scenario_source: ScenarioSource,
    /// Connections that will be open at once, over all workers.
    pub connections: u64,
}

impl WorkerProcessSpec {
    /// Processes of a program that has the hidden command.
    #[must_use]
    pub fn new(program: PathBuf, scenario_source: ScenarioSource, connections: u64) -> Self {
        Self { command: vec![program.into(), WORKER_COMMAND.into()], scenario_source, connections }
    }
}
