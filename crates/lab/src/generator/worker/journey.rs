//! How an arrival runs its journey: step after step until one does not succeed, with pauses and repeats, and what is
//! recorded about it. Does not know sockets.

use std::time::Duration;

use super::exchange::StepOutcome;
use super::pacer::{DueJourney, LoadState, Purpose};
use super::running_journeys::StepState;
use super::{Timer, Worker};
use crate::generator::keys::JourneyKey;
use crate::generator::{Failure, framing};
use crate::limits::REST_AFTER_REFUSAL;
use crate::measurement::{ErrorKind, Sample};
use crate::plan::Arrival;
use crate::scenario::{NextStep, Reconnect, Retry};

impl Worker {
    /// Starts a journey that is due.
    pub(super) fn launch(&mut self, due: DueJourney) {
        if let Some(until) = due.waited_until {
            self.record_slot_wait(due.arrival.intended, until);
        }
        let key = self.running.add(due.load_index, due.journey_index);
        if let Some(running) = self.running.get_mut(key) {
            (running.held_index, running.connection) = (due.held_index, due.connection);
        }
        self.report_finished_steps();
        self.start_journey(key, due.purpose, due.arrival, due.ready_since);
    }

    /// Starts a journey that could have started at `ready_since`.
    fn start_journey(&mut self, key: JourneyKey, purpose: Purpose, arrival: Arrival, ready_since: Duration) {
        let Some(running) = self.running.get_mut(key) else { return };
        let journey = &self.journeys[running.journey_index];
        running.restart(purpose, arrival, ready_since, (0..journey.spec.own_step_count, journey.spec.repeats.len()));
        if purpose == Purpose::OpenConnection {
            return self.start_attempt(key);
        }
        self.counts.in_flight += 1;
        self.counts.due += 1;
        if purpose == Purpose::Journey {
            self.restore_values(key);
        }
        self.enter_step(key, arrival.intended);
    }

    /// Enters a step, which is due when its pause is over.
    pub(super) fn enter_step(&mut self, key: JourneyKey, from: Duration) {
        let Some(running) = self.running.get_mut(key) else { return };
        let journey = &self.journeys[running.journey_index];
        let step = &journey.steps[running.step].step;
        let pause = step.pause_duration(running.arrival.seed, running.step, running.rounds.completed_rounds());
        let pause = step.pause_until.map_or(pause, |until| until.saturating_sub(from));
        running.rounds.enter_step(&journey.spec.repeats, running.step, from);
        let due = from + pause;
        (running.times.step_due, running.times.step_sent) = (due, None);
        if running.step == 0 && running.rounds.completed_rounds() == 0 {
            // A pause before the first step is the user's: the journey is due when it is over.
            running.arrival.intended = due;
            running.times.ready_since += pause;
            if self.pacer.load(running.load_index).is_over(due) {
                return self.discard_unstarted(key);
            }
        }
        if pause.is_zero() {
            return self.start_attempt(key);
        }
        running.step_state = StepState::Delayed;
        self.set_timer(due, Timer::Resume(key));
    }

    /// Continues after a pause, a backoff or a rest.
    pub(super) fn resume(&mut self, key: JourneyKey) {
        match self.running.get(key).map(|running| running.step_state) {
            Some(StepState::Delayed) => self.start_attempt(key),
            Some(StepState::Idle) => self.start_next_journey(key, self.clock.now()),
            Some(StepState::Exchanging) | None => {}
        }
    }

    /// Sends the request of the current step.
    fn start_attempt(&mut self, key: JourneyKey) {
        // Read again: what was handled since the last reading is the worker's own delay, and shows in the lag.
        self.read_clock();
        let now = self.clock.now();
        let Some(running) = self.running.get_mut(key) else { return };
        running.start_attempt(now, &self.pauses);
        let prepared = &self.journeys[running.journey_index].steps[running.step];
        let is_long_poll = prepared.step.long_poll.is_some();
        if is_long_poll {
            running.watching_since_unix_us.get_or_insert_with(|| self.clock.unix_us(now));
        }
        let connection_failure = running.connection_failure.take();
        self.running.arm(key, prepared.timeout_index, is_long_poll, now);
        match connection_failure {
            Some(failure) => self.end_step(key, &StepOutcome::Failed(failure)),
            None => self.dispatch(key),
        }
    }

