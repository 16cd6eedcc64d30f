//! Held connections at work: opened as fast as planned, kept, reopened when they are lost, closed at the end. Does not
//! know which one is due: the pacer decides that.

use std::time::Duration;

use super::Worker;
use super::exchange::StepOutcome;
use super::pacer::{HeldConnections, LoadState, OpenOutcome};
use super::requests::ConnectionLoss;
use crate::generator::Failure;
use crate::generator::keys::{ConnectionKey, JourneyKey};
use crate::generator::messages::WorkerReport;
use crate::limits::CLOSED_PER_TURN;
use crate::plan::Schedule;

impl Worker {
    /// Whether a load closes its connections: it is over, and no later load resumes them.
    fn is_closing(&self, load_index: usize) -> bool {
        let load = self.pacer.load(load_index);
        load.closing && (!load.spec.leaves_open || self.stop_deadline.is_some())
    }

    /// Takes over the connections of the load that this one resumes.
    pub(super) fn adopt_connections(&mut self, load_index: usize) {
        let Some(left) = self.pacer.take_retained(load_index) else { return };
        let load = self.pacer.load_mut(load_index);
        let load_step = load.spec.load_step;
        let (kept, surplus) = match load.held_mut() {
            Some(held) => held.adopt(left),
            None => (Vec::new(), left.connection_keys().collect()),
        };
        if !kept.is_empty() {
            self.reports.accumulator.held(load_step, self.clock.now()).counts.kept += kept.len() as u64;
        }
        for (held_index, connection) in kept {
            if let Some(connection) = self.connections.get_mut(connection) {
                connection.held = Some((load_index, held_index));
            }
        }
        surplus.into_iter().for_each(|connection| self.close_connection(connection));
    }

    /// Closes retained connections that no load has resumed.
    pub(super) fn close_retained(&mut self) {
        let retained: Vec<_> = self.pacer.take_all_retained().collect();
        for connection in retained.iter().flat_map(HeldConnections::connection_keys) {
            self.close_connection(connection);
        }
    }

    /// An opening journey is over; if it succeeded, its connection is held.
    pub(super) fn finish_opening_journey(&mut self, key: JourneyKey, went_well: bool) {
        let Some(running) = self.running.get_mut(key) else { return };
        let (load_index, held_index, connection) = (running.load_index, running.held_index, running.connection.take());
        if went_well {
            self.save_values(key);
        }
        self.release(key);
        let keeps = went_well && !self.pacer.load(load_index).closing;
        if let Some(connection) = connection.filter(|_| !keeps) {
            self.close_connection(connection);
        }
        let connection = connection.filter(|_| keeps);
        self.hold((load_index, held_index), connection);
        self.record_opening(load_index, held_index, connection);
        if connection.is_some() {
            self.send_waiting_request(load_index, held_index, self.clock.now());
        }
    }

    /// A connection that was opened to be held is open.
    pub(super) fn on_held_connection_open(&mut self, connection: ConnectionKey, key: JourneyKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        let (load_index, held_index) = (running.load_index, running.held_index);
        running.connection = None;
        self.hold((load_index, held_index), Some(connection));
        self.finish_opening(key, Some(connection), &StepOutcome::Ok);
        self.send_waiting_request(load_index, held_index, self.clock.now());
    }

    fn hold(&mut self, held: (usize, u32), connection: Option<ConnectionKey>) {
        if let Some(connection) = connection.and_then(|connection| self.connections.get_mut(connection)) {
            (connection.user, connection.held) = (None, Some(held));
            self.counts.held += 1;
        }
    }

    /// Ends an opening, with a connection or without one.
    pub(super) fn finish_opening(&mut self, key: JourneyKey, connection: Option<ConnectionKey>, outcome: &StepOutcome) {
        self.running.disarm(key);
        let Some(running) = self.running.get(key) else { return };
        if let StepOutcome::Failed(failure) = outcome {
            self.reports.accumulator.record_error(running.journey_index, 0, failure);
        }
        self.record_opening(running.load_index, running.held_index, connection);
        self.release(key);
    }

    /// Records the result of an opening; reports when it was the last one missing.
    fn record_opening(&mut self, load_index: usize, held_index: u32, connection: Option<ConnectionKey>) {
        let now = self.clock.now();
        let load = self.pacer.load_mut(load_index);
        let (load_step, closing) = (load.spec.load_step, load.closing);
        let Some(held) = load.held_mut() else { return };
        let outcome = held.finish_opening(held_index, connection, now);
        let accumulator = &mut self.reports.accumulator;
        match outcome {
            OpenOutcome::Opened(due) => {
                let generator_delay = self.pauses.paused_between(due, now);
                accumulator.record_opened(load_step, now.saturating_sub(due), generator_delay, now);
            }
            OpenOutcome::Reopened => accumulator.held(load_step, now).counts.reopened += 1,
            // Abandoned because the load ends.
            OpenOutcome::Failed if closing => {}
            OpenOutcome::Failed => accumulator.held(load_step, now).counts.failed += 1,
        }
        self.report_opened(load_index);
    }

    /// Reports that all connections of a load are open, after all figures of their opening. A worker without
    /// connections to hold reports it as well.
    pub(super) fn report_opened(&mut self, load_index: usize) {
        let load = self.pacer.load_mut(load_index);
        let (load_step, holds) = (load.spec.load_step, matches!(load.spec.schedule, Schedule::Hold { .. }));
        if !holds || load.held_mut().is_some_and(|held| !held.is_newly_open()) {
            return;
        }
        self.flush_reports();
        let (worker, at) = (self.worker_index, self.clock.now());
        self.reports.send(WorkerReport::ConnectionsOpen { worker, load_step, at });
    }

