//! Held connections of one worker: which is opened next, which carries the next request, which is lost and reopened. No
//! request is due before the whole load is open at all workers; the pool sends the time. Connection c belongs to worker
//! c % `worker_count`; request i goes over connection i % connections. A request whose connection is busy or lost waits
//! for it and needs no memory: each connection counts its sent requests, and the load knows how far the schedule has
//! come. Does not know sockets.

use std::collections::VecDeque;
use std::time::Duration;

use super::loops::WorkerShare;
use crate::generator::keys::ConnectionKey;
use crate::limits::{DUE_COUNTED_PER_TURN, REOPEN_AFTER};
use crate::plan::{Arrival, LoadSpec, Schedule};

#[derive(Debug)]
pub(crate) struct HeldConnections {
    share: WorkerShare,
    spec: LoadSpec,
    /// The load from the time on at which all connections of all workers were open; its arrivals are the requests.
    request_spec: Option<LoadSpec>,
    /// Connections of all workers.
    total: u64,
    has_requests: bool,
    duration: Duration,
    /// How many openings may be in progress at once at this worker.
    opening_max: u64,
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
    /// Once the load is over: how many connections have had their turn to be closed; none if that was all of them.
    closed_count: Option<usize>,
    /// Values that journeys inherit, for each connection; empty if none are inherited.
    kept: Vec<ConnectionValues>,
}

/// Names and values of one connection.
pub(crate) type ConnectionValues = Box<[(Box<str>, Box<str>)]>;

#[derive(Clone, Copy, Debug, Default)]
struct HeldConnection {
    connection: Option<ConnectionKey>,
    sent_count: u32,
    /// Whether a request is in flight on it.
    busy: bool,
    /// Whether it has ever been open.
    has_opened: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenOutcome {
    /// Open for the first time; it was due at this time.
    Opened(Duration),
    /// Open again.
    Reopened,
    Failed,
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
        let Schedule::Hold { connections: total, rate_per_s, lasting, opening } = spec.schedule else { return None };
        Some(Self {
            share,
            spec: spec.clone(),
            request_spec: None,
            total,
            has_requests: rate_per_s.is_some(),
            duration: lasting,
            opening_max: share.share_of(opening.concurrency).max(1),
            connections: vec![HeldConnection::default(); share.share_of(total) as usize],
            started_count: 0,
            opened_count: 0,
            is_open_reported: false,
            opening_count: 0,
            slot_free_since: Duration::ZERO,
            lost: VecDeque::new(),
            cursor: (0, 0),
            due_count: 0,
            sent_count: 0,
            closed_count: Some(0),
            kept: Vec::new(),
        })
    }

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
    fn request(&self, (round, held_index): (u64, u32)) -> Option<Arrival> {
        let index = round.checked_mul(self.total)?.checked_add(self.connection_number(held_index))?;
        let spec = self.request_spec.as_ref().filter(|_| self.has_requests)?;
        spec.arrivals(0, 1).nth(usize::try_from(index).ok()?)
    }

    /// The round and the connection of the request after the one at the cursor.
    fn next_cursor(&self, (round, held_index): (u64, u32)) -> (u64, u32) {
        let more = held_index as usize + 1 < self.connections.len();
        if more { (round, held_index + 1) } else { (round + 1, 0) }
    }

    /// Memory of a held connection besides the connection itself.
    #[cfg(test)]
    pub(crate) const HELD_CONNECTION_BYTES: usize = size_of::<HeldConnection>();

    /// All workers' connections are open: requests are due from `at` on.
    pub(crate) fn start_requests_at(&mut self, at: Duration) {
        self.request_spec = Some(self.spec.starting_at(at));
    }

    pub(crate) fn has_started_requests(&self) -> bool {
        self.request_spec.is_some()
    }

    /// Whether all connections have been open; true only once.
    pub(crate) fn is_newly_open(&mut self) -> bool {
        self.opened_count as usize == self.connections.len() && !std::mem::replace(&mut self.is_open_reported, true)
    }

    /// When the load is over, once that is known.
    pub(super) fn end(&self) -> Option<Duration> {
        self.request_spec.as_ref().map(|spec| spec.start.saturating_add(self.duration))
    }

