//! Held connections of one worker: which is opened next, which carries the next request, which is lost and reopened. No
//! request is due before the whole load is open at all workers; the pool sends the time. Connection c belongs to worker
//! c % `worker_count`; request i goes over connection i % connections. A request whose connection is busy or lost waits
//! for it and needs no memory: each connection counts its sent requests, and the load knows how far the schedule has
//! come. Does not know sockets.

use std::collections::VecDeque;
use std::time::Duration;

use super::active_load::WorkerShare;
use crate::generator::slab::SlabKey;
use crate::limits::{DUE_COUNTED_PER_TURN, REOPEN_AFTER};
use crate::plan::{Arrival, LoadSpec, Schedule};

#[derive(Debug)]
pub(super) struct HeldConnections {
    plan: HoldPlan,
    connections: Vec<HeldConnection>,
    /// Connections whose first opening has started, and connections that have been open.
    started_count: u32,
    opened_count: u32,
    /// Whether it was reported that all are open.
    is_open_reported: bool,
    /// Openings in progress, and since when there has been a slot for another one.
    opening_count: u32,
    slot_free_since: Duration,
    /// Lost connections and when each may be reopened, ordered by that time.
    lost: VecDeque<(Duration, u32)>,
    /// The round and the connection of the next request that is not due yet.
    cursor: (u64, u32),
    /// Requests that have been due so far, and those that were sent.
    due_count: u64,
    sent_count: u64,
    closing: CloseProgress,
    /// Values that journeys inherit, for each connection; empty if none are inherited.
    kept: Vec<ConnectionValues>,
}

/// Names and values of one connection.
pub(super) type ConnectionValues = Box<[(Box<str>, Box<str>)]>;

/// How far the connections have been closed since the load was over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CloseProgress {
    /// Those before this one.
    From(u32),
    /// All, and that was returned once.
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CloseBatch {
    /// These connections, and more to come.
    Some(Vec<SlabKey>),
    /// Nothing more; returned once.
    Last,
    /// Nothing, since `Last` was returned.
    Nothing,
}

