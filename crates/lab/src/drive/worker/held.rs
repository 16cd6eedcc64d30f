//! Held connections of one worker: which is opened next, which carries the next request, which is lost and comes back.
//! Nothing is due over them before the whole leg is open, which no worker knows by itself: it is told from when on.
//! Connection c belongs to the seat c % `of`; request i goes over connection i % connections. A request whose turn
//! comes while its connection is busy or away waits for it, and needs no memory for that: a connection knows how many
//! of its requests were sent, and the leg how far the schedule has come. Refuses to know sockets.

use std::collections::VecDeque;
use std::time::Duration;

use super::course::Seat;
use crate::drive::slab::Key;
use crate::limits::{COUNTED_PER_TURN, REOPEN_AFTER};
use crate::plan::{Arrival, Leg, Schedule};

/// The connections of one worker in one leg.
#[derive(Debug)]
pub(super) struct Held {
    plan: Plan,
    members: Vec<Member>,
    /// Members whose first opening has begun, and members that have stood.
    begun: u32,
    stood: u32,
    /// Whether it was said that all of them have.
    said: bool,
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
    /// What each member has kept, where journeys over it use that; empty where they do not.
    kept: Vec<Values>,
}

/// Names and values of a member.
pub(super) type Values = Box<[(Box<str>, Box<str>)]>;

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
    /// How many may be under way at once at this seat.
    opening_max: u64,
    /// The leg from the moment on at which all connections of all seats were open; its arrivals are the requests.
    asked: Option<Leg>,
    lasting: Duration,
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
    /// Whether it has ever stood.
    stood: bool,
}

/// What came of an opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stood {
    /// It stands for the first time, and was due at this moment.
    First(Duration),
    /// It stands again.
    Again,
    /// It came to nothing.
    Not,
}

impl Plan {
    /// The number of a member among all connections of the leg.
    fn number(&self, member: u32) -> u64 {
        u64::from(member) * u64::from(self.seat.of) + u64::from(self.seat.worker)
    }

    /// The first opening of a member, as an arrival.
    fn opening(&self, member: u32) -> Arrival {
        let number = self.number(member);
        self.leg.arrival(number, self.leg.opening(number).unwrap_or(self.leg.start))
    }

    /// A member's request of a round, if the leg has so many.
    fn request(&self, round: u64, member: u32) -> Option<Arrival> {
        let index = round.checked_mul(self.connections)?.checked_add(self.number(member))?;
        let leg = self.asked.as_ref().filter(|_| self.asks)?;
        leg.arrivals(0, 1).nth(usize::try_from(index).ok()?)
    }
}

/// An opening that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opening {
    pub(super) member: u32,
    pub(super) arrival: Arrival,
    /// Since when it could have begun.
    pub(super) ready_since: Duration,
}

impl Held {
    /// A seat's share of a leg; none where the leg holds nothing.
    pub(super) fn new(leg: &Leg, seat: Seat) -> Option<Self> {
        let Schedule::Hold { connections, rate_per_s, lasting, opening } = leg.schedule else { return None };
        let (asks, joins, opening_max) =
            (rate_per_s.is_some(), leg.opening.is_some(), seat.share(opening.at_once).max(1));
        let plan = Plan { seat, leg: leg.clone(), connections, opening_max, asked: None, lasting, asks, joins };
        Some(Self {
            members: vec![Member::default(); seat.share(connections) as usize],
            plan,
            begun: 0,
            stood: 0,
            said: false,
            opening: 0,
            place_since: Duration::ZERO,
            lost: VecDeque::new(),
            cursor: (0, 0),
            passed: 0,
            taken: 0,
            closing: Closing::From(0),
            kept: Vec::new(),
        })
    }

    /// Memory of a member besides its connection.
    #[cfg(test)]
    pub(super) const MEMBER_BYTES: usize = size_of::<Member>();

    /// Everybody is in: requests are due from this moment on.
    pub(super) fn ask_from(&mut self, at: Duration) {
        self.plan.asked = Some(self.plan.leg.asked_from(at));
    }

    /// Whether anything may be asked yet.
    pub(super) fn is_asked(&self) -> bool {
        self.plan.asked.is_some()
    }

    /// Whether all members have stood; says so once.
    pub(super) fn is_in(&mut self) -> bool {
        self.stood as usize == self.members.len() && !std::mem::replace(&mut self.said, true)
    }

