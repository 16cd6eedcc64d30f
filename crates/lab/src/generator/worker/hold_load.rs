//! Held connections at work: opened as fast as planned, kept, reopened when they are lost, closed at the end. Does not
//! know which one is due: `HeldConnections` decides that.

use std::time::Duration;

use super::active_load::{ActiveLoad, LoadState};
use super::held_connections::{CloseBatch, DueOpening, HeldConnections, OpenOutcome};
use super::journey::StepOutcome;
use super::running_journeys::Role;
use super::{SlabKey, Worker};
use crate::generator::Failure;
use crate::generator::messages::WorkerReport;
use crate::limits::CLOSED_PER_TURN;
use crate::plan::Schedule;

/// How a held connection was lost without the worker having closed it.
pub(super) struct ConnectionLoss<'a> {
    pub(super) failure: &'a Failure,
    /// Whether the peer closed it in order, instead of breaking it off.
    pub(super) closed_cleanly: bool,
    /// Whether no request was in flight on it.
    pub(super) was_idle: bool,
}

impl Worker {
    fn held_connections(&mut self, at: usize) -> Option<&mut HeldConnections> {
        match &mut self.loads[at].state {
            LoadState::Held(held) => Some(held),
            LoadState::OpenLoop(_) | LoadState::ClosedLoop(_) | LoadState::Retained(_) | LoadState::Idle => None,
        }
    }

    /// Whether the load closes its connections: it is over, and no later load resumes them.
    fn is_closing(&self, at: usize) -> bool {
        let load = &self.loads[at];
        load.closing && (!load.spec.leaves_open || self.stop_deadline.is_some())
    }

