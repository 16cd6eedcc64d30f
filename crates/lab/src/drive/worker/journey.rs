//! The way of an arrival: step after step until one does not go well, with pauses and repeats, and what is written
//! down about it. Refuses to know sockets.

use std::time::Duration;

use super::course::Load;
use super::flights::Role;
use super::{Flight, Key, Stage, Wake, Worker};
use crate::drive::Failure;
use crate::drive::answer::{self, Meaning};
use crate::drive::crew::Begun;
use crate::drive::speech;
use crate::limits::REST_AFTER_REFUSAL;
use crate::plan::Arrival;
use crate::record::{Class, Sample, Trouble};
use crate::scenario::{Enough, Next, Reconnect, Retry, Source};

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    Denied,
    Failed(Failure),
}

impl Outcome {
    fn class(&self) -> Class {
        match self {
            Self::Ok => Class::Ok,
            Self::Denied => Class::Denied,
            Self::Failed(failure) => Class::Error(failure.trouble),
        }
    }
}

impl Worker {
    /// Begins the next arrival of a course, if one is due and has a place.
    pub(super) fn launch_next(&mut self, at: usize, now: Duration) -> bool {
        let course = &mut self.courses[at];
        if course.closing {
            return false;
        }
        if matches!(course.load, Load::Held(_)) {
            return self.hold_next(at, now);
        }
        let (arrival, free_since) = match &mut course.load {
            Load::Open(open) => match open.take(now) {
                Some(taken) => taken,
                None => return false,
            },
            Load::Clients(clients) => match clients.take(&course.leg, now) {
                Some(arrival) => (arrival, arrival.intended),
                None => return false,
            },
            Load::Held(_) | Load::Left(_) | Load::Nothing => return false,
        };
        course.parts.began(arrival.part);
        let journey = course.leg.journey;
        if free_since > arrival.intended {
            self.note_wait(arrival.intended, now);
        }
        let flight = self.flights.add(at, journey, arrival);
        self.close_parts(at);
        self.begin_journey(flight, arrival, free_since.max(arrival.intended));
        true
    }

    /// Begins a journey that could have begun since `ready_since`.
    pub(super) fn begin_journey(&mut self, key: Key, arrival: Arrival, ready_since: Duration) {
        self.under_way += 1;
        self.due += 1;
        let calls = self.calls.clone();
        if let Some(flight) = self.flights.get_mut(key) {
            let route = &calls[flight.journey];
            flight.begin(arrival, ready_since, (route.own, route.repeats.len()));
        }
        self.give_values(key);
        self.come_to_step(key, arrival.intended);
    }

    /// Comes to a step that is due when its pause is over.
    pub(super) fn come_to_step(&mut self, key: Key, from: Duration) {
        let calls = self.calls.clone();
        let Some(flight) = self.flights.get_mut(key) else { return };
        let route = &calls[flight.journey];
        let step = &route.calls[flight.step].step;
        let pause = step.pause_for(flight.arrival.seed, flight.step, flight.rounds.passed());
        let pause = step.until.map_or(pause, |until| until.saturating_sub(from));
        flight.rounds.enter(&route.repeats, flight.step, from);
        let due = from + pause;
        flight.times.step_due = due;
        flight.times.step_sent = None;
        if flight.step == 0 && flight.rounds.passed() == 0 {
            // A pause before the first step is the user's, so nobody was expected before it was over.
            flight.arrival.intended = due;
            flight.times.ready_since += pause;
            if matches!(&self.courses[flight.leg].load, Load::Clients(clients) if clients.are_over(due)) {
                return self.forget(key);
            }
        }
        if pause.is_zero() {
            return self.begin_try(key);
        }
        flight.stage = Stage::Waiting;
        self.wake_at(self.setting.start + due, Wake::Flight(key));
    }

    /// Goes on after a pause, a backoff or a rest.
    pub(super) fn resume(&mut self, key: Key) {
        match self.flights.get(key).map(|flight| flight.stage) {
            Some(Stage::Waiting) => self.begin_try(key),
            Some(Stage::Resting) => self.begin_another(key, self.at()),
            Some(Stage::Exchanging) | None => {}
        }
    }

