//! A worker: one thread with one epoll set, its own connections, histograms and share of the plan. It never waits for a
//! response before the next arrival of an open loop, takes no lock and allocates nothing for a request. Workers share
//! only the configuration and need no coordinator: each computes its own segment of every load.

mod active_load;
mod background;
mod connections;
mod exchange;
mod held_connections;
mod hold_load;
mod journey;
mod load_steps;
mod messages;
mod pauses;
mod running_journeys;
mod socket_io;
#[cfg(test)]
mod tests;
mod tls_io;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::config::GeneratorConfig;
use super::framing::upgrade_request;
use super::interval_accumulator::IntervalAccumulator;
use super::messages::{AtomicGauges, Gauges, StartedWork, WorkerCommand, WorkerReport};
use super::monotonic_time::MonotonicTime;
use super::poller::{Poller, Waker};
use super::prepared::{self, PreparedJourney, RequestDefaults, Scratch};
use super::slab::SlabKey;
use super::tls::{Tls, Trust};
use crate::limits::{LAUNCHES_PER_TURN, READ_BYTES, STARTED_WORK_DELAY_MAX};
use crate::scenario::{MessageFraming, Scope};
use active_load::{ActiveLoad, LoadState};
use connections::{ConnectionPool, Connector, Endpoint, EndpointProtocol};
use load_steps::FinishedLoadStep;
use pauses::{Pause, PauseTracker};
use running_journeys::{RunningJourney, RunningJourneys, StepState};

/// The kernel's default slack of 50 microseconds would be lag.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

pub(crate) struct Worker {
    worker_index: u32,
    worker_count: u32,
    config: Arc<GeneratorConfig>,
    journeys: Rc<[PreparedJourney]>,
    poller: Poller,
    commands: Receiver<WorkerCommand>,
    reports: UnboundedSender<WorkerReport>,
    gauges: Arc<AtomicGauges>,

    loads: Vec<ActiveLoad>,
    /// Indices of the loads that are not over.
    active_loads: Vec<usize>,
    running: RunningJourneys,
    connections: ConnectionPool,
    connector: Connector,
    timers: BinaryHeap<Reverse<(MonotonicTime, Timer)>>,
    /// Connections that wait for the peer to close them, the oldest first.
    lingering: VecDeque<(MonotonicTime, SlabKey)>,
    accumulator: IntervalAccumulator,
    started_work: Vec<StartedWork>,
    started_work_due: Option<MonotonicTime>,
    finished_steps: Vec<FinishedLoadStep>,
    scratch: Scratch,
    read_buffer: Vec<u8>,
    /// Buffer for decrypted bytes.
    plaintext_buffer: Vec<u8>,
    /// Nonces (WebSocket keys and masks) drawn so far.
    nonce_count: u64,

    /// The time of the event that is being handled.
    now: MonotonicTime,
    /// When the worker was woken last: everything that it handles now was ready by then.
    woken_at: MonotonicTime,
    pauses: PauseTracker,
    /// What was in flight or waited when the worker had nothing left to do.
    pending_count: u64,
    in_flight: u64,
    due_count: u64,
    done_count: u64,
    held_count: u64,
    /// When everything still in flight is abandoned.
    stop_deadline: Option<MonotonicTime>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A running journey continues after a pause, a backoff or a rest.
    Resume(SlabKey),
    /// The kernel has taken all of a message that gets no response.
    MessageSent(SlabKey),
}

impl Worker {
    /// A worker without loads.
    ///
    /// # Errors
    /// No descriptors are left, or a request cannot be built.
    pub(crate) fn new(
        config: Arc<GeneratorConfig>,
        number: u32,
        of: u32,
        commands: Receiver<WorkerCommand>,
        reports: UnboundedSender<WorkerReport>,
        gauges: Arc<AtomicGauges>,
    ) -> io::Result<Self> {
        let target = &config.scenario.target;
        let shared =
            RequestDefaults { authority: &target.url.authority, headers: &config.headers, globals: &config.globals };
        let (journeys, timeouts) = prepared::prepare_journeys(&config.scenario, shared).map_err(io::Error::other)?;
        let now = MonotonicTime::now();
        Ok(Self {
            worker_index: number,
            worker_count: of,
            journeys: journeys.into(),
            poller: Poller::new()?,
            commands,
            reports,
            gauges,
            loads: Vec::new(),
            active_loads: Vec::new(),
            running: RunningJourneys::new(&timeouts),
            connections: ConnectionPool::default(),
            connector: Connector::new(
                resolve_endpoints(&config).map_err(io::Error::other)?,
                config.source_addresses.clone(),
                number,
            ),
            timers: BinaryHeap::new(),
            lingering: VecDeque::new(),
            accumulator: IntervalAccumulator::new(number, of, config.writes_samples),
            started_work: Vec::new(),
            started_work_due: None,
            finished_steps: Vec::new(),
            scratch: Scratch::default(),
            read_buffer: vec![0; READ_BYTES],
            plaintext_buffer: Vec::new(),
            nonce_count: 0,
            now,
            woken_at: now,
            pauses: PauseTracker::new(of),
            pending_count: 0,
            in_flight: 0,
            due_count: 0,
            done_count: 0,
            held_count: 0,
            stop_deadline: None,
            config,
        })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.poller.waker()
    }

