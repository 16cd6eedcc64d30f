//! Held connections of one worker: which is opened next, which carries the next request, which is lost and comes back.
//! Connection c belongs to the seat c % `of`; request i goes over connection i % connections. A request whose turn
//! comes while its connection is busy or away waits for it, and needs no memory for that: a connection knows how many
//! of its requests were sent, and the leg how far the schedule has come. Refuses to know sockets.

use std::collections::VecDeque;
use std::time::Duration;

use super::course::Seat;
use crate::drive::slab::Key;
use crate::limits::{COUNTED_PER_TURN, OPENING_MAX, REOPEN_AFTER};
use crate::plan::{Arrival, Leg, Schedule};

/// The connections of one worker in one leg.
#[derive(Debug)]
pub(super) struct Held {
    plan: Plan,
    members: Vec<Member>,
    /// Members whose first opening has begun.
    begun: u32,
    /// Members that are being opened, and since when there has been a place for another one.
    opening: u32,
    place_since: Duration,
    /// Members that were lost, and when each may be opened again: in the order of these moments.
    lost: VecDeque<(Duration, u32)>,
    /// The round and the member of the next request that is not due yet.
    cursor: (u64, u32),
    /// Requests that have been due so far, and those that were sent.
    passed: u64,
    taken: u64,
    closing: Closing,
}

/// How far the members have been closed since the leg was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closing {
    /// Those before this one.
    From(u32),
    /// All, and that has been said.
    Done,
}

/// What is to be closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// These connections, and more to come.
    Some(Vec<Key>),
    /// Nothing more; said once.
    Last,
    /// Nothing, since the last was said.
    Nothing,
}

/// What of the leg decides when things are due.
#[derive(Clone, Debug)]
struct Plan {
    seat: Seat,
    leg: Leg,
    connections: u64,
    end: Duration,
    /// Whether requests go over the connections.
    asks: bool,
    /// Whether each connection takes a journey of its own first.
    joins: bool,
}

/// One connection.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    link: Option<Key>,
    /// Requests sent over it so far.
    sent: u32,
    /// Whether a request is under way on it.
    busy: bool,
}

impl Plan {
    /// The number of a member among all connections of the leg.
    fn number(&self, member: u32) -> u64 {
        u64::from(member) * u64::from(self.seat.of) + u64::from(self.seat.worker)
    }

    /// The first opening of a member, as an arrival.
    fn opening(&self, member: u32) -> Arrival {
        let number = self.number(member);
        self.leg.arrival(number, self.leg.opening(number).unwrap_or(self.end))
    }

    /// A member's request of a round, if the leg has so many.
    fn request(&self, round: u64, member: u32) -> Option<Arrival> {
        let index = round.checked_mul(self.connections)?.checked_add(self.number(member))?;
        self.leg.arrivals(0, 1).nth(usize::try_from(index).ok()?)
    }
}

/// An opening that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) member: u32,
    pub(super) arrival: Arrival,
    /// Whether the member was never opened before.
    pub(super) first: bool,
    /// Whether the opening itself is what was planned: connections that carry no requests.
    pub(super) counted: bool,
    /// Since when it could have begun.
    pub(super) ready_since: Duration,
}

impl Held {
    /// A seat's share of a leg; none where the leg holds nothing.
    pub(super) fn new(leg: &Leg, seat: Seat) -> Option<Self> {
        let Schedule::Hold { connections, rate_per_s, lasting, .. } = leg.schedule else { return None };
        let (end, asks, joins) = (leg.start.saturating_add(lasting), rate_per_s.is_some(), leg.opening.is_some());
        let plan = Plan { seat, leg: leg.clone(), connections, end, asks, joins };
        Some(Self {
            members: vec![Member::default(); seat.share(connections) as usize],
            plan,
            begun: 0,
            opening: 0,
            place_since: Duration::ZERO,
            lost: VecDeque::new(),
            cursor: (0, 0),
            passed: 0,
            taken: 0,
            closing: Closing::From(0),
        })
    }

    /// Memory of a member besides its connection.
    #[cfg(test)]
    pub(super) const MEMBER_BYTES: usize = size_of::<Member>();

    /// When the leg is over.
    pub(super) fn end(&self) -> Duration {
        self.plan.end
    }

