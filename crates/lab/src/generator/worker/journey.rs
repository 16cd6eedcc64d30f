//! How an arrival runs its journey: step after step until one does not succeed, with pauses and repeats, and what is
//! recorded about it. Does not know sockets.

use std::time::Duration;

use super::active_load::LoadState;
use super::running_journeys::Role;
use super::{RunningJourney, SlabKey, StepState, Timer, Worker};
use crate::generator::Failure;
use crate::generator::framing;
use crate::generator::messages::StartedWork;
use crate::generator::response::{self, StatusClass};
use crate::limits::REST_AFTER_REFUSAL;
use crate::measurement::{Class, ErrorKind, Sample};
use crate::plan::Arrival;
use crate::scenario::{NextStep, Reconnect, Retry, ValueSource};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Ok,
    Denied,
    Failed(Failure),
}

impl StepOutcome {
    fn class(&self) -> Class {
        match self {
            Self::Ok => Class::Ok,
            Self::Denied => Class::Denied,
            Self::Failed(failure) => Class::Error(failure.kind),
        }
    }
}

impl Worker {
    /// Starts the next arrival of a load, if one is due and has a slot.
    pub(super) fn launch_next(&mut self, at: usize, now: Duration) -> bool {
        let load = &mut self.loads[at];
        if load.closing {
            return false;
        }
        if matches!(load.state, LoadState::Held(_)) {
            return self.advance_hold(at, now);
        }
        let (arrival, free_since) = match &mut load.state {
            LoadState::OpenLoop(open) => match open.take_due(now) {
                Some(taken) => taken,
                None => return false,
            },
            LoadState::ClosedLoop(clients) => match clients.take_due(&load.spec, now) {
                Some(arrival) => (arrival, arrival.intended),
                None => return false,
            },
            LoadState::Held(_) | LoadState::Retained(_) | LoadState::Idle => return false,
        };
        load.load_steps.count_started(arrival.load_step);
        let journey = load.spec.journey_index;
        if free_since > arrival.intended {
            self.record_slot_wait(arrival.intended, now);
        }
        let running = self.running.add(at, journey, arrival);
        self.close_load_steps(at);
        self.start_journey(running, arrival, free_since.max(arrival.intended));
        true
    }

    /// Starts a journey that could have started at `ready_since`.
    pub(super) fn start_journey(&mut self, key: SlabKey, arrival: Arrival, ready_since: Duration) {
        self.in_flight += 1;
        self.due_count += 1;
        let journeys = self.journeys.clone();
        if let Some(running) = self.running.get_mut(key) {
            let prepared_journey = &journeys[running.journey_index];
            running.restart(arrival, ready_since, (prepared_journey.own_step_count, prepared_journey.repeats.len()));
        }
        self.restore_values(key);
        self.enter_step(key, arrival.intended);
    }

    /// Enters a step, which is due when its pause is over.
    pub(super) fn enter_step(&mut self, key: SlabKey, from: Duration) {
        let journeys = self.journeys.clone();
        let Some(running) = self.running.get_mut(key) else { return };
        let prepared_journey = &journeys[running.journey_index];
        let step = &prepared_journey.steps[running.step].step;
        let pause = step.pause_duration(running.arrival.seed, running.step, running.rounds.completed_rounds());
        let pause = step.pause_until.map_or(pause, |until| until.saturating_sub(from));
        running.rounds.enter_step(&prepared_journey.repeats, running.step, from);
        let due = from + pause;
        running.times.step_due = due;
        running.times.step_sent = None;
        if running.step == 0 && running.rounds.completed_rounds() == 0 {
            // A pause before the first step is the user's: the journey is due when it is over.
            running.arrival.intended = due;
            running.times.ready_since += pause;
            if matches!(&self.loads[running.load_index].state, LoadState::ClosedLoop(clients) if clients.is_over(due)) {
                return self.discard_unstarted(key);
            }
        }
        if pause.is_zero() {
            return self.start_attempt(key);
        }
        running.step_state = StepState::Delayed;
        self.set_timer(self.config.start + due, Timer::Resume(key));
    }

    /// Continues after a pause, a backoff or a rest.
    pub(super) fn resume(&mut self, key: SlabKey) {
        match self.running.get(key).map(|running| running.step_state) {
            Some(StepState::Delayed) => self.start_attempt(key),
            Some(StepState::Idle) => self.start_next_journey(key, self.plan_time()),
            Some(StepState::Exchanging) | None => {}
        }
    }