    pub(crate) fn run(mut self) {
        // A kernel that refuses wakes the thread a little later.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        let worked = catch_unwind(AssertUnwindSafe(|| self.run_until_stopped()));
        let message = match worked {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("a load worker cannot wait for its connections: {error}")),
            Err(_) => Some("a load worker has a defect and ended; its message is on standard error".to_owned()),
        };
        let last = match message {
            Some(message) => WorkerReport::WorkerFailed { worker: self.worker_index, message },
            None => WorkerReport::WorkerEnded { worker: self.worker_index },
        };
        let _ = self.reports.send(last);
    }

    fn run_until_stopped(&mut self) -> io::Result<()> {
        while !self.is_finished() {
            self.turn()?;
        }
        self.finish();
        Ok(())
    }

    fn turn(&mut self) -> io::Result<()> {
        let events = self.wait()?;
        self.handle(events);
        Ok(())
    }

    /// Waits until something is due or ready; returns the number of events.
    fn wait(&mut self) -> io::Result<usize> {
        // A turn that took too long is a pause as well.
        self.read_clock();
        self.pauses.skip_check(self.plan_time());
        let (began, works) = (self.now, !self.active_loads.is_empty());
        let mut due = self.next_due();
        if works {
            let latest = began + self.pauses.check_interval();
            due = Some(due.map_or(latest, |due| due.min(latest)));
        }
        let events = self.poller.wait(due.map(|due| due.since(began)))?;
        self.now = MonotonicTime::now();
        self.woken_at = self.now;
        match due.filter(|_| works) {
            Some(due) => {
                let due = due.max(began).since(self.config.start);
                let pause = self.pauses.check_clock(self.plan_time(), due, self.pending_count);
                self.note_pause(pause);
            }
            None => self.pauses.skip_check(self.plan_time()),
        }
        Ok(events)
    }

    fn handle(&mut self, events: usize) {
        for at in 0..events {
            match self.poller.event(at) {
                Some(ready) => self.on_ready(ready),
                None => self.receive_commands(),
            }
        }
        self.read_clock();
        self.run_timers();
        self.expire_timeouts();
        self.launch_due();
        self.send_due_reports();
    }

    /// Reads the clock between two waits. A pause that ends here must be known before anything is concluded from the
    /// time: the next event may be the end of an exchange, or its timeout.
    fn read_clock(&mut self) {
        self.now = MonotonicTime::now();
        if !self.active_loads.is_empty() {
            let pause = self.pauses.glance(self.plan_time(), self.pending_count);
            self.note_pause(pause);
        }
    }

    /// Time in which the worker could not read a response is not the target's: timeouts are extended by it.
    fn note_pause(&mut self, pause: Option<Pause>) {
        let Some(pause) = pause else { return };
        self.running.extend_timeouts(pause.to - pause.from, self.now);
        self.accumulator.record_pause(pause.from, pause.to);
    }

    /// The next time at which the worker has to act without an event.
    fn next_due(&self) -> Option<MonotonicTime> {
        let plan = |moment: Duration| self.config.start + moment;
        let arrivals = self.active_loads.iter().filter_map(|at| self.loads[*at].next_due()).map(plan);
        let timer = self.timers.peek().map(|Reverse((moment, _))| *moment);
        let timeout = self.running.next_timeout().map(|(moment, _)| moment);
        let lingering = self.lingering.front().map(|(moment, _)| *moment);
        let interval = self.accumulator.next_handover().map(plan);
        let others = [timer, timeout, lingering, interval, self.started_work_due, self.stop_deadline];
        arrivals.chain(others.into_iter().flatten()).min()
    }

    /// The current time, from the start of the plan.
    fn plan_time(&self) -> Duration {
        self.now.since(self.config.start)
    }

    fn receive_commands(&mut self) {
        loop {
            match self.commands.try_recv() {
                Ok(WorkerCommand::StartLoad(spec)) => self.start_load(spec),
                Ok(WorkerCommand::StartRequests { load_step, at }) => self.start_requests(load_step, at),
                Ok(WorkerCommand::EndLoadStep(load_step)) => self.end_load_step(load_step),
                Ok(WorkerCommand::Stop(grace)) => self.stop(grace),
                Err(TryRecvError::Empty) => return,
                // The pool is gone.
                Err(TryRecvError::Disconnected) => return self.stop(Duration::ZERO),
            }
        }
    }

    fn start_load(&mut self, spec: crate::plan::LoadSpec) {
        // A command that arrives too late is the generator's own delay as well.
        let (start, now) = (spec.start, self.plan_time());
        if now.saturating_sub(start) >= self.pauses.check_interval()
            && let Some(pause) = self.pauses.add(start, now, self.pending_count)
        {
            self.accumulator.record_pause(pause.from, pause.to);
        }
        let mut load = ActiveLoad::new(spec, self.worker_index, self.worker_count);
        load.closing = self.stop_deadline.is_some();
        self.loads.push(load);
        self.active_loads.push(self.loads.len() - 1);
        let at = self.loads.len() - 1;
        self.adopt_connections(at);
        self.report_opened(at);
        self.close_load_steps(at);
    }

    fn find_load(&self, load_step: u32) -> Option<usize> {
        self.active_loads.iter().copied().find(|at| {
            let load = &self.loads[*at];
            load.load_steps.contains(load.spec.load_step, load_step)
        })
    }

    fn start_requests(&mut self, load_step: u32, at: Duration) {
        if let Some(load) = self.find_load(load_step)
            && let LoadState::Held(held) = &mut self.loads[load].state
        {
            held.start_requests_at(at);
        }
    }

    fn end_load_step(&mut self, load_step: u32) {
        if let Some(at) = self.find_load(load_step) {
            self.loads[at].ended_early = true;
            self.close_load(at);
        }
    }

    /// Launches nothing more of a load; what has not begun never will.
    fn close_load(&mut self, at: usize) {
        let now = self.plan_time();
        let load = &mut self.loads[at];
        let (journey, opening) = (load.spec.journey_index, load.spec.opening_journey_index);
        let (journeys, openings) = load.stop_launching(now);
        self.due_count += journeys + openings;
        self.done_count += journeys + openings;
        if self.pauses.recovering_since().is_some() {
            self.accumulator.count_not_sent_behind_pause(journey, journeys);
        }
        self.accumulator.count_not_sent(journey, journeys);
        self.accumulator.count_not_sent(opening.unwrap_or(journey), openings);
        self.release_pending(at);
        self.close_load_steps(at);
    }

    fn stop(&mut self, grace: Duration) {
        let deadline = self.now + grace;
        self.stop_deadline = Some(self.stop_deadline.map_or(deadline, |before| before.min(deadline)));
        for at in self.active_loads.clone() {
            self.close_load(at);
        }
    }

    fn is_finished(&self) -> bool {
        self.stop_deadline.is_some_and(|deadline| self.in_flight == 0 || self.now >= deadline)
    }

    /// Abandons everything in flight and sends the last reports.
    fn finish(&mut self) {
        for key in self.running.keys() {
            self.abandon(key);
        }
        for at in self.active_loads.clone() {
            while matches!(self.loads[at].state, LoadState::Held(_)) {
                self.wind_down_hold(at);
            }
        }
        self.close_retained();
        self.send_started_work();
        self.accumulator.flush();
        self.send_intervals();
        self.update_gauges();
    }

    fn close_load_steps(&mut self, at: usize) {
        self.loads[at].close_load_steps(&mut self.finished_steps);
        self.report_finished_steps(at);
    }

    /// Reports finished load steps after all their intervals: the receiver has every figure of a load step once all
    /// workers have reported it.
    fn report_finished_steps(&mut self, at: usize) {
        self.retire_load(at);
        if !self.finished_steps.is_empty() {
            self.send_started_work();
            self.accumulator.flush();
            self.send_intervals();
        }
        let now = self.now.since(self.config.start);
        for finished in self.finished_steps.drain(..) {
            let pause_impact =
                self.loads[at].pause_impact(&finished, now, (self.worker_index, self.worker_count), &self.pauses);
            let FinishedLoadStep { load_step, not_sent, .. } = finished;
            let report =
                WorkerReport::LoadStepDone { worker: self.worker_index, load_step, at: now, not_sent, pause_impact };
            let _ = self.reports.send(report);
        }
    }

    /// Removes a finished load, or retains its connections for a later one.
    fn retire_load(&mut self, at: usize) {
        let now = self.plan_time();
        let load = &mut self.loads[at];
        if !load.load_steps.is_over() {
            return;
        }
        load.state = match std::mem::replace(&mut load.state, LoadState::Idle) {
            LoadState::Held(held) if load.spec.leaves_open => {
                if self.stop_deadline.is_none() {
                    self.accumulator.count_left(load.spec.load_step, held.connection_keys().count() as u64, now);
                }
                LoadState::Retained(held)
            }
            LoadState::Retained(held) => LoadState::Retained(held),
            _ => LoadState::Idle,
        };
        self.active_loads.retain(|active| *active != at);
    }

    fn run_timers(&mut self) {
        // A timer that is set for this very time meanwhile fires after everything else.
        let until = self.now;
        while let Some(Reverse((moment, wake))) = self.timers.peek().copied() {
            if moment > until {
                return;
            }
            self.timers.pop();
            match wake {
                Timer::Resume(key) => self.resume(key),
                Timer::MessageSent(key) => self.on_message_sent(key),
            }
        }
    }

    fn set_timer(&mut self, moment: MonotonicTime, wake: Timer) {
        self.timers.push(Reverse((moment, wake)));
    }

    /// Sends what is due, a few arrivals of each load at a time: responses are read in between.
    fn launch_due(&mut self) {
        if self.now < self.config.start {
            return;
        }
        let now = self.plan_time();
        for turn in 0..self.active_loads.len() {
            let Some(&at) = self.active_loads.get(turn) else { return };
            let all = (0..LAUNCHES_PER_TURN).any(|_| !self.launch_next(at, now));
            // Not earlier: an arrival that was due in time is sent even if the worker itself is late.
            if all {
                self.end_hold(at, now);
            }
            // The current time, which is later if the worker was stopped meanwhile.
            let now = self.plan_time();
            if let LoadState::OpenLoop(open) = &mut self.loads[at].state {
                open.count_due(now);
            }
        }
    }

    /// Ends a hold whose duration is over, and continues to close its connections.
    fn end_hold(&mut self, at: usize, now: Duration) {
        let LoadState::Held(held) = &self.loads[at].state else { return };
        if let Some(end) = held.end().filter(|end| !self.loads[at].closing && *end <= now) {
            let load = &mut self.loads[at];
            load.load_steps.extend_until(load.spec.load_step, end);
            self.close_load(at);
        }
        if self.loads[at].closing {
            self.wind_down_hold(at);
        }
    }

    /// Sends all reports that are due.
    fn send_due_reports(&mut self) {
        self.accumulator.advance_to(self.plan_time());
        self.send_intervals();
        if self.started_work_due.is_some_and(|due| due <= self.now) {
            self.send_started_work();
        }
        self.update_gauges();
    }

    fn send_intervals(&mut self) {
        while let Some(interval) = self.accumulator.pop_ready() {
            let _ = self.reports.send(WorkerReport::Interval(interval));
        }
    }

    fn queue_started_work(&mut self, created: StartedWork) {
        self.started_work.push(created);
        self.started_work_due.get_or_insert(self.now + STARTED_WORK_DELAY_MAX);
    }

    fn send_started_work(&mut self) {
        self.started_work_due = None;
        if !self.started_work.is_empty() {
            let _ = self.reports.send(WorkerReport::WorkStarted(std::mem::take(&mut self.started_work)));
        }
    }

    fn update_gauges(&mut self) {
        let queued: u64 = self.active_loads.iter().map(|at| self.loads[*at].queued()).sum();
        self.pending_count = self.running.exchanging_count() + queued;
        self.pauses.update_recovery(self.pending_count);
        self.gauges.store(Gauges {
            in_flight: self.in_flight,
            queued,
            connections: self.connections.len() as u64,
            due: self.due_count + queued,
            done: self.done_count,
            held: self.held_count,
            long_polls: self.running.long_poll_count(),
            exchanging: self.running.exchanging_count(),
            exchanged: self.running.exchanged(),
        });
    }
}

/// The target's own address first, then the message endpoints.
fn resolve_endpoints(config: &GeneratorConfig) -> Result<Vec<Endpoint>, String> {
    let target = &config.scenario.target;
    let trust = Trust::for_target(target);
    let first = Endpoint::new(config.addresses.clone(), Tls::for_host(&target.url, trust)?, EndpointProtocol::Http1);
    let mut endpoints = vec![first];
    let message_endpoints = target.socket.iter().flat_map(|socket| &socket.endpoints);
    for (endpoint, addresses) in message_endpoints.zip(&config.message_endpoints) {
        let protocol = match &endpoint.framing {
            MessageFraming::LengthDelimited => EndpointProtocol::LengthDelimited,
            MessageFraming::WebSocket(path) => {
                let path = path.render(&Scope::for_run(&config.globals))?;
                EndpointProtocol::WebSocket(Arc::new(upgrade_request(
                    &endpoint.base.authority,
                    &path,
                    &config.headers,
                )?))
            }
        };
        endpoints.push(Endpoint::new(addresses.clone(), Tls::for_host(&endpoint.base, trust)?, protocol));
    }
    Ok(endpoints)
}
