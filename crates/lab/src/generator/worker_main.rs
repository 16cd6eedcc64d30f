//! A worker process from inside: reads what it is to do, drives its segment with threads of its own, and reports until
//! its line to the lab ends; then it ends as well. Refuses to know the trial.

use std::io::{self, BufReader};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use super::ipc::{self, WorkerInit, WorkerMessage};
use super::worker_pool::{Segment, WorkerCommand, WorkerPool, WorkerReport};
use crate::limits::{GAUGES_EVERY, GAUGES_EVERY_MAX, GAUGES_PROCESSES};
use crate::preflight::raise_open_files;

/// The line to the lab, for everybody in this process who has something to say.
type SharedSocket = Arc<Mutex<UnixStream>>;

/// Works as a worker process whose standard input is the lab's line to it.
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
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut orders = BufReader::new(line.try_clone()?);
    let line: SharedSocket = Arc::new(Mutex::new(line));
    let _ = raise_open_files();
    let Some(commission) = ipc::read::<WorkerInit>(&mut orders)? else { return Ok(()) };
    let started = commission.into_config().map_err(io::Error::other);
    let every = started.as_ref().map_or(GAUGES_EVERY, |setting| gauge_interval(setting.segment));
    let (crew, reports) = match started.and_then(|setting| WorkerPool::start(Arc::new(setting), 0)) {
        Ok(started) => started,
        Err(error) => return send_message(&line, &WorkerMessage::Failed(error.to_string())),
    };
    send_message(&line, &WorkerMessage::Ready)?;
    let crew = Arc::new(crew);
    let (told, shown) = ((line.clone(), crew.clone()), (line, crew.clone()));
    std::thread::spawn(move || forward_reports(&told.0, &told.1, reports));
    std::thread::spawn(move || send_gauges_periodically(&shown.0, &shown.1, every));
    while let Some(order) = ipc::read::<WorkerCommand>(&mut orders)? {
        crew.send_command(&order);
    }
    // Nobody listens any more; what the threads hold ends with the process.
    Ok(())
}

/// Passes reports on. The gauges stand still before a worker's last word is said.
fn forward_reports(line: &SharedSocket, crew: &WorkerPool, mut reports: UnboundedReceiver<WorkerReport>) {
    while let Some(report) = reports.blocking_recv() {
        if matches!(report, WorkerReport::WorkerEnded { .. })
            && send_message(line, &WorkerMessage::Gauges(crew.gauge_sums())).is_err()
        {
            return;
        }
        if send_message(line, &WorkerMessage::Report(report)).is_err() {
            return;
        }
    }
}

/// Shows the gauges once in a while, when they have changed.
fn send_gauges_periodically(line: &SharedSocket, crew: &WorkerPool, every: Duration) {
    let mut said = None;
    loop {
        let dials = crew.gauge_sums();
        if said != Some(dials) && send_message(line, &WorkerMessage::Gauges(dials)).is_err() {
            return;
        }
        said = Some(dials);
        std::thread::sleep(every);
    }
}

/// Where many processes show their gauges, each does it less often: every look wakes a thread here and one in the lab.
fn gauge_interval(segment: Segment) -> Duration {
    let processes = segment.total_workers.div_ceil(segment.count.max(1));
    (GAUGES_EVERY * processes.div_ceil(GAUGES_PROCESSES).max(1)).min(GAUGES_EVERY_MAX)
}

fn send_message(line: &SharedSocket, word: &WorkerMessage) -> io::Result<()> {
    ipc::write(&mut *line.lock().unwrap_or_else(PoisonError::into_inner), word)
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
    fn many_processes_look_less_often() {
        check(1, 2, 50);
        check(2, 16, 50);
        check(1, 9, 100);
        check(1, 53, 350);
        check(1, 5_000, 500);
        check(0, 0, 50);
    }
}
