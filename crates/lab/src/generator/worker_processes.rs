//! Worker processes, for when more connections are needed than one process may open. They get over a socket the
//! commands that threads get over a channel, and their reports join the others; the user of the pool sees no
//! difference. A process ends when its socket is closed, so none outlives the lab. Does not know what workers do.

use std::borrow::Cow;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;

use super::config::{GeneratorConfig, Segment, WorkerProcessSpec};
use super::messages::{self, AtomicGauges, WorkerCommand, WorkerInit, WorkerMessage, WorkerReport};
use crate::limits::{FILES_RESERVE, WORKER_EXIT_POLL_EVERY, WORKER_EXIT_WITHIN};
use crate::preflight::raise_open_files;

/// The segments of the worker processes; none if this process can open all connections by itself.
pub(crate) fn process_segments(workers: u32, connections: u64) -> Vec<Segment> {
    let _ = raise_open_files();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    divide_workers(workers, connections, limit.map_or(u64::MAX, |limit| limit.saturating_sub(FILES_RESERVE).max(1)))
}

/// As many processes as are needed if none opens more than `each`; all of them have the same number of workers, and so
/// the same share of the connections.
fn divide_workers(workers: u32, connections: u64, each: u64) -> Vec<Segment> {
    let processes = u32::try_from(connections.div_ceil(each)).unwrap_or(u32::MAX);
    if processes <= 1 {
        return Vec::new();
    }
    // Connections are dealt out worker by worker, so a process may get one more for each of its workers.
    let without_extra = each.saturating_sub(u64::from(workers.div_ceil(processes))).max(1);
    let processes = u32::try_from(connections.div_ceil(without_extra)).unwrap_or(u32::MAX);
    let count = workers.div_ceil(processes);
    let total_workers = processes.saturating_mul(count);
    (0..processes).map(|number| Segment { first: number * count, count, total_workers }).collect()
}

/// The pool's handle of a worker process.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    socket: Mutex<Option<UnixStream>>,
    pub(crate) gauges: Arc<AtomicGauges>,
    child: Arc<Mutex<Child>>,
    reader: Option<JoinHandle<()>>,
}

impl WorkerProcess {
    /// Starts a process for each segment, and waits until the workers of all of them have started.
    ///
    /// # Errors
    /// One does not start, or rejects its configuration.
    pub(crate) fn start(
        config: &GeneratorConfig,
        processes: &WorkerProcessSpec,
        segments: &[Segment],
        reports: &UnboundedSender<WorkerReport>,
    ) -> io::Result<Vec<Self>> {
        let spawn = |segment: &Segment| Self::spawn(config, processes, *segment);
        let started: Vec<(Self, UnixStream)> = segments.iter().map(spawn).collect::<io::Result<_>>()?;
        let started = started.into_iter().zip(segments);
        started.map(|((process, stream), segment)| process.await_ready(stream, *segment, reports.clone())).collect()
    }

    fn spawn(
        config: &GeneratorConfig,
        processes: &WorkerProcessSpec,
        segment: Segment,
    ) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let (program, arguments) = processes.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        // A Ctrl-C is for the lab alone, which ends its workers in order.
        let child = Arc::new(Mutex::new(command.process_group(0).spawn()?));
        let stream = ours.try_clone()?;
        let process = Self { socket: Mutex::new(Some(ours)), gauges: Arc::default(), child, reader: None };
        let init = WorkerInit {
            scenario_source: Cow::Borrowed(&processes.scenario_source),
            inputs: Cow::Borrowed(&config.inputs),
            segment,
        };
        process.send_message(&init).map_err(|_| failed_to_start())?;
        Ok((process, stream))
    }

    /// Waits until its workers have started, and then starts to read their reports.
    fn await_ready(
        mut self,
        stream: UnixStream,
        segment: Segment,
        reports: UnboundedSender<WorkerReport>,
    ) -> io::Result<Self> {
        let mut lines = BufReader::new(stream);
        match messages::read(&mut lines) {
            Ok(Some(WorkerMessage::Ready)) => {}
            Ok(Some(WorkerMessage::Failed(message))) => return Err(io::Error::other(message)),
            Ok(Some(WorkerMessage::Gauges(_) | WorkerMessage::Report(_)) | None) | Err(_) => {
                return Err(failed_to_start());
            }
        }
        let (gauges, child) = (self.gauges.clone(), self.child.clone());
        let name = format!("worker-reader-{}", segment.first);
        let listener = std::thread::Builder::new().name(name);
        self.reader = Some(listener.spawn(move || forward_reports(lines, segment, &gauges, &child, &reports))?);
        Ok(self)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Sends a command; a process that has ended needs none.
    pub(crate) fn send(&self, command: &WorkerCommand) {
        let _ = self.send_message(command);
    }

    fn send_message(&self, frame: &impl serde::Serialize) -> io::Result<()> {
        match &mut *self.socket.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(stream) => messages::write(stream, frame),
            None => Ok(()),
        }
    }
}

