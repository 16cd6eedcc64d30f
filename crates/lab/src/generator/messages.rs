//! What the lab and its workers send each other: commands, reports and gauges. Threads get them over channels; a worker
//! process gets one JSON object a line, over a socket that is its standard input. Secrets are sent there and nowhere
//! else. Does not know threads and processes.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::config::{RunInputs, Segment};
use crate::measurement::{Interval, PauseImpact};
use crate::plan::LoadSpec;
use crate::scenario::ScenarioSource;

/// What workers report.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // One a second: a box would save nothing.
pub enum WorkerReport {
    /// Once a second while there is something to report, before a load step is reported as done, and at the end. A
    /// second may be reported in several intervals.
    Interval(Interval),
    /// Work whose creation was answered.
    WorkStarted(Vec<StartedWork>),
    /// Every connection that this worker holds for the load step is open. Each worker reports this once for every load
    /// that holds connections, after all figures of the opening; requests over them start with
    /// [`WorkerPool::start_requests`](super::worker_pool::WorkerPool::start_requests).
    ConnectionsOpen {
        worker: u32,
        load_step: u32,
        /// When the last of them was open, from the start of the plan.
        at: Duration,
    },
    /// This worker will never send anything for the load step again, and everything of it has ended. Each worker
    /// reports this once for every load step of every load, after all figures of the load step and all work that it
    /// started.
    LoadStepDone {
        worker: u32,
        load_step: u32,
        /// When, from the start of the plan.
        at: Duration,
        /// Arrivals of the load step that were due and never sent.
        not_sent: u64,
        /// How pauses of the worker have changed the load step's length.
        pause_impact: PauseImpact,
    },
    WorkerEnded {
        worker: u32,
    },
    /// The worker cannot continue, and the trial must end with this message.
    WorkerFailed {
        worker: u32,
        message: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedWork {
    /// The index of the kind of work in the scenario.
    pub work_index: usize,
    pub id: Box<str>,
    /// When the arrival that started it was due.
    pub intended: Duration,
    /// When its creation was answered.
    pub done: Duration,
}

/// The load at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Arrivals in flight.
    pub in_flight: u64,
    /// Arrivals that are due and wait for a slot.
    pub queued: u64,
    /// Connections, including those that are being opened or closed.
    pub connections: u64,
    /// Arrivals that have been due so far.
    pub due: u64,
    /// Arrivals that have ended so far.
    pub done: u64,
    /// Open connections of `hold` phases.
    pub held: u64,
    /// Long polls in flight.
    pub long_polls: u64,
    /// Requests in flight.
    pub exchanging: u64,
    /// Requests that have ended so far, whatever their result.
    pub exchanged: u64,
    /// Loads that begin further journeys, summed over the workers.
    pub continuing: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum WorkerCommand {
    /// Drives its segment of this load.
    StartLoad(LoadSpec),
    /// All connections that the load step holds are open, at every worker: its duration starts at `at`, from the start
    /// of the plan.
    StartRequests { load_step: u32, at: Duration },
    /// Ends the load step and its load.
    EndLoadStep(u32),
    /// Ends everything; what is in flight may take so long.
    Stop(Duration),
}

/// The gauges of one worker, which is their only writer.
#[derive(Debug, Default)]
pub(crate) struct AtomicGauges([AtomicU64; GAUGE_COUNT]);

pub(crate) const GAUGE_COUNT: usize = 10;

impl AtomicGauges {
    pub(crate) fn store(&self, gauges: Gauges) {
        let Gauges { in_flight, queued, connections, due, done, held, long_polls, exchanging, exchanged, continuing } =
            gauges;
        self.store_values([
            in_flight,
            queued,
            connections,
            due,
            done,
            held,
            long_polls,
            exchanging,
            exchanged,
            continuing,
        ]);
    }

    /// In the order of the fields.
    pub(crate) fn store_values(&self, values: [u64; GAUGE_COUNT]) {
        for (gauge, value) in self.0.iter().zip(values) {
            gauge.store(value, Ordering::Relaxed);
        }
    }

    /// In the order of the fields.
    pub(crate) fn load(&self) -> [u64; GAUGE_COUNT] {
        std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }
}

/// The first line to a worker process: the scenario, and what its workers need besides.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkerInit<'a> {
    pub(crate) scenario_source: Cow<'a, ScenarioSource>,
    pub(crate) inputs: Cow<'a, RunInputs>,
    pub(crate) segment: Segment,
}

/// A line from a worker process.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // One a second: a box would save nothing.
pub(crate) enum WorkerMessage {
    /// Its workers have started.
    Ready,
    /// The workers cannot start; the message for the user.
    Failed(String),
    /// The sum of its workers' gauges.
    Gauges([u64; GAUGE_COUNT]),
    Report(WorkerReport),
}

pub(crate) fn write(out: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(frame)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Reads a line; none at the end of the stream.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