    /// Sends the request of the current step.
    pub(super) fn start_attempt(&mut self, key: SlabKey) {
        // Read again: what was handled since the last reading is the worker's own delay, and shows in the lag.
        self.read_clock();
        let now = self.plan_time();
        let Some(running) = self.running.get_mut(key) else { return };
        running.start_attempt();
        let (intended, times) = (running.arrival.intended, &mut running.times);
        if times.step_sent.is_none() {
            let first = times.sent.is_none();
            let (due, ready) = if first { (intended, times.ready_since) } else { (times.step_due, times.step_due) };
            let (waited, late) = (now.saturating_sub(due), now.saturating_sub(ready));
            times.step_sent = Some(now);
            times.recovering_since = self.pauses.recovering_since();
            times.step_lag = late.min(waited) + self.pauses.paused_between(due, ready.min(now));
            if first {
                let behind =
                    times.recovering_since.map_or(Duration::ZERO, |since| self.pauses.paused_between(since, now));
                times.sent = Some(now);
                times.generator_delay_unsent = times.step_lag.max(behind).min(waited);
                times.lag = late.max(times.generator_delay_unsent);
            }
        }
        let prepared = &self.journeys[running.journey_index].steps[running.step];
        let (timeout, is_long_poll) = (prepared.timeout_index, prepared.step.long_poll.is_some());
        if is_long_poll {
            running.watching_since_unix_us.get_or_insert_with(|| self.now.unix_us());
        }
        self.running.arm(key, timeout, is_long_poll, self.now);
        match self.running.get_mut(key).and_then(|running| running.connection_failure.take()) {
            Some(failure) => self.end_step(key, &StepOutcome::Failed(failure)),
            None => self.dispatch(key),
        }
    }

    /// The response to a step is complete; `excess` bytes that belong to no response were received after it.
    pub(super) fn on_response(&mut self, key: SlabKey, excess: Option<usize>) {
        self.running.disarm(key);
        let outcome = match (self.evaluate_response(key), excess) {
            (StepOutcome::Ok | StepOutcome::Denied, Some(bytes)) => {
                let message = format!("{bytes} bytes behind the end of the answer");
                StepOutcome::Failed(Failure::new(ErrorKind::ExcessBytes, message))
            }
            (outcome, _) => outcome,
        };
        self.end_step(key, &outcome);
    }

    fn evaluate_response(&mut self, key: SlabKey) -> StepOutcome {
        let journeys = self.journeys.clone();
        let Some(running) = self.running.get_mut(key) else { return StepOutcome::Ok };
        let prepared = &journeys[running.journey_index].steps[running.step];
        match response::classify_status(&prepared.step, running.status) {
            StatusClass::Denied => StepOutcome::Denied,
            StatusClass::Unexpected => {
                StepOutcome::Failed(response::unexpected_status_failure(running.status, &running.body.bytes))
            }
            StatusClass::Expected => match response::is_body_denial(&prepared.step, &running.body.bytes) {
                Ok(true) => StepOutcome::Denied,
                Ok(false) => self.process_response(key).map_or_else(StepOutcome::Failed, |()| StepOutcome::Ok),
                Err(failure) => StepOutcome::Failed(failure),
            },
        }
    }

    /// Processes a response that is neither denied nor unexpected.
    fn process_response(&mut self, key: SlabKey) -> Result<(), Failure> {
        let journeys = self.journeys.clone();
        let Some(running) = self.running.get(key) else { return Ok(()) };
        let step = &journeys[running.journey_index].steps[running.step].step;
        let Some(follows) = &step.sequence_check else {
            self.keep_body_values(key)?;
            return self.record_wake_delay(key);
        };
        let seen = running.kept.get(&follows.cursor).map(str::to_owned);
        self.keep_body_values(key)?;
        let Some(running) = self.running.get(key) else { return Ok(()) };
        if let (Some(seen), Some(cursor)) = (seen, running.kept.get(&follows.cursor)) {
            response::check_sequence(follows, &seen, cursor, &running.body.bytes)?;
        }
        self.record_wake_delay(key)
    }

    /// Records the wake delay: how late an event was received that happened while the journey watched for it. An event
    /// of the first response may be older than the watch; one that happened between two polls is not, and counts.
    fn record_wake_delay(&mut self, key: SlabKey) -> Result<(), Failure> {
        let (journeys, start) = (self.journeys.clone(), self.config.start);
        let Some(running) = self.running.get_mut(key) else { return Ok(()) };
        let Some(long_poll) = &journeys[running.journey_index].steps[running.step].step.long_poll else {
            return Ok(());
        };
        let (Some(head), Some(watching)) = (running.times.step_head, running.watching_since_unix_us) else {
            return Ok(());
        };
        let happened =
            response::event_time_unix_us(long_poll, &running.body.bytes)?.filter(|happened| *happened >= watching);
        let late_us = |happened| u64::try_from((start + head).unix_us() - happened).unwrap_or(0);
        running.wake_delay = happened.map(|happened| {
            let wake = Duration::from_micros(late_us(happened));
            (wake, self.pauses.paused_between(head.saturating_sub(wake), head))
        });
        Ok(())
    }

