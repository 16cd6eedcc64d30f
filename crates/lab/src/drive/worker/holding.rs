//! Held connections at work: opened as fast as planned, kept, opened again when they are lost, closed at the end.
//! Refuses to know which is due: that is the held leg's own business.

use std::time::Duration;

use super::course::{Course, Load};
use super::flights::Role;
use super::held::{Closed, Held, Opening, Stood};
use super::journey::Outcome;
use super::{Key, Worker};
use crate::drive::Failure;
use crate::drive::crew::Report;
use crate::limits::CLOSED_PER_TURN;
use crate::plan::Schedule;

/// How a held connection went, without anybody having closed it from here.
pub(super) struct Gone<'a> {
    pub(super) failure: &'a Failure,
    /// Whether the other side ended it in so many words, instead of breaking it off.
    pub(super) in_order: bool,
    /// Whether nothing was under way on it.
    pub(super) was_idle: bool,
}

impl Worker {
    fn held_of(&mut self, at: usize) -> Option<&mut Held> {
        match &mut self.courses[at].load {
            Load::Held(held) => Some(held),
            Load::Open(_) | Load::Clients(_) | Load::Left(_) | Load::Nothing => None,
        }
    }

    /// Whether the connections of a course are closed by now: it is over, and no later one goes on with them.
    fn is_closing(&self, at: usize) -> bool {
        let course = &self.courses[at];
        course.closing && (!course.leg.leaves || self.stopping.is_some())
    }

    /// A course goes on with the connections of the one that it names, which is over everywhere.
    pub(super) fn go_on_with(&mut self, at: usize) {
        let (part, Some(phase)) = (self.courses[at].leg.part, self.courses[at].leg.keeps) else { return };
        let is_meant = |course: &Course| course.leg.phase == phase && matches!(course.load, Load::Left(_));
        let Some(before) = self.courses.iter_mut().find(|course| is_meant(course)) else { return };
        let Load::Left(left) = std::mem::replace(&mut before.load, Load::Nothing) else { return };
        let (kept, surplus) = match self.held_of(at) {
            Some(held) => held.go_on_with(*left),
            None => (Vec::new(), left.links().collect()),
        };
        self.book.kept(part, kept.len() as u64, self.at());
        for (member, key) in kept {
            if let Some(link) = self.links.get_mut(key) {
                link.held = Some((at, member));
            }
        }
        surplus.into_iter().for_each(|link| self.close_link(link));
    }

    /// Closes what stays for a course that never comes.
    pub(super) fn close_left(&mut self) {
        for at in 0..self.courses.len() {
            if let Load::Left(held) = &self.courses[at].load {
                let links: Vec<Key> = held.links().collect();
                links.into_iter().for_each(|link| self.close_link(link));
                self.courses[at].load = Load::Nothing;
            }
        }
    }

    /// Does what is due next for the connections of a course, if anything is.
    pub(super) fn hold_next(&mut self, at: usize, now: Duration) -> bool {
        let Some(held) = self.held_of(at) else { return false };
        if let Some(opening) = held.take_opening(now) {
            self.open_member(at, opening);
            return true;
        }
        match held.take_request(now) {
            Some((member, arrival)) => {
                self.ask_over(at, member, arrival, arrival.intended);
                true
            }
            None => false,
        }
    }

    fn open_member(&mut self, at: usize, opening: Opening) {
        let Opening { member, arrival, ready_since } = opening;
        if let Some(journey) = self.courses[at].leg.opening {
            return self.join(at, journey, opening);
        }
        let journey = self.courses[at].leg.journey;
        let key = self.flights.add(at, journey, arrival);
        self.courses[at].parts.began(arrival.part);
        if let Some(flight) = self.flights.get_mut(key) {
            flight.begin(arrival, ready_since, (1, 0));
            (flight.member, flight.role) = (member, Role::Opening);
        }
        self.begin_try(key);
    }

    /// Opens a connection with what is said on it first: a journey like any other, whose connection stays.
    fn join(&mut self, at: usize, journey: usize, Opening { member, arrival, ready_since }: Opening) {
        self.courses[at].parts.began(arrival.part);
        (self.due, self.under_way) = (self.due + 1, self.under_way + 1);
        let route = &self.calls[journey];
        let steps = (route.own, route.repeats.len());
        let key = self.flights.add(at, journey, arrival);
        if let Some(flight) = self.flights.get_mut(key) {
            flight.begin(arrival, ready_since, steps);
            (flight.member, flight.role) = (member, Role::Joining);
        }
        self.come_to_step(key, arrival.intended);
    }