    /// Requests that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        self.passed - self.taken
    }

    /// When something is to be done next.
    pub(super) fn next_due(&self) -> Duration {
        let opening = self.may_open().then(|| self.next_opening()).flatten().map(|(due, ..)| due);
        let request = self.plan.request(self.cursor.0, self.cursor.1).map(|arrival| arrival.intended);
        [opening, request].into_iter().flatten().fold(self.plan.end, Duration::min)
    }

    fn may_open(&self) -> bool {
        (self.opening as usize) < (OPENING_MAX / self.plan.seat.of as usize).max(1)
    }

    /// The member that is opened next, when, and whether for the first time.
    fn next_opening(&self) -> Option<(Duration, u32, bool)> {
        let first = ((self.begun as usize) < self.members.len())
            .then(|| (self.plan.opening(self.begun).intended, self.begun, true));
        let again = self.lost.front().map(|(due, member)| (*due, *member, false));
        [first, again].into_iter().flatten().min_by_key(|(due, ..)| *due)
    }

    /// The next opening, if it is due and not too many are under way.
    pub(super) fn take_opening(&mut self, now: Duration) -> Option<Opening> {
        let (due, member, first) = self.next_opening().filter(|(due, ..)| self.may_open() && *due <= now)?;
        if first {
            self.begun += 1;
        } else {
            self.lost.pop_front();
        }
        self.opening += 1;
        let arrival = Arrival { intended: due, ..self.plan.opening(member) };
        let ready_since = due.max(self.place_since);
        Some(Opening { member, arrival, first, counted: first && !self.plan.asks, ready_since })
    }

    /// An opening has ended, with a connection or without one.
    pub(super) fn opened(&mut self, member: u32, link: Option<Key>, now: Duration) {
        if !self.may_open() {
            self.place_since = now;
        }
        self.opening -= 1;
        match link {
            Some(link) => self.members[member as usize].link = Some(link),
            None => self.lost.push_back((now + REOPEN_AFTER, member)),
        }
    }

    /// A member's connection is another one than before.
    pub(super) fn attach(&mut self, member: u32, link: Key) {
        self.members[member as usize].link = Some(link);
    }

    /// A member's connection is lost; the member is opened again unless a request is under way, which sees to that.
    pub(super) fn detach(&mut self, member: u32, now: Duration) {
        let state = &mut self.members[member as usize];
        state.link = None;
        if !state.busy {
            self.lost.push_back((now + REOPEN_AFTER, member));
        }
    }

    /// The next request that is due and whose connection is free.
    pub(super) fn take_request(&mut self, now: Duration) -> Option<(u32, Arrival)> {
        for _ in 0..COUNTED_PER_TURN {
            let (round, member) = self.cursor;
            self.plan.request(round, member).filter(|arrival| arrival.intended <= now)?;
            let next = member as usize + 1 < self.members.len();
            self.cursor = if next { (round, member + 1) } else { (round + 1, 0) };
            self.passed += 1;
            let waiting = self.waiting_request(member);
            if waiting.is_some() {
                return waiting;
            }
        }
        None
    }

    /// The request that waits for a member, if the member is free and there is one; it is sent now.
    pub(super) fn waiting_request(&mut self, member: u32) -> Option<(u32, Arrival)> {
        let state = self.members.get_mut(member as usize)?;
        let round = u64::from(state.sent);
        if state.busy || state.link.is_none() || (round, member) >= self.cursor {
            return None;
        }
        let arrival = self.plan.request(round, member)?;
        state.sent += 1;
        state.busy = true;
        self.taken += 1;
        Some((member, arrival))
    }

    /// The connection of a member, if it stands.
    pub(super) fn link(&self, member: u32) -> Option<Key> {
        self.members[member as usize].link
    }

    /// A member's request is over.
    pub(super) fn free(&mut self, member: u32, now: Duration) {
        let state = &mut self.members[member as usize];
        state.busy = false;
        if state.link.is_none() {
            self.lost.push_back((now + REOPEN_AFTER, member));
        }
    }

    /// Nothing new begins: how many journeys were due by now and will never be sent, and how many openings.
    pub(super) fn drop_due(&mut self, now: Duration) -> (u64, u64) {
        self.lost.clear();
        let rest = self.begun..self.members.len() as u32;
        let openings = rest.take_while(|member| self.plan.opening(*member).intended <= now).count() as u64;
        match (self.plan.asks, self.plan.joins) {
            (true, true) => (self.drop_requests(now), openings),
            (true, false) => (self.drop_requests(now), 0),
            (false, true) => (0, openings),
            // Each opening is an arrival of the journey that is never taken.
            (false, false) => (openings, 0),
        }
    }

    fn drop_requests(&mut self, now: Duration) -> u64 {
        let (mut round, mut member) = self.cursor;
        while self.plan.request(round, member).is_some_and(|arrival| arrival.intended <= now) {
            self.passed += 1;
            let next = member as usize + 1 < self.members.len();
            (round, member) = if next { (round, member + 1) } else { (round + 1, 0) };
        }
        self.queued()
    }

    /// Whether members are still to be closed, once the leg is over.
    pub(super) fn is_closing(&self) -> bool {
        self.closing != Closing::Done
    }

    /// Some more members to close; nothing more when all have had their turn. Busy ones close when their request is
    /// over.
    pub(super) fn close_some(&mut self, count: usize) -> Closed {
        let from = match self.closing {
            Closing::From(from) if (from as usize) < self.members.len() => from as usize,
            Closing::From(_) => {
                self.closing = Closing::Done;
                return Closed::Last;
            }
            Closing::Done => return Closed::Nothing,
        };
        let to = (from + count).min(self.members.len());
        self.closing = Closing::From(to as u32);
        let idle = self.members[from..to].iter().filter(|member| !member.busy);
        Closed::Some(idle.filter_map(|member| member.link).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::drive::slab::Slab;
    use crate::scenario::Reconnect;

    const SECOND: Duration = Duration::from_secs(1);

    fn held(connections: u64, rate_per_s: Option<f64>, worker: u32, of: u32) -> Held {
        let schedule = Schedule::Hold { connections, open_per_s: None, rate_per_s, lasting: SECOND };
        let (start, reconnect) = (Duration::ZERO, Reconnect::Never);
        let leg =
            Leg { phase: 0, journey: 0, part: 0, start, schedule, in_flight_max: 1, reconnect, opening: None, seed: 1 };
        Held::new(&leg, Seat { worker, of }).unwrap()
    }

    fn key() -> Key {
        Slab::default().insert(())
    }

    fn open_all(held: &mut Held) {
        while let Some(opening) = held.take_opening(Duration::ZERO) {
            held.opened(opening.member, Some(key()), Duration::ZERO);
        }
    }

    proptest! {
        #[test]
        fn all_requests_are_sent_over_their_own_connection(connections in 1u64..20, of in 1u32..5, rate in 1u32..200) {
            let of = of.min(connections as u32);
            let mut all = Vec::new();
            for worker in 0..of {
                let mut held = held(connections, Some(f64::from(rate)), worker, of);
                open_all(&mut held);
                while let Some((member, arrival)) = held.take_request(SECOND) {
                    prop_assert_eq!(arrival.index % connections, held.plan.number(member));
                    all.push(arrival.index);
                    held.free(member, Duration::ZERO);
                    // Those that came due meanwhile wait for nobody else.
                    while let Some((_, arrival)) = held.waiting_request(member) {
                        all.push(arrival.index);
                        held.free(member, Duration::ZERO);
                    }
                }
                prop_assert_eq!(held.queued(), 0);
            }
            all.sort_unstable();
            prop_assert!(all.into_iter().eq(0..u64::from(rate)));
        }
    }

    #[test]
    fn requests_wait_for_their_connection_and_are_counted() {
        let mut held = held(2, Some(8.0), 0, 1);
        open_all(&mut held);
        assert_eq!(held.take_request(Duration::ZERO).map(|(member, arrival)| (member, arrival.index)), Some((0, 0)));
        // Half a second later five are due, 0 to 4: member 0 is busy, member 1 takes its first.
        let half = SECOND / 2;
        assert_eq!(held.take_request(half).map(|(member, arrival)| (member, arrival.index)), Some((1, 1)));
        assert_eq!((held.take_request(half), held.queued()), (None, 3));
        held.free(0, half);
        assert_eq!(held.waiting_request(0).map(|(_, arrival)| arrival.index), Some(2));
        assert_eq!((held.waiting_request(0), held.drop_due(half)), (None, (2, 0)));
    }

    #[test]
    fn a_lost_connection_comes_back_a_second_later_and_its_request_waits() {
        let mut held = held(1, Some(1.0), 0, 1);
        open_all(&mut held);
        held.detach(0, Duration::ZERO);
        assert_eq!((held.take_request(Duration::ZERO), held.queued()), (None, 1));
        assert_eq!(held.take_opening(SECOND / 2), None);
        let again = held.take_opening(SECOND).unwrap();
        assert_eq!((again.member, again.first, again.counted), (0, false, false));
        held.opened(0, Some(key()), SECOND);
        assert!(held.waiting_request(0).is_some());
    }

    #[test]
    fn openings_are_bounded_and_counted_where_nothing_else_is() {
        let mut held = held(2000, None, 1, 2);
        let openings: Vec<Opening> = std::iter::from_fn(|| held.take_opening(Duration::ZERO)).collect();
        assert_eq!((openings.len(), openings[0].counted, openings[3].arrival.index), (OPENING_MAX / 2, true, 7));
        held.opened(0, None, Duration::ZERO);
        assert!(held.take_opening(Duration::ZERO).is_some_and(|opening| opening.first));
        assert_eq!(held.drop_due(Duration::ZERO), (1000 - OPENING_MAX as u64 / 2 - 1, 0));
        held.opened(1, Some(key()), Duration::ZERO);
        assert_eq!(held.close_some(999), Closed::Some(vec![key()]));
        assert_eq!(held.close_some(999), Closed::Some(Vec::new()));
        assert!(held.is_closing());
        assert_eq!((held.close_some(999), held.close_some(999)), (Closed::Last, Closed::Nothing));
        assert!(!held.is_closing());
    }
}
