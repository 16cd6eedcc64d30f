//! What a worker reports to the pool: intervals of what it has measured, and the work that it has started, a few
//! milliseconds later and many at once. Does not know what is measured.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::generator::interval_accumulator::IntervalAccumulator;
use crate::generator::messages::{StartedWork, WorkerReport};
use crate::limits::STARTED_WORK_DELAY_MAX;

pub(super) struct Reports {
    sender: UnboundedSender<WorkerReport>,
    pub(super) accumulator: IntervalAccumulator,
    started_work: Vec<StartedWork>,
    started_work_due: Option<Duration>,
}

impl Reports {
    pub(super) fn new(sender: UnboundedSender<WorkerReport>, accumulator: IntervalAccumulator) -> Self {
        Self { sender, accumulator, started_work: Vec::new(), started_work_due: None }
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        self.accumulator.next_handover().into_iter().chain(self.started_work_due).min()
    }

    /// Sends a report; a pool that is gone needs none.
    pub(super) fn send(&self, report: WorkerReport) {
        let _ = self.sender.send(report);
    }

    pub(super) fn queue_started_work(&mut self, work: StartedWork, now: Duration) {
        self.started_work.push(work);
        self.started_work_due.get_or_insert(now + STARTED_WORK_DELAY_MAX);
    }

    pub(super) fn send_due(&mut self, now: Duration) {
        while let Some(interval) = self.accumulator.take_due(now) {
            self.send(WorkerReport::Interval(interval));
        }
        if self.started_work_due.is_some_and(|due| due <= now) {
            self.send_started_work();
        }
    }

    /// Sends everything, due or not.
    pub(super) fn flush(&mut self) {
        self.send_started_work();
        self.accumulator.close_interval();
        while let Some(interval) = self.accumulator.take_oldest() {
            self.send(WorkerReport::Interval(interval));
        }
    }

    fn send_started_work(&mut self) {
        self.started_work_due = None;
        let started_work = std::mem::take(&mut self.started_work);
        if !started_work.is_empty() {
            self.send(WorkerReport::WorkStarted(started_work));
        }
    }
}