    /// Sends the request of the step that the flight has come to.
    pub(super) fn begin_try(&mut self, key: Key) {
        // Read again: what was handled since the last look is the worker's own doing, and shows in the lag.
        self.read_clock();
        let now = self.at();
        let Some(flight) = self.flights.get_mut(key) else { return };
        flight.begin_try();
        let (intended, times) = (flight.arrival.intended, &mut flight.times);
        if times.step_sent.is_none() {
            let first = times.sent.is_none();
            let (due, ready) = if first { (intended, times.ready_since) } else { (times.step_due, times.step_due) };
            let (waited, late) = (now.saturating_sub(due), now.saturating_sub(ready));
            times.step_sent = Some(now);
            times.behind_since = self.pauses.behind_since();
            times.step_lag = late.min(waited) + self.pauses.between(due, ready.min(now));
            if first {
                let behind = times.behind_since.map_or(Duration::ZERO, |since| self.pauses.between(since, now));
                times.sent = Some(now);
                times.own_unsent = times.step_lag.max(behind).min(waited);
                times.lag = late.max(times.own_unsent);
            }
        }
        let call = &self.calls[flight.journey].calls[flight.step];
        let (timeout, waits) = (call.timeout, call.step.waits.is_some());
        if waits {
            flight.watching_us.get_or_insert_with(|| self.now.unix_us());
        }
        self.flights.arm(key, timeout, waits, self.now);
        match self.flights.get_mut(key).and_then(|flight| flight.lost.take()) {
            Some(failure) => self.end_step(key, &Outcome::Failed(failure)),
            None => self.dispatch(key),
        }
    }

    /// The answer to a step is complete; so many bytes that belong to none came behind it.
    pub(super) fn answered(&mut self, key: Key, excess: Option<usize>) {
        self.flights.disarm(key);
        let outcome = match (self.interpret(key), excess) {
            (Outcome::Ok | Outcome::Denied, Some(bytes)) => {
                let message = format!("{bytes} bytes behind the end of the answer");
                Outcome::Failed(Failure::new(Trouble::ExcessBytes, message))
            }
            (outcome, _) => outcome,
        };
        self.end_step(key, &outcome);
    }

    fn interpret(&mut self, key: Key) -> Outcome {
        let calls = self.calls.clone();
        let Some(flight) = self.flights.get_mut(key) else { return Outcome::Ok };
        let call = &calls[flight.journey].calls[flight.step];
        match answer::meaning(&call.step, flight.status) {
            Meaning::Denied => Outcome::Denied,
            Meaning::Unexpected => Outcome::Failed(answer::unexpected(flight.status, &flight.body.bytes)),
            Meaning::Expected => match answer::says_no(&call.step, &flight.body.bytes) {
                Ok(true) => Outcome::Denied,
                Ok(false) => self.take_in(key).map_or_else(Outcome::Failed, |()| Outcome::Ok),
                Err(failure) => Outcome::Failed(failure),
            },
        }
    }

    /// Takes in what an answer that is as hoped for tells.
    fn take_in(&mut self, key: Key) -> Result<(), Failure> {
        let calls = self.calls.clone();
        let Some(flight) = self.flights.get(key) else { return Ok(()) };
        let step = &calls[flight.journey].calls[flight.step].step;
        let Some(follows) = &step.follows else {
            self.keep(key)?;
            return self.note_wake(key);
        };
        let seen = flight.kept.get(&follows.cursor).map(str::to_owned);
        self.keep(key)?;
        let Some(flight) = self.flights.get(key) else { return Ok(()) };
        if let (Some(seen), Some(cursor)) = (seen, flight.kept.get(&follows.cursor)) {
            answer::check_sequence(follows, &seen, cursor, &flight.body.bytes)?;
        }
        self.note_wake(key)
    }

    /// Notes how late news came that happened while the flight watched for it. What it was told of at once may be older
    /// than its watch; what happened between two of its requests is not, and counts.
    fn note_wake(&mut self, key: Key) -> Result<(), Failure> {
        let (calls, start) = (self.calls.clone(), self.setting.start);
        let Some(flight) = self.flights.get_mut(key) else { return Ok(()) };
        let Some(waits) = &calls[flight.journey].calls[flight.step].step.waits else { return Ok(()) };
        let (Some(head), Some(watching)) = (flight.times.step_head, flight.watching_us) else { return Ok(()) };
        let happened = answer::happened_us(waits, &flight.body.bytes)?.filter(|happened| *happened >= watching);
        let late_us = |happened| u64::try_from((start + head).unix_us() - happened).unwrap_or(0);
        flight.wake = happened.map(|happened| {
            let wake = Duration::from_micros(late_us(happened));
            (wake, self.pauses.between(head.saturating_sub(wake), head))
        });
        Ok(())
    }

