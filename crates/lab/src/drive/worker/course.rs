//! A leg as one worker drives it: its share of the arrivals, of the places in flight, of the clients. Decided from the
//! leg and the number of workers alone, so that all of them agree without asking. Refuses to know requests.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::time::Duration;

use super::held::Held;
use super::parts::{Over, Parts};
use super::pauses::Pauses;
use crate::limits::COUNTED_PER_TURN;
use crate::plan::{Arrival, Arrivals, Leg, Schedule};
use crate::record::OwnTime;
use crate::scenario::Each;

/// A leg as one worker drives it.
#[derive(Debug)]
pub(super) struct Course {
    pub(super) leg: Leg,
    pub(super) parts: Parts,
    pub(super) load: Load,
    /// Whether nothing new begins any more.
    pub(super) closing: bool,
    /// Whether the leg was cut: journeys of clients end with the exchange that is under way.
    pub(super) cut: bool,
}

/// What a worker has to do for a leg.
#[derive(Debug)]
pub(super) enum Load {
    /// Arrivals when they are due, as far as places are free.
    Open(Box<Open>),
    /// Clients, one journey after the other.
    Clients(Clients),
    /// Connections that are held.
    Held(Box<Held>),
    /// Connections that stay for a later leg, which goes on with them.
    Left(Box<Held>),
    /// Nothing, or nothing any more.
    Nothing,
}

impl Load {
    /// The connections that stand, whatever is done with them.
    pub(super) fn standing(&mut self) -> Option<&mut Held> {
        match self {
            Self::Held(held) | Self::Left(held) => Some(held),
            Self::Open(_) | Self::Clients(_) | Self::Nothing => None,
        }
    }
}

/// One worker's share of a leg: it is number `worker` of those `of` workers that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seat {
    pub(super) worker: u32,
    pub(super) of: u32,
}

impl Seat {
    /// The seat of a worker; none where there is less to share than there are workers. What is shared are places in
    /// flight, clients, or connections.
    pub(super) fn find(leg: &Leg, worker: u32, of: u32) -> Option<Self> {
        let of = u32::try_from(shared(leg)).unwrap_or(u32::MAX).min(of);
        (worker < of).then_some(Self { worker, of })
    }

    /// How many of `count` things, dealt out in turn, this seat gets.
    pub(super) fn share(self, count: u64) -> u64 {
        let (worker, of) = (u64::from(self.worker), u64::from(self.of));
        count / of + u64::from(worker < count % of)
    }
}

fn shared(leg: &Leg) -> u64 {
    match leg.schedule {
        Schedule::Clients { clients, .. } => clients,
        Schedule::Hold { connections, .. } => connections,
        Schedule::Bursts { .. } | Schedule::Rate { .. } | Schedule::Ramp { .. } | Schedule::Poisson { .. } => {
            leg.in_flight_max
        }
    }
}

impl Course {
    /// What worker number `worker` of `of` does for a leg.
    pub(super) fn new(leg: Leg, worker: u32, of: u32) -> Self {
        let parts = match leg.schedule {
            Schedule::Bursts { times, .. } => u32::try_from(times).unwrap_or(u32::MAX),
            _ => 1,
        };
        let load = match (Seat::find(&leg, worker, of), &leg.schedule) {
            (None, _) => Load::Nothing,
            (Some(seat), Schedule::Clients { clients, each }) => {
                Load::Clients(Clients::new(seat, *clients, *each, leg.start))
            }
            (Some(seat), Schedule::Hold { .. }) => {
                Held::new(&leg, seat).map_or(Load::Nothing, |held| Load::Held(Box::new(held)))
            }
            (Some(seat), _) => Load::Open(Box::new(Open::new(&leg, seat))),
        };
        let mut parts = Parts::new(leg.part, parts);
        if matches!(load, Load::Held(_)) {
            // For as long as its connections stand.
            parts.began(leg.part);
        }
        Self { parts, leg, load, closing: false, cut: false }
    }

