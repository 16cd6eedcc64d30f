//! The pool of all workers of a trial: threads of this process, or worker processes. Each worker takes its own segment
//! of every load that it is sent. Does not know what workers do and what their reports mean.

use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::config::GeneratorConfig;
use super::messages::{AtomicGauges, GAUGE_COUNT, Gauges, WorkerCommand, WorkerReport};
use super::poller::Waker;
use super::worker::Worker;
use super::worker_processes::{WorkerProcess, process_segments};
use crate::plan::LoadSpec;

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
    /// Starts the workers of the configuration's segment. If more connections are needed than this process may open,
    /// there may be more workers, in processes of their own.
    ///
    /// # Errors
    /// The system provides no thread, process or descriptor, or the requests cannot be built.
    pub fn start(config: GeneratorConfig) -> io::Result<(Self, UnboundedReceiver<WorkerReport>)> {
        let (config, (reports, inbox)) = (Arc::new(config), unbounded_channel());
        let segment = config.segment;
        let mut pool = Self { threads: Vec::new(), processes: Vec::new(), workers: segment.count };
        if let Some(processes) = &config.processes {
            let segments = process_segments(segment.count, processes.connections);
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
        let [in_flight, queued, connections, due, done, held, long_polls, exchanging, exchanged, continuing] =
            self.gauge_sums();
        Gauges { in_flight, queued, connections, due, done, held, long_polls, exchanging, exchanged, continuing }
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
