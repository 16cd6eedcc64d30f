//! When the next journey or request is due: the loads of one worker, with their open loops, closed loops and held
//! connections, and which of their load steps are finished. Knows time as an argument and connections as keys; does not
//! know sockets, requests and responses.

mod held_connections;
mod load_steps;
mod loops;

use std::time::Duration;

pub(super) use self::held_connections::{HeldConnections, OpenOutcome};
use self::load_steps::{FinishedLoadStep, LoadStepTracker};
use self::loops::{ClosedLoop, OpenLoop, WorkerShare};
use super::pauses::PauseTracker;
use crate::generator::keys::ConnectionKey;
use crate::measurement::PauseImpact;
use crate::plan::{Arrival, LoadSpec, Schedule};
use crate::scenario::PerClientLimit;

/// The loads of worker number `worker` of `worker_count`.
#[derive(Debug)]
pub(super) struct Pacer {
    worker: u32,
    worker_count: u32,
    /// All loads so far: a load keeps its index.
    loads: Vec<ActiveLoad>,
    /// Indices of the loads that are not over.
    active: Vec<usize>,
    /// Load steps that are finished and not reported yet, with the index of their load.
    finished: Vec<(usize, FinishedLoadStep)>,
}

/// A load as one worker drives it.
#[derive(Debug)]
pub(super) struct ActiveLoad {
    pub(super) spec: LoadSpec,
    pub(super) load_steps: LoadStepTracker,
    pub(super) state: LoadState,
    /// Whether nothing new is launched any more.
    pub(super) closing: bool,
    /// Whether the load was ended early: clients' journeys end with the exchange in flight.
    pub(super) ended_early: bool,
}

#[derive(Debug)]
pub(super) enum LoadState {
    /// Arrivals when they are due, as far as slots are free.
    OpenLoop(Box<OpenLoop>),
    /// Clients, one journey after the other.
    ClosedLoop(ClosedLoop),
    Held(Box<HeldConnections>),
    /// Connections that stay open for a later load, which resumes them.
    Retained(Box<HeldConnections>),
    Idle,
}

/// A journey that is due now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DueJourney {
    pub(super) load_index: usize,
    pub(super) journey_index: usize,
    pub(super) purpose: Purpose,
    pub(super) arrival: Arrival,
    /// Since when it could have started.
    pub(super) ready_since: Duration,
    /// If it had to wait for its slot or its connection: until when.
    pub(super) waited_until: Option<Duration>,
    /// The held connection that it uses or opens, if the load holds connections.
    pub(super) held_index: u32,
    pub(super) connection: Option<ConnectionKey>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Purpose {
    #[default]
    Journey,
    /// Opens a held connection; it is no arrival.
    OpenConnection,
    /// Opens a held connection with its opening journey.
    OpenWithJourney,
}

/// How many arrivals were due and will never be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NotSent {
    pub(super) journeys: u64,
    /// Openings with an opening journey.
    pub(super) openings: u64,
}

impl Pacer {
    pub(super) fn new(worker: u32, worker_count: u32) -> Self {
        Self { worker, worker_count, loads: Vec::new(), active: Vec::new(), finished: Vec::new() }
    }

    /// Adds a load; returns its index.
    pub(super) fn start(&mut self, spec: LoadSpec, closing: bool) -> usize {
        let index = self.loads.len();
        self.loads.push(ActiveLoad { closing, ..ActiveLoad::new(spec, self.worker, self.worker_count) });
        self.active.push(index);
        self.close_load_steps(index);
        index
    }

    pub(super) fn load(&self, index: usize) -> &ActiveLoad {
        &self.loads[index]
    }

    pub(super) fn load_mut(&mut self, index: usize) -> &mut ActiveLoad {
        &mut self.loads[index]
    }

    /// Indices of the loads that are not over.
    pub(super) fn active(&self) -> &[usize] {
        &self.active
    }

    /// The active load that a load step belongs to.
    pub(super) fn find(&self, load_step: u32) -> Option<usize> {
        let has = |load: &ActiveLoad| load.load_steps.contains(load.spec.load_step, load_step);
        self.active.iter().copied().find(|index| has(&self.loads[*index]))
    }

