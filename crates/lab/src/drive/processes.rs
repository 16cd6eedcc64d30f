//! Workers in processes of their own, where more connections are wanted than one process may open. They are told over
//! a socket what threads are told over a channel, and their reports join the others; whoever drives the crew sees no
//! difference. A process whose socket ends, ends: none outlives the lab. Refuses to know what workers do.

use std::ffi::OsString;
use std::io::{self, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;

use super::crew::{Dials, Order, Report, Segment, Setting};
use super::frames::{self, Commission, Word};
use crate::limits::{FILES_RESERVE, LEAVE_LOOK, LEAVE_WITHIN};
use crate::preflight::raise_open_files;
use crate::scenario::Recipe;

/// The hidden command of the binary.
pub const WORKER_COMMAND: &str = "lab-worker";

/// How workers are started in processes of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processes {
    /// The program and its arguments: one that calls [`super::worker_process`].
    pub command: Vec<OsString>,
    /// How the scenario was put together.
    pub recipe: Recipe,
    /// Connections that will be open at once, over all workers.
    pub connections: u64,
}

impl Processes {
    /// Processes of a program that has the hidden command.
    #[must_use]
    pub fn new(program: PathBuf, recipe: Recipe, connections: u64) -> Self {
        Self { command: vec![program.into(), WORKER_COMMAND.into()], recipe, connections }
    }
}

/// The segments that processes of their own drive; none where this process can open all connections by itself.
pub(crate) fn split(segment: Segment, connections: u64) -> Vec<Segment> {
    let _ = raise_open_files();
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    segments(segment, connections, limit.map_or(u64::MAX, |limit| limit.saturating_sub(FILES_RESERVE).max(1)))
}

/// As many processes as are needed if none opens more than `each`; all of them have the same number of workers, and so
/// the same share of the connections.
fn segments(segment: Segment, connections: u64, each: u64) -> Vec<Segment> {
    let processes = u32::try_from(connections.div_ceil(each)).unwrap_or(u32::MAX);
    if processes <= 1 {
        return Vec::new();
    }
    // A share is dealt out worker by worker, so a process may get one connection more for each of its workers.
    let roomier = each.saturating_sub(u64::from(segment.count.div_ceil(processes))).max(1);
    let processes = u32::try_from(connections.div_ceil(roomier)).unwrap_or(u32::MAX);
    // Where this machine drives a part of the plan only, every machine multiplies its workers by the same number.
    let (processes, workers) = match segment.count == segment.of {
        true => (processes, segment.count.div_ceil(processes)),
        false => (segment.count.saturating_mul(processes.div_ceil(segment.count)), 1),
    };
    let all = processes.saturating_mul(workers);
    let (first, of) = match segment.count == segment.of {
        true => (0, all),
        false => (segment.first * (all / segment.count), segment.of * (all / segment.count)),
    };
    (0..processes).map(|number| Segment { first: first + number * workers, count: workers, of }).collect()
}

/// The crew's end of one worker process.
#[derive(Debug)]
pub(crate) struct Outpost {
    line: Mutex<Option<UnixStream>>,
    pub(crate) dials: Arc<Dials>,
    child: Arc<Mutex<Child>>,
    listener: Option<JoinHandle<()>>,
}

impl Outpost {
    /// Starts a process for each segment, and waits until the workers of all of them have begun.
    ///
    /// # Errors
    /// One does not start, or refuses what it is told.
    pub(crate) fn start(
        setting: &Setting,
        processes: &Processes,
        segments: &[Segment],
        reports: &UnboundedSender<Report>,
    ) -> io::Result<Vec<Self>> {
        let commission = |segment: &Segment| Self::commission(setting, processes, *segment);
        let started: Vec<(Self, UnixStream)> = segments.iter().map(commission).collect::<io::Result<_>>()?;
        let mustered = started.into_iter().zip(segments);
        mustered.map(|((outpost, line), segment)| outpost.muster(line, *segment, reports.clone())).collect()
    }