fn failed_to_start() -> io::Error {
    io::Error::other("a worker process of the lab ended before it began; what it said is on standard error")
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        if let Some(stream) = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        wait_or_kill(&self.child);
        if let Some(listener) = self.reader.take() {
            let _ = listener.join();
        }
    }
}

/// Waits until a process has ended, and kills it if it does not.
fn wait_or_kill(child: &Mutex<Child>) -> Option<ExitStatus> {
    let deadline = Instant::now() + WORKER_EXIT_WITHIN;
    loop {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < deadline => {}
            Ok(None) | Err(_) => {
                let _ = child.kill();
                return child.wait().ok();
            }
        }
        drop(child);
        std::thread::sleep(WORKER_EXIT_POLL_EVERY);
    }
}

/// Forwards what a process sends until its socket is closed. One that ends before its workers have failed.
fn forward_reports(
    mut lines: BufReader<UnixStream>,
    segment: Segment,
    gauges: &AtomicGauges,
    child: &Mutex<Child>,
    reports: &UnboundedSender<WorkerReport>,
) {
    let mut left = segment.count;
    let reason = loop {
        match messages::read(&mut lines) {
            Ok(Some(WorkerMessage::Gauges(values))) => gauges.store_values(values),
            Ok(Some(WorkerMessage::Report(report))) => {
                left -=
                    u32::from(matches!(report, WorkerReport::WorkerEnded { .. } | WorkerReport::WorkerFailed { .. }));
                let _ = reports.send(report);
            }
            Ok(Some(WorkerMessage::Ready | WorkerMessage::Failed(_))) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    if left > 0 {
        let status = wait_or_kill(child).map_or_else(|| "it is gone".to_owned(), |status| status.to_string());
        let reason = reason.map_or_else(String::new, |error| format!("; its last error: {error}"));
        let message = format!("a worker process of the lab ended before its work was done ({status}){reason}");
        let _ = reports.send(WorkerReport::WorkerFailed { worker: segment.first, message });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_process_suffices_within_its_limit() {
        assert_eq!(divide_workers(4, 100, 100), []);
        assert_eq!(divide_workers(1, 0, 100), []);
    }

    proptest! {
        #[test]
        fn no_process_opens_more_than_its_limit(workers in 1u32..20, connections in 1u64..5000, each in 50u64..500) {
            let all = divide_workers(workers, connections, each);
            let of = all.first().map_or(workers, |segment| segment.total_workers);
            let mut next = 0;
            for segment in &all {
                prop_assert_eq!((segment.first, segment.total_workers), (next, of));
                next += segment.count;
                // As a load deals them out: connection c belongs to worker c % of.
                let share = |worker: u32| connections / u64::from(of) + u64::from(u64::from(worker) < connections % u64::from(of));
                let opened: u64 = (segment.first..segment.first + segment.count).map(share).sum();
                prop_assert!(opened <= each, "{opened} of {each}: {all:?}");
            }
            prop_assert!(all.is_empty() && connections <= each || next == of && of >= workers);
        }
    }
}