    /// When the leg is over, once that is known.
    pub(super) fn end(&self) -> Option<Duration> {
        self.plan.asked.as_ref().map(|asked| asked.start.saturating_add(self.plan.lasting))
    }

    /// Goes on with the connections of a leg that is over: those that stand need no opening, and those that were lost
    /// are opened at once. Gives the members that stand, and the connections for which there is no member.
    pub(super) fn go_on_with(&mut self, left: Self) -> (Vec<(u32, Key)>, Vec<Key>) {
        let (mut kept, mut surplus) = (Vec::new(), Vec::new());
        for (member, link) in (0..).zip(left.members.into_iter().map(|member| member.link)) {
            match (self.members.get_mut(member as usize), link) {
                (Some(state), Some(link)) => {
                    *state = Member { link: Some(link), stood: true, ..Member::default() };
                    kept.push((member, link));
                }
                (Some(_), None) => self.lost.push_back((self.plan.leg.start, member)),
                (None, link) => surplus.extend(link),
            }
            self.begun = (member + 1).min(self.members.len() as u32);
        }
        self.stood = kept.len() as u32;
        self.kept = left.kept;
        if !self.kept.is_empty() {
            self.kept.resize(self.members.len(), Values::default());
        }
        (kept, surplus)
    }

    /// Every connection that stands.
    pub(super) fn links(&self) -> impl Iterator<Item = Key> {
        self.members.iter().filter_map(|member| member.link)
    }

