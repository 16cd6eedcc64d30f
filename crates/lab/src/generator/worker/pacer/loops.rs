//! Open and closed loops as one worker drives them. The worker's share of a load follows from the load spec and the
//! number of workers alone, so that all workers agree without communicating. Does not know requests.

use std::collections::VecDeque;
use std::iter::Peekable;
use std::time::Duration;

use crate::limits::DUE_COUNTED_PER_TURN;
use crate::plan::{Arrival, ArrivalIter, LoadSpec, Schedule};
use crate::scenario::PerClientLimit;

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

#[derive(Debug)]
pub(crate) struct OpenLoop {
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
    pub(super) fn new(spec: &LoadSpec, share: WorkerShare) -> Self {
        let mut rest = spec.arrivals(share.worker, share.worker_count);
        let slots = share.share_of(spec.in_flight_max) as usize;
        let free = std::iter::repeat_n(spec.start, slots).collect();
        Self { next: rest.next(), rest, free_slots: free, sent: 0, counted_due: 0, ahead: None }
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
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

    /// Arrivals that are due and wait.
    pub(super) fn queued(&self) -> u64 {
        self.counted_due.saturating_sub(self.sent)
    }

    /// Takes nothing more: the arrivals that were due by now and will never be sent.
    pub(super) fn drop_due(&mut self, now: Duration) -> impl Iterator<Item = Arrival> {
        let all = self.next.take().into_iter().chain(&mut self.rest);
        all.take_while(move |arrival| arrival.intended <= now)
    }
}

/// Client c belongs to worker c % `worker_count` of the share; the client's k-th journey has the number c + k *
/// clients.
#[derive(Debug)]
pub(crate) struct ClosedLoop {
    share: WorkerShare,
    clients: u64,
    each: PerClientLimit,
    start: Duration,
    /// Clients of this share that have started.
    started: u64,
}

impl ClosedLoop {
    pub(super) fn new(share: WorkerShare, clients: u64, each: PerClientLimit, start: Duration) -> Self {
        Self { share, clients, each, start, started: 0 }
    }

    pub(super) fn has_started_all(&self) -> bool {
        self.started >= self.share.share_of(self.clients)
    }

    pub(super) fn next_due(&self) -> Option<Duration> {
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