    /// The next time at which a load has to act, as far as slots are free.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.active.iter().filter_map(|index| self.loads[*index].next_due()).min()
    }

    /// Arrivals that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        self.active.iter().map(|index| self.loads[*index].queued()).sum()
    }

    /// Loads that begin further journeys.
    pub(super) fn continuing(&self, now: Duration) -> u64 {
        self.active.iter().filter(|index| self.loads[**index].continues(now)).count() as u64
    }

    /// The next journey of a load, if one is due and has a slot. It counts as in flight.
    pub(super) fn take_due(&mut self, index: usize, now: Duration) -> Option<DueJourney> {
        let due = self.loads[index].take_due(index, now)?;
        self.count_started(index, due.arrival.load_step);
        self.close_load_steps(index);
        Some(due)
    }

    /// The request that has waited for a held connection which is free since `free`. It counts as in flight.
    pub(super) fn take_waiting(&mut self, index: usize, held_index: u32, free: Duration) -> Option<DueJourney> {
        let load = &mut self.loads[index];
        let LoadState::Held(held) = &mut load.state else { return None };
        if load.closing {
            return None;
        }
        let (_, arrival) = held.take_waiting_request(held_index)?;
        let ready_since = free.max(arrival.intended);
        let connection = held.connection_key(held_index);
        let due = DueJourney {
            ready_since,
            waited_until: Some(ready_since),
            held_index,
            connection,
            ..load.journey(index, arrival)
        };
        self.count_started(index, arrival.load_step);
        Some(due)
    }

    /// Something of a load step is in flight.
    pub(super) fn count_started(&mut self, index: usize, load_step: u32) {
        self.loads[index].load_steps.count_started(load_step);
    }

    /// Something of a load step has ended.
    pub(super) fn count_ended(&mut self, index: usize, load_step: u32) {
        let finished = self.loads[index].load_steps.count_ended(load_step);
        self.finished.extend(finished.map(|step| (index, step)));
    }

    /// Closes the load steps that have no arrivals left.
    pub(super) fn close_load_steps(&mut self, index: usize) {
        let finished = &mut self.finished;
        self.loads[index].close_load_steps(|step| finished.push((index, step)));
    }

    /// Load steps that are finished and were not returned before. A load that is over is not active any more.
    pub(super) fn take_finished(&mut self) -> Vec<(usize, FinishedLoadStep)> {
        let Self { finished, active, loads, .. } = self;
        active.retain(|index| !loads[*index].load_steps.is_over());
        std::mem::take(finished)
    }

    pub(super) fn has_finished(&self) -> bool {
        !self.finished.is_empty()
    }

    /// If a load is over, retains its connections for a later one, or drops its state; returns how many connections it
    /// leaves open.
    pub(super) fn retire(&mut self, index: usize) -> usize {
        let load = &mut self.loads[index];
        if !load.load_steps.is_over() {
            return 0;
        }
        match std::mem::replace(&mut load.state, LoadState::Idle) {
            LoadState::Held(held) if load.spec.leaves_open => {
                let left = held.connection_keys().count();
                load.state = LoadState::Retained(held);
                left
            }
            LoadState::Retained(held) => {
                load.state = LoadState::Retained(held);
                0
            }
            LoadState::Held(_) | LoadState::OpenLoop(_) | LoadState::ClosedLoop(_) | LoadState::Idle => 0,
        }
    }

    /// The connections of the load that this one resumes, which is over at all workers.
    pub(super) fn take_retained(&mut self, index: usize) -> Option<HeldConnections> {
        let phase = self.loads[index].spec.resumes_phase?;
        let is_meant =
            |load: &ActiveLoad| load.spec.phase_index == phase && matches!(load.state, LoadState::Retained(_));
        let before = self.loads.iter_mut().find(|load| is_meant(load))?;
        before.take_retained()
    }

    /// The connections of all loads that no load has resumed.
    pub(super) fn take_all_retained(&mut self) -> impl Iterator<Item = HeldConnections> {
        self.loads.iter_mut().filter_map(ActiveLoad::take_retained)
    }

    /// How much longer a load step took at this worker because the worker paused, and the share of its clients' time
    /// that was lost to pauses. `now` is when the worker finished it.
    pub(super) fn pause_impact(
        &self,
        index: usize,
        finished: &FinishedLoadStep,
        now: Duration,
        pauses: &PauseTracker,
    ) -> PauseImpact {
        let spec = &self.loads[index].spec;
        let paused = pauses.paused_between(spec.start, now);
        let (extended_by, lost_time) = match spec.schedule {
            Schedule::ClosedLoop { each: PerClientLimit::Requests(_), .. } => (paused, Duration::ZERO),
            Schedule::ClosedLoop { clients, each: PerClientLimit::Duration(_) } => {
                let share = WorkerShare::for_worker(spec, self.worker, self.worker_count);
                let own_clients = share.map_or(0, |share| share.share_of(clients));
                (Duration::ZERO, paused.mul_f64(own_clients as f64 / clients.max(1) as f64))
            }
            _ => (pauses.paused_between(finished.until, now), Duration::ZERO),
        };
        PauseImpact { extended_by, lost_time, not_sent: finished.not_sent_behind_pauses }
    }
}