    /// Keeps what the step wants of the body, and tells of work that it started.
    fn keep(&mut self, key: Key) -> Result<(), Failure> {
        let (calls, done) = (self.calls.clone(), self.at());
        let Some(flight) = self.flights.get_mut(key) else { return Ok(()) };
        if let Some(failure) = flight.missing.take() {
            return Err(failure);
        }
        let call = &calls[flight.journey].calls[flight.step];
        let intended = flight.arrival.intended;
        let mut begun = Vec::new();
        for keep in &call.step.keep {
            let Source::Json(pointer) = &keep.from else { continue };
            let kept = answer::keep_of_body(&call.step, keep, pointer, &flight.body.bytes)?;
            flight.kept.keep(&keep.name, &kept.text);
            if call.step.starts.as_ref() == Some(&keep.name) {
                begun = kept.items.unwrap_or_else(|| vec![kept.text]);
            }
        }
        if let (Some(work), Some(starts)) = (call.work, &call.step.starts) {
            if begun.is_empty() {
                // Kept of the head.
                let kept = flight.kept.values().iter().rev().find(|(name, _)| name == starts);
                begun.extend(kept.map(|(_, id)| id.clone()));
            }
            for id in begun {
                self.note_news(Begun { work, id: id.into(), intended, done });
            }
        }
        Ok(())
    }

    /// An arrival has waited for a place since it was due: for the target, or behind a pause of the worker's own.
    pub(super) fn note_wait(&mut self, due: Duration, now: Duration) {
        let since = self.pauses.behind_since().map_or(due, |since| since.min(due));
        // It left as soon as the worker came to it again.
        let own = self.pauses.between(since, now) + self.pauses.every();
        self.book.waited_for_a_place(own >= now.saturating_sub(due) && own > self.pauses.every());
    }

    /// A step has ended, one way or the other.
    pub(super) fn end_step(&mut self, key: Key, outcome: &Outcome) {
        self.flights.disarm(key);
        if matches!(self.flights.get(key), Some(Flight { role: Role::Opening, .. })) {
            return self.end_opening(key, None, outcome);
        }
        if self.try_again(key, outcome) {
            return;
        }
        let calls = self.calls.clone();
        let now = self.at();
        let Some(flight) = self.flights.get_mut(key) else { return };
        let cut = self.courses[flight.leg].cut;
        let route = &calls[flight.journey];
        let is_beside = matches!(flight.role, Role::Beside { .. });
        let times = &mut flight.times;
        if flight.step == 0 {
            times.head = times.step_head;
        }
        let sent = times.step_sent.unwrap_or(now);
        let own = times.own_of_step(now, &self.pauses);
        times.own += own;
        if route.tells_steps_apart {
            let before = sent.saturating_sub(times.step_due);
            let own_service = own.saturating_sub(before).max(self.pauses.between(sent, now));
            let sample = Sample {
                step: Some(flight.step),
                intended: times.step_due,
                sent,
                first_byte: times.step_head,
                lag: if flight.step == 0 { times.lag } else { sent.saturating_sub(times.step_due) },
                own,
                own_service,
                retries: flight.retries,
                waits: route.calls[flight.step].step.waits.is_some(),
                wake: flight.wake.map(|(wake, _)| wake),
                own_wake: flight.wake.map_or(Duration::ZERO, |(_, own)| own),
                ..whole(flight, now, outcome.class())
            };
            self.book.sample(flight.arrival.part, &sample);
        }
        flight.retries_before += std::mem::take(&mut flight.retries);
        if let Outcome::Failed(failure) = outcome {
            self.book.error(flight.journey, flight.step, failure);
        }
        if is_beside {
            return self.go_on_beside(key, outcome);
        }
        if *outcome != Outcome::Ok {
            return self.end_journey(key, outcome);
        }
        if let Some(spoilt) = flight.spoilt.take() {
            return self.end_journey(key, &spoilt);
        }
        let from = flight.step;
        match self.next_step(key) {
            Ok(Some(step)) => {
                self.begin_beside(key, from);
                let Some(flight) = self.flights.get_mut(key) else { return };
                flight.step = step;
                if cut && matches!(self.courses[flight.leg].load, Load::Clients(_) | Load::Held(_)) {
                    return self.abandon(key);
                }
                self.come_to_step(key, now);
            }
            Ok(None) => self.end_journey(key, outcome),
            Err(failure) => self.end_journey(key, &Outcome::Failed(failure)),
        }
    }

