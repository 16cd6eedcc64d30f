//! The main function of a worker process: reads commands, drives its segment with threads of its own, and reports until
//! its socket to the lab is closed; then it ends. Does not know the trial.

use std::io::{self, BufReader};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::config::{GeneratorConfig, Segment};
use super::messages::{self, WorkerCommand, WorkerInit, WorkerMessage, WorkerReport};
use super::worker_pool::WorkerPool;
use crate::limits::{GAUGES_EVERY, GAUGES_EVERY_MAX, GAUGES_PROCESSES};
use crate::preflight::raise_open_files;
use crate::scenario::{Scenario, ValidationErrors};

/// The socket to the lab, shared by all threads of this process.
type SharedSocket = Arc<Mutex<UnixStream>>;

/// Runs a worker process whose standard input is the socket to the lab.
#[must_use]
pub fn run_worker_process() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a worker process of the lab: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut commands = BufReader::new(stream.try_clone()?);
    let stream: SharedSocket = Arc::new(Mutex::new(stream));
    let _ = raise_open_files();
    let Some(init) = messages::read::<WorkerInit<'_>>(&mut commands)? else { return Ok(()) };
    let every = gauge_interval(init.segment);
    let (pool, reports) = match start_workers(init) {
        Ok(started) => started,
        Err(error) => return send_message(&stream, &WorkerMessage::Failed(error.to_string())),
    };
    send_message(&stream, &WorkerMessage::Ready)?;
    let pool = Arc::new(pool);
    let (for_reports, for_gauges) = ((stream.clone(), pool.clone()), (stream, pool.clone()));
    std::thread::spawn(move || forward_reports(&for_reports.0, &for_reports.1, reports));
    std::thread::spawn(move || send_gauges_periodically(&for_gauges.0, &for_gauges.1, every));
    while let Some(command) = messages::read::<WorkerCommand>(&mut commands)? {
        pool.send_command(&command);
    }
    // The lab has closed the socket; what the threads hold ends with the process.
    Ok(())
}

/// Starts the workers of this process.
///
/// # Errors
/// The scenario was written by another version of the lab, or as for [`WorkerPool::start`].
fn start_workers(init: WorkerInit<'_>) -> io::Result<(WorkerPool, UnboundedReceiver<WorkerReport>)> {
    let wrong = |errors: ValidationErrors| io::Error::other(errors.to_string());
    let scenario = Scenario::read(&init.scenario_source.rebuild().map_err(wrong)?).map_err(wrong)?;
    let (scenario, inputs) = (Arc::new(scenario), init.inputs.into_owned());
    WorkerPool::start(GeneratorConfig { scenario, inputs, segment: init.segment, processes: None })
}

/// Forwards reports. The gauges are sent once more before a worker's last report.
fn forward_reports(stream: &SharedSocket, pool: &WorkerPool, mut reports: UnboundedReceiver<WorkerReport>) {
    while let Some(report) = reports.blocking_recv() {
        if matches!(report, WorkerReport::WorkerEnded { .. })
            && send_message(stream, &WorkerMessage::Gauges(pool.gauge_sums())).is_err()
        {
            return;
        }
        if send_message(stream, &WorkerMessage::Report(report)).is_err() {
            return;
        }
    }
}

/// Sends the gauges when they have changed.
fn send_gauges_periodically(stream: &SharedSocket, pool: &WorkerPool, every: Duration) {
    let mut last_sent = None;
    loop {
        let gauges = pool.gauge_sums();
        if last_sent != Some(gauges) && send_message(stream, &WorkerMessage::Gauges(gauges)).is_err() {
            return;
        }
        last_sent = Some(gauges);
        std::thread::sleep(every);
    }
}

/// With many processes each sends its gauges less often: every time wakes a thread here and one in the lab.
fn gauge_interval(segment: Segment) -> Duration {
    let processes = segment.total_workers.div_ceil(segment.count.max(1));
    (GAUGES_EVERY * processes.div_ceil(GAUGES_PROCESSES).max(1)).min(GAUGES_EVERY_MAX)
}

fn send_message(stream: &SharedSocket, message: &WorkerMessage) -> io::Result<()> {
    messages::write(&mut *stream.lock().unwrap_or_else(PoisonError::into_inner), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(count: u32, of: u32, want_ms: u64) {
        assert_eq!(
            gauge_interval(Segment { first: 0, count, total_workers: of }),
            Duration::from_millis(want_ms),
            "{count} of {of}"
        );
    }

    #[test]
    fn many_processes_send_gauges_less_often() {
        check(1, 2, 50);
        check(2, 16, 50);
        check(1, 9, 100);
        check(1, 53, 350);
        check(1, 5_000, 500);
        check(0, 0, 50);
    }
}
