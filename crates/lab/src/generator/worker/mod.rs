//! A worker: one thread with one epoll set, its own connections, histograms and share of the plan. It ties together three
//! things that do not know each other: the pacer says when a journey is due, the connection pool opens and keeps
//! connections, and an exchange is one request and what answers it. A worker never waits for a response before the next
//! arrival of an open loop, takes no lock and allocates nothing for a request. Workers share only the configuration and
//! need no coordinator: each computes its own segment of every load.

mod background;
mod connections;
mod exchange;
mod held;
mod journey;
mod pacer;
mod pauses;
mod reports;
mod requests;
mod running_journeys;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use self::connections::{ConnectionPool, resolve_endpoints};
use self::pacer::Pacer;
use self::pauses::{Pause, PauseTracker};
use self::reports::Reports;
use self::running_journeys::RunningJourneys;
use super::config::GeneratorConfig;
use super::interval_accumulator::IntervalAccumulator;
use super::keys::JourneyKey;
use super::messages::{AtomicGauges, Gauges, WorkerCommand, WorkerReport};
use super::monotonic_time::Clock;
use super::poller::Waker;
use super::prepared::{self, PreparedJourney, Scratch};
use crate::limits::{LAUNCHES_PER_TURN, READ_BYTES};
use crate::plan::LoadSpec;

/// The kernel's default slack of 50 microseconds would be lag.
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::MIN;

pub(crate) struct Worker {
    worker_index: u32,
    config: Arc<GeneratorConfig>,
    journeys: Vec<PreparedJourney>,
    commands: Receiver<WorkerCommand>,
    /// What the pool reads of `counts`.
    gauges: Arc<AtomicGauges>,

    pacer: Pacer,
    connections: ConnectionPool,
    running: RunningJourneys,
    timers: BinaryHeap<Reverse<(Duration, Timer)>>,
    reports: Reports,

    scratch: Scratch,
    read_buffer: Vec<u8>,
    /// Buffer for decrypted bytes.
    plaintext_buffer: Vec<u8>,

