//! A load as one worker drives it: its share of the arrivals, in-flight slots and clients. The share follows from the
//! load spec and the number of workers alone, so that all workers agree without communicating. Does not know requests.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::time::Duration;

use super::held_connections::HeldConnections;
use super::load_steps::{FinishedLoadStep, LoadStepTracker};
use super::pauses::PauseTracker;
use crate::limits::DUE_COUNTED_PER_TURN;
use crate::measurement::PauseImpact;
use crate::plan::{Arrival, ArrivalIter, LoadSpec, Schedule};
use crate::scenario::PerClientLimit;

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

impl LoadState {
    /// The open connections, whether they are used or only retained.
    pub(super) fn held_connections(&mut self) -> Option<&mut HeldConnections> {
        match self {
            Self::Held(held) | Self::Retained(held) => Some(held),
            Self::OpenLoop(_) | Self::ClosedLoop(_) | Self::Idle => None,
        }
    }
}

/// One worker's share of a load: number `worker` of the `worker_count` workers that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerShare {
    pub(super) worker: u32,
    pub(super) worker_count: u32,
}

impl WorkerShare {
    /// None if there are fewer in-flight slots, clients or connections to share than workers.
    pub(super) fn for_worker(spec: &LoadSpec, worker: u32, of: u32) -> Option<Self> {
        let of = u32::try_from(divisible_count(spec)).unwrap_or(u32::MAX).min(of);
        (worker < of).then_some(Self { worker, worker_count: of })
    }

    /// How many of `count` items, dealt round-robin, this worker gets.
    pub(super) fn share_of(self, count: u64) -> u64 {
        let (worker, of) = (u64::from(self.worker), u64::from(self.worker_count));
        count / of + u64::from(worker < count % of)
    }
}

fn divisible_count(spec: &LoadSpec) -> u64 {
    match spec.schedule {
        Schedule::ClosedLoop { clients, .. } => clients,
        Schedule::Hold { connections, .. } => connections,
        Schedule::Bursts { .. } | Schedule::ConstantRate { .. } | Schedule::Ramp { .. } | Schedule::Poisson { .. } => {
            spec.in_flight_max
        }
    }
}

impl ActiveLoad {
    /// The share of worker number `worker` of `of`.
    pub(super) fn new(spec: LoadSpec, worker: u32, of: u32) -> Self {
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

    /// When the load has to act next, as far as slots are free.
    pub(super) fn next_due(&self) -> Option<Duration> {
        match &self.state {
            LoadState::Held(held) if self.closing => held.is_closing().then_some(Duration::ZERO),
            _ if self.closing => None,
            LoadState::OpenLoop(open) => open.next_due(),
            LoadState::ClosedLoop(clients) => clients.next_due(),
            LoadState::Held(held) => held.next_due(),
            LoadState::Retained(_) | LoadState::Idle => None,
        }
    }

    /// Closes the load steps that have no arrivals left.
    pub(super) fn close_load_steps(&mut self, finished: &mut Vec<FinishedLoadStep>) {
        let coming = match &self.state {
            _ if self.closing => None,
            LoadState::OpenLoop(open) => open.next.map(|arrival| arrival.load_step),
            LoadState::ClosedLoop(clients) => (!clients.has_started_all()).then_some(self.spec.load_step),
            LoadState::Held(_) => Some(self.spec.load_step),
            LoadState::Retained(_) | LoadState::Idle => None,
        };
        self.load_steps.close_below(coming.unwrap_or(self.load_steps.end()), finished);
    }

    /// Launches nothing more. Returns how many arrivals were due and will never be sent, and how many openings with an
    /// opening journey.
    pub(super) fn stop_launching(&mut self, now: Duration) -> (u64, u64) {
        if std::mem::replace(&mut self.closing, true) {
            return (0, 0);
        }
        match &mut self.state {
            LoadState::OpenLoop(open) => (open.drop_due(now, &mut self.load_steps), 0),
            LoadState::Held(held) => {
                let (journeys, openings) = held.drop_due(now);
                self.load_steps.count_not_sent(self.spec.load_step, journeys + openings);
                (journeys, openings)
            }
            LoadState::ClosedLoop(_) | LoadState::Retained(_) | LoadState::Idle => (0, 0),
        }
    }

    /// How much longer a load step took at this worker because the worker paused, and the share of its clients' time
    /// that was lost to pauses. `now` is when the worker finished it.
    pub(super) fn pause_impact(
        &self,
        finished: &FinishedLoadStep,
        now: Duration,
        (worker, of): (u32, u32),
        pauses: &PauseTracker,
    ) -> PauseImpact {
        let paused = pauses.paused_between(self.spec.start, now);
        let (extended_by, lost_time) = match self.spec.schedule {
            Schedule::ClosedLoop { each: PerClientLimit::Requests(_), .. } => (paused, Duration::ZERO),
            Schedule::ClosedLoop { clients, each: PerClientLimit::Duration(_) } => {
                let own_clients =
                    WorkerShare::for_worker(&self.spec, worker, of).map_or(0, |share| share.share_of(clients));
                (Duration::ZERO, paused.mul_f64(own_clients as f64 / clients.max(1) as f64))
            }
            _ => (pauses.paused_between(finished.until, now), Duration::ZERO),
        };
        PauseImpact { extended_by, lost_time }
    }

    /// Arrivals that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        match &self.state {
            LoadState::OpenLoop(open) if !self.closing => open.counted_due.saturating_sub(open.sent),
            LoadState::Held(held) if !self.closing => held.queued(),
            _ => 0,
        }
    }
}

