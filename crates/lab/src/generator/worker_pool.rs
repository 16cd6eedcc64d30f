//! The crew: all workers of a trial behind one door, threads of this process or of others. Of each leg that they are
//! sent, each takes its own segment. Refuses to know what workers do and what their reports mean.

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
use crate::plan::LoadSpec;
use crate::record::{Interval, PauseImpact};
use crate::scenario::{FeedRows, Scenario};

/// Everything that the workers of a trial share.
#[derive(Clone, Debug)]
pub struct GeneratorConfig {
    /// The trial.
    pub scenario: Arc<Scenario>,
    /// The target, resolved: the first address that takes a connection is used.
    pub addresses: Vec<SocketAddr>,
    /// The doors for messages, resolved, in the scenario's order.
    pub message_endpoints: Vec<Vec<SocketAddr>>,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Values of the whole run: its id, secrets, what the setup kept.
    pub globals: BTreeMap<String, String>,
    /// The lists to pick from.
    pub picks: Vec<Vec<String>>,
    /// The rows of every feed.
    pub feeds: Vec<FeedRows>,
    /// The id of the run.
    pub run_id: String,
    /// The plan's first moment: the same in every process of the machine.
    pub start: MonotonicTime,
    /// Addresses that connections come from, in turn; the system chooses where there are none.
    pub source_addresses: Vec<IpAddr>,
    /// Whether rows of samples.csv are wanted.
    pub writes_samples: bool,
    /// The share of the plan that this crew drives.
    pub segment: Segment,
    /// How workers are started in processes of their own, where this one may not open all connections; without it
    /// all workers are threads of this process.
    pub processes: Option<WorkerProcessSpec>,
}

/// A share of the plan: some of its workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The number of the first worker.
    pub first: u32,
    /// Workers of this share.
    pub count: u32,
    /// Workers in all.
    pub total_workers: u32,
}

impl Segment {
    /// The whole plan, for so many workers.
    #[must_use]
    pub fn whole(workers: u32) -> Self {
        Self { first: 0, count: workers, total_workers: workers }
    }
}

/// What a worker has to say.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // One a second: a box would save nothing.
pub enum WorkerReport {
    /// Once a second, while there is something to say, before it says that a part is over, and at the end: a second may
    /// come in several pieces.
    Interval(Interval),
    /// Pieces of work whose creation was answered.
    WorkStarted(Vec<StartedWork>),
    /// Every connection that this worker holds for that part has stood. Each worker says so once for every leg that
    /// holds some, after all figures of their opening; what is asked over them begins when it is told to.
    ConnectionsOpen {
        /// The worker.
        worker: u32,
        /// The part.
        load_step: u32,
        /// When the last of them stood, from the start of the plan.
        at: Duration,
    },
    /// This worker will never send anything for that part again, and everything of it has ended. Each worker says so
    /// once for every part of every leg, after all figures of the part and all work that it started.
    LoadStepDone {
        /// The worker.
        worker: u32,
        /// The part.
        load_step: u32,
        /// When, from the start of the plan.
        at: Duration,
        /// Arrivals of the part that were due and never sent.
        not_sent: u64,
        /// What pauses of the worker did to the part's length.
        pause_impact: PauseImpact,
    },
    /// The worker is gone.
    WorkerEnded {
        /// The worker.
        worker: u32,
    },
    /// The worker cannot go on, and the trial must end with this sentence.
    WorkerFailed {
        /// The worker.
        worker: u32,
        /// Why.
        message: String,
    },
}

/// A piece of work that was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedWork {
    /// The kind of work, by its place in the scenario.
    pub work_index: usize,
    /// Its id.
    pub id: Box<str>,
    /// When the arrival that started it was due.
    pub intended: Duration,
    /// When its creation was answered.
    pub done: Duration,
}