    clock: Clock,
    /// When the worker was woken last: everything that it handles now was ready by then.
    woken_at: Duration,
    pauses: PauseTracker,
    /// What was in flight or waited when the worker had nothing left to do.
    pending_count: u64,
    /// Arrivals in flight, due and ended, and held connections; the rest is computed when it is shown.
    counts: Gauges,
    /// When everything still in flight is abandoned.
    stop_deadline: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// A running journey continues after a pause, a backoff or a rest.
    Resume(JourneyKey),
    /// The kernel has taken all of a message that gets no response.
    MessageSent(JourneyKey),
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
        let GeneratorConfig { scenario, inputs, .. } = &*config;
        let (journeys, timeouts) =
            prepared::prepare_journeys(scenario, &inputs.headers, &inputs.globals).map_err(io::Error::other)?;
        let endpoints = resolve_endpoints(&scenario.target, inputs).map_err(io::Error::other)?;
        let clock = Clock::new(inputs.start);
        Ok(Self {
            worker_index: number,
            journeys,
            commands,
            gauges,
            pacer: Pacer::new(number, of),
            connections: ConnectionPool::new(endpoints, inputs.source_addresses.clone(), number)?,
            running: RunningJourneys::new(&timeouts),
            timers: BinaryHeap::new(),
            reports: Reports::new(reports, IntervalAccumulator::new(number, of, inputs.writes_samples)),
            scratch: Scratch::default(),
            read_buffer: vec![0; READ_BYTES],
            plaintext_buffer: Vec::new(),
            clock,
            woken_at: clock.now(),
            pauses: PauseTracker::new(of),
            pending_count: 0,
            counts: Gauges::default(),
            stop_deadline: None,
            config,
        })
    }

    pub(crate) fn waker(&self) -> Waker {
        self.connections.poller.waker()
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
        let worker = self.worker_index;
        self.reports.send(match message {
            Some(message) => WorkerReport::WorkerFailed { worker, message },
            None => WorkerReport::WorkerEnded { worker },
        });
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
        let (began, works) = (self.clock.now(), !self.pacer.active().is_empty());
        self.pauses.skip_check(began);
        let mut due = self.next_due();
        if works {
            let latest = began + self.pauses.check_interval();
            due = Some(due.map_or(latest, |due| due.min(latest)));
        }
        let events = self.connections.poller.wait(due.map(|due| self.clock.until(due)))?;
        self.clock.read();
        self.woken_at = self.clock.now();
        match due.filter(|_| works) {
            Some(due) => {
                let pause = self.pauses.check_clock(self.woken_at, due.max(began), self.pending_count);
                self.note_pause(pause);
            }
            None => self.pauses.skip_check(self.woken_at),
        }
        Ok(events)
    }

    fn handle(&mut self, events: usize) {
        for at in 0..events {
            match self.connections.poller.event(at) {
                Some(ready) => self.on_ready(ready),
                None => self.receive_commands(),
            }
        }
        self.read_clock();
        self.run_timers();
        self.expire_timeouts();
        self.connections.close_lingering(self.clock.now());
        self.launch_due();
        self.send_due_reports();
    }

    /// Reads the clock between two waits. A pause that ends here must be known before anything is concluded from the
    /// time: the next event may be the end of an exchange, or its timeout.
    fn read_clock(&mut self) {
        self.clock.read();
        if !self.pacer.active().is_empty() {
            let pause = self.pauses.glance(self.clock.now(), self.pending_count);
            self.note_pause(pause);
        }
    }

    /// Time in which the worker could not read a response is not the target's: timeouts are extended by it.
    fn note_pause(&mut self, pause: Option<Pause>) {
        let Some(pause) = pause else { return };
        self.running.extend_timeouts(pause.to - pause.from, self.clock.now());
        self.reports.accumulator.record_pause(pause.from, pause.to);
    }

    /// The next time at which the worker has to act without an event.
    fn next_due(&self) -> Option<Duration> {
        let timer = self.timers.peek().map(|Reverse((moment, _))| *moment);
        let timeout = self.running.next_timeout().map(|(moment, _)| moment);
        let others = [self.pacer.next_due(), self.connections.next_due(), self.reports.next_due(), self.stop_deadline];
        others.into_iter().chain([timer, timeout]).flatten().min()
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

    fn start_load(&mut self, spec: LoadSpec) {
        // A command that arrives too late is the generator's own delay as well.
        let (start, now) = (spec.start, self.clock.now());
        if now.saturating_sub(start) >= self.pauses.check_interval()
            && let Some(pause) = self.pauses.add(start, now, self.pending_count)
        {
            self.reports.accumulator.record_pause(pause.from, pause.to);
        }
        let load_index = self.pacer.start(spec, self.stop_deadline.is_some());
        self.adopt_connections(load_index);
        self.report_opened(load_index);
        self.report_finished_steps();
    }

    fn start_requests(&mut self, load_step: u32, at: Duration) {
        if let Some(load_index) = self.pacer.find(load_step)
            && let Some(held) = self.pacer.load_mut(load_index).held_mut()
        {
            held.start_requests_at(at);
        }
    }

    fn end_load_step(&mut self, load_step: u32) {
        if let Some(load_index) = self.pacer.find(load_step) {
            self.pacer.load_mut(load_index).ended_early = true;
            self.close_load(load_index);
        }
    }

    /// Launches nothing more of a load; what has not begun never will.
    fn close_load(&mut self, load_index: usize) {
        let is_behind_pause = self.pauses.recovering_since().is_some();
        let not_sent = self.pacer.load_mut(load_index).close(self.clock.now(), is_behind_pause);
        let spec = &self.pacer.load(load_index).spec;
        let (journey, opening) = (spec.journey_index, spec.opening_journey_index.unwrap_or(spec.journey_index));
        self.counts.due += not_sent.journeys + not_sent.openings;
        self.counts.done += not_sent.journeys + not_sent.openings;
        let accumulator = &mut self.reports.accumulator;
        if is_behind_pause {
            accumulator.count_not_sent_behind_pause(journey, not_sent.journeys);
        }
        accumulator.count_not_sent(journey, not_sent.journeys);
        accumulator.count_not_sent(opening, not_sent.openings);
        self.release_pending(load_index);
        self.pacer.close_load_steps(load_index);
        self.report_finished_steps();
    }

    fn stop(&mut self, grace: Duration) {
        let deadline = self.clock.now() + grace;
        self.stop_deadline = Some(self.stop_deadline.map_or(deadline, |before| before.min(deadline)));
        for load_index in self.pacer.active().to_vec() {
            self.close_load(load_index);
        }
    }

    fn is_finished(&self) -> bool {
        self.stop_deadline.is_some_and(|deadline| self.counts.in_flight == 0 || self.clock.now() >= deadline)
    }

    /// Abandons everything in flight and sends the last reports.
    fn finish(&mut self) {
        for key in self.running.keys() {
            self.abandon(key);
        }
        for load_index in self.pacer.active().to_vec() {
            while self.pacer.load(load_index).is_holding() {
                self.wind_down_hold(load_index);
            }
        }
        self.close_retained();
        self.flush_reports();
        self.update_gauges();
    }

    /// Reports finished load steps after all their intervals: the receiver has every figure of a load step once all
    /// workers have reported it.
    fn report_finished_steps(&mut self) {
        if !self.pacer.has_finished() {
            return;
        }
        let (finished, now) = (self.pacer.take_finished(), self.clock.now());
        for (load_index, step) in &finished {
            let left = self.pacer.retire(*load_index) as u64;
            if left > 0 && self.stop_deadline.is_none() {
                self.reports.accumulator.held(step.load_step, now).counts.left += left;
            }
        }
        self.flush_reports();
        for (load_index, step) in finished {
            self.reports.send(WorkerReport::LoadStepDone {
                worker: self.worker_index,
                load_step: step.load_step,
                at: now,
                not_sent: step.not_sent,
                pause_impact: self.pacer.pause_impact(load_index, &step, now, &self.pauses),
            });
        }
    }

    fn run_timers(&mut self) {
        // A timer that is set for this very time meanwhile fires after everything else.
        let until = self.clock.now();
        while let Some(Reverse((moment, timer))) = self.timers.peek().copied() {
            if moment > until {
                return;
            }
            self.timers.pop();
            match timer {
                Timer::Resume(key) => self.resume(key),
                Timer::MessageSent(key) => self.on_message_sent(key),
            }
        }
    }

    fn set_timer(&mut self, moment: Duration, timer: Timer) {
        self.timers.push(Reverse((moment, timer)));
    }

    /// Starts what is due, a few arrivals of each load at a time: responses are read in between.
    fn launch_due(&mut self) {
        if !self.clock.has_started() {
            return;
        }
        let now = self.clock.now();
        for turn in 0..self.pacer.active().len() {
            let Some(&load_index) = self.pacer.active().get(turn) else { return };
            let all = (0..LAUNCHES_PER_TURN).any(|_| !self.launch_next(load_index, now));
            // Not earlier: an arrival that was due in time is sent even if the worker itself is late.
            if all {
                self.end_hold(load_index, now);
            }
            // The current time, which is later if the worker was stopped meanwhile.
            self.pacer.load_mut(load_index).count_due(self.clock.now());
        }
    }

    fn launch_next(&mut self, load_index: usize, now: Duration) -> bool {
        let Some(due) = self.pacer.take_due(load_index, now) else { return false };
        self.launch(due);
        true
    }

    /// Sends all reports that are due.
    fn send_due_reports(&mut self) {
        self.count_traffic();
        self.reports.send_due(self.clock.now());
        self.update_gauges();
    }

    fn flush_reports(&mut self) {
        self.count_traffic();
        self.reports.flush();
    }

    fn update_gauges(&mut self) {
        let (queued, exchanging) = (self.pacer.queued(), self.running.exchanging_count);
        self.pending_count = exchanging + queued;
        self.pauses.update_recovery(self.pending_count);
        self.gauges.store(Gauges {
            queued,
            connections: self.connections.len() as u64,
            due: self.counts.due + queued,
            long_polls: self.running.long_poll_count,
            exchanging,
            exchanged: self.running.exchanged,
            continuing: self.pacer.continuing(self.clock.now()),
            ..self.counts
        });
    }
}