    fn commission(setting: &Setting, processes: &Processes, segment: Segment) -> io::Result<(Self, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let (program, arguments) = processes.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        // A Ctrl-C is for the lab alone, which ends its workers in order.
        let child = Arc::new(Mutex::new(command.process_group(0).spawn()?));
        let line = ours.try_clone()?;
        let outpost = Self { line: Mutex::new(Some(ours)), dials: Arc::default(), child, listener: None };
        outpost.say(&Commission::new(setting, processes.recipe.clone(), segment)).map_err(|_| stillborn())?;
        Ok((outpost, line))
    }

    /// Waits until its workers have begun, and then for their reports.
    fn muster(mut self, line: UnixStream, segment: Segment, reports: UnboundedSender<Report>) -> io::Result<Self> {
        let mut words = BufReader::new(line);
        match frames::read(&mut words) {
            Ok(Some(Word::Ready)) => {}
            Ok(Some(Word::Refused(message))) => return Err(io::Error::other(message)),
            Ok(Some(Word::Gauges(_) | Word::Report(_)) | None) | Err(_) => return Err(stillborn()),
        }
        let (dials, child) = (self.dials.clone(), self.child.clone());
        let name = format!("crew-{}", segment.first);
        let listener = std::thread::Builder::new().name(name);
        self.listener = Some(listener.spawn(move || listen(words, segment, &dials, &child, &reports))?);
        Ok(self)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Passes an order on; a process that has ended needs none.
    pub(crate) fn tell(&self, order: &Order) {
        let _ = self.say(order);
    }

    fn say(&self, frame: &impl serde::Serialize) -> io::Result<()> {
        match &mut *self.line.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(line) => frames::write(line, frame),
            None => Ok(()),
        }
    }
}

fn stillborn() -> io::Error {
    io::Error::other("a worker process of the lab ended before it began; what it said is on standard error")
}

impl Drop for Outpost {
    fn drop(&mut self) {
        if let Some(line) = self.line.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = line.shutdown(std::net::Shutdown::Write);
        }
        leave(&self.child);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

/// Waits until a process has ended, and kills it when it does not.
fn leave(child: &Mutex<Child>) -> Option<ExitStatus> {
    let deadline = Instant::now() + LEAVE_WITHIN;
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
        std::thread::sleep(LEAVE_LOOK);
    }
}

/// Hands on what a process says until it says nothing more. One that ends before its workers have is broken.
fn listen(
    mut words: BufReader<UnixStream>,
    segment: Segment,
    dials: &Dials,
    child: &Mutex<Child>,
    reports: &UnboundedSender<Report>,
) {
    let mut left = segment.count;
    let why = loop {
        match frames::read(&mut words) {
            Ok(Some(Word::Gauges(gauges))) => dials.set(gauges),
            Ok(Some(Word::Report(report))) => {
                left -= u32::from(matches!(report, Report::Ended { .. } | Report::Broken { .. }));
                let _ = reports.send(report);
            }
            Ok(Some(Word::Ready | Word::Refused(_))) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    if left > 0 {
        let status = leave(child).map_or_else(|| "it is gone".to_owned(), |status| status.to_string());
        let why = why.map_or_else(String::new, |error| format!("; its last word: {error}"));
        let message = format!("a worker process of the lab ended before its work was done ({status}){why}");
        let _ = reports.send(Report::Broken { worker: segment.first, message });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_process_does_what_it_can() {
        assert_eq!(segments(Segment::whole(4), 100, 100), []);
        assert_eq!(segments(Segment::whole(1), 0, 100), []);
    }

    proptest! {
        #[test]
        fn no_process_opens_more_than_it_may(workers in 1u32..20, connections in 1u64..5000, each in 50u64..500) {
            let all = segments(Segment::whole(workers), connections, each);
            let of = all.first().map_or(workers, |segment| segment.of);
            let mut next = 0;
            for segment in &all {
                prop_assert_eq!((segment.first, segment.of), (next, of));
                next += segment.count;
                // As a leg deals them out: connection c belongs to worker c % of.
                let share = |worker: u32| connections / u64::from(of) + u64::from(u64::from(worker) < connections % u64::from(of));
                let opened: u64 = (segment.first..segment.first + segment.count).map(share).sum();
                prop_assert!(opened <= each, "{opened} of {each}: {all:?}");
            }
            prop_assert!(all.is_empty() && connections <= each || next == of && of >= workers);
        }
    }
}