    /// Takes over the connections of a load that is over: open ones need no opening, lost ones are reopened at once.
    /// Returns the connections taken over, and those for which there is no index.
    pub(crate) fn adopt(&mut self, left: Self) -> (Vec<(u32, ConnectionKey)>, Vec<ConnectionKey>) {
        let (mut kept, mut surplus) = (Vec::new(), Vec::new());
        for (held_index, connection) in (0..).zip(left.connections.into_iter().map(|state| state.connection)) {
            match (self.connections.get_mut(held_index as usize), connection) {
                (Some(state), Some(connection)) => {
                    *state =
                        HeldConnection { connection: Some(connection), has_opened: true, ..HeldConnection::default() };
                    kept.push((held_index, connection));
                }
                (Some(_), None) => self.lost.push_back((self.spec.start, held_index)),
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

    pub(crate) fn connection_keys(&self) -> impl Iterator<Item = ConnectionKey> {
        self.connections.iter().filter_map(|state| state.connection)
    }

    /// Requests that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        self.due_count - self.sent_count
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
        let opening = self.can_open().then(|| self.next_opening()).flatten().map(|(due, ..)| due);
        let request = self.request(self.cursor).map(|arrival| arrival.intended);
        [opening, request, self.end()].into_iter().flatten().min()
    }

    fn can_open(&self) -> bool {
        u64::from(self.opening_count) < self.opening_max
    }

    /// The connection that is opened next, when, and whether for the first time.
    fn next_opening(&self) -> Option<(Duration, u32, bool)> {
        let first = ((self.started_count as usize) < self.connections.len())
            .then(|| (self.opening(self.started_count).intended, self.started_count, true));
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
        let arrival = Arrival { intended: due, ..self.opening(held_index) };
        let ready_since = due.max(self.slot_free_since);
        Some(DueOpening { held_index, arrival, ready_since })
    }

    pub(crate) fn finish_opening(
        &mut self,
        held_index: u32,
        connection: Option<ConnectionKey>,
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
        OpenOutcome::Opened(self.opening(held_index).intended)
    }

    pub(crate) fn values(&self, held_index: u32) -> &[(Box<str>, Box<str>)] {
        self.kept.get(held_index as usize).map_or(&[], |values| values)
    }

    pub(crate) fn set_values(&mut self, held_index: u32, values: ConnectionValues) {
        if self.kept.is_empty() {
            self.kept.resize(self.connections.len(), ConnectionValues::default());
        }
        self.kept[held_index as usize] = values;
    }

    /// Replaces a connection.
    pub(crate) fn attach(&mut self, held_index: u32, connection: ConnectionKey) {
        self.connections[held_index as usize].connection = Some(connection);
    }

    /// A connection is lost. It is reopened unless a request is in flight, which reopens it itself.
    pub(crate) fn detach(&mut self, held_index: u32, now: Duration) {
        let state = &mut self.connections[held_index as usize];
        state.connection = None;
        if !state.busy {
            self.lost.push_back((now + REOPEN_AFTER, held_index));
        }
    }

    /// The next request that is due and whose connection is free.
    pub(super) fn take_request(&mut self, now: Duration) -> Option<(u32, Arrival)> {
        for _ in 0..DUE_COUNTED_PER_TURN {
            let (_, held_index) = self.cursor;
            self.request(self.cursor).filter(|arrival| arrival.intended <= now)?;
            self.cursor = self.next_cursor(self.cursor);
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
        let state = self.connections.get(held_index as usize)?;
        let round = u64::from(state.sent_count);
        if state.busy || state.connection.is_none() || (round, held_index) >= self.cursor {
            return None;
        }
        let arrival = self.request((round, held_index))?;
        let state = &mut self.connections[held_index as usize];
        state.sent_count += 1;
        state.busy = true;
        self.sent_count += 1;
        Some((held_index, arrival))
    }

    pub(super) fn connection_key(&self, held_index: u32) -> Option<ConnectionKey> {
        self.connections[held_index as usize].connection
    }

    /// A connection's request is over.
    pub(crate) fn release(&mut self, held_index: u32, now: Duration) {
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
        let openings = rest.take_while(|held_index| self.opening(*held_index).intended <= now).count() as u64;
        // Without an opening journey an opening is no arrival.
        let openings = if self.spec.opening_journey_index.is_some() { openings } else { 0 };
        let mut cursor = self.cursor;
        while self.request(cursor).is_some_and(|arrival| arrival.intended <= now) {
            self.due_count += 1;
            cursor = self.next_cursor(cursor);
        }
        (self.queued(), openings)
    }

    /// Whether connections are still to be closed, once the load is over.
    pub(crate) fn is_closing(&self) -> bool {
        self.closed_count.is_some()
    }

    /// The next `count` connections have their turn to be closed: those that are not busy, which close when their
    /// request is over. Also returns whether these were the last.
    pub(crate) fn close_batch(&mut self, count: usize) -> (Vec<ConnectionKey>, bool) {
        let Some(from) = self.closed_count else { return (Vec::new(), false) };
        let to = from.saturating_add(count).min(self.connections.len());
        let is_last = to == self.connections.len();
        self.closed_count = (!is_last).then_some(to);
        let idle = self.connections[from..to].iter().filter(|state| !state.busy);
        (idle.filter_map(|state| state.connection).collect(), is_last)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::OPENING_AT_ONCE;
    use slotmap::SlotMap;

    const SECOND: Duration = Duration::from_secs(1);

    fn held(connections: u64, rate_per_s: Option<f64>, worker: u32, of: u32) -> HeldConnections {
        let opening = crate::scenario::OpeningSpec::default();
        let schedule = Schedule::Hold { connections, opening, rate_per_s, lasting: SECOND };
        HeldConnections::new(&LoadSpec::sole(schedule), WorkerShare { worker, worker_count: of }).unwrap()
    }

    fn key() -> ConnectionKey {
        SlotMap::with_key().insert(())
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
                    prop_assert_eq!(arrival.index % connections, held.connection_number(held_index));
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
        assert_eq!(held.close_batch(999), (vec![key()], false));
        assert!(held.is_closing());
        assert_eq!((held.close_batch(999), held.close_batch(999)), ((Vec::new(), true), (Vec::new(), false)));
        assert!(!held.is_closing());
    }
}