impl ActiveLoad {
    /// The share of worker number `worker` of `of`.
    fn new(spec: LoadSpec, worker: u32, of: u32) -> Self {
        let step_count = match spec.schedule {
            Schedule::Bursts { times, .. } => u32::try_from(times).unwrap_or(u32::MAX),
            _ => 1,
        };
        let state = match (WorkerShare::for_worker(&spec, worker, of), &spec.schedule) {
            (None, _) => LoadState::Idle,
            (Some(share), Schedule::ClosedLoop { clients, each }) => {
                LoadState::ClosedLoop(ClosedLoop::new(share, *clients, *each, spec.start))
            }
            (Some(share), Schedule::Hold { .. }) => {
                HeldConnections::new(&spec, share).map_or(LoadState::Idle, |held| LoadState::Held(Box::new(held)))
            }
            (Some(share), _) => LoadState::OpenLoop(Box::new(OpenLoop::new(&spec, share))),
        };
        let mut load_steps = LoadStepTracker::new(spec.load_step, step_count);
        if matches!(state, LoadState::Held(_)) {
            // Its connections count as in flight for as long as they are open.
            load_steps.count_started(spec.load_step);
        }
        Self { load_steps, spec, state, closing: false, ended_early: false }
    }

    /// Its open connections, whether they are used or only retained.
    pub(super) fn connections_mut(&mut self) -> Option<&mut HeldConnections> {
        match &mut self.state {
            LoadState::Held(held) | LoadState::Retained(held) => Some(held),
            LoadState::OpenLoop(_) | LoadState::ClosedLoop(_) | LoadState::Idle => None,
        }
    }

    /// The connections that it holds; none once it is over.
    pub(super) fn held_mut(&mut self) -> Option<&mut HeldConnections> {
        match &mut self.state {
            LoadState::Held(held) => Some(held),
            LoadState::OpenLoop(_) | LoadState::ClosedLoop(_) | LoadState::Retained(_) | LoadState::Idle => None,
        }
    }

    pub(super) fn is_holding(&self) -> bool {
        matches!(self.state, LoadState::Held(_))
    }