    /// When something is to be done next, as far as places are free.
    pub(super) fn next_due(&self) -> Option<Duration> {
        match &self.load {
            Load::Held(held) if self.closing => held.is_closing().then_some(Duration::ZERO),
            _ if self.closing => None,
            Load::Open(open) => open.next_due(),
            Load::Clients(clients) => clients.next_due(),
            Load::Held(held) => held.next_due(),
            Load::Left(_) | Load::Nothing => None,
        }
    }

    /// Says which parts have become over because nothing of them is to come.
    pub(super) fn close_parts(&mut self, overs: &mut Vec<Over>) {
        let coming = match &self.load {
            _ if self.closing => None,
            Load::Open(open) => open.next.map(|arrival| arrival.part),
            Load::Clients(clients) => (!clients.have_all_begun()).then_some(self.leg.part),
            Load::Held(_) => Some(self.leg.part),
            Load::Left(_) | Load::Nothing => None,
        };
        self.parts.close_below(coming.unwrap_or(self.parts.end()), overs);
    }

    /// Nothing new begins any more; gives how many arrivals were due and will never be sent, and how many openings with
    /// a journey of their own.
    pub(super) fn close(&mut self, now: Duration) -> (u64, u64) {
        if std::mem::replace(&mut self.closing, true) {
            return (0, 0);
        }
        match &mut self.load {
            Load::Open(open) => (open.drop_due(now, &mut self.parts), 0),
            Load::Held(held) => {
                let (journeys, openings) = held.drop_due(now);
                self.parts.not_sent(self.leg.part, journeys + openings);
                (journeys, openings)
            }
            Load::Clients(_) | Load::Left(_) | Load::Nothing => (0, 0),
        }
    }

    /// How much longer a part took at this worker, which is done with it now, because the worker paused; and the share
    /// of its clients' time that was lost with that.
    pub(super) fn own_time(&self, over: &Over, now: Duration, (worker, of): (u32, u32), pauses: &Pauses) -> OwnTime {
        let paused = pauses.between(self.leg.start, now);
        let (longer, lost) = match self.leg.schedule {
            Schedule::Clients { each: Each::Requests(_), .. } => (paused, Duration::ZERO),
            Schedule::Clients { clients, each: Each::Lasting(_) } => {
                let own = Seat::find(&self.leg, worker, of).map_or(0, |seat| seat.share(clients));
                (Duration::ZERO, paused.mul_f64(own as f64 / clients.max(1) as f64))
            }
            _ => (pauses.between(over.until, now), Duration::ZERO),
        };
        OwnTime { longer, lost }
    }

    /// Arrivals that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        match &self.load {
            Load::Open(open) if !self.closing => open.counted.saturating_sub(open.taken),
            Load::Held(held) if !self.closing => held.queued(),
            _ => 0,
        }
    }
}

/// An open schedule.
#[derive(Debug)]
pub(super) struct Open {
    /// The next arrival, and those behind it.
    pub(super) next: Option<Arrival>,
    rest: Arrivals,
    /// Since when each free place has been free; the one that has been so longest is taken first.
    free: VecDeque<Duration>,
    /// Arrivals sent so far, and arrivals counted as due so far.
    taken: u64,
    counted: u64,
    /// The arrivals behind those that were counted, while more are due than were sent.
    ahead: Option<Peekable<Arrivals>>,
}

impl Open {
    fn new(leg: &Leg, seat: Seat) -> Self {
        let mut rest = leg.arrivals(seat.worker, seat.of);
        let places = seat.share(leg.in_flight_max) as usize;
        let free = std::iter::repeat_n(leg.start, places).collect();
        Self { next: rest.next(), rest, free, taken: 0, counted: 0, ahead: None }
    }

    fn next_due(&self) -> Option<Duration> {
        self.next.filter(|_| !self.free.is_empty()).map(|arrival| arrival.intended)
    }

    /// The next arrival, if it is due and a place is free, and since when the place has been free.
    pub(super) fn take(&mut self, now: Duration) -> Option<(Arrival, Duration)> {
        let arrival = self.next.filter(|arrival| arrival.intended <= now)?;
        let free_since = self.free.pop_front()?;
        self.next = self.rest.next();
        self.taken += 1;
        if self.taken >= self.counted {
            (self.counted, self.ahead) = (self.taken, None);
        }
        Some((arrival, free_since))
    }

