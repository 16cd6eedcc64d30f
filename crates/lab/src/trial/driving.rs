//! Between the crew and the fold: legs go out, reports come in. Refuses to know sockets and figures.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::drive::{Crew, Gauges, Report, Setting};
use crate::flag::raised;
use crate::limits::INTERRUPT_GRACE;
use crate::plan::{Leg, Schedule};
use crate::record::{Class, ErrorNote, Interval, Recorder, Sample, Trouble};
use crate::work::Board;

/// The load of a trial.
#[derive(Debug)]
pub(crate) struct Driving {
    pub(crate) setting: Arc<Setting>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) board: Arc<Board>,
    /// The moment that the plan counts from.
    pub(crate) start: Instant,
    pub(crate) crew: Mutex<Option<Crew>>,
}

impl Driving {
    /// Drives all legs to their end, or until `stop` says so.
    pub(crate) async fn run(&self, legs: Vec<Leg>, stop: &watch::Receiver<bool>) -> std::io::Result<()> {
        let mut stop = stop.clone();
        let (crew, mut reports) = Crew::start(self.setting.clone(), 1)?;
        let mut open: BTreeSet<u32> = legs.iter().flat_map(parts).collect();
        legs.into_iter().for_each(|leg| crew.send(leg));
        *self.crew.lock().unwrap_or_else(PoisonError::into_inner) = Some(crew);
        while !open.is_empty() {
            tokio::select! {
                biased;
                () = raised(&mut stop) => break,
                report = reports.recv() => match report {
                    Some(Report::Over { part, .. }) => { open.remove(&part); }
                    Some(report) => self.take(report),
                    None => break,
                },
            }
        }
        let grace = if *stop.borrow() { INTERRUPT_GRACE } else { Duration::ZERO };
        if let Some(crew) = &*self.crew.lock().unwrap_or_else(PoisonError::into_inner) {
            crew.stop(grace);
        }
        while let Some(report) = reports.recv().await {
            self.take(report);
        }
        Ok(())
    }

    /// The load at this moment.
    pub(crate) fn gauges(&self) -> Gauges {
        let crew = self.crew.lock().unwrap_or_else(PoisonError::into_inner);
        crew.as_ref().map(Crew::gauges).unwrap_or_default()
    }

    fn take(&self, report: Report) {
        match report {
            Report::Interval(interval) => self.fold(&interval),
            Report::Started(pieces) => {
                for begun in pieces {
                    let work = &self.setting.scenario.works[begun.work].name;
                    self.board.started(work, &begun.id, begun.intended, begun.done);
                }
            }
            Report::Over { .. } | Report::Ended { .. } | Report::Broken { .. } => {}
        }
    }

    fn fold(&self, interval: &Interval) {
        let rows = String::from_utf8_lossy(&interval.rows);
        rows.lines().filter_map(sample).for_each(|sample| self.recorder.sample(&sample));
        for ErrorNote { journey, step, trouble, count, sample } in &interval.errors {
            let failure = crate::drive::Failure { trouble: *trouble, message: sample.clone() };
            (0..*count).for_each(|_| self.recorder.error(*journey, *step, &failure));
        }
        (0..interval.capped).for_each(|_| self.recorder.capped());
        interval.not_sent.iter().for_each(|(journey, count)| self.recorder.not_sent(*journey, *count));
        self.recorder.abandoned(interval.abandoned);
    }
}

fn parts(leg: &Leg) -> std::ops::Range<u32> {
    let count = if let Schedule::Bursts { times, .. } = leg.schedule { times as u32 } else { 1 };
    leg.part..leg.part + count
}

/// A row of samples.csv as the sample that it was.
fn sample(row: &str) -> Option<Sample> {
    let columns: Vec<&str> = row.split(',').collect();
    let number = |at: usize| columns.get(at)?.parse::<u64>().ok();
    let moment = |at: usize| number(at).map(Duration::from_micros);
    let troubles = [
        Trouble::Connect,
        Trouble::Closed,
        Trouble::Timeout,
        Trouble::TooLarge,
        Trouble::Status,
        Trouble::Answer,
        Trouble::Request,
    ];
    let class = match *columns.get(10)? {
        "ok" => Class::Ok,
        "denied" => Class::Denied,
        word => Class::Error(troubles.into_iter().find(|trouble| trouble.word() == word)?),
    };
    Some(Sample {
        phase: number(0)? as usize,
        index: number(1)?,
        journey: number(2)? as usize,
        step: number(3).map(|step| step as usize),
        intended: moment(4)?,
        sent: moment(5)?,
        first_byte: moment(6),
        done: moment(7)?,
        lag: moment(8)?,
        retries: number(9)?,
        class,
    })
}