    fn take_retained(&mut self) -> Option<HeldConnections> {
        match std::mem::replace(&mut self.state, LoadState::Idle) {
            LoadState::Retained(held) => Some(*held),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Whether no client of a closed loop starts a journey at that time any more.
    pub(super) fn is_over(&self, at: Duration) -> bool {
        matches!(&self.state, LoadState::ClosedLoop(clients) if clients.is_over(at))
    }

    /// Counts arrivals of an open loop that are due and wait, as many as may be counted at once.
    pub(super) fn count_due(&mut self, now: Duration) {
        if let LoadState::OpenLoop(open) = &mut self.state {
            open.count_due(now);
        }
    }

    /// A journey of an open loop has ended: another one may take its slot.
    pub(super) fn release_slot(&mut self, now: Duration) {
        if let LoadState::OpenLoop(open) = &mut self.state {
            open.release_slot(now);
        }
    }

    /// A client's next journey in a closed loop, due at `now`, if there is one.
    pub(super) fn next_journey(&self, last: &Arrival, now: Duration) -> Option<Arrival> {
        match &self.state {
            LoadState::ClosedLoop(clients) if !self.closing => clients.next_journey(&self.spec, last, now),
            _ => None,
        }
    }

    /// Whether it begins further journeys: not where it only waits for what is in flight. A burst is over with its last response.
    fn continues(&self, now: Duration) -> bool {
        match &self.state {
            _ if self.closing => false,
            LoadState::OpenLoop(open) => open.next.is_some() || matches!(self.spec.schedule, Schedule::Bursts { .. }),
            LoadState::ClosedLoop(clients) => !clients.is_over(now),
            LoadState::Held(held) => held.end().is_none_or(|end| now < end),
            LoadState::Retained(_) | LoadState::Idle => false,
        }
    }

    /// When the load has to act next, as far as slots are free.
    fn next_due(&self) -> Option<Duration> {
        match &self.state {
            LoadState::Held(held) if self.closing => held.is_closing().then_some(Duration::ZERO),
            _ if self.closing => None,
            LoadState::OpenLoop(open) => open.next_due(),
            LoadState::ClosedLoop(clients) => clients.next_due(),
            LoadState::Held(held) => held.next_due(),
            LoadState::Retained(_) | LoadState::Idle => None,
        }
    }

    fn queued(&self) -> u64 {
        match &self.state {
            LoadState::OpenLoop(open) if !self.closing => open.queued(),
            LoadState::Held(held) if !self.closing => held.queued(),
            _ => 0,
        }
    }

    fn take_due(&mut self, index: usize, now: Duration) -> Option<DueJourney> {
        match &mut self.state {
            _ if self.closing => None,
            LoadState::OpenLoop(open) => {
                let (arrival, free_since) = open.take_due(now)?;
                Some(DueJourney {
                    ready_since: free_since.max(arrival.intended),
                    waited_until: (free_since > arrival.intended).then_some(now),
                    ..self.journey(index, arrival)
                })
            }
            LoadState::ClosedLoop(clients) => {
                let arrival = clients.take_due(&self.spec, now)?;
                Some(self.journey(index, arrival))
            }
            LoadState::Held(held) => {
                if let Some(opening) = held.take_opening(now) {
                    let (held_index, ready_since) = (opening.held_index, opening.ready_since);
                    let journey = self.journey(index, opening.arrival);
                    let (purpose, journey_index) = match self.spec.opening_journey_index {
                        Some(opening) => (Purpose::OpenWithJourney, opening),
                        None => (Purpose::OpenConnection, journey.journey_index),
                    };
                    return Some(DueJourney { purpose, journey_index, ready_since, held_index, ..journey });
                }
                let (held_index, arrival) = held.take_request(now)?;
                let connection = held.connection_key(held_index);
                Some(DueJourney { held_index, connection, ..self.journey(index, arrival) })
            }
            LoadState::Retained(_) | LoadState::Idle => None,
        }
    }

    fn journey(&self, load_index: usize, arrival: Arrival) -> DueJourney {
        DueJourney {
            load_index,
            journey_index: self.spec.journey_index,
            purpose: Purpose::Journey,
            arrival,
            ready_since: arrival.intended,
            waited_until: None,
            held_index: 0,
            connection: None,
        }
    }

    fn close_load_steps(&mut self, on_finished: impl FnMut(FinishedLoadStep)) {
        let coming = match &self.state {
            _ if self.closing => None,
            LoadState::OpenLoop(open) => open.next.map(|arrival| arrival.load_step),
            LoadState::ClosedLoop(clients) => (!clients.has_started_all()).then_some(self.spec.load_step),
            LoadState::Held(_) => Some(self.spec.load_step),
            LoadState::Retained(_) | LoadState::Idle => None,
        };
        self.load_steps.close_below(coming.unwrap_or(self.load_steps.end()), on_finished);
    }

    /// Launches nothing more; what has not begun never will. Whether the worker still makes up for a pause of its own decides whether that
    /// pause has held it up.
    pub(super) fn close(&mut self, now: Duration, is_behind_pause: bool) -> NotSent {
        if std::mem::replace(&mut self.closing, true) {
            return NotSent::default();
        }
        match &mut self.state {
            LoadState::OpenLoop(open) => {
                let mut journeys = 0;
                for arrival in open.drop_due(now) {
                    self.load_steps.count_not_sent(arrival.load_step, 1);
                    self.load_steps.count_not_sent_behind_pauses(arrival.load_step, u64::from(is_behind_pause));
                    journeys += 1;
                }
                NotSent { journeys, openings: 0 }
            }
            LoadState::Held(held) => {
                let (journeys, openings) = held.drop_due(now);
                self.load_steps.count_not_sent(self.spec.load_step, journeys + openings);
                self.load_steps
                    .count_not_sent_behind_pauses(self.spec.load_step, if is_behind_pause { journeys } else { 0 });
                NotSent { journeys, openings }
            }
            LoadState::ClosedLoop(_) | LoadState::Retained(_) | LoadState::Idle => NotSent::default(),
        }
    }

    /// Ends a hold whose duration is over: returns whether it has.
    pub(super) fn end_hold(&mut self, now: Duration) -> bool {
        let LoadState::Held(held) = &self.state else { return false };
        let end = held.end().filter(|end| !self.closing && *end <= now);
        end.inspect(|end| self.load_steps.extend_until(self.spec.load_step, *end)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::scenario::mix;

    const SECOND: Duration = Duration::from_secs(1);

    fn spec(schedule: Schedule, in_flight_max: u64) -> LoadSpec {
        LoadSpec { load_step: 4, start: SECOND, in_flight_max, ..LoadSpec::sole(schedule) }
    }

    fn bursts(batch: u64, times: u64) -> Schedule {
        Schedule::Bursts { batch, every: SECOND, times }
    }

    proptest! {
        #[test]
        fn shares_add_up_and_none_is_empty(count in 1u64..300, of in 1u32..40) {
            let spec = spec(bursts(1, 1), count);
            let shares: Vec<WorkerShare> = (0..of).filter_map(|worker| WorkerShare::for_worker(&spec, worker, of)).collect();
            let shares: Vec<u64> = shares.iter().map(|share| share.share_of(count)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), count);
            prop_assert!(shares.iter().all(|share| *share > 0));
            prop_assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
        }

        #[test]
        fn each_client_runs_its_own_journeys(clients in 1u64..40, of in 1u32..9, each in 1u64..5) {
            let spec = spec(Schedule::ClosedLoop { clients, each: PerClientLimit::Requests(each) }, 1);
            let mut all = Vec::new();
            for worker in 0..of {
                let LoadState::ClosedLoop(mut share) = ActiveLoad::new(spec.clone(), worker, of).state else { continue };
                while let Some(first) = share.take_due(&spec, SECOND) {
                    prop_assert_eq!(first.index % u64::from(of.min(clients as u32)), u64::from(worker));
                    all.extend(std::iter::successors(Some(first), |last| share.next_journey(&spec, last, SECOND)));
                }
            }
            all.sort_by_key(|arrival| arrival.index);
            let expected = (0..clients * each).map(|i| (i, mix(1, i)));
            prop_assert!(all.iter().map(|arrival| (arrival.index, arrival.seed)).eq(expected));
        }
    }

    #[test]
    fn slots_bound_what_is_taken_and_the_rest_is_counted() {
        let mut pacer = Pacer::new(0, 1);
        let load = pacer.start(spec(bursts(5, 2), 2), false);
        assert_eq!((pacer.next_due(), pacer.take_due(load, Duration::ZERO)), (Some(SECOND), None));
        let first = pacer.take_due(load, SECOND).unwrap();
        assert_eq!((first.arrival.index, first.arrival.load_step, first.ready_since), (0, 4, SECOND));
        assert_eq!((first.waited_until, first.purpose), (None, Purpose::Journey));
        assert!(pacer.take_due(load, SECOND).is_some() && pacer.take_due(load, SECOND).is_none());
        assert_eq!(pacer.next_due(), None);
        pacer.load_mut(load).count_due(SECOND);
        assert_eq!(pacer.queued(), 3);
        pacer.load_mut(load).count_due(2 * SECOND);
        pacer.load_mut(load).release_slot(2 * SECOND);
        pacer.count_ended(load, 4);
        let third = pacer.take_due(load, 2 * SECOND).unwrap();
        assert_eq!((third.arrival.index, third.ready_since), (2, 2 * SECOND));
        assert_eq!((third.waited_until, pacer.queued()), (Some(2 * SECOND), 7));

        let none = NotSent::default();
        assert_eq!(pacer.load_mut(load).close(2 * SECOND, true), NotSent { journeys: 7, openings: 0 });
        assert_eq!(
            (pacer.load_mut(load).close(2 * SECOND, true), pacer.queued(), pacer.active()),
            (none, 0, &[load][..])
        );
        pacer.close_load_steps(load);
        (0..2).for_each(|_| pacer.count_ended(load, 4));
        let expected = [(5, 5), (4, 2)].map(|(load_step, not_sent)| {
            (load, FinishedLoadStep { load_step, not_sent, not_sent_behind_pauses: not_sent, until: Duration::ZERO })
        });
        assert!(pacer.has_finished());
        assert_eq!((pacer.take_finished(), pacer.has_finished(), pacer.active()), (expected.to_vec(), false, &[][..]));
    }

    #[test]
    fn workers_without_a_slot_have_nothing_to_do() {
        let mut pacer = Pacer::new(2, 3);
        pacer.start(spec(bursts(5, 2), 2), false);
        assert_eq!((pacer.next_due(), pacer.take_finished().len(), pacer.active()), (None, 2, &[][..]));
    }

    /// Checks what a pause from 2 s to 4 s does to a load step that this worker finishes after 5 s and whose last
    /// exchange would have ended at `until_s`: by how much it was extended, and the time lost, in thirds of a second.
    #[track_caller]
    fn check_own(schedule: Schedule, until_s: u32, expected: (u32, u32)) {
        let mut pauses = PauseTracker::new(2);
        pauses.add(2 * SECOND, 4 * SECOND, 0);
        let finished =
            FinishedLoadStep { load_step: 4, not_sent: 0, not_sent_behind_pauses: 0, until: until_s * SECOND };
        let mut pacer = Pacer::new(0, 2);
        let load = pacer.start(spec(schedule, 9), false);
        let impact = pacer.pause_impact(load, &finished, 5 * SECOND, &pauses);
        let third = |time: Duration| (time.as_secs_f64() * 3.0).round() as u32;
        assert_eq!((third(impact.extended_by), third(impact.lost_time)), expected, "{finished:?}");
    }

    #[test]
    fn a_pause_extends_load_steps_and_costs_clients_time() {
        let rate = Schedule::ConstantRate { rate_per_s: 9.0, lasting: SECOND };
        check_own(rate.clone(), 5, (0, 0));
        check_own(rate.clone(), 3, (3, 0));
        check_own(rate, 1, (6, 0));
        // Two of three clients belong to this worker.
        check_own(Schedule::ClosedLoop { clients: 3, each: PerClientLimit::Duration(4 * SECOND) }, 5, (0, 4));
        check_own(Schedule::ClosedLoop { clients: 3, each: PerClientLimit::Requests(7) }, 5, (6, 0));
    }

    #[test]
    fn clients_with_a_duration_start_nothing_after_it() {
        let spec = spec(Schedule::ClosedLoop { clients: 2, each: PerClientLimit::Duration(SECOND) }, 1);
        let LoadState::ClosedLoop(mut clients) = ActiveLoad::new(spec.clone(), 0, 1).state else { panic!() };
        let first = clients.take_due(&spec, SECOND).unwrap();
        let last = Duration::from_millis(1999);
        assert_eq!(clients.next_journey(&spec, &first, last).map(|arrival| arrival.intended), Some(last));
        assert_eq!(clients.next_journey(&spec, &first, 2 * SECOND), None);
    }
}