#[derive(Debug)]
pub(super) struct OpenLoop {
    /// The next arrival, and the iterator over those behind it.
    pub(super) next: Option<Arrival>,
    rest: ArrivalIter,
    /// For each free slot, since when it has been free; the longest-free slot is taken first.
    free_slots: VecDeque<Duration>,
    sent: u64,
    counted_due: u64,
    /// The arrivals behind those counted as due; only while more are due than were sent.
    ahead: Option<Peekable<ArrivalIter>>,
}

impl OpenLoop {
    fn new(spec: &LoadSpec, share: WorkerShare) -> Self {
        let mut rest = spec.arrivals(share.worker, share.worker_count);
        let places = share.share_of(spec.in_flight_max) as usize;
        let free = std::iter::repeat_n(spec.start, places).collect();
        Self { next: rest.next(), rest, free_slots: free, sent: 0, counted_due: 0, ahead: None }
    }

    fn next_due(&self) -> Option<Duration> {
        self.next.filter(|_| !self.free_slots.is_empty()).map(|arrival| arrival.intended)
    }

    /// The next arrival, if it is due and a slot is free, and since when that slot has been free.
    pub(super) fn take_due(&mut self, now: Duration) -> Option<(Arrival, Duration)> {
        let arrival = self.next.filter(|arrival| arrival.intended <= now)?;
        let free_since = self.free_slots.pop_front()?;
        self.next = self.rest.next();
        self.sent += 1;
        if self.sent >= self.counted_due {
            (self.counted_due, self.ahead) = (self.sent, None);
        }
        Some((arrival, free_since))
    }

    pub(super) fn release_slot(&mut self, now: Duration) {
        self.free_slots.push_back(now);
    }

    /// Counts a bounded number of further arrivals that are due and wait.
    pub(super) fn count_due(&mut self, now: Duration) {
        let due = |arrival: &Arrival| arrival.intended <= now;
        if self.counted_due == self.sent && self.next.as_ref().is_some_and(due) {
            self.counted_due += 1;
            self.ahead = Some(self.rest.clone().peekable());
        }
        if let Some(ahead) = &mut self.ahead {
            let more = std::iter::from_fn(|| ahead.next_if(due)).take(DUE_COUNTED_PER_TURN);
            self.counted_due += more.count() as u64;
        }
    }

    fn drop_due(&mut self, now: Duration, load_steps: &mut LoadStepTracker) -> u64 {
        let all = self.next.take().into_iter().chain(&mut self.rest);
        let mut count = 0;
        for arrival in all.take_while(|arrival| arrival.intended <= now) {
            load_steps.count_not_sent(arrival.load_step, 1);
            count += 1;
        }
        count
    }
}