    /// Takes over the connections of the load that the spec names, which is over at all workers.
    pub(super) fn adopt_connections(&mut self, at: usize) {
        let (load_step, Some(phase)) = (self.loads[at].spec.load_step, self.loads[at].spec.resumes_phase) else {
            return;
        };
        let is_meant =
            |load: &ActiveLoad| load.spec.phase_index == phase && matches!(load.state, LoadState::Retained(_));
        let Some(before) = self.loads.iter_mut().find(|load| is_meant(load)) else { return };
        let LoadState::Retained(left) = std::mem::replace(&mut before.state, LoadState::Idle) else { return };
        let (kept, surplus) = match self.held_connections(at) {
            Some(held) => held.adopt(*left),
            None => (Vec::new(), left.connection_keys().collect()),
        };
        self.accumulator.count_kept(load_step, kept.len() as u64, self.plan_time());
        for (held_index, key) in kept {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.held = Some((at, held_index));
            }
        }
        surplus.into_iter().for_each(|connection| self.close_connection(connection));
    }

    /// Closes retained connections that no load has resumed.
    pub(super) fn close_retained(&mut self) {
        for at in 0..self.loads.len() {
            if let LoadState::Retained(held) = &self.loads[at].state {
                let connections: Vec<SlabKey> = held.connection_keys().collect();
                connections.into_iter().for_each(|connection| self.close_connection(connection));
                self.loads[at].state = LoadState::Idle;
            }
        }
    }

    /// Does the next thing that is due for a hold, if anything is.
    pub(super) fn advance_hold(&mut self, at: usize, now: Duration) -> bool {
        let Some(held) = self.held_connections(at) else { return false };
        if let Some(opening) = held.take_opening(now) {
            self.open_held_connection(at, opening);
            return true;
        }
        match held.take_request(now) {
            Some((held_index, arrival)) => {
                self.send_held_request(at, held_index, arrival, arrival.intended);
                true
            }
            None => false,
        }
    }

    fn open_held_connection(&mut self, at: usize, opening: DueOpening) {
        let DueOpening { held_index, arrival, ready_since } = opening;
        if let Some(journey) = self.loads[at].spec.opening_journey_index {
            return self.start_opening_journey(at, journey, opening);
        }
        let journey = self.loads[at].spec.journey_index;
        let key = self.running.add(at, journey, arrival);
        self.loads[at].load_steps.count_started(arrival.load_step);
        if let Some(running) = self.running.get_mut(key) {
            running.restart(arrival, ready_since, (1, 0));
            (running.held_index, running.role) = (held_index, Role::OpenConnection);
        }
        self.start_attempt(key);
    }

    /// Opens a connection with an opening journey; its connection stays.
    fn start_opening_journey(
        &mut self,
        at: usize,
        journey: usize,
        DueOpening { held_index, arrival, ready_since }: DueOpening,
    ) {
        self.loads[at].load_steps.count_started(arrival.load_step);
        (self.due_count, self.in_flight) = (self.due_count + 1, self.in_flight + 1);
        let prepared_journey = &self.journeys[journey];
        let steps = (prepared_journey.own_step_count, prepared_journey.repeats.len());
        let key = self.running.add(at, journey, arrival);
        if let Some(running) = self.running.get_mut(key) {
            running.restart(arrival, ready_since, steps);
            (running.held_index, running.role) = (held_index, Role::OpenWithJourney);
        }
        self.enter_step(key, arrival.intended);
    }

    /// An opening journey is over; if it succeeded, its connection is held.
    pub(super) fn finish_opening_journey(&mut self, key: SlabKey, went_well: bool) {
        let Some(running) = self.running.get_mut(key) else { return };
        let (at, held_index, connection) = (running.load_index, running.held_index, running.connection.take());
        if went_well {
            self.save_values(key);
        }
        self.release(key);
        let keeps = went_well && !self.loads[at].closing;
        if let Some(connection) = connection.filter(|_| !keeps) {
            self.close_connection(connection);
        }
        let connection = connection.filter(|_| keeps);
        if let Some(connection) = connection.and_then(|connection| self.connections.get_mut(connection)) {
            (connection.running_journey, connection.held) = (None, Some((at, held_index)));
            self.held_count += 1;
        }
        self.record_opening(at, held_index, connection);
        if connection.is_some() {
            self.send_waiting_request(at, held_index);
        }
    }

    /// Records the result of an opening; reports when it was the last one missing.
    fn record_opening(&mut self, at: usize, held_index: u32, connection: Option<SlabKey>) {
        let (now, load_step, closing) = (self.plan_time(), self.loads[at].spec.load_step, self.loads[at].closing);
        let Some(held) = self.held_connections(at) else { return };
        match held.finish_opening(held_index, connection, now) {
            OpenOutcome::Opened(due) => {
                let generator_delay = self.pauses.paused_between(due, now);
                self.accumulator.record_opened(load_step, now.saturating_sub(due), generator_delay, now);
            }
            OpenOutcome::Reopened => self.accumulator.count_reopened(load_step, now),
            // Abandoned because the load ends.
            OpenOutcome::Failed if closing => {}
            OpenOutcome::Failed => self.accumulator.count_open_failure(load_step, now),
        }
        self.report_opened(at);
    }

    /// Reports that all connections of a load are open, after all figures of their opening. A worker without
    /// connections to hold reports it as well.
    pub(super) fn report_opened(&mut self, at: usize) {
        let spec = &self.loads[at].spec;
        if !matches!(spec.schedule, Schedule::Hold { .. }) {
            return;
        }
        let load_step = spec.load_step;
        if self.held_connections(at).is_some_and(|held| !held.is_newly_open()) {
            return;
        }
        self.accumulator.flush();
        self.send_intervals();
        let _ = self.reports.send(WorkerReport::ConnectionsOpen {
            worker: self.worker_index,
            load_step,
            at: self.plan_time(),
        });
    }

    /// Saves the values that journeys over this connection inherit.
    fn save_values(&mut self, key: SlabKey) {
        let Some(running) = self.running.get(key) else { return };
        let load = &mut self.loads[running.load_index];
        let inherits = &self.journeys[load.spec.journey_index].inherits;
        let LoadState::Held(held) = &mut load.state else { return };
        if inherits.is_empty() {
            return;
        }
        let value = |name: &String| Some((name.as_str().into(), running.kept.get(name)?.into()));
        held.set_values(running.held_index, inherits.iter().filter_map(value).collect());
    }

    /// Restores the values that the connection has kept.
    pub(super) fn restore_values(&mut self, key: SlabKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        if let LoadState::Held(held) = &self.loads[running.load_index].state {
            held.values(running.held_index).iter().for_each(|(name, value)| running.kept.insert(name, value));
        }
    }

    /// Starts a request whose turn has come, or whose connection is free again.
    fn send_held_request(&mut self, at: usize, held_index: u32, arrival: crate::plan::Arrival, ready_since: Duration) {
        let journey = self.loads[at].spec.journey_index;
        let connection = self.held_connections(at).and_then(|held| held.connection_key(held_index));
        self.loads[at].load_steps.count_started(arrival.load_step);
        let key = self.running.add(at, journey, arrival);
        if let Some(running) = self.running.get_mut(key) {
            (running.held_index, running.connection) = (held_index, connection);
        }
        self.start_journey(key, arrival, ready_since);
    }

    /// A connection that was opened to be held is open.
    pub(super) fn on_held_connection_open(&mut self, connection: SlabKey, key: SlabKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        let (at, held_index) = (running.load_index, running.held_index);
        running.connection = None;
        if let Some(connection) = self.connections.get_mut(connection) {
            (connection.running_journey, connection.held) = (None, Some((at, held_index)));
        }
        self.held_count += 1;
        self.finish_opening(key, Some(connection), &StepOutcome::Ok);
        self.send_waiting_request(at, held_index);
    }

    /// Ends an opening, with a connection or without one.
    pub(super) fn finish_opening(&mut self, key: SlabKey, connection: Option<SlabKey>, outcome: &StepOutcome) {
        self.running.disarm(key);
        let Some(running) = self.running.get(key) else { return };
        let (at, held_index, journey) = (running.load_index, running.held_index, running.journey_index);
        if let StepOutcome::Failed(failure) = outcome {
            self.accumulator.record_error(journey, 0, failure);
        }
        self.record_opening(at, held_index, connection);
        self.release(key);
    }

    /// A held connection is gone; `gone` has the reason if the worker did not close it. A request in flight records the
    /// failure itself.
    pub(super) fn on_held_connection_gone(&mut self, at: usize, held_index: u32, gone: Option<ConnectionLoss<'_>>) {
        let now = self.plan_time();
        self.held_count -= 1;
        let (closing, journey, load_step) =
            (self.is_closing(at), self.loads[at].spec.journey_index, self.loads[at].spec.load_step);
        if let Some(held) = self.loads[at].state.held_connections() {
            held.detach(held_index, now);
        }
        let Some(ConnectionLoss { failure, closed_cleanly: in_order, was_idle }) = gone.filter(|_| !closing) else {
            return;
        };
        match self.loads[at].state {
            // It has no owner until a later load resumes it.
            LoadState::Retained(_) => self.accumulator.count_loss_after(load_step, in_order, now),
            _ => self.accumulator.count_loss(load_step, in_order, now),
        }
        if was_idle {
            let lost = format!("a held connection was lost: {}", failure.message);
            self.accumulator.record_error(journey, 0, &Failure::new(failure.kind, lost));
        }
    }

    /// Counts the loss of a connection that is given up because of what the peer did or did not do, if it is held.
    pub(super) fn record_loss(&mut self, connection: SlabKey, in_order: bool) {
        let held = self.connections.get(connection).and_then(|connection| connection.held);
        if let Some((at, _)) = held.filter(|(at, _)| !self.is_closing(*at)) {
            self.accumulator.count_loss(self.loads[at].spec.load_step, in_order, self.plan_time());
        }
    }

    /// A request over a held connection is over; the connection stays held if it is still open.
    pub(super) fn release_held_connection(&mut self, key: SlabKey, free: Duration) {
        let now = self.plan_time();
        let Some(running) = self.running.get_mut(key) else { return };
        let (at, held_index, connection) = (running.load_index, running.held_index, running.connection.take());
        self.save_values(key);
        self.release(key);
        if let Some(connection) = connection {
            self.attach_held_connection(at, held_index, connection);
        }
        if self.is_closing(at) {
            if let Some(connection) = connection {
                self.close_connection(connection);
            }
        } else if let Some(held) = self.loads[at].state.held_connections() {
            held.release(held_index, now);
            self.send_waiting_request_since(at, held_index, free);
        }
    }

    /// The connection that a request leaves behind belongs to the hold, even if it was opened on the way.
    fn attach_held_connection(&mut self, at: usize, held_index: u32, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.running_journey = None;
        if connection.held.replace((at, held_index)).is_none() {
            self.held_count += 1;
            self.accumulator.count_reopened(self.loads[at].spec.load_step, self.plan_time());
            if let Some(held) = self.loads[at].state.held_connections() {
                held.attach(held_index, key);
            }
        }
    }

    fn send_waiting_request(&mut self, at: usize, held_index: u32) {
        let now = self.plan_time();
        self.send_waiting_request_since(at, held_index, now);
    }

    /// Sends the request that has waited for a connection which is free since `free`.
    fn send_waiting_request_since(&mut self, at: usize, held_index: u32, free: Duration) {
        if self.loads[at].closing {
            return;
        }
        if let Some((held_index, arrival)) =
            self.held_connections(at).and_then(|held| held.take_waiting_request(held_index))
        {
            self.record_slot_wait(arrival.intended, free.max(arrival.intended));
            self.send_held_request(at, held_index, arrival, free.max(arrival.intended));
        }
    }

    /// Closes some connections of a load that is over, or retains them all.
    pub(super) fn wind_down_hold(&mut self, at: usize) {
        let (load_step, stays) = (self.loads[at].spec.load_step, !self.is_closing(at));
        let wind_down =
            |held: &mut HeldConnections| if stays { held.keep_all_open() } else { held.close_batch(CLOSED_PER_TURN) };
        match self.held_connections(at).map(wind_down) {
            Some(CloseBatch::Some(connections)) => {
                connections.into_iter().for_each(|connection| self.close_connection(connection));
            }
            Some(CloseBatch::Last) => {
                self.loads[at].load_steps.count_ended(load_step, &mut self.finished_steps);
                self.report_finished_steps(at);
            }
            Some(CloseBatch::Nothing) | None => {}
        }
    }
}
