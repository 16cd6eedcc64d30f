//! The way of an arrival: step after step until one does not go well, with pauses and repeats, and what is written
//! down about it. Refuses to know sockets.

use std::time::Duration;

use super::active_load::LoadState;
use super::running_journeys::Role;
use super::{RunningJourney, SlabKey, StepState, Timer, Worker};
use crate::generator::Failure;
use crate::generator::framing;
use crate::generator::response::{self, StatusClass};
use crate::generator::worker_pool::StartedWork;
use crate::limits::REST_AFTER_REFUSAL;
use crate::plan::Arrival;
use crate::record::{Class, ErrorKind, Sample};
use crate::scenario::{EndCondition, NextStep, Reconnect, Retry, ValueSource};

/// How a step ended.
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
    /// Begins the next arrival of a course, if one is due and has a place.
    pub(super) fn launch_next(&mut self, at: usize, now: Duration) -> bool {
        let course = &mut self.loads[at];
        if course.closing {
            return false;
        }
        if matches!(course.state, LoadState::Held(_)) {
            return self.advance_hold(at, now);
        }
        let (arrival, free_since) = match &mut course.state {
            LoadState::OpenLoop(open) => match open.take_due(now) {
                Some(taken) => taken,
                None => return false,
            },
            LoadState::ClosedLoop(clients) => match clients.take_due(&course.spec, now) {
                Some(arrival) => (arrival, arrival.intended),
                None => return false,
            },
            LoadState::Held(_) | LoadState::Retained(_) | LoadState::Idle => return false,
        };
        course.load_steps.count_started(arrival.load_step);
        let journey = course.spec.journey_index;
        if free_since > arrival.intended {
            self.record_slot_wait(arrival.intended, now);
        }
        let flight = self.running.add(at, journey, arrival);
        self.close_load_steps(at);
        self.start_journey(flight, arrival, free_since.max(arrival.intended));
        true
    }

    /// Begins a journey that could have begun since `ready_since`.
    pub(super) fn start_journey(&mut self, key: SlabKey, arrival: Arrival, ready_since: Duration) {
        self.in_flight += 1;
        self.due_count += 1;
        let calls = self.journeys.clone();
        if let Some(flight) = self.running.get_mut(key) {
            let route = &calls[flight.journey_index];
            flight.restart(arrival, ready_since, (route.own_step_count, route.repeats.len()));
        }
        self.restore_values(key);
        self.enter_step(key, arrival.intended);
    }

    /// Comes to a step that is due when its pause is over.
    pub(super) fn enter_step(&mut self, key: SlabKey, from: Duration) {
        let calls = self.journeys.clone();
        let Some(flight) = self.running.get_mut(key) else { return };
        let route = &calls[flight.journey_index];
        let step = &route.steps[flight.step].step;
        let pause = step.pause_duration(flight.arrival.seed, flight.step, flight.rounds.completed_rounds());
        let pause = step.pause_until.map_or(pause, |until| until.saturating_sub(from));
        flight.rounds.enter_step(&route.repeats, flight.step, from);
        let due = from + pause;
        flight.times.step_due = due;
        flight.times.step_sent = None;
        if flight.step == 0 && flight.rounds.completed_rounds() == 0 {
            // A pause before the first step is the user's, so nobody was expected before it was over.
            flight.arrival.intended = due;
            flight.times.ready_since += pause;
            if matches!(&self.loads[flight.load_index].state, LoadState::ClosedLoop(clients) if clients.is_over(due)) {
                return self.discard_unstarted(key);
            }
        }
        if pause.is_zero() {
            return self.start_attempt(key);
        }
        flight.step_state = StepState::Delayed;
        self.set_timer(self.config.start + due, Timer::Resume(key));
    }

    /// Goes on after a pause, a backoff or a rest.
    pub(super) fn resume(&mut self, key: SlabKey) {
        match self.running.get(key).map(|flight| flight.step_state) {
            Some(StepState::Delayed) => self.start_attempt(key),
            Some(StepState::Idle) => self.start_next_journey(key, self.plan_time()),
            Some(StepState::Exchanging) | None => {}
        }
    }

    /// Sends the request of the step that the flight has come to.
    pub(super) fn start_attempt(&mut self, key: SlabKey) {
        // Read again: what was handled since the last look is the worker's own doing, and shows in the lag.
        self.read_clock();
        let now = self.plan_time();
        let Some(flight) = self.running.get_mut(key) else { return };
        flight.start_attempt();
        let (intended, times) = (flight.arrival.intended, &mut flight.times);
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
        let call = &self.journeys[flight.journey_index].steps[flight.step];
        let (timeout, waits) = (call.timeout_index, call.step.long_poll.is_some());
        if waits {
            flight.watching_since_unix_us.get_or_insert_with(|| self.now.unix_us());
        }
        self.running.arm(key, timeout, waits, self.now);
        match self.running.get_mut(key).and_then(|flight| flight.connection_failure.take()) {
            Some(failure) => self.end_step(key, &StepOutcome::Failed(failure)),
            None => self.dispatch(key),
        }
    }

    /// The answer to a step is complete; so many bytes that belong to none came behind it.
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
        let calls = self.journeys.clone();
        let Some(flight) = self.running.get_mut(key) else { return StepOutcome::Ok };
        let call = &calls[flight.journey_index].steps[flight.step];
        match response::classify_status(&call.step, flight.status) {
            StatusClass::Denied => StepOutcome::Denied,
            StatusClass::Unexpected => {
                StepOutcome::Failed(response::unexpected_status_failure(flight.status, &flight.body.bytes))
            }
            StatusClass::Expected => match response::is_body_denial(&call.step, &flight.body.bytes) {
                Ok(true) => StepOutcome::Denied,
                Ok(false) => self.process_response(key).map_or_else(StepOutcome::Failed, |()| StepOutcome::Ok),
                Err(failure) => StepOutcome::Failed(failure),
            },
        }
    }

    /// Takes in what an answer that is as hoped for tells.
    fn process_response(&mut self, key: SlabKey) -> Result<(), Failure> {
        let calls = self.journeys.clone();
        let Some(flight) = self.running.get(key) else { return Ok(()) };
        let step = &calls[flight.journey_index].steps[flight.step].step;
        let Some(follows) = &step.sequence_check else {
            self.keep_body_values(key)?;
            return self.record_wake_delay(key);
        };
        let seen = flight.kept.get(&follows.cursor).map(str::to_owned);
        self.keep_body_values(key)?;
        let Some(flight) = self.running.get(key) else { return Ok(()) };
        if let (Some(seen), Some(cursor)) = (seen, flight.kept.get(&follows.cursor)) {
            response::check_sequence(follows, &seen, cursor, &flight.body.bytes)?;
        }
        self.record_wake_delay(key)
    }

    /// Notes how late news came that happened while the flight watched for it. What it was told of at once may be older
    /// than its watch; what happened between two of its requests is not, and counts.
    fn record_wake_delay(&mut self, key: SlabKey) -> Result<(), Failure> {
        let (calls, start) = (self.journeys.clone(), self.config.start);
        let Some(flight) = self.running.get_mut(key) else { return Ok(()) };
        let Some(waits) = &calls[flight.journey_index].steps[flight.step].step.long_poll else { return Ok(()) };
        let (Some(head), Some(watching)) = (flight.times.step_head, flight.watching_since_unix_us) else {
            return Ok(());
        };
        let happened =
            response::event_time_unix_us(waits, &flight.body.bytes)?.filter(|happened| *happened >= watching);
        let late_us = |happened| u64::try_from((start + head).unix_us() - happened).unwrap_or(0);
        flight.wake_delay = happened.map(|happened| {
            let wake = Duration::from_micros(late_us(happened));
            (wake, self.pauses.paused_between(head.saturating_sub(wake), head))
        });
        Ok(())
    }

    /// Keeps what the step wants of the body, and tells of work that it started.
    fn keep_body_values(&mut self, key: SlabKey) -> Result<(), Failure> {
        let (calls, done) = (self.journeys.clone(), self.plan_time());
        let Some(flight) = self.running.get_mut(key) else { return Ok(()) };
        if let Some(failure) = flight.header_failure.take() {
            return Err(failure);
        }
        let call = &calls[flight.journey_index].steps[flight.step];
        let intended = flight.arrival.intended;
        let mut begun = Vec::new();
        for keep in &call.step.keep {
            let ValueSource::Json(pointer) = &keep.source else { continue };
            let kept = response::keep_from_body(&call.step, keep, pointer, &flight.body.bytes)?;
            flight.kept.insert(&keep.name, &kept.text);
            if call.step.starts_work.as_ref() == Some(&keep.name) {
                begun = kept.items.unwrap_or_else(|| vec![kept.text]);
            }
        }
        if let (Some(work), Some(starts)) = (call.work_index, &call.step.starts_work) {
            if begun.is_empty() {
                // Kept of the head.
                let kept = flight.kept.values().iter().rev().find(|(name, _)| name == starts);
                begun.extend(kept.map(|(_, id)| id.clone()));
            }
            for id in begun {
                self.queue_started_work(StartedWork { work_index: work, id: id.into(), intended, done });
            }
        }
        Ok(())
    }

    /// An arrival has waited for a place since it was due: for the target, or behind a pause of the worker's own.
    pub(super) fn record_slot_wait(&mut self, due: Duration, now: Duration) {
        let since = self.pauses.recovering_since().map_or(due, |since| since.min(due));
        // It left as soon as the worker came to it again.
        let own = self.pauses.paused_between(since, now) + self.pauses.check_interval();
        self.accumulator.count_slot_wait(own >= now.saturating_sub(due) && own > self.pauses.check_interval());
    }

    /// A step has ended, one way or the other.
    pub(super) fn end_step(&mut self, key: SlabKey, outcome: &StepOutcome) {
        self.running.disarm(key);
        if matches!(self.running.get(key), Some(RunningJourney { role: Role::OpenConnection, .. })) {
            return self.finish_opening(key, None, outcome);
        }
        if self.try_retry(key, outcome) {
            return;
        }
        let calls = self.journeys.clone();
        let now = self.plan_time();
        let Some(flight) = self.running.get_mut(key) else { return };
        let cut = self.loads[flight.load_index].ended_early;
        let route = &calls[flight.journey_index];
        let is_beside = matches!(flight.role, Role::Background { .. });
        let times = &mut flight.times;
        if flight.step == 0 {
            times.head = times.step_head;
        }
        let sent = times.step_sent.unwrap_or(now);
        let own = times.generator_delay_of_step(now, &self.pauses);
        times.generator_delay += own;
        if route.has_step_figures {
            let before = sent.saturating_sub(times.step_due);
            let own_service = own.saturating_sub(before).max(self.pauses.paused_between(sent, now));
            let sample = Sample {
                step: Some(flight.step),
                intended: times.step_due,
                sent,
                first_byte: times.step_head,
                lag: if flight.step == 0 { times.lag } else { sent.saturating_sub(times.step_due) },
                generator_delay: own,
                generator_delay_service: own_service,
                retries: flight.retries,
                is_long_poll: route.steps[flight.step].step.long_poll.is_some(),
                wake_delay: flight.wake_delay.map(|(wake, _)| wake),
                generator_delay_wake: flight.wake_delay.map_or(Duration::ZERO, |(_, own)| own),
                ..journey_sample(flight, now, outcome.class())
            };
            self.accumulator.record_sample(flight.arrival.load_step, &sample);
        }
        flight.retries_before += std::mem::take(&mut flight.retries);
        if let StepOutcome::Failed(failure) = outcome {
            self.accumulator.record_error(flight.journey_index, flight.step, failure);
        }
        if is_beside {
            return self.continue_loop(key, outcome);
        }
        if *outcome != StepOutcome::Ok {
            return self.end_journey(key, outcome);
        }
        if let Some(spoilt) = flight.background_outcome.take() {
            return self.end_journey(key, &spoilt);
        }
        let from = flight.step;
        match self.next_step(key) {
            Ok(Some(step)) => {
                self.start_background_loops(key, from);
                let Some(flight) = self.running.get_mut(key) else { return };
                flight.step = step;
                if cut && matches!(self.loads[flight.load_index].state, LoadState::ClosedLoop(_) | LoadState::Held(_)) {
                    return self.abandon(key);
                }
                self.enter_step(key, now);
            }
            Ok(None) => self.end_journey(key, outcome),
            Err(failure) => self.end_journey(key, &StepOutcome::Failed(failure)),
        }
    }

    /// The step after one that went well; none where its way is over.
    pub(super) fn next_step(&mut self, key: SlabKey) -> Result<Option<usize>, Failure> {
        let (calls, now) = (self.journeys.clone(), self.plan_time());
        let Some(flight) = self.running.get_mut(key) else { return Ok(None) };
        let (repeats, body) = (&calls[flight.journey_index].repeats, &flight.body.bytes);
        let place = (flight.step, flight.end_step);
        let next = flight.rounds.next_step(repeats, place, now, |enough| match enough {
            EndCondition::Body(word) => response::body_matches(word, body),
            EndCondition::Frame(said) => framing::frame_matches(said, body),
        });
        let failure = match next {
            Ok(NextStep::Step(step)) => return Ok(Some(step)),
            Ok(NextStep::Done) => return Ok(None),
            Ok(NextStep::Unmet(rounds)) => Failure::new(
                ErrorKind::Answer,
                format!("{rounds} rounds, and none was the last: the answer never said so"),
            ),
            Err(failure) => failure,
        };
        self.accumulator.record_error(flight.journey_index, flight.step, &failure);
        Err(failure)
    }

    /// Sends the same request again where no answer came, or one that says to come again, and the scenario wants that.
    fn try_retry(&mut self, key: SlabKey, outcome: &StepOutcome) -> bool {
        let StepOutcome::Failed(failure) = outcome else { return false };
        let calls = self.journeys.clone();
        let Some(flight) = self.running.get_mut(key) else { return false };
        let retry = calls[flight.journey_index].steps[flight.step].step.retry.as_ref();
        let applies = |retry: &&Retry| retry.applies(failure.kind, flight.status) && flight.retries < retry.times;
        let Some(retry) = retry.filter(applies) else { return false };
        flight.retries += 1;
        flight.step_state = StepState::Delayed;
        self.accumulator.count_retry();
        self.set_timer(self.now + retry.backoff, Timer::Resume(key));
        true
    }

    fn end_journey(&mut self, key: SlabKey, outcome: &StepOutcome) {
        self.record_journey(key, outcome);
        self.finish_journey(key, outcome);
    }

    /// Writes down how an arrival has ended.
    pub(super) fn record_journey(&mut self, key: SlabKey, outcome: &StepOutcome) {
        let now = self.plan_time();
        let Some(flight) = self.running.get(key) else { return };
        let (leg, part, sample) =
            (flight.load_index, flight.arrival.load_step, journey_sample(flight, now, outcome.class()));
        self.accumulator.record_sample(part, &sample);
        self.loads[leg].load_steps.extend_until(part, now.saturating_sub(sample.generator_delay));
    }

    /// Gives up a journey that was begun.
    pub(super) fn abandon(&mut self, key: SlabKey) {
        self.running.disarm(key);
        let Some(flight) = self.running.get_mut(key) else { return };
        if flight.step_state == StepState::Idle {
            return self.release(key);
        }
        if matches!(flight.role, Role::Background { .. }) {
            return self.stop_loop(key);
        }
        let planned = flight.role != Role::OpenConnection;
        let (journey, part, leg) = (flight.journey_index, flight.arrival.load_step, flight.load_index);
        let link = if flight.step_state == StepState::Exchanging { flight.connection.take() } else { None };
        if !planned {
            // Nobody waited for it.
        } else if flight.times.sent.is_some() {
            self.accumulator.count_abandoned();
        } else {
            self.accumulator.count_not_sent(journey, 1);
            self.loads[leg].load_steps.count_not_sent(part, 1);
        }
        if let Some(link) = link {
            self.close_connection(link);
        }
        if planned {
            self.finish_journey(key, &StepOutcome::Ok);
        } else {
            self.release(key);
        }
    }

    /// A journey is over: its place is free again.
    fn finish_journey(&mut self, key: SlabKey, outcome: &StepOutcome) {
        self.stop_background_loops(key);
        self.in_flight -= 1;
        self.done_count += 1;
        let free = self.woken_at.since(self.config.start);
        let Some(flight) = self.running.get_mut(key) else { return };
        let course = &mut self.loads[flight.load_index];
        if flight.role == Role::OpenWithJourney {
            return self.finish_opening_journey(key, *outcome == StepOutcome::Ok);
        }
        if matches!(course.state, LoadState::Held(_)) {
            return self.release_held_connection(key, free);
        }
        let once = matches!(course.state, LoadState::OpenLoop(_) | LoadState::Retained(_) | LoadState::Idle);
        if course.spec.reconnect != Reconnect::Never || once {
            let link = flight.connection.take();
            let keep = course.spec.reconnect == Reconnect::Never;
            if let Some(link) = link {
                if keep { self.connections.put_idle(link) } else { self.close_connection(link) }
            }
        }
        let Some(flight) = self.running.get_mut(key) else { return };
        let course = &mut self.loads[flight.load_index];
        match &mut course.state {
            LoadState::OpenLoop(open) => {
                open.release_slot(free);
                self.release(key);
            }
            LoadState::ClosedLoop(_) if !course.closing => {
                flight.step_state = StepState::Idle;
                match outcome {
                    // Later, so that a target that is away does not make a loop without end.
                    StepOutcome::Failed(failure) => {
                        let hopeless = matches!(failure.kind, ErrorKind::Connect | ErrorKind::Request);
                        let rest = if hopeless { REST_AFTER_REFUSAL } else { Duration::ZERO };
                        self.set_timer(self.now + rest, Timer::Resume(key));
                    }
                    StepOutcome::Ok | StepOutcome::Denied => self.start_next_journey(key, free),
                }
            }
            LoadState::ClosedLoop(_) | LoadState::Held(_) | LoadState::Retained(_) | LoadState::Idle => {
                self.release(key)
            }
        }
    }

    /// The next journey of a client, if there is one. It is due now; but the answer before it had come by
    /// `ready_since`, and what has passed since then is the worker's own doing.
    fn start_next_journey(&mut self, key: SlabKey, ready_since: Duration) {
        let now = self.plan_time();
        let Some(flight) = self.running.get(key) else { return };
        let course = &self.loads[flight.load_index];
        let next = match &course.state {
            LoadState::ClosedLoop(clients) if !course.closing => {
                clients.next_journey(&course.spec, &flight.arrival, now)
            }
            _ => None,
        };
        match next {
            Some(arrival) => self.start_journey(key, arrival, ready_since),
            None => self.release(key),
        }
    }

    /// A flight is over for good.
    pub(super) fn release(&mut self, key: SlabKey) {
        let Some(flight) = self.running.get_mut(key) else { return };
        let (leg, part, link) = (flight.load_index, flight.arrival.load_step, flight.connection.take());
        self.running.remove(key);
        if let Some(link) = link {
            self.connections.put_idle(link);
        }
        self.loads[leg].load_steps.count_ended(part, &mut self.finished_steps);
        self.report_finished_steps(leg);
    }

    /// What has not begun in a course that is over never will.
    pub(super) fn release_pending(&mut self, at: usize) {
        if matches!(self.loads[at].state, LoadState::OpenLoop(_) | LoadState::Idle) {
            return;
        }
        for key in self.running.keys() {
            let Some(flight) = self.running.get(key).filter(|flight| flight.load_index == at) else { continue };
            let cut = self.loads[at].ended_early;
            match (flight.step_state, flight.role) {
                (StepState::Idle, _) => self.release(key),
                // It ends with the journey that it runs beside.
                (_, Role::Background { .. }) => {}
                (_, Role::OpenConnection | Role::OpenWithJourney) => self.abandon(key),
                (StepState::Delayed, _) if flight.times.sent.is_none() && !self.is_holding(at) => {
                    self.discard_unstarted(key)
                }
                (StepState::Delayed, _) if cut => self.abandon(key),
                (StepState::Delayed | StepState::Exchanging, _) => {}
            }
        }
    }

    fn is_holding(&self, at: usize) -> bool {
        matches!(self.loads[at].state, LoadState::Held(_))
    }

    /// A client that waits before its first request was not due yet.
    fn discard_unstarted(&mut self, key: SlabKey) {
        self.in_flight -= 1;
        self.due_count -= 1;
        self.release(key);
    }
}

fn journey_sample(flight: &RunningJourney, now: Duration, class: Class) -> Sample {
    Sample {
        index: flight.arrival.index,
        journey: flight.journey_index,
        step: None,
        intended: flight.arrival.intended,
        sent: flight.times.sent.unwrap_or(now),
        first_byte: flight.times.head,
        done: now,
        lag: flight.times.lag,
        generator_delay: flight.times.generator_delay,
        generator_delay_service: flight.times.generator_delay.saturating_sub(flight.times.generator_delay_unsent),
        retries: flight.retries_before + flight.retries,
        class,
        is_long_poll: false,
        wake_delay: None,
        generator_delay_wake: Duration::ZERO,
    }
}
