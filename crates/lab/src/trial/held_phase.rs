//! Runs held connections: all connections of a phase are opened, at every worker, before its time begins and anything
//! is sent over them. Phases that open connections at the same time wait for each other, so that the figures of one do
//! not show the connection burst of another. Opening has a timeout: without its connections a phase would not have the
//! planned load, so it does not take place. Does not evaluate that.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::load_scheduler::{LoadScheduler, START_LOAD_LEAD};
use crate::aggregate::HeldFigures;
use crate::format::{count, number};
use crate::measurement::timeline::{LoadStepRow, TimelineRow};
use crate::plan::{LoadSpec, PhasePosition};

/// Phases that are opening connections, or will from a known moment on.
#[derive(Debug, Default)]
pub(crate) struct OpeningBarrier {
    phases: Mutex<BTreeMap<usize, Duration>>,
    changed: Notify,
}

impl OpeningBarrier {
    fn lock_phases(&self) -> MutexGuard<'_, BTreeMap<usize, Duration>> {
        self.phases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The phase with this index begins to open connections at this moment.
    pub(crate) fn announce(&self, phase: usize, at: Duration) {
        self.lock_phases().insert(phase, at);
    }

    fn finish(&self, phase: usize) {
        self.lock_phases().remove(&phase);
        self.changed.notify_waiters();
    }

    /// Waits until no other phase that had begun by `now` is still opening connections.
    async fn await_others(&self, now: Duration) {
        loop {
            // Registered before looking: a phase that finishes in between wakes this task.
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if !self.lock_phases().values().any(|begun| *begun <= now) {
                return;
            }
            changed.await;
        }
    }
}

impl LoadScheduler {
    /// Opens the connections of a load spec within a time, and then starts its load; returns its load step, and the
    /// moment at which it ends.
    pub(crate) async fn run_hold(&self, load_spec: LoadSpec, within: Duration, duration: Duration) -> (u32, Duration) {
        let load_spec = self.await_predecessor(load_spec).await;
        let (phase, load_step, start) = (load_spec.phase_index, load_spec.load_step, load_spec.start);
        self.opening_barrier.announce(phase, start);
        self.start_load(load_spec);
        let limit = tokio::time::sleep_until(self.start + start.saturating_add(within));
        let is_open = tokio::select! {
            biased;
            () = self.await_connections_open(load_step) => true,
            () = limit => false,
        };
        self.opening_barrier.finish(phase);
        if !is_open {
            return self.abandon_opening(load_step, within).await;
        }
        self.log_opening(load_step, true);
        self.opening_barrier.await_others(self.start.elapsed()).await;
        let at = self.start.elapsed() + START_LOAD_LEAD;
        self.recorder.with_load_steps(|book| book.start_requests_at(load_step, at));
        if let Some(spec) = self.recorder.with_load_steps(|book| book.spec(load_step).cloned()) {
            self.log_load_step_start(&spec, at);
        }
        self.note_opened_connections(load_step);
        self.worker_pool.start_requests(load_step, at);
        (load_step, at.saturating_add(duration))
    }

    /// A load spec that takes connections over begins when the phase that had them is over at every worker.
    async fn await_predecessor(&self, load_spec: LoadSpec) -> LoadSpec {
        let Some(before) = load_spec.resumes_phase else { return load_spec };
        let load_step =
            PhasePosition::for_phase(&self.scenario.phases, before, load_spec.start, self.seed).first_load_step;
        self.await_finished(&[load_step]).await;
        let start = load_spec.start.max(self.start.elapsed() + START_LOAD_LEAD);
        LoadSpec { start, ..load_spec }
    }

    /// Too many connections are missing for too long: the phase is over before it began.
    async fn abandon_opening(&self, load_step: u32, within: Duration) -> (u32, Duration) {
        self.worker_pool.end_load_step(load_step);
        self.await_finished(&[load_step]).await;
        if let Some(held) =
            self.recorder.with_load_steps(|book| book.figures(load_step)).and_then(|load_step| load_step.connections)
        {
            let (opened, planned, within_s) = (count(held.opened_or_kept()), count(held.planned), within.as_secs_f64());
            let within_s = number(Some(within_s));
            self.log_note(format!(
                "{opened} of {planned} connections were open after {within_s} s: nothing was sent over them"
            ));
        }
        (load_step, self.start.elapsed())
    }

    /// Logs when the first connection of a load step was due, or the last one was open.
    pub(super) fn log_opening(&self, load_step: u32, over: bool) {
        let Some((spec, stood)) =
            self.recorder.with_load_steps(|book| Some((book.spec(load_step)?.clone(), book.opened_by(load_step)?)))
        else {
            return;
        };
        let t_s = if over { stood } else { spec.start }.as_secs_f64();
        self.log.write(&TimelineRow::Opening(LoadStepRow {
            t_s,
            load_step,
            phase: spec.phase,
            label: spec.label,
            over,
        }));
    }

    fn note_opened_connections(&self, load_step: u32) {
        let Some(figures) = self.recorder.with_load_steps(|book| book.figures(load_step)) else { return };
        let Some(held) = figures.connections else { return };
        let (opened, seconds, took) = (count(held.opened), number(held.opening_s), &held.opening_ms);
        let word = if took.p99.is_some() { "p99" } else { "max" };
        let longest_ms = number(took.p99_or_max());
        let kept = if held.kept > 0 { format!(", and {} kept", count(held.kept)) } else { String::new() };
        self.note_lost_connections(&held);
        self.log_note(format!(
            "{}: {opened} connections were opened in {seconds} s, {word} {longest_ms} ms{kept}",
            figures.phase
        ));
    }

    /// Notes how many of the connections that it was to take over were lost before, if any.
    fn note_lost_connections(&self, held: &HeldFigures) {
        let Some(earlier) = &held.keeps else { return };
        let load_steps = self.recorder.with_load_steps(|book| book.all_figures());
        let left = load_steps
            .into_iter()
            .find(|load_step| load_step.phase == *earlier)
            .and_then(|load_step| load_step.connections);
        let Some(left) = left.filter(|left| left.lost_after() > 0) else { return };
        self.log_note(format!(
            "{} of the {} connections that {earlier} left open were lost before they were taken over: {} closed by the \
             target, {} otherwise",
            count(left.lost_after()),
            count(left.left),
            count(left.closed_after),
            count(left.dropped_after)
        ));
    }

    /// Waits until every worker has reported that all connections of a load step are open.
    async fn await_connections_open(&self, load_step: u32) {
        self.await_load_steps(|book| book.is_open(load_step, self.worker_count)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn openings_that_have_begun_wait_for_each_other_and_for_no_later_one() {
        let openings = OpeningBarrier::default();
        openings.announce(0, Duration::ZERO);
        openings.announce(1, SECOND);
        openings.announce(2, 60 * SECOND);
        openings.finish(0);
        let mut waits = std::pin::pin!(openings.await_others(2 * SECOND));
        tokio::select! {
            biased;
            () = &mut waits => panic!("the second one is still at it"),
            () = std::future::ready(()) => {}
        }
        openings.finish(1);
        waits.await;
    }
}