    pub(super) fn end_step(&mut self, key: JourneyKey, outcome: &StepOutcome) {
        self.running.disarm(key);
        let Some(running) = self.running.get(key) else { return };
        if running.purpose == Purpose::OpenConnection {
            return self.finish_opening(key, None, outcome);
        }
        if self.try_retry(key, outcome) {
            return;
        }
        self.record_step(key, outcome);
        let Some(running) = self.running.get_mut(key) else { return };
        running.retries_before += std::mem::take(&mut running.retries);
        if running.is_background() {
            return self.continue_loop(key, outcome);
        }
        if *outcome != StepOutcome::Ok {
            return self.end_journey(key, outcome);
        }
        if let Some(failed) = running.background_outcome.take() {
            return self.end_journey(key, &failed);
        }
        let (from, load_index, now) = (running.step, running.load_index, self.clock.now());
        match self.next_step(key) {
            Ok(Some(step)) => {
                self.start_background_loops(key, from);
                let Some(running) = self.running.get_mut(key) else { return };
                running.step = step;
                let load = self.pacer.load(load_index);
                if load.ended_early && matches!(load.state, LoadState::ClosedLoop(_) | LoadState::Held(_)) {
                    return self.abandon(key);
                }
                self.enter_step(key, now);
            }
            Ok(None) => self.end_journey(key, outcome),
            Err(failure) => self.end_journey(key, &StepOutcome::Failed(failure)),
        }
    }

    /// Sends the same request again if it failed in a way that the scenario retries.
    fn try_retry(&mut self, key: JourneyKey, outcome: &StepOutcome) -> bool {
        let StepOutcome::Failed(failure) = outcome else { return false };
        let Some(running) = self.running.get_mut(key) else { return false };
        let retry = self.journeys[running.journey_index].steps[running.step].step.retry.as_ref();
        let applies =
            |retry: &&Retry| retry.applies(failure.kind, running.exchange.status) && running.retries < retry.times;
        let Some(retry) = retry.filter(applies) else { return false };
        running.retries += 1;
        running.step_state = StepState::Delayed;
        self.reports.accumulator.current().retried += 1;
        let due = self.clock.now() + retry.backoff;
        self.set_timer(due, Timer::Resume(key));
        true
    }

    /// Records a step that is over.
    fn record_step(&mut self, key: JourneyKey, outcome: &StepOutcome) {
        let now = self.clock.now();
        let Some(running) = self.running.get_mut(key) else { return };
        let journey = &self.journeys[running.journey_index];
        if running.step == 0 {
            running.times.head = running.exchange.head_at;
        }
        let generator_delay = running.times.generator_delay_of_step(now, &self.pauses);
        running.times.generator_delay += generator_delay;
        let accumulator = &mut self.reports.accumulator;
        if journey.has_step_figures {
            let (times, wake_delay) = (&running.times, running.wake_delay);
            let sent = times.step_sent.unwrap_or(now);
            let before = sent.saturating_sub(times.step_due);
            let own_service = generator_delay.saturating_sub(before).max(self.pauses.paused_between(sent, now));
            let sample = Sample {
                step: Some(running.step),
                intended: times.step_due,
                sent,
                first_byte: running.exchange.head_at,
                lag: if running.step == 0 { times.lag } else { before },
                generator_delay,
                generator_delay_service: own_service,
                retries: running.retries,
                is_long_poll: journey.steps[running.step].step.long_poll.is_some(),
                wake_delay: wake_delay.map(|(wake, _)| wake),
                generator_delay_wake: wake_delay.map_or(Duration::ZERO, |(_, generator_delay)| generator_delay),
                ..running.sample(now, outcome.class())
            };
            accumulator.record_sample(running.arrival.load_step, &sample);
        }
        if let StepOutcome::Failed(failure) = outcome {
            accumulator.record_error(running.journey_index, running.step, failure);
        }
    }

    /// The step after one that succeeded; none at the end of the journey.
    pub(super) fn next_step(&mut self, key: JourneyKey) -> Result<Option<usize>, Failure> {
        let now = self.clock.now();
        let Some(running) = self.running.get_mut(key) else { return Ok(None) };
        let (repeats, body) = (&self.journeys[running.journey_index].spec.repeats, &running.exchange.body.bytes);
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
        self.reports.accumulator.record_error(running.journey_index, running.step, &failure);
        Err(failure)
    }

    fn end_journey(&mut self, key: JourneyKey, outcome: &StepOutcome) {
        let now = self.clock.now();
        let Some(running) = self.running.get(key) else { return };
        let (load_index, load_step) = (running.load_index, running.arrival.load_step);
        let sample = running.sample(now, outcome.class());
        self.reports.accumulator.record_sample(load_step, &sample);
        let until = now.saturating_sub(sample.generator_delay);
        self.pacer.load_mut(load_index).load_steps.extend_until(load_step, until);
        self.finish_journey(key, outcome);
    }

    /// Records that an arrival has waited for a slot: for the target, or only behind a pause of the worker.
    fn record_slot_wait(&mut self, due: Duration, until: Duration) {
        let since = self.pauses.recovering_since().map_or(due, |since| since.min(due));
        let paused = self.pauses.paused_between(since, until);
        // It was sent as soon as the worker ran again.
        let behind_pause = !paused.is_zero() && paused + self.pauses.check_interval() >= until.saturating_sub(due);
        let interval = self.reports.accumulator.current();
        *(if behind_pause { &mut interval.waited_behind_pauses } else { &mut interval.waited_for_slot }) += 1;
    }