    /// A place is free again.
    pub(super) fn give_back(&mut self, now: Duration) {
        self.free.push_back(now);
    }

    /// Counts some more of what is due and waits.
    pub(super) fn count_due(&mut self, now: Duration) {
        let due = |arrival: &Arrival| arrival.intended <= now;
        if self.counted == self.taken && self.next.as_ref().is_some_and(due) {
            self.counted += 1;
            self.ahead = Some(self.rest.clone().peekable());
        }
        if let Some(ahead) = &mut self.ahead {
            let more = std::iter::from_fn(|| ahead.next_if(due)).take(COUNTED_PER_TURN);
            self.counted += more.count() as u64;
        }
    }

    fn drop_due(&mut self, now: Duration, parts: &mut Parts) -> u64 {
        let all = self.next.take().into_iter().chain(&mut self.rest);
        let mut count = 0;
        for arrival in all.take_while(|arrival| arrival.intended <= now) {
            parts.not_sent(arrival.part, 1);
            count += 1;
        }
        count
    }
}

/// Clients of a closed loop: client c belongs to the seat c % `of`; its k-th journey has the number c + k * clients.
#[derive(Debug)]
pub(super) struct Clients {
    seat: Seat,
    clients: u64,
    each: Each,
    start: Duration,
    /// Clients of this seat that have begun.
    begun: u64,
}

impl Clients {
    fn new(seat: Seat, clients: u64, each: Each, start: Duration) -> Self {
        Self { seat, clients, each, start, begun: 0 }
    }

    fn have_all_begun(&self) -> bool {
        self.begun >= self.seat.share(self.clients)
    }

    fn next_due(&self) -> Option<Duration> {
        (!self.have_all_begun()).then_some(self.start)
    }

    /// The first journey of the next client, if it is due.
    pub(super) fn take(&mut self, leg: &Leg, now: Duration) -> Option<Arrival> {
        self.next_due().filter(|due| *due <= now)?;
        let client = self.begun * u64::from(self.seat.of) + u64::from(self.seat.worker);
        self.begun += 1;
        Some(leg.arrival(client, self.start))
    }

    /// Whether nobody begins anything at that moment any more.
    pub(super) fn are_over(&self, at: Duration) -> bool {
        matches!(self.each, Each::Lasting(time) if at >= self.start + time)
    }

    /// The journey of the same client after this one, due at `now`, if there is another.
    pub(super) fn another(&self, leg: &Leg, last: &Arrival, now: Duration) -> Option<Arrival> {
        let index = last.index + self.clients;
        let more = match self.each {
            Each::Requests(count) => index / self.clients < count,
            Each::Lasting(_) => !self.are_over(now),
        };
        more.then(|| leg.arrival(index, now))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::mix;

    const SECOND: Duration = Duration::from_secs(1);

    fn leg(schedule: Schedule, in_flight_max: u64) -> Leg {
        Leg { part: 4, start: SECOND, in_flight_max, ..Leg::sole(schedule) }
    }

    fn bursts(batch: u64, times: u64) -> Schedule {
        Schedule::Bursts { batch, every: SECOND, times }
    }

    proptest! {
        #[test]
        fn all_is_shared_out_and_nobody_sits_idle(count in 1u64..300, of in 1u32..40) {
            let leg = leg(bursts(1, 1), count);
            let seats: Vec<Seat> = (0..of).filter_map(|worker| Seat::find(&leg, worker, of)).collect();
            let shares: Vec<u64> = seats.iter().map(|seat| seat.share(count)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), count);
            prop_assert!(shares.iter().all(|share| *share > 0));
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }

        #[test]
        fn each_client_takes_its_own_journeys(clients in 1u64..40, of in 1u32..9, each in 1u64..5) {
            let leg = leg(Schedule::Clients { clients, each: Each::Requests(each) }, 1);
            let mut all = Vec::new();
            for worker in 0..of {
                let Load::Clients(mut seat) = Course::new(leg.clone(), worker, of).load else { continue };
                while let Some(first) = seat.take(&leg, SECOND) {
                    prop_assert_eq!(first.index % u64::from(of.min(clients as u32)), u64::from(worker));
                    all.extend(std::iter::successors(Some(first), |last| seat.another(&leg, last, SECOND)));
                }
            }
            all.sort_by_key(|arrival| arrival.index);
            let expected = (0..clients * each).map(|i| (i, mix(1, i)));
            prop_assert!(all.iter().map(|arrival| (arrival.index, arrival.seed)).eq(expected));
        }
    }