    /// Requests that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        self.passed - self.taken
    }

    /// When something is to be done next.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let opening = self.may_open().then(|| self.next_opening()).flatten().map(|(due, ..)| due);
        let request = self.plan.request(self.cursor.0, self.cursor.1).map(|arrival| arrival.intended);
        [opening, request, self.end()].into_iter().flatten().min()
    }

    fn may_open(&self) -> bool {
        u64::from(self.opening) < self.plan.opening_max
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
        Some(Opening { member, arrival, ready_since })
    }

    /// An opening has ended, with a connection or without one.
    pub(super) fn opened(&mut self, member: u32, link: Option<Key>, now: Duration) -> Stood {
        if !self.may_open() {
            self.place_since = now;
        }
        self.opening -= 1;
        let state = &mut self.members[member as usize];
        let Some(link) = link else {
            self.lost.push_back((now + REOPEN_AFTER, member));
            return Stood::Not;
        };
        state.link = Some(link);
        if std::mem::replace(&mut state.stood, true) {
            return Stood::Again;
        }
        self.stood += 1;
        Stood::First(self.plan.opening(member).intended)
    }

    /// What a member has kept.
    pub(super) fn values(&self, member: u32) -> &[(Box<str>, Box<str>)] {
        self.kept.get(member as usize).map_or(&[], |values| values)
    }

    /// A member keeps these values, in place of those before.
    pub(super) fn keep(&mut self, member: u32, values: Values) {
        if self.kept.is_empty() {
            self.kept.resize(self.members.len(), Values::default());
        }
        self.kept[member as usize] = values;
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
        // Where nothing is said first, an opening is no arrival.
        (self.drop_requests(now), if self.plan.joins { openings } else { 0 })
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

    /// Closes none of them, because they stay: nothing more, said once.
    pub(super) fn leave_all(&mut self) -> Closed {
        match std::mem::replace(&mut self.closing, Closing::Done) {
            Closing::From(_) => Closed::Last,
            Closing::Done => Closed::Nothing,
        }
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
    use crate::limits::OPENING_AT_ONCE;

    const SECOND: Duration = Duration::from_secs(1);

    fn held(connections: u64, rate_per_s: Option<f64>, worker: u32, of: u32) -> Held {
        let opening = crate::scenario::Opening::default();
        let schedule = Schedule::Hold { connections, opening, rate_per_s, lasting: SECOND };
        Held::new(&Leg::sole(schedule), Seat { worker, of }).unwrap()
    }

    fn key() -> Key {
        Slab::default().insert(())
    }

    fn open_all(held: &mut Held) {
        while let Some(opening) = held.take_opening(Duration::ZERO) {
            held.opened(opening.member, Some(key()), Duration::ZERO);
        }
        held.ask_from(Duration::ZERO);
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
        assert_eq!(held.take_opening(SECOND).map(|again| again.member), Some(0));
        assert_eq!(held.opened(0, Some(key()), SECOND), Stood::Again);
        assert!(held.waiting_request(0).is_some());
    }

    #[test]
    fn nothing_is_asked_and_nothing_ends_before_everybody_is_in() {
        let mut held = held(2, Some(8.0), 0, 1);
        let hour = 3600 * SECOND;
        assert!(!held.is_in());
        for member in 0..2 {
            assert_eq!(held.take_opening(SECOND).map(|opening| opening.member), Some(member));
        }
        assert_eq!(held.opened(0, Some(key()), SECOND), Stood::First(Duration::ZERO));
        // One that is late keeps everybody waiting, however long.
        assert_eq!(held.opened(1, None, SECOND), Stood::Not);
        assert_eq!((held.is_in(), held.take_request(hour), held.queued(), held.end()), (false, None, 0, None));
        assert_eq!(held.take_opening(2 * SECOND).map(|opening| opening.member), Some(1));
        assert_eq!(held.opened(1, Some(key()), 2 * SECOND), Stood::First(Duration::ZERO));
        assert_eq!((held.is_in(), held.is_in(), held.next_due()), (true, false, None));
        // All of this seat; others may still be on their way.
        assert_eq!((held.take_request(hour), held.drop_due(hour)), (None, (0, 0)));
        held.ask_from(9 * SECOND);
        assert_eq!((held.next_due(), held.end()), (Some(9 * SECOND), Some(10 * SECOND)));
        let first = held.take_request(9 * SECOND).unwrap();
        assert_eq!((first.0, first.1.index, first.1.intended), (0, 0, 9 * SECOND));
    }

    #[test]
    fn a_level_goes_on_with_what_the_one_before_has_left() {
        let (key, mut before) = (key(), held(3, None, 0, 1));
        for member in 0..3 {
            before.take_opening(Duration::ZERO);
            before.opened(member, Some(key), Duration::ZERO);
        }
        before.keep(2, Box::new([("name".into(), "Ann".into())]));
        before.detach(1, SECOND);
        assert_eq!((before.leave_all(), before.leave_all()), (Closed::Last, Closed::Nothing));
        let mut next = held(5, Some(8.0), 0, 1);
        assert_eq!(next.go_on_with(before), (vec![(0, key), (2, key)], Vec::new()));
        assert_eq!((next.stood, next.links().count(), next.values(2).len()), (2, 2, 1));
        // Those that were lost meanwhile are opened like those that have never been.
        let mut missing = Vec::new();
        while let Some(opening) = next.take_opening(Duration::ZERO) {
            missing.push(opening.member);
            assert_eq!(next.opened(opening.member, Some(key), SECOND), Stood::First(Duration::ZERO));
        }
        missing.sort_unstable();
        assert_eq!((missing, next.is_in()), (vec![1, 3, 4], true));
        next.ask_from(SECOND);
        let asked: Vec<u32> = std::iter::from_fn(|| next.take_request(2 * SECOND)).map(|(member, _)| member).collect();
        assert_eq!(asked, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn connections_without_a_place_in_the_next_level_are_given_back() {
        let (key, mut before) = (key(), held(2, None, 0, 1));
        for member in 0..2 {
            before.take_opening(Duration::ZERO);
            before.opened(member, Some(key), Duration::ZERO);
        }
        let mut next = held(1, None, 0, 1);
        assert_eq!(next.go_on_with(before), (vec![(0, key)], vec![key]));
        assert_eq!((next.is_in(), next.take_opening(SECOND)), (true, None));
    }

    #[test]
    fn openings_are_bounded() {
        let mut held = held(2000, None, 1, 2);
        let openings: Vec<Opening> = std::iter::from_fn(|| held.take_opening(Duration::ZERO)).collect();
        assert_eq!((openings.len() as u64, openings[3].arrival.index), (OPENING_AT_ONCE / 2, 7));
        held.opened(0, None, Duration::ZERO);
        assert_eq!(
            held.take_opening(Duration::ZERO).map(|opening| u64::from(opening.member)),
            Some(OPENING_AT_ONCE / 2)
        );
        // What is never opened was no request.
        assert_eq!(held.drop_due(Duration::ZERO), (0, 0));
        held.opened(1, Some(key()), Duration::ZERO);
        assert_eq!(held.close_some(999), Closed::Some(vec![key()]));
        assert_eq!(held.close_some(999), Closed::Some(Vec::new()));
        assert!(held.is_closing());
        assert_eq!((held.close_some(999), held.close_some(999)), (Closed::Last, Closed::Nothing));
        assert!(!held.is_closing());
    }
}