    /// Keeps the step's values from the body, and reports the work that the step has started.
    fn keep_body_values(&mut self, key: SlabKey) -> Result<(), Failure> {
        let (journeys, done) = (self.journeys.clone(), self.plan_time());
        let Some(running) = self.running.get_mut(key) else { return Ok(()) };
        if let Some(failure) = running.header_failure.take() {
            return Err(failure);
        }
        let prepared = &journeys[running.journey_index].steps[running.step];
        let intended = running.arrival.intended;
        let mut created = Vec::new();
        for keep in &prepared.step.keep {
            let ValueSource::Json(pointer) = &keep.source else { continue };
            let kept = response::keep_from_body(&prepared.step, keep, pointer, &running.body.bytes)?;
            running.kept.insert(&keep.name, &kept.text);
            if prepared.step.starts_work.as_ref() == Some(&keep.name) {
                created = kept.items.unwrap_or_else(|| vec![kept.text]);
            }
        }
        if let (Some(work), Some(starts)) = (prepared.work_index, &prepared.step.starts_work) {
            if created.is_empty() {
                // The value was kept from a header.
                let kept = running.kept.values().iter().rev().find(|(name, _)| name == starts);
                created.extend(kept.map(|(_, id)| id.clone()));
            }
            for id in created {
                self.queue_started_work(StartedWork { work_index: work, id: id.into(), intended, done });
            }
        }
        Ok(())
    }

    /// Records that an arrival has waited for a slot: for the target, or only behind a pause of the worker.
    pub(super) fn record_slot_wait(&mut self, due: Duration, now: Duration) {
        let since = self.pauses.recovering_since().map_or(due, |since| since.min(due));
        // It was sent as soon as the worker ran again.
        let generator_delay = self.pauses.paused_between(since, now) + self.pauses.check_interval();
        self.accumulator.count_slot_wait(
            generator_delay >= now.saturating_sub(due) && generator_delay > self.pauses.check_interval(),
        );
    }

    pub(super) fn end_step(&mut self, key: SlabKey, outcome: &StepOutcome) {
        self.running.disarm(key);
        if matches!(self.running.get(key), Some(RunningJourney { role: Role::OpenConnection, .. })) {
            return self.finish_opening(key, None, outcome);
        }
        if self.try_retry(key, outcome) {
            return;
        }
        let journeys = self.journeys.clone();
        let now = self.plan_time();
        let Some(running) = self.running.get_mut(key) else { return };
        let ended_early = self.loads[running.load_index].ended_early;
        let prepared_journey = &journeys[running.journey_index];
        let is_background = matches!(running.role, Role::Background { .. });
        let times = &mut running.times;
        if running.step == 0 {
            times.head = times.step_head;
        }
        let sent = times.step_sent.unwrap_or(now);
        let generator_delay = times.generator_delay_of_step(now, &self.pauses);
        times.generator_delay += generator_delay;
        if prepared_journey.has_step_figures {
            let before = sent.saturating_sub(times.step_due);
            let own_service = generator_delay.saturating_sub(before).max(self.pauses.paused_between(sent, now));
            let sample = Sample {
                step: Some(running.step),
                intended: times.step_due,
                sent,
                first_byte: times.step_head,
                lag: if running.step == 0 { times.lag } else { sent.saturating_sub(times.step_due) },
                generator_delay,
                generator_delay_service: own_service,
                retries: running.retries,
                is_long_poll: prepared_journey.steps[running.step].step.long_poll.is_some(),
                wake_delay: running.wake_delay.map(|(wake, _)| wake),
                generator_delay_wake: running.wake_delay.map_or(Duration::ZERO, |(_, generator_delay)| generator_delay),
                ..journey_sample(running, now, outcome.class())
            };
            self.accumulator.record_sample(running.arrival.load_step, &sample);
        }
        running.retries_before += std::mem::take(&mut running.retries);
        if let StepOutcome::Failed(failure) = outcome {
            self.accumulator.record_error(running.journey_index, running.step, failure);
        }
        if is_background {
            return self.continue_loop(key, outcome);
        }
        if *outcome != StepOutcome::Ok {
            return self.end_journey(key, outcome);
        }
        if let Some(failed) = running.background_outcome.take() {
            return self.end_journey(key, &failed);
        }
        let from = running.step;
        match self.next_step(key) {
            Ok(Some(step)) => {
                self.start_background_loops(key, from);
                let Some(running) = self.running.get_mut(key) else { return };
                running.step = step;
                if ended_early
                    && matches!(self.loads[running.load_index].state, LoadState::ClosedLoop(_) | LoadState::Held(_))
                {
                    return self.abandon(key);
                }
                self.enter_step(key, now);
            }
            Ok(None) => self.end_journey(key, outcome),
            Err(failure) => self.end_journey(key, &StepOutcome::Failed(failure)),
        }
    }