/// What decides when something is due.
#[derive(Clone, Debug)]
struct HoldPlan {
    share: WorkerShare,
    spec: LoadSpec,
    connections: u64,
    /// How many openings may be in progress at once at this worker.
    opening_max: u64,
    /// The load from the time on at which all connections of all workers were open; its arrivals are the requests.
    request_spec: Option<LoadSpec>,
    duration: Duration,
    has_requests: bool,
    has_opening_journey: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct HeldConnection {
    connection: Option<SlabKey>,
    sent_count: u32,
    /// Whether a request is in flight on it.
    busy: bool,
    /// Whether it has ever been open.
    has_opened: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenOutcome {
    /// Open for the first time; it was due at this time.
    Opened(Duration),
    /// Open again.
    Reopened,
    Failed,
}

impl HoldPlan {
    /// The connection's number among all connections of the load.
    fn connection_number(&self, held_index: u32) -> u64 {
        u64::from(held_index) * u64::from(self.share.worker_count) + u64::from(self.share.worker)
    }

    /// The first opening of a connection, as an arrival.
    fn opening(&self, held_index: u32) -> Arrival {
        let number = self.connection_number(held_index);
        self.spec.arrival(number, self.spec.opening_due(number).unwrap_or(self.spec.start))
    }

    /// A connection's request of a round, if the load has so many.
    fn request(&self, round: u64, held_index: u32) -> Option<Arrival> {
        let index = round.checked_mul(self.connections)?.checked_add(self.connection_number(held_index))?;
        let spec = self.request_spec.as_ref().filter(|_| self.has_requests)?;
        spec.arrivals(0, 1).nth(usize::try_from(index).ok()?)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueOpening {
    pub(super) held_index: u32,
    pub(super) arrival: Arrival,
    /// Since when it could have started.
    pub(super) ready_since: Duration,
}

impl HeldConnections {
    /// A worker's share of a load; none if the load does not hold connections.
    pub(super) fn new(spec: &LoadSpec, share: WorkerShare) -> Option<Self> {
        let Schedule::Hold { connections, rate_per_s, lasting, opening } = spec.schedule else { return None };
        let (has_requests, has_opening_journey, opening_max) =
            (rate_per_s.is_some(), spec.opening_journey_index.is_some(), share.share_of(opening.concurrency).max(1));
        let plan = HoldPlan {
            share,
            spec: spec.clone(),
            connections,
            opening_max,
            request_spec: None,
            duration: lasting,
            has_requests,
            has_opening_journey,
        };
        Some(Self {
            connections: vec![HeldConnection::default(); share.share_of(connections) as usize],
            plan,
            started_count: 0,
            opened_count: 0,
            is_open_reported: false,
            opening_count: 0,
            slot_free_since: Duration::ZERO,
            lost: VecDeque::new(),
            cursor: (0, 0),
            due_count: 0,
            sent_count: 0,
            closing: CloseProgress::From(0),
            kept: Vec::new(),
        })
    }

    /// Memory of a held connection besides the connection itself.
    #[cfg(test)]
    pub(super) const HELD_CONNECTION_BYTES: usize = size_of::<HeldConnection>();

    /// All workers' connections are open: requests are due from `at` on.
    pub(super) fn start_requests_at(&mut self, at: Duration) {
        self.plan.request_spec = Some(self.plan.spec.starting_at(at));
    }

    pub(super) fn has_started_requests(&self) -> bool {
        self.plan.request_spec.is_some()
    }

    /// Whether all connections have been open; true only once.
    pub(super) fn is_newly_open(&mut self) -> bool {
        self.opened_count as usize == self.connections.len() && !std::mem::replace(&mut self.is_open_reported, true)
    }

    /// When the load is over, once that is known.
    pub(super) fn end(&self) -> Option<Duration> {
        self.plan.request_spec.as_ref().map(|spec| spec.start.saturating_add(self.plan.duration))
    }

    /// Takes over the connections of a load that is over: open ones need no opening, lost ones are reopened at once.
    /// Returns the connections taken over, and those for which there is no index.
    pub(super) fn adopt(&mut self, left: Self) -> (Vec<(u32, SlabKey)>, Vec<SlabKey>) {
        let (mut kept, mut surplus) = (Vec::new(), Vec::new());
        for (held_index, connection) in (0..).zip(left.connections.into_iter().map(|held_index| held_index.connection))
        {
            match (self.connections.get_mut(held_index as usize), connection) {
                (Some(state), Some(connection)) => {
                    *state =
                        HeldConnection { connection: Some(connection), has_opened: true, ..HeldConnection::default() };
                    kept.push((held_index, connection));
                }
                (Some(_), None) => self.lost.push_back((self.plan.spec.start, held_index)),
                (None, connection) => surplus.extend(connection),
            }
            self.started_count = (held_index + 1).min(self.connections.len() as u32);
        }
        self.opened_count = kept.len() as u32;
        self.kept = left.kept;
        if !self.kept.is_empty() {
            self.kept.resize(self.connections.len(), ConnectionValues::default());
        }
        (kept, surplus)
    }

    pub(super) fn connection_keys(&self) -> impl Iterator<Item = SlabKey> {
        self.connections.iter().filter_map(|held_index| held_index.connection)
    }

    /// Requests that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        self.due_count - self.sent_count
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        let opening = self.can_open().then(|| self.next_opening()).flatten().map(|(due, ..)| due);
        let request = self.plan.request(self.cursor.0, self.cursor.1).map(|arrival| arrival.intended);
        [opening, request, self.end()].into_iter().flatten().min()
    }

    fn can_open(&self) -> bool {
        u64::from(self.opening_count) < self.plan.opening_max
    }

    /// The connection that is opened next, when, and whether for the first time.
    fn next_opening(&self) -> Option<(Duration, u32, bool)> {
        let first = ((self.started_count as usize) < self.connections.len())
            .then(|| (self.plan.opening(self.started_count).intended, self.started_count, true));
        let again = self.lost.front().map(|(due, held_index)| (*due, *held_index, false));
        [first, again].into_iter().flatten().min_by_key(|(due, ..)| *due)
    }

    /// The next opening, if it is due and not too many are in progress.
    pub(super) fn take_opening(&mut self, now: Duration) -> Option<DueOpening> {
        let (due, held_index, first) = self.next_opening().filter(|(due, ..)| self.can_open() && *due <= now)?;
        if first {
            self.started_count += 1;
        } else {
            self.lost.pop_front();
        }
        self.opening_count += 1;
        let arrival = Arrival { intended: due, ..self.plan.opening(held_index) };
        let ready_since = due.max(self.slot_free_since);
        Some(DueOpening { held_index, arrival, ready_since })
    }

    pub(super) fn finish_opening(
        &mut self,
        held_index: u32,
        connection: Option<SlabKey>,
        now: Duration,
    ) -> OpenOutcome {
        if !self.can_open() {
            self.slot_free_since = now;
        }
        self.opening_count -= 1;
        let state = &mut self.connections[held_index as usize];
        let Some(connection) = connection else {
            self.lost.push_back((now + REOPEN_AFTER, held_index));
            return OpenOutcome::Failed;
        };
        state.connection = Some(connection);
        if std::mem::replace(&mut state.has_opened, true) {
            return OpenOutcome::Reopened;
        }
        self.opened_count += 1;
        OpenOutcome::Opened(self.plan.opening(held_index).intended)
    }

    pub(super) fn values(&self, held_index: u32) -> &[(Box<str>, Box<str>)] {
        self.kept.get(held_index as usize).map_or(&[], |values| values)
    }

    pub(super) fn set_values(&mut self, held_index: u32, values: ConnectionValues) {
        if self.kept.is_empty() {
            self.kept.resize(self.connections.len(), ConnectionValues::default());
        }
        self.kept[held_index as usize] = values;
    }

    /// Replaces a connection.
    pub(super) fn attach(&mut self, held_index: u32, connection: SlabKey) {
        self.connections[held_index as usize].connection = Some(connection);
    }

    /// A connection is lost. It is reopened unless a request is in flight, which reopens it itself.
    pub(super) fn detach(&mut self, held_index: u32, now: Duration) {
        let state = &mut self.connections[held_index as usize];
        state.connection = None;
        if !state.busy {
            self.lost.push_back((now + REOPEN_AFTER, held_index));
        }
    }

    /// The next request that is due and whose connection is free.
    pub(super) fn take_request(&mut self, now: Duration) -> Option<(u32, Arrival)> {
        for _ in 0..DUE_COUNTED_PER_TURN {
            let (round, held_index) = self.cursor;
            self.plan.request(round, held_index).filter(|arrival| arrival.intended <= now)?;
            let next = held_index as usize + 1 < self.connections.len();
            self.cursor = if next { (round, held_index + 1) } else { (round + 1, 0) };
            self.due_count += 1;
            let waiting = self.take_waiting_request(held_index);
            if waiting.is_some() {
                return waiting;
            }
        }
        None
    }

    /// The request that waits for a connection, if there is one and the connection is free; it counts as sent.
    pub(super) fn take_waiting_request(&mut self, held_index: u32) -> Option<(u32, Arrival)> {
        let state = self.connections.get_mut(held_index as usize)?;
        let round = u64::from(state.sent_count);
        if state.busy || state.connection.is_none() || (round, held_index) >= self.cursor {
            return None;
        }
        let arrival = self.plan.request(round, held_index)?;
        state.sent_count += 1;
        state.busy = true;
        self.sent_count += 1;
        Some((held_index, arrival))
    }

    pub(super) fn connection_key(&self, held_index: u32) -> Option<SlabKey> {
        self.connections[held_index as usize].connection
    }

    /// A connection's request is over.
    pub(super) fn release(&mut self, held_index: u32, now: Duration) {
        let state = &mut self.connections[held_index as usize];
        state.busy = false;
        if state.connection.is_none() {
            self.lost.push_back((now + REOPEN_AFTER, held_index));
        }
    }

    /// Launches nothing more. Returns how many journeys were due by now and will never be sent, and how many openings.
    pub(super) fn drop_due(&mut self, now: Duration) -> (u64, u64) {
        self.lost.clear();
        let rest = self.started_count..self.connections.len() as u32;
        let openings = rest.take_while(|held_index| self.plan.opening(*held_index).intended <= now).count() as u64;
        // Without an opening journey an opening is no arrival.
        (self.drop_requests(now), if self.plan.has_opening_journey { openings } else { 0 })
    }

    fn drop_requests(&mut self, now: Duration) -> u64 {
        let (mut round, mut held_index) = self.cursor;
        while self.plan.request(round, held_index).is_some_and(|arrival| arrival.intended <= now) {
            self.due_count += 1;
            let next = held_index as usize + 1 < self.connections.len();
            (round, held_index) = if next { (round, held_index + 1) } else { (round + 1, 0) };
        }
        self.queued()
    }

    /// Whether connections are still to be closed, once the load is over.
    pub(super) fn is_closing(&self) -> bool {
        self.closing != CloseProgress::Done
    }

    /// Closes none of them, because they stay open: returns `Last` once.
    pub(super) fn keep_all_open(&mut self) -> CloseBatch {
        match std::mem::replace(&mut self.closing, CloseProgress::Done) {
            CloseProgress::From(_) => CloseBatch::Last,
            CloseProgress::Done => CloseBatch::Nothing,
        }
    }

    /// Up to `count` more connections to close, `Last` when all have had their turn. Busy ones close when their request
    /// is over.
    pub(super) fn close_batch(&mut self, count: usize) -> CloseBatch {
        let from = match self.closing {
            CloseProgress::From(from) if (from as usize) < self.connections.len() => from as usize,
            CloseProgress::From(_) => {
                self.closing = CloseProgress::Done;
                return CloseBatch::Last;
            }
            CloseProgress::Done => return CloseBatch::Nothing,
        };
        let to = (from + count).min(self.connections.len());
        self.closing = CloseProgress::From(to as u32);
        let idle = self.connections[from..to].iter().filter(|held_index| !held_index.busy);
        CloseBatch::Some(idle.filter_map(|held_index| held_index.connection).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::generator::slab::Slab;
    use crate::limits::OPENING_AT_ONCE;

    const SECOND: Duration = Duration::from_secs(1);

    fn held(connections: u64, rate_per_s: Option<f64>, worker: u32, of: u32) -> HeldConnections {
        let opening = crate::scenario::OpeningSpec::default();
        let schedule = Schedule::Hold { connections, opening, rate_per_s, lasting: SECOND };
        HeldConnections::new(&LoadSpec::sole(schedule), WorkerShare { worker, worker_count: of }).unwrap()
    }

    fn key() -> SlabKey {
        Slab::default().insert(())
    }

    fn open_all(held: &mut HeldConnections) {
        while let Some(opening) = held.take_opening(Duration::ZERO) {
            held.finish_opening(opening.held_index, Some(key()), Duration::ZERO);
        }
        held.start_requests_at(Duration::ZERO);
    }

    proptest! {
        #[test]
        fn all_requests_go_over_their_own_connection(connections in 1u64..20, of in 1u32..5, rate in 1u32..200) {
            let of = of.min(connections as u32);
            let mut all = Vec::new();
            for worker in 0..of {
                let mut held = held(connections, Some(f64::from(rate)), worker, of);
                open_all(&mut held);
                while let Some((held_index, arrival)) = held.take_request(SECOND) {
                    prop_assert_eq!(arrival.index % connections, held.plan.connection_number(held_index));
                    all.push(arrival.index);
                    held.release(held_index, Duration::ZERO);
                    // Requests that became due meanwhile wait for no other connection.
                    while let Some((_, arrival)) = held.take_waiting_request(held_index) {
                        all.push(arrival.index);
                        held.release(held_index, Duration::ZERO);
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
        assert_eq!(
            held.take_request(Duration::ZERO).map(|(held_index, arrival)| (held_index, arrival.index)),
            Some((0, 0))
        );
        // Half a second later five are due, 0 to 4: connection 0 is busy, connection 1 takes its first.
        let half = SECOND / 2;
        assert_eq!(held.take_request(half).map(|(held_index, arrival)| (held_index, arrival.index)), Some((1, 1)));
        assert_eq!((held.take_request(half), held.queued()), (None, 3));
        held.release(0, half);
        assert_eq!(held.take_waiting_request(0).map(|(_, arrival)| arrival.index), Some(2));
        assert_eq!((held.take_waiting_request(0), held.drop_due(half)), (None, (2, 0)));
    }

    #[test]
    fn a_lost_connection_is_reopened_a_second_later_and_its_request_waits() {
        let mut held = held(1, Some(1.0), 0, 1);
        open_all(&mut held);
        held.detach(0, Duration::ZERO);
        assert_eq!((held.take_request(Duration::ZERO), held.queued()), (None, 1));
        assert_eq!(held.take_opening(SECOND / 2), None);
        assert_eq!(held.take_opening(SECOND).map(|again| again.held_index), Some(0));
        assert_eq!(held.finish_opening(0, Some(key()), SECOND), OpenOutcome::Reopened);
        assert!(held.take_waiting_request(0).is_some());
    }

    #[test]
    fn no_request_and_no_end_before_all_connections_are_open() {
        let mut held = held(2, Some(8.0), 0, 1);
        let hour = 3600 * SECOND;
        assert!(!held.is_newly_open());
        for held_index in 0..2 {
            assert_eq!(held.take_opening(SECOND).map(|opening| opening.held_index), Some(held_index));
        }
        assert_eq!(held.finish_opening(0, Some(key()), SECOND), OpenOutcome::Opened(Duration::ZERO));
        // A late connection delays all others, however long.
        assert_eq!(held.finish_opening(1, None, SECOND), OpenOutcome::Failed);
        assert_eq!((held.is_newly_open(), held.take_request(hour), held.queued(), held.end()), (false, None, 0, None));
        assert_eq!(held.take_opening(2 * SECOND).map(|opening| opening.held_index), Some(1));
        assert_eq!(held.finish_opening(1, Some(key()), 2 * SECOND), OpenOutcome::Opened(Duration::ZERO));
        assert_eq!((held.is_newly_open(), held.is_newly_open(), held.next_due()), (true, false, None));
        // All of this worker; other workers may still be opening.
        assert_eq!((held.take_request(hour), held.drop_due(hour)), (None, (0, 0)));
        held.start_requests_at(9 * SECOND);
        assert_eq!((held.next_due(), held.end()), (Some(9 * SECOND), Some(10 * SECOND)));
        let first = held.take_request(9 * SECOND).unwrap();
        assert_eq!((first.0, first.1.index, first.1.intended), (0, 0, 9 * SECOND));
    }

    #[test]
    fn a_level_resumes_the_connections_of_the_one_before() {
        let (key, mut before) = (key(), held(3, None, 0, 1));
        for held_index in 0..3 {
            before.take_opening(Duration::ZERO);
            before.finish_opening(held_index, Some(key), Duration::ZERO);
        }
        before.set_values(2, Box::new([("name".into(), "Ann".into())]));
        before.detach(1, SECOND);
        assert_eq!((before.keep_all_open(), before.keep_all_open()), (CloseBatch::Last, CloseBatch::Nothing));
        let mut next = held(5, Some(8.0), 0, 1);
        assert_eq!(next.adopt(before), (vec![(0, key), (2, key)], Vec::new()));
        assert_eq!((next.opened_count, next.connection_keys().count(), next.values(2).len()), (2, 2, 1));
        // Connections that were lost meanwhile are opened like those that were never open.
        let mut missing = Vec::new();
        while let Some(opening) = next.take_opening(Duration::ZERO) {
            missing.push(opening.held_index);
            assert_eq!(next.finish_opening(opening.held_index, Some(key), SECOND), OpenOutcome::Opened(Duration::ZERO));
        }
        missing.sort_unstable();
        assert_eq!((missing, next.is_newly_open()), (vec![1, 3, 4], true));
        next.start_requests_at(SECOND);
        let asked: Vec<u32> =
            std::iter::from_fn(|| next.take_request(2 * SECOND)).map(|(held_index, _)| held_index).collect();
        assert_eq!(asked, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn surplus_connections_of_the_previous_level_are_returned() {
        let (key, mut before) = (key(), held(2, None, 0, 1));
        for held_index in 0..2 {
            before.take_opening(Duration::ZERO);
            before.finish_opening(held_index, Some(key), Duration::ZERO);
        }
        let mut next = held(1, None, 0, 1);
        assert_eq!(next.adopt(before), (vec![(0, key)], vec![key]));
        assert_eq!((next.is_newly_open(), next.take_opening(SECOND)), (true, None));
    }

    #[test]
    fn openings_are_bounded() {
        let mut held = held(2000, None, 1, 2);
        let openings: Vec<DueOpening> = std::iter::from_fn(|| held.take_opening(Duration::ZERO)).collect();
        assert_eq!((openings.len() as u64, openings[3].arrival.index), (OPENING_AT_ONCE / 2, 7));
        held.finish_opening(0, None, Duration::ZERO);
        assert_eq!(
            held.take_opening(Duration::ZERO).map(|opening| u64::from(opening.held_index)),
            Some(OPENING_AT_ONCE / 2)
        );
        // An opening that never happens was no request.
        assert_eq!(held.drop_due(Duration::ZERO), (0, 0));
        held.finish_opening(1, Some(key()), Duration::ZERO);
        assert_eq!(held.close_batch(999), CloseBatch::Some(vec![key()]));
        assert_eq!(held.close_batch(999), CloseBatch::Some(Vec::new()));
        assert!(held.is_closing());
        assert_eq!((held.close_batch(999), held.close_batch(999)), (CloseBatch::Last, CloseBatch::Nothing));
        assert!(!held.is_closing());
    }
}