    /// Abandons a journey that was started.
    pub(super) fn abandon(&mut self, key: JourneyKey) {
        self.running.disarm(key);
        let Some(running) = self.running.get_mut(key) else { return };
        if running.step_state == StepState::Idle {
            return self.release(key);
        }
        if running.is_background() {
            return self.stop_loop(key);
        }
        let is_arrival = running.purpose != Purpose::OpenConnection;
        if !is_arrival {
            // A connection opening is no arrival.
        } else if running.times.sent.is_some() {
            self.reports.accumulator.current().abandoned += 1;
        } else {
            self.reports.accumulator.count_not_sent(running.journey_index, 1);
            let load = self.pacer.load_mut(running.load_index);
            load.load_steps.count_not_sent(running.arrival.load_step, 1);
        }
        if let Some(connection) = running.take_busy_connection() {
            self.close_connection(connection);
        }
        if is_arrival {
            self.finish_journey(key, &StepOutcome::Ok);
        } else {
            self.release(key);
        }
    }

    /// A journey is over: its slot is free again.
    fn finish_journey(&mut self, key: JourneyKey, outcome: &StepOutcome) {
        self.stop_background_loops(key);
        self.counts.in_flight -= 1;
        self.counts.done += 1;
        let free = self.woken_at;
        let Some(running) = self.running.get_mut(key) else { return };
        if running.purpose == Purpose::OpenWithJourney {
            return self.finish_opening_journey(key, *outcome == StepOutcome::Ok);
        }
        let load = self.pacer.load_mut(running.load_index);
        if load.is_holding() {
            return self.release_held_connection(key, free);
        }
        let is_client = matches!(load.state, LoadState::ClosedLoop(_)) && !load.closing;
        load.release_slot(free);
        if load.spec.reconnect != Reconnect::Never
            && let Some(connection) = running.connection.take()
        {
            self.close_connection(connection);
        }
        if !is_client {
            return self.release(key);
        }
        if let Some(running) = self.running.get_mut(key) {
            running.step_state = StepState::Idle;
        }
        match outcome {
            // Not at once, so that an unreachable target does not cause a busy loop.
            StepOutcome::Failed(failure) => {
                let hopeless = matches!(failure.kind, ErrorKind::Connect | ErrorKind::Request);
                let rest = if hopeless { REST_AFTER_REFUSAL } else { Duration::ZERO };
                self.set_timer(self.clock.now() + rest, Timer::Resume(key));
            }
            StepOutcome::Ok | StepOutcome::Denied => self.start_next_journey(key, free),
        }
    }

    /// Starts a client's next journey, if there is one. It is due now; but the response before it had been received by
    /// `ready_since`, and the time since then is the worker's own delay.
    fn start_next_journey(&mut self, key: JourneyKey, ready_since: Duration) {
        let Some(running) = self.running.get(key) else { return };
        match self.pacer.load(running.load_index).next_journey(&running.arrival, self.clock.now()) {
            Some(arrival) => self.start_journey(key, Purpose::Journey, arrival, ready_since),
            None => self.release(key),
        }
    }

    /// Removes a running journey for good.
    pub(super) fn release(&mut self, key: JourneyKey) {
        let Some(running) = self.running.get_mut(key) else { return };
        let (load_index, load_step, connection) =
            (running.load_index, running.arrival.load_step, running.connection.take());
        self.running.remove(key);
        if let Some(connection) = connection {
            self.connections.put_idle(connection);
        }
        self.pacer.count_ended(load_index, load_step);
        self.report_finished_steps();
    }

    /// Releases what has not started in a load that is over.
    pub(super) fn release_pending(&mut self, load_index: usize) {
        let load = self.pacer.load(load_index);
        let (ended_early, is_holding) = (load.ended_early, load.is_holding());
        if matches!(load.state, LoadState::OpenLoop(_) | LoadState::Idle) {
            return;
        }
        for key in self.running.keys() {
            let Some(running) = self.running.get(key).filter(|running| running.load_index == load_index) else {
                continue;
            };
            match running.step_state {
                StepState::Idle => self.release(key),
                // It ends with its journey.
                _ if running.is_background() => {}
                _ if running.purpose != Purpose::Journey => self.abandon(key),
                StepState::Delayed if running.times.sent.is_none() && !is_holding => self.discard_unstarted(key),
                StepState::Delayed if ended_early => self.abandon(key),
                StepState::Delayed | StepState::Exchanging => {}
            }
        }
    }

    /// A client that pauses before its first request was not due yet.
    fn discard_unstarted(&mut self, key: JourneyKey) {
        self.counts.in_flight -= 1;
        self.counts.due -= 1;
        self.release(key);
    }
}