    /// The step after one that went well; none where its way is over.
    pub(super) fn next_step(&mut self, key: Key) -> Result<Option<usize>, Failure> {
        let (calls, now) = (self.calls.clone(), self.at());
        let Some(flight) = self.flights.get_mut(key) else { return Ok(None) };
        let (repeats, body) = (&calls[flight.journey].repeats, &flight.body.bytes);
        let place = (flight.step, flight.end);
        let next = flight.rounds.after(repeats, place, now, |enough| match enough {
            Enough::Body(word) => answer::says(word, body),
            Enough::Frame(said) => speech::says(said, body),
        });
        let failure = match next {
            Ok(Next::Step(step)) => return Ok(Some(step)),
            Ok(Next::Over) => return Ok(None),
            Ok(Next::Unmet(rounds)) => Failure::new(
                Trouble::Answer,
                format!("{rounds} rounds, and none was the last: the answer never said so"),
            ),
            Err(failure) => failure,
        };
        self.book.error(flight.journey, flight.step, &failure);
        Err(failure)
    }

    /// Sends the same request again where no answer came, or one that says to come again, and the scenario wants that.
    fn try_again(&mut self, key: Key, outcome: &Outcome) -> bool {
        let Outcome::Failed(failure) = outcome else { return false };
        let calls = self.calls.clone();
        let Some(flight) = self.flights.get_mut(key) else { return false };
        let retry = calls[flight.journey].calls[flight.step].step.retry.as_ref();
        let applies = |retry: &&Retry| retry.applies(failure.trouble, flight.status) && flight.retries < retry.times;
        let Some(retry) = retry.filter(applies) else { return false };
        flight.retries += 1;
        flight.stage = Stage::Waiting;
        self.book.retried();
        self.wake_at(self.now + retry.backoff, Wake::Flight(key));
        true
    }

    fn end_journey(&mut self, key: Key, outcome: &Outcome) {
        self.note_whole(key, outcome);
        self.leave(key, outcome);
    }

    /// Writes down how an arrival has ended.
    pub(super) fn note_whole(&mut self, key: Key, outcome: &Outcome) {
        let now = self.at();
        let Some(flight) = self.flights.get(key) else { return };
        let (leg, part, sample) = (flight.leg, flight.arrival.part, whole(flight, now, outcome.class()));
        self.book.sample(part, &sample);
        self.courses[leg].parts.takes_until(part, now.saturating_sub(sample.own));
    }

    /// Gives up a journey that was begun.
    pub(super) fn abandon(&mut self, key: Key) {
        self.flights.disarm(key);
        let Some(flight) = self.flights.get_mut(key) else { return };
        if flight.stage == Stage::Resting {
            return self.release(key);
        }
        if matches!(flight.role, Role::Beside { .. }) {
            return self.end_loop(key);
        }
        let planned = flight.role != Role::Opening;
        let (journey, part, leg) = (flight.journey, flight.arrival.part, flight.leg);
        let link = if flight.stage == Stage::Exchanging { flight.link.take() } else { None };
        if !planned {
            // Nobody waited for it.
        } else if flight.times.sent.is_some() {
            self.book.abandoned();
        } else {
            self.book.not_sent(journey, 1);
            self.courses[leg].parts.not_sent(part, 1);
        }
        if let Some(link) = link {
            self.close_link(link);
        }
        if planned {
            self.leave(key, &Outcome::Ok);
        } else {
            self.release(key);
        }
    }

