//! The pool of all workers of a trial: threads of this process, or worker processes. Each worker takes its own segment
//! of every load that it is sent. Does not know what workers do and what their reports mean.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::monotonic_time::MonotonicTime;
use super::poller::Waker;
use super::worker::Worker;
use super::worker_processes::{WorkerProcess, WorkerProcessSpec, process_segments};
use crate::measurement::{Interval, PauseImpact};
use crate::plan::LoadSpec;
use crate::scenario::{FeedRows, Scenario};

#[derive(Clone, Debug)]
pub struct GeneratorConfig {
    pub scenario: Arc<Scenario>,
    /// The target, resolved: the first address that accepts a connection is used.
    pub addresses: Vec<SocketAddr>,
    /// The message endpoints, resolved, in the scenario's order.
    pub message_endpoints: Vec<Vec<SocketAddr>>,
    /// Headers of every request.
    pub headers: HeaderMap,
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
    /// The share of the plan that this pool drives.
    pub segment: Segment,
    /// How worker processes are started, if this process may not open all connections; without it all workers are
    /// threads of this process.
    pub processes: Option<WorkerProcessSpec>,
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
    /// [`WorkerPool::start_requests`].
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

pub(crate) const GAUGE_COUNT: usize = 9;

impl AtomicGauges {
    pub(crate) fn store(&self, gauges: Gauges) {
        let Gauges { in_flight, queued, connections, due, done, held, long_polls, exchanging, exchanged } = gauges;
        self.store_values([in_flight, queued, connections, due, done, held, long_polls, exchanging, exchanged]);
    }

    /// In the order of the fields.
    pub(crate) fn store_values(&self, values: [u64; GAUGE_COUNT]) {
        for (gauge, value) in self.0.iter().zip(values) {
            gauge.store(value, Ordering::Relaxed);
        }
    }

    fn load(&self) -> [u64; GAUGE_COUNT] {
        std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }
}

/// All workers of a trial. Dropping it stops them at once and waits for them.
#[derive(Debug)]
pub struct WorkerPool {
    threads: Vec<WorkerThread>,
    processes: Vec<WorkerProcess>,
    workers: u32,
}

/// The pool's handle of a worker thread.
#[derive(Debug)]
struct WorkerThread {
    commands: Option<mpsc::Sender<WorkerCommand>>,
    waker: Waker,
    gauges: Arc<AtomicGauges>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerPool {
    /// Starts workers: as many as the configuration's segment has, or `workers` if it is empty. If more connections are
    /// needed than this process may open, there may be more workers, in processes of their own.
    ///
    /// # Errors
    /// The system provides no thread, process or descriptor, or the requests cannot be built.
    #[allow(clippy::needless_pass_by_value)] // The pool owns it from here on.
    pub fn start(config: Arc<GeneratorConfig>, workers: usize) -> io::Result<(Self, UnboundedReceiver<WorkerReport>)> {
        let (reports, inbox) = unbounded_channel();
        let segment = match config.segment {
            Segment { count: 0, .. } => Segment::whole(u32::try_from(workers.max(1)).unwrap_or(u32::MAX)),
            given => given,
        };
        let mut pool = Self { threads: Vec::new(), processes: Vec::new(), workers: segment.count };
        if let Some(processes) = &config.processes {
            let segments = process_segments(segment, processes.connections);
            pool.processes = WorkerProcess::start(&config, processes, &segments, &reports)?;
            pool.workers = segments.iter().map(|segment| segment.count).sum::<u32>().max(segment.count);
        }
        if pool.processes.is_empty() {
            for number in segment.first..segment.first.saturating_add(segment.count) {
                pool.threads.push(WorkerThread::start(&config, number, segment.total_workers, reports.clone())?);
            }
        }
        Ok((pool, inbox))
    }

    /// Starts a load; every worker drives its own segment.
    pub fn start_load(&self, spec: LoadSpec) {
        self.send_command(&WorkerCommand::StartLoad(spec));
    }

    /// Starts the requests of a load that holds connections, at a time from the start of the plan. Call it once every
    /// worker has reported that its connections are open.
    pub fn start_requests(&self, load_step: u32, at: Duration) {
        self.send_command(&WorkerCommand::StartRequests { load_step, at });
    }

    /// Ends a load step and its load: what is due and was not sent is counted as such and dropped, clients of a closed
    /// loop end after their exchange, held connections are closed.
    pub fn end_load_step(&self, load_step: u32) {
        self.send_command(&WorkerCommand::EndLoadStep(load_step));
    }

    /// Ends everything: nothing new is sent; what is in flight after `grace` is dropped and counted as abandoned.
    pub fn stop(&self, grace: Duration) {
        self.send_command(&WorkerCommand::Stop(grace));
    }

    /// The number of workers, each of which reports by itself.
    #[must_use]
    pub fn worker_count(&self) -> usize {
        self.workers as usize
    }

    /// The worker processes, if there are any.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(WorkerProcess::pid).collect()
    }

    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let [in_flight, queued, connections, due, done, held, long_polls, exchanging, exchanged] = self.gauge_sums();
        Gauges { in_flight, queued, connections, due, done, held, long_polls, exchanging, exchanged }
    }

    pub(crate) fn gauge_sums(&self) -> [u64; GAUGE_COUNT] {
        let mut sum = [0; GAUGE_COUNT];
        let gauges = self
            .threads
            .iter()
            .map(|thread| &thread.gauges)
            .chain(self.processes.iter().map(|process| &process.gauges));
        for gauges in gauges {
            sum.iter_mut().zip(gauges.load()).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    pub(crate) fn send_command(&self, command: &WorkerCommand) {
        self.threads.iter().for_each(|thread| thread.send(command.clone()));
        self.processes.iter().for_each(|process| process.send(command));
    }
}

impl WorkerThread {
    fn start(
        config: &Arc<GeneratorConfig>,
        number: u32,
        of: u32,
        reports: UnboundedSender<WorkerReport>,
    ) -> io::Result<Self> {
        let (commands, inbox) = mpsc::channel();
        let (ready, readiness) = mpsc::sync_channel(1);
        let gauges = Arc::new(AtomicGauges::default());
        let (config, shown) = (config.clone(), gauges.clone());
        let thread = std::thread::Builder::new().name(format!("load-{number}")).spawn(move || {
            match Worker::new(config, number, of, inbox, reports, shown) {
                Ok(worker) => {
                    let _ = ready.send(Ok(worker.waker()));
                    worker.run();
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                }
            }
        })?;
        let gone = |_| io::Error::other("a worker ended before it began");
        let waker = readiness.recv().map_err(gone)??;
        Ok(Self { commands: Some(commands), waker, gauges, thread: Some(thread) })
    }

    fn send(&self, command: WorkerCommand) {
        if let Some(commands) = &self.commands {
            // A worker that has ended needs no commands.
            let _ = commands.send(command);
            self.waker.wake();
        }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        for worker in &mut self.threads {
            worker.commands = None;
            worker.waker.wake();
        }
        for worker in &mut self.threads {
            if let Some(thread) = worker.thread.take() {
                // The worker itself has reported its panic.
                let _ = thread.join();
            }
        }
    }
}