    #[test]
    fn places_bound_what_is_taken_and_the_rest_is_counted() {
        let mut course = Course::new(leg(bursts(5, 2), 2), 0, 1);
        let Load::Open(open) = &mut course.load else { panic!() };
        assert_eq!((open.next_due(), open.take(Duration::ZERO)), (Some(SECOND), None));
        let (first, free_since) = open.take(SECOND).unwrap();
        assert_eq!((first.index, first.part, free_since), (0, 4, SECOND));
        assert!(open.take(SECOND).is_some() && open.take(SECOND).is_none());
        assert_eq!(open.next_due(), None);
        open.count_due(SECOND);
        assert_eq!((open.counted, open.taken), (5, 2));
        open.count_due(2 * SECOND);
        open.give_back(2 * SECOND);
        assert_eq!(open.take(2 * SECOND).map(|(arrival, since)| (arrival.index, since)), Some((2, 2 * SECOND)));
        assert_eq!(course.queued(), 7);

        let mut overs = Vec::new();
        assert_eq!((course.close(2 * SECOND), course.close(2 * SECOND), course.queued()), ((7, 0), (0, 0), 0));
        course.close_parts(&mut overs);
        let expected = [(4, 2), (5, 5)].map(|(part, not_sent)| Over { part, not_sent, until: Duration::ZERO });
        assert_eq!(overs, expected);
    }

    #[test]
    fn workers_without_a_place_have_nothing_to_do() {
        let mut overs = Vec::new();
        let mut course = Course::new(leg(bursts(5, 2), 2), 2, 3);
        course.close_parts(&mut overs);
        assert_eq!((course.next_due(), overs.len(), course.parts.are_over()), (None, 2, true));
    }

    /// What a pause from 2 s to 4 s does to a part that this worker is done with after 5 s, and whose last exchange would
    /// have ended at `until_s`: how much longer it took, and what was lost, in thirds of a second.
    #[track_caller]
    fn check_own(schedule: Schedule, until_s: u32, expected: (u32, u32)) {
        let mut pauses = Pauses::new(2);
        pauses.add(2 * SECOND, 4 * SECOND, 0);
        let over = Over { part: 4, not_sent: 0, until: until_s * SECOND };
        let course = Course::new(leg(schedule, 9), 0, 2);
        let own = course.own_time(&over, 5 * SECOND, (0, 2), &pauses);
        let third = |time: Duration| (time.as_secs_f64() * 3.0).round() as u32;
        assert_eq!((third(own.longer), third(own.lost)), expected, "{over:?}");
    }

    #[test]
    fn a_pause_makes_parts_longer_and_takes_clients_their_time() {
        let rate = Schedule::Rate { rate_per_s: 9.0, lasting: SECOND };
        check_own(rate.clone(), 5, (0, 0));
        check_own(rate.clone(), 3, (3, 0));
        check_own(rate, 1, (6, 0));
        // Two of three clients are this worker's.
        check_own(Schedule::Clients { clients: 3, each: Each::Lasting(4 * SECOND) }, 5, (0, 4));
        check_own(Schedule::Clients { clients: 3, each: Each::Requests(7) }, 5, (6, 0));
    }

    #[test]
    fn clients_for_a_time_begin_nothing_after_it() {
        let leg = leg(Schedule::Clients { clients: 2, each: Each::Lasting(SECOND) }, 1);
        let Load::Clients(mut clients) = Course::new(leg.clone(), 0, 1).load else { panic!() };
        let first = clients.take(&leg, SECOND).unwrap();
        let last = Duration::from_millis(1999);
        assert_eq!(clients.another(&leg, &first, last).map(|arrival| arrival.intended), Some(last));
        assert_eq!(clients.another(&leg, &first, 2 * SECOND), None);
    }
}