/// Client c belongs to worker c % `worker_count` of the share; the client's k-th journey has the number c + k *
/// clients.
#[derive(Debug)]
pub(super) struct ClosedLoop {
    share: WorkerShare,
    clients: u64,
    each: PerClientLimit,
    start: Duration,
    /// Clients of this share that have started.
    started: u64,
}

impl ClosedLoop {
    fn new(share: WorkerShare, clients: u64, each: PerClientLimit, start: Duration) -> Self {
        Self { share, clients, each, start, started: 0 }
    }

    fn has_started_all(&self) -> bool {
        self.started >= self.share.share_of(self.clients)
    }

    fn next_due(&self) -> Option<Duration> {
        (!self.has_started_all()).then_some(self.start)
    }

    /// The first journey of the next client, if it is due.
    pub(super) fn take_due(&mut self, spec: &LoadSpec, now: Duration) -> Option<Arrival> {
        self.next_due().filter(|due| *due <= now)?;
        let client = self.started * u64::from(self.share.worker_count) + u64::from(self.share.worker);
        self.started += 1;
        Some(spec.arrival(client, self.start))
    }

    /// Whether no client starts a journey at that time any more.
    pub(super) fn is_over(&self, at: Duration) -> bool {
        matches!(self.each, PerClientLimit::Duration(time) if at >= self.start + time)
    }

    /// The client's next journey, due at `now`, if there is one.
    pub(super) fn next_journey(&self, spec: &LoadSpec, last: &Arrival, now: Duration) -> Option<Arrival> {
        let index = last.index + self.clients;
        let more = match self.each {
            PerClientLimit::Requests(count) => index / self.clients < count,
            PerClientLimit::Duration(_) => !self.is_over(now),
        };
        more.then(|| spec.arrival(index, now))
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
        let mut load = ActiveLoad::new(spec(bursts(5, 2), 2), 0, 1);
        let LoadState::OpenLoop(open) = &mut load.state else { panic!() };
        assert_eq!((open.next_due(), open.take_due(Duration::ZERO)), (Some(SECOND), None));
        let (first, free_since) = open.take_due(SECOND).unwrap();
        assert_eq!((first.index, first.load_step, free_since), (0, 4, SECOND));
        assert!(open.take_due(SECOND).is_some() && open.take_due(SECOND).is_none());
        assert_eq!(open.next_due(), None);
        open.count_due(SECOND);
        assert_eq!((open.counted_due, open.sent), (5, 2));
        open.count_due(2 * SECOND);
        open.release_slot(2 * SECOND);
        assert_eq!(open.take_due(2 * SECOND).map(|(arrival, since)| (arrival.index, since)), Some((2, 2 * SECOND)));
        assert_eq!(load.queued(), 7);

        let mut finished = Vec::new();
        assert_eq!(
            (load.stop_launching(2 * SECOND), load.stop_launching(2 * SECOND), load.queued()),
            ((7, 0), (0, 0), 0)
        );
        load.close_load_steps(&mut finished);
        let expected = [(4, 2), (5, 5)].map(|(load_step, not_sent)| FinishedLoadStep {
            load_step,
            not_sent,
            until: Duration::ZERO,
        });
        assert_eq!(finished, expected);
    }

    #[test]
    fn workers_without_a_slot_have_nothing_to_do() {
        let mut finished = Vec::new();
        let mut load = ActiveLoad::new(spec(bursts(5, 2), 2), 2, 3);
        load.close_load_steps(&mut finished);
        assert_eq!((load.next_due(), finished.len(), load.load_steps.is_over()), (None, 2, true));
    }

    /// Checks what a pause from 2 s to 4 s does to a load step that this worker finishes after 5 s and whose last
    /// exchange would have ended at `until_s`: by how much it was extended, and the time lost, in thirds of a second.
    #[track_caller]
    fn check_own(schedule: Schedule, until_s: u32, expected: (u32, u32)) {
        let mut pauses = PauseTracker::new(2);
        pauses.add(2 * SECOND, 4 * SECOND, 0);
        let finished = FinishedLoadStep { load_step: 4, not_sent: 0, until: until_s * SECOND };
        let load = ActiveLoad::new(spec(schedule, 9), 0, 2);
        let impact = load.pause_impact(&finished, 5 * SECOND, (0, 2), &pauses);
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