    /// Saves the values that journeys over this connection inherit.
    fn save_values(&mut self, key: JourneyKey) {
        let Some(running) = self.running.get(key) else { return };
        let load = self.pacer.load_mut(running.load_index);
        let inherits = &self.journeys[load.spec.journey_index].spec.inherited_names;
        let value = |name: &String| Some((name.as_str().into(), running.kept.get(name)?.into()));
        if let (false, Some(held)) = (inherits.is_empty(), load.held_mut()) {
            held.set_values(running.held_index, inherits.iter().filter_map(value).collect());
        }
    }

    /// Restores the values that the connection has kept.
    pub(super) fn restore_values(&mut self, key: JourneyKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        if let LoadState::Held(held) = &self.pacer.load(running.load_index).state {
            held.values(running.held_index).iter().for_each(|(name, value)| running.kept.insert(name, value));
        }
    }

    /// A held connection is gone; `loss` has the reason if the worker did not close it. A request in flight records the
    /// failure itself.
    pub(super) fn on_held_connection_gone(
        &mut self,
        (load_index, held_index): (usize, u32),
        loss: Option<ConnectionLoss<'_>>,
    ) {
        let (now, closing) = (self.clock.now(), self.is_closing(load_index));
        self.counts.held -= 1;
        let load = self.pacer.load_mut(load_index);
        if let Some(held) = load.connections_mut() {
            held.detach(held_index, now);
        }
        let Some(ConnectionLoss { failure, closed_cleanly, was_idle }) = loss.filter(|_| !closing) else { return };
        let accumulator = &mut self.reports.accumulator;
        match load.state {
            // It has no owner until a later load resumes it.
            LoadState::Retained(_) => accumulator.count_loss_after(load.spec.load_step, closed_cleanly, now),
            _ => accumulator.count_loss(load.spec.load_step, closed_cleanly, now),
        }
        if was_idle {
            let lost = format!("a held connection was lost: {}", failure.message);
            accumulator.record_error(load.spec.journey_index, 0, &Failure::new(failure.kind, lost));
        }
    }

    /// Counts the loss of a connection that is given up because of what the peer did or did not do, if it is held.
    pub(super) fn record_loss(&mut self, connection: ConnectionKey, in_order: bool) {
        let held = self.connections.get(connection).and_then(|connection| connection.held);
        if let Some((load_index, _)) = held.filter(|(load_index, _)| !self.is_closing(*load_index)) {
            let load_step = self.pacer.load(load_index).spec.load_step;
            self.reports.accumulator.count_loss(load_step, in_order, self.clock.now());
        }
    }

    /// A request over a held connection is over; the connection stays held if it is still open.
    pub(super) fn release_held_connection(&mut self, key: JourneyKey, free: Duration) {
        let now = self.clock.now();
        let Some(running) = self.running.get_mut(key) else { return };
        let (load_index, held_index, connection) = (running.load_index, running.held_index, running.connection.take());
        self.save_values(key);
        self.release(key);
        if let Some(connection) = connection {
            self.attach_held_connection(load_index, held_index, connection);
        }
        if self.is_closing(load_index) {
            if let Some(connection) = connection {
                self.close_connection(connection);
            }
        } else if let Some(held) = self.pacer.load_mut(load_index).connections_mut() {
            held.release(held_index, now);
            self.send_waiting_request(load_index, held_index, free);
        }
    }

    /// The connection that a request leaves behind belongs to the hold, even if it was opened on the way.
    fn attach_held_connection(&mut self, load_index: usize, held_index: u32, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.user = None;
        if connection.held.replace((load_index, held_index)).is_none() {
            self.counts.held += 1;
            let load = self.pacer.load_mut(load_index);
            self.reports.accumulator.held(load.spec.load_step, self.clock.now()).counts.reopened += 1;
            if let Some(held) = load.connections_mut() {
                held.attach(held_index, key);
            }
        }
    }

    /// Sends the request that has waited for a connection which is free since `free`.
    fn send_waiting_request(&mut self, load_index: usize, held_index: u32, free: Duration) {
        if let Some(due) = self.pacer.take_waiting(load_index, held_index, free) {
            self.launch(due);
        }
    }

    /// Ends a hold whose duration is over, and continues to close its connections.
    pub(super) fn end_hold(&mut self, load_index: usize, now: Duration) {
        let load = self.pacer.load_mut(load_index);
        if load.end_hold(now) {
            self.close_load(load_index);
        }
        let load = self.pacer.load(load_index);
        if load.closing && load.is_holding() {
            self.wind_down_hold(load_index);
        }
    }

    /// Closes some connections of a load that is over, or retains them all.
    pub(super) fn wind_down_hold(&mut self, load_index: usize) {
        let stays = !self.is_closing(load_index);
        let load = self.pacer.load_mut(load_index);
        let load_step = load.spec.load_step;
        let Some(held) = load.held_mut() else { return };
        let (connections, is_last) = held.close_batch(if stays { usize::MAX } else { CLOSED_PER_TURN });
        if !stays {
            connections.into_iter().for_each(|connection| self.close_connection(connection));
        }
        if is_last {
            self.pacer.count_ended(load_index, load_step);
            self.report_finished_steps();
        }
    }
}