    /// A journey is over: its place is free again.
    fn leave(&mut self, key: Key, outcome: &Outcome) {
        self.end_beside(key);
        self.under_way -= 1;
        self.over += 1;
        let free = self.woke.since(self.setting.start);
        let Some(flight) = self.flights.get_mut(key) else { return };
        let course = &mut self.courses[flight.leg];
        if flight.role == Role::Joining {
            return self.joined(key, *outcome == Outcome::Ok);
        }
        if matches!(course.load, Load::Held(_)) {
            return self.free_member(key, free);
        }
        let once = matches!(course.load, Load::Open(_) | Load::Left(_) | Load::Nothing);
        if course.leg.reconnect != Reconnect::Never || once {
            let link = flight.link.take();
            let keep = course.leg.reconnect == Reconnect::Never;
            if let Some(link) = link {
                if keep { self.links.lay_aside(link) } else { self.close_link(link) }
            }
        }
        let Some(flight) = self.flights.get_mut(key) else { return };
        let course = &mut self.courses[flight.leg];
        match &mut course.load {
            Load::Open(open) => {
                open.give_back(free);
                self.release(key);
            }
            Load::Clients(_) if !course.closing => {
                flight.stage = Stage::Resting;
                match outcome {
                    // Later, so that a target that is away does not make a loop without end.
                    Outcome::Failed(failure) => {
                        let hopeless = matches!(failure.trouble, Trouble::Connect | Trouble::Request);
                        let rest = if hopeless { REST_AFTER_REFUSAL } else { Duration::ZERO };
                        self.wake_at(self.now + rest, Wake::Flight(key));
                    }
                    Outcome::Ok | Outcome::Denied => self.begin_another(key, free),
                }
            }
            Load::Clients(_) | Load::Held(_) | Load::Left(_) | Load::Nothing => self.release(key),
        }
    }

    /// The next journey of a client, if there is one. It is due now; but the answer before it had come by
    /// `ready_since`, and what has passed since then is the worker's own doing.
    fn begin_another(&mut self, key: Key, ready_since: Duration) {
        let now = self.at();
        let Some(flight) = self.flights.get(key) else { return };
        let course = &self.courses[flight.leg];
        let next = match &course.load {
            Load::Clients(clients) if !course.closing => clients.another(&course.leg, &flight.arrival, now),
            _ => None,
        };
        match next {
            Some(arrival) => self.begin_journey(key, arrival, ready_since),
            None => self.release(key),
        }
    }

    /// A flight is over for good.
    pub(super) fn release(&mut self, key: Key) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        let (leg, part, link) = (flight.leg, flight.arrival.part, flight.link.take());
        self.flights.remove(key);
        if let Some(link) = link {
            self.links.lay_aside(link);
        }
        self.courses[leg].parts.ended(part, &mut self.overs);
        self.say_overs(leg);
    }

    /// What has not begun in a course that is over never will.
    pub(super) fn release_waiting(&mut self, at: usize) {
        if matches!(self.courses[at].load, Load::Open(_) | Load::Nothing) {
            return;
        }
        for key in self.flights.keys() {
            let Some(flight) = self.flights.get(key).filter(|flight| flight.leg == at) else { continue };
            let cut = self.courses[at].cut;
            match (flight.stage, flight.role) {
                (Stage::Resting, _) => self.release(key),
                // It ends with the journey that it runs beside.
                (_, Role::Beside { .. }) => {}
                (_, Role::Opening | Role::Joining) => self.abandon(key),
                (Stage::Waiting, _) if flight.times.sent.is_none() && !self.is_held(at) => self.forget(key),
                (Stage::Waiting, _) if cut => self.abandon(key),
                (Stage::Waiting | Stage::Exchanging, _) => {}
            }
        }
    }

    fn is_held(&self, at: usize) -> bool {
        matches!(self.courses[at].load, Load::Held(_))
    }

    /// A client that waits before its first request was not due yet.
    fn forget(&mut self, key: Key) {
        self.under_way -= 1;
        self.due -= 1;
        self.release(key);
    }
}

fn whole(flight: &Flight, now: Duration, class: Class) -> Sample {
    Sample {
        index: flight.arrival.index,
        journey: flight.journey,
        step: None,
        intended: flight.arrival.intended,
        sent: flight.times.sent.unwrap_or(now),
        first_byte: flight.times.head,
        done: now,
        lag: flight.times.lag,
        own: flight.times.own,
        own_service: flight.times.own.saturating_sub(flight.times.own_unsent),
        retries: flight.retries_before + flight.retries,
        class,
        waits: false,
        wake: None,
        own_wake: Duration::ZERO,
    }
}