    /// The step after one that succeeded; none at the end of the journey.
    pub(super) fn next_step(&mut self, key: SlabKey) -> Result<Option<usize>, Failure> {
        let (journeys, now) = (self.journeys.clone(), self.plan_time());
        let Some(running) = self.running.get_mut(key) else { return Ok(None) };
        let (repeats, body) = (&journeys[running.journey_index].repeats, &running.body.bytes);
        let position = (running.step, running.end_step);
        let next =
            running.rounds.next_step(repeats, position, now, |condition| framing::value_matches(condition, body));
        let failure = match next {
            Ok(NextStep::Step(step)) => return Ok(Some(step)),
            Ok(NextStep::Done) => return Ok(None),
            Ok(NextStep::Unmet(rounds)) => Failure::new(
                ErrorKind::Answer,
                format!("{rounds} rounds, and none was the last: the answer never said so"),
            ),
            Err(failure) => failure,
        };
        self.accumulator.record_error(running.journey_index, running.step, &failure);
        Err(failure)
    }

    /// Sends the same request again if it failed in a way that the scenario retries.
    fn try_retry(&mut self, key: SlabKey, outcome: &StepOutcome) -> bool {
        let StepOutcome::Failed(failure) = outcome else { return false };
        let journeys = self.journeys.clone();
        let Some(running) = self.running.get_mut(key) else { return false };
        let retry = journeys[running.journey_index].steps[running.step].step.retry.as_ref();
        let applies = |retry: &&Retry| retry.applies(failure.kind, running.status) && running.retries < retry.times;
        let Some(retry) = retry.filter(applies) else { return false };
        running.retries += 1;
        running.step_state = StepState::Delayed;
        self.accumulator.count_retry();
        self.set_timer(self.now + retry.backoff, Timer::Resume(key));
        true
    }

    fn end_journey(&mut self, key: SlabKey, outcome: &StepOutcome) {
        self.record_journey(key, outcome);
        self.finish_journey(key, outcome);
    }

    pub(super) fn record_journey(&mut self, key: SlabKey, outcome: &StepOutcome) {
        let now = self.plan_time();
        let Some(running) = self.running.get(key) else { return };
        let (load_index, load_step, sample) =
            (running.load_index, running.arrival.load_step, journey_sample(running, now, outcome.class()));
        self.accumulator.record_sample(load_step, &sample);
        self.loads[load_index].load_steps.extend_until(load_step, now.saturating_sub(sample.generator_delay));
    }

    /// Abandons a journey that was started.
    pub(super) fn abandon(&mut self, key: SlabKey) {
        self.running.disarm(key);
        let Some(running) = self.running.get_mut(key) else { return };
        if running.step_state == StepState::Idle {
            return self.release(key);
        }
        if matches!(running.role, Role::Background { .. }) {
            return self.stop_loop(key);
        }
        let planned = running.role != Role::OpenConnection;
        let (journey, load_step, load_index) = (running.journey_index, running.arrival.load_step, running.load_index);
        let connection = if running.step_state == StepState::Exchanging { running.connection.take() } else { None };
        if !planned {
            // A connection opening is no arrival.
        } else if running.times.sent.is_some() {
            self.accumulator.count_abandoned();
        } else {
            self.accumulator.count_not_sent(journey, 1);
            self.loads[load_index].load_steps.count_not_sent(load_step, 1);
        }
        if let Some(connection) = connection {
            self.close_connection(connection);
        }
        if planned {
            self.finish_journey(key, &StepOutcome::Ok);
        } else {
            self.release(key);
        }
    }