    /// What is said first over a connection that is to be held was said; if it went well, the connection is held.
    pub(super) fn joined(&mut self, key: Key, went_well: bool) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        let (at, member, link) = (flight.leg, flight.member, flight.link.take());
        if went_well {
            self.keep_values(key);
        }
        self.release(key);
        let keeps = went_well && !self.courses[at].closing;
        if let Some(link) = link.filter(|_| !keeps) {
            self.close_link(link);
        }
        let link = link.filter(|_| keeps);
        if let Some(link) = link.and_then(|link| self.links.get_mut(link)) {
            (link.flight, link.held) = (None, Some((at, member)));
            self.held += 1;
        }
        self.note_opening(at, member, link);
        if link.is_some() {
            self.go_on_waiting(at, member);
        }
    }

    /// An opening has come to its end: notes what became of it, and says so when it was the last one that was missing.
    fn note_opening(&mut self, at: usize, member: u32, link: Option<Key>) {
        let (now, part, closing) = (self.at(), self.courses[at].leg.part, self.courses[at].closing);
        let Some(held) = self.held_of(at) else { return };
        match held.opened(member, link, now) {
            Stood::First(due) => {
                let own = self.pauses.between(due, now);
                self.book.opened(part, now.saturating_sub(due), own, now);
            }
            Stood::Again => self.book.reopened(part, now),
            // Given up because everything ends.
            Stood::Not if closing => {}
            Stood::Not => self.book.unopened(part, now),
        }
        self.say_opened(at);
    }

    /// Says that all connections of a leg stand, behind everything that is known of their opening. Who has none to hold
    /// says so as well.
    pub(super) fn say_opened(&mut self, at: usize) {
        let leg = &self.courses[at].leg;
        if !matches!(leg.schedule, Schedule::Hold { .. }) {
            return;
        }
        let part = leg.part;
        if self.held_of(at).is_some_and(|held| !held.is_in()) {
            return;
        }
        self.book.tear();
        self.say_pages();
        let _ = self.reports.send(Report::Opened { worker: self.number, part, at: self.at() });
    }

    /// The connection of a flight keeps what the flight has kept, as far as journeys over it use that.
    fn keep_values(&mut self, key: Key) {
        let Some(flight) = self.flights.get(key) else { return };
        let course = &mut self.courses[flight.leg];
        let inherits = &self.calls[course.leg.journey].inherits;
        let Load::Held(held) = &mut course.load else { return };
        if inherits.is_empty() {
            return;
        }
        let value = |name: &String| Some((name.as_str().into(), flight.kept.get(name)?.into()));
        held.keep(flight.member, inherits.iter().filter_map(value).collect());
    }

    /// A journey begins with what its connection has kept.
    pub(super) fn give_values(&mut self, key: Key) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        if let Load::Held(held) = &self.courses[flight.leg].load {
            held.values(flight.member).iter().for_each(|(name, value)| flight.kept.keep(name, value));
        }
    }

    /// A request's turn has come, or the connection that it waited for is free.
    fn ask_over(&mut self, at: usize, member: u32, arrival: crate::plan::Arrival, ready_since: Duration) {
        let journey = self.courses[at].leg.journey;
        let link = self.held_of(at).and_then(|held| held.link(member));
        self.courses[at].parts.began(arrival.part);
        let key = self.flights.add(at, journey, arrival);
        if let Some(flight) = self.flights.get_mut(key) {
            (flight.member, flight.link) = (member, link);
        }
        self.begin_journey(key, arrival, ready_since);
    }

    /// A connection that was opened to be held stands.
    pub(super) fn opened(&mut self, link: Key, key: Key) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        let (at, member) = (flight.leg, flight.member);
        flight.link = None;
        if let Some(link) = self.links.get_mut(link) {
            (link.flight, link.held) = (None, Some((at, member)));
        }
        self.held += 1;
        self.end_opening(key, Some(link), &Outcome::Ok);
        self.go_on_waiting(at, member);
    }

    /// An opening has ended, one way or the other.
    pub(super) fn end_opening(&mut self, key: Key, link: Option<Key>, outcome: &Outcome) {
        self.flights.disarm(key);
        let Some(flight) = self.flights.get(key) else { return };
        let (at, member, journey) = (flight.leg, flight.member, flight.journey);
        if let Outcome::Failed(failure) = outcome {
            self.book.error(journey, 0, failure);
        }
        self.note_opening(at, member, link);
        self.release(key);
    }

    /// A connection that was held is gone, by itself where there is a reason. Where a request was under way, that says
    /// why itself.
    pub(super) fn let_go(&mut self, at: usize, member: u32, gone: Option<Gone<'_>>) {
        let now = self.at();
        self.held -= 1;
        let (closing, journey, part) = (self.is_closing(at), self.courses[at].leg.journey, self.courses[at].leg.part);
        if let Some(held) = self.courses[at].load.standing() {
            held.detach(member, now);
        }
        let Some(Gone { failure, in_order, was_idle }) = gone.filter(|_| !closing) else { return };
        match self.courses[at].load {
            // It is nobody's until a later leg goes on with it.
            Load::Left(_) => self.book.gone_after(part, in_order, now),
            _ => self.book.gone(part, in_order, now),
        }
        if was_idle {
            let lost = format!("a held connection was lost: {}", failure.message);
            self.book.error(journey, 0, &Failure::new(failure.trouble, lost));
        }
    }

    /// A connection is about to be given up because of what the other side did, or did not; counts it if it is held.
    pub(super) fn note_gone(&mut self, link: Key, in_order: bool) {
        let held = self.links.get(link).and_then(|link| link.held);
        if let Some((at, _)) = held.filter(|(at, _)| !self.is_closing(*at)) {
            self.book.gone(self.courses[at].leg.part, in_order, self.at());
        }
    }

    /// A request over a held connection is over; the connection goes on, if it still stands.
    pub(super) fn free_member(&mut self, key: Key, free: Duration) {
        let now = self.at();
        let Some(flight) = self.flights.get_mut(key) else { return };
        let (at, member, link) = (flight.leg, flight.member, flight.link.take());
        self.keep_values(key);
        self.release(key);
        if let Some(link) = link {
            self.keep_member(at, member, link);
        }
        if self.is_closing(at) {
            if let Some(link) = link {
                self.close_link(link);
            }
        } else if let Some(held) = self.courses[at].load.standing() {
            held.free(member, now);
            self.go_on_since(at, member, free);
        }
    }

    /// The connection that a request leaves behind is the member's, also where it was opened on the way.
    fn keep_member(&mut self, at: usize, member: u32, key: Key) {
        let Some(link) = self.links.get_mut(key) else { return };
        link.flight = None;
        if link.held.replace((at, member)).is_none() {
            self.held += 1;
            self.book.reopened(self.courses[at].leg.part, self.at());
            if let Some(held) = self.courses[at].load.standing() {
                held.attach(member, key);
            }
        }
    }

    fn go_on_waiting(&mut self, at: usize, member: u32) {
        let now = self.at();
        self.go_on_since(at, member, now);
    }

    /// Sends the request that has waited for a connection which is free since a moment.
    fn go_on_since(&mut self, at: usize, member: u32, free: Duration) {
        if self.courses[at].closing {
            return;
        }
        if let Some((member, arrival)) = self.held_of(at).and_then(|held| held.waiting_request(member)) {
            self.note_wait(arrival.intended, free.max(arrival.intended));
            self.ask_over(at, member, arrival, free.max(arrival.intended));
        }
    }

    /// Closes some connections of a leg that is over, or leaves them.
    pub(super) fn wind_down(&mut self, at: usize) {
        let (part, stays) = (self.courses[at].leg.part, !self.is_closing(at));
        let wind_down = |held: &mut Held| if stays { held.leave_all() } else { held.close_some(CLOSED_PER_TURN) };
        match self.held_of(at).map(wind_down) {
            Some(Closed::Some(links)) => links.into_iter().for_each(|link| self.close_link(link)),
            Some(Closed::Last) => {
                self.courses[at].parts.ended(part, &mut self.overs);
                self.say_overs(at);
            }
            Some(Closed::Nothing) | None => {}
        }
    }
}