/// The load at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Arrivals under way.
    pub in_flight: u64,
    /// Arrivals that are due and wait for a place in flight.
    pub queued: u64,
    /// Connections, those that are being opened or closed included.
    pub connections: u64,
    /// Arrivals that have been due so far.
    pub due: u64,
    /// Arrivals that have ended so far.
    pub done: u64,
    /// Connections of `hold` phases that stand.
    pub held: u64,
    /// Requests under way whose answers are waited for.
    pub long_polls: u64,
    /// Requests under way, those among them.
    pub exchanging: u64,
    /// Requests that have ended so far, however they did.
    pub exchanged: u64,
}

/// What a worker is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum WorkerCommand {
    /// Drive your segment of this.
    StartLoad(LoadSpec),
    /// All connections that the part holds are open, at every worker: its time begins at this moment from the start of
    /// the plan.
    StartRequests {
        /// The part.
        load_step: u32,
        /// The moment.
        at: Duration,
    },
    /// That part and its leg are over.
    EndLoadStep(u32),
    /// Everything is over; what is under way may take so long.
    Stop(Duration),
}

/// The gauges of one worker, written by it alone.
#[derive(Debug, Default)]
pub(crate) struct AtomicGauges([AtomicU64; GAUGE_COUNT]);

/// Gauges of a worker.
pub(crate) const GAUGE_COUNT: usize = 9;

impl AtomicGauges {
    /// Shows these.
    pub(crate) fn store(&self, gauges: Gauges) {
        let Gauges {
            in_flight,
            queued,
            connections,
            due,
            done: finished,
            held,
            long_polls: waiting,
            exchanging,
            exchanged,
        } = gauges;
        self.store_values([in_flight, queued, connections, due, finished, held, waiting, exchanging, exchanged]);
    }

    /// The same, in the order of the fields.
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

/// The crew's end of one worker that is a thread.
#[derive(Debug)]
struct WorkerThread {
    commands: Option<mpsc::Sender<WorkerCommand>>,
    waker: Waker,
    gauges: Arc<AtomicGauges>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerPool {
    /// Starts workers: as many as the setting's segment says, or `workers` where it is empty. Where more connections
    /// are wanted than this process may open, there may be more of them, in processes of their own.
    ///
    /// # Errors
    /// The system gives no thread, process or descriptor, or the requests cannot be put together.
    #[allow(clippy::needless_pass_by_value)] // It is the crew's from here on.
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

    /// Has every worker drive its own segment of a leg.
    pub fn start_load(&self, spec: LoadSpec) {
        self.send_command(&WorkerCommand::StartLoad(spec));
    }

    /// Begins what a leg of held connections is for, at a moment from the start of the plan: every worker has said that
    /// its connections have been opened.
    pub fn start_requests(&self, load_step: u32, at: Duration) {
        self.send_command(&WorkerCommand::StartRequests { load_step, at });
    }

    /// Ends a part and the leg that it belongs to: what is due and was not sent is counted as such and dropped,
    /// clients of a closed loop end after their exchange, held connections are closed.
    pub fn end_load_step(&self, load_step: u32) {
        self.send_command(&WorkerCommand::EndLoadStep(load_step));
    }

    /// Ends everything: nothing new is sent; what is under way after `grace` is dropped and counted as abandoned.
    pub fn stop(&self, grace: Duration) {
        self.send_command(&WorkerCommand::Stop(grace));
    }

    /// How many workers it has, each of which reports by itself.
    #[must_use]
    pub fn worker_count(&self) -> usize {
        self.workers as usize
    }

    /// The processes that carry them, where this one does not.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        self.processes.iter().map(WorkerProcess::pid).collect()
    }

    /// The load at this moment.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let [in_flight, queued, connections, due, finished, held, waiting, exchanging, exchanged] = self.gauge_sums();
        Gauges { in_flight, queued, connections, due, done: finished, held, long_polls: waiting, exchanging, exchanged }
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
            // A worker that has ended needs no orders.
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
                // A panic of a worker has been reported by the worker itself.
                let _ = thread.join();
            }
        }
    }
}