    /// A journey is over: its slot is free again.
    fn finish_journey(&mut self, key: SlabKey, outcome: &StepOutcome) {
        self.stop_background_loops(key);
        self.in_flight -= 1;
        self.done_count += 1;
        let free = self.woken_at.since(self.config.start);
        let Some(running) = self.running.get_mut(key) else { return };
        let load = &mut self.loads[running.load_index];
        if running.role == Role::OpenWithJourney {
            return self.finish_opening_journey(key, *outcome == StepOutcome::Ok);
        }
        if matches!(load.state, LoadState::Held(_)) {
            return self.release_held_connection(key, free);
        }
        let once = matches!(load.state, LoadState::OpenLoop(_) | LoadState::Retained(_) | LoadState::Idle);
        if load.spec.reconnect != Reconnect::Never || once {
            let connection = running.connection.take();
            let keep = load.spec.reconnect == Reconnect::Never;
            if let Some(connection) = connection {
                if keep { self.connections.put_idle(connection) } else { self.close_connection(connection) }
            }
        }
        let Some(running) = self.running.get_mut(key) else { return };
        let load = &mut self.loads[running.load_index];
        match &mut load.state {
            LoadState::OpenLoop(open) => {
                open.release_slot(free);
                self.release(key);
            }
            LoadState::ClosedLoop(_) if !load.closing => {
                running.step_state = StepState::Idle;
                match outcome {
                    // Not at once, so that an unreachable target does not cause a busy loop.
                    StepOutcome::Failed(failure) => {
                        let hopeless = matches!(failure.kind, ErrorKind::Connect | ErrorKind::Request);
                        let rest = if hopeless { REST_AFTER_REFUSAL } else { Duration::ZERO };
                        self.set_timer(self.now + rest, Timer::Resume(key));
                    }
                    StepOutcome::Ok | StepOutcome::Denied => self.start_next_journey(key, free),
                }
            }
            LoadState::ClosedLoop(_) | LoadState::Held(_) | LoadState::Retained(_) | LoadState::Idle => {
                self.release(key);
            }
        }
    }

    /// Starts a client's next journey, if there is one. It is due now; but the response before it had been received by
    /// `ready_since`, and the time since then is the worker's own delay.
    fn start_next_journey(&mut self, key: SlabKey, ready_since: Duration) {
        let now = self.plan_time();
        let Some(running) = self.running.get(key) else { return };
        let load = &self.loads[running.load_index];
        let next = match &load.state {
            LoadState::ClosedLoop(clients) if !load.closing => clients.next_journey(&load.spec, &running.arrival, now),
            _ => None,
        };
        match next {
            Some(arrival) => self.start_journey(key, arrival, ready_since),
            None => self.release(key),
        }
    }

    /// Removes a running journey for good.
    pub(super) fn release(&mut self, key: SlabKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        let (load_index, load_step, connection) =
            (running.load_index, running.arrival.load_step, running.connection.take());
        self.running.remove(key);
        if let Some(connection) = connection {
            self.connections.put_idle(connection);
        }
        self.loads[load_index].load_steps.count_ended(load_step, &mut self.finished_steps);
        self.report_finished_steps(load_index);
    }

    /// Releases what has not started in a load that is over.
    pub(super) fn release_pending(&mut self, at: usize) {
        if matches!(self.loads[at].state, LoadState::OpenLoop(_) | LoadState::Idle) {
            return;
        }
        for key in self.running.keys() {
            let Some(running) = self.running.get(key).filter(|running| running.load_index == at) else { continue };
            let ended_early = self.loads[at].ended_early;
            match (running.step_state, running.role) {
                (StepState::Idle, _) => self.release(key),
                // It ends with its journey.
                (_, Role::Background { .. }) => {}
                (_, Role::OpenConnection | Role::OpenWithJourney) => self.abandon(key),
                (StepState::Delayed, _) if running.times.sent.is_none() && !self.is_holding(at) => {
                    self.discard_unstarted(key);
                }
                (StepState::Delayed, _) if ended_early => self.abandon(key),
                (StepState::Delayed | StepState::Exchanging, _) => {}
            }
        }
    }

    fn is_holding(&self, at: usize) -> bool {
        matches!(self.loads[at].state, LoadState::Held(_))
    }

    /// A client that pauses before its first request was not due yet.
    fn discard_unstarted(&mut self, key: SlabKey) {
        self.in_flight -= 1;
        self.due_count -= 1;
        self.release(key);
    }
}

fn journey_sample(running: &RunningJourney, now: Duration, class: Class) -> Sample {
    Sample {
        index: running.arrival.index,
        journey: running.journey_index,
        step: None,
        intended: running.arrival.intended,
        sent: running.times.sent.unwrap_or(now),
        first_byte: running.times.head,
        done: now,
        lag: running.times.lag,
        generator_delay: running.times.generator_delay,
        generator_delay_service: running.times.generator_delay.saturating_sub(running.times.generator_delay_unsent),
        retries: running.retries_before + running.retries,
        class,
        is_long_poll: false,
        wake_delay: None,
        generator_delay_wake: Duration::ZERO,
    }
}
