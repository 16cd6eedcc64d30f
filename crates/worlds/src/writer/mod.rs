//! The writer of a world, which alone changes it: on a thread of its own, or, for a few inputs that come while that sleeps, on the sender's
//! thread. It takes inputs in batches, lets the world decide, hands answers and views to the sender threads, and claims to the store; it
//! never waits for any of them.
//!
//! Save first, then send: the world holds a claim back until the writer knows that its commit succeeded. When that fails, or another worker
//! owns the world, it leaves memory at once and its clients connect again. So nothing unsaved was shown, and nothing is shown by a process
//! that may not own the world. A process may be paused between any two lines, for longer than its lease.

pub(super) mod attached_workers;
mod broadcast_log;
mod control;
mod round_limiter;
mod saving;
mod snapshot_schedule;

use super::client_sink::CloseReason;
use super::environment::WorldEnvironment;
use super::handle::WorldContext;
use super::inbox::ControlMessage;
use super::inline_rounds::RoundRunner;
use super::ownership_message::{EndedWriter, OwnershipMessage};
use super::pictures::PictureSchedule;
use super::sender_pool::{BatchItem, OutboundBuffer};
use super::subscribers::Subscribers;
use crate::WorldsState;
use attached_workers::AttachedWorkers;
use broadcast_log::BroadcastLog;
use engine::ids::WorldId;
use engine::limits::{WORLD_IDLE_CHECK_INTERVAL, WORLD_TICK, WORLD_VIEWS_PER_SLICE};
use engine::worlds::{Answer, HuntEvent, Input, MoverRef, World};
use round_limiter::RoundLimiter;
use saving::PendingSaves;
use snapshot_schedule::SnapshotSchedule;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterState {
    Serving,
    /// Takes nothing new; ends when nothing is in flight to the store, or at this moment without waiting further.
    Draining {
        by: Instant,
        reason: CloseReason,
    },
    /// Ended in order: the state here is the saved state.
    Ended(CloseReason),
    /// Ended, and the saved state is unknown.
    Lost(CloseReason),
}

pub(super) struct Writer<O: WorldEnvironment> {
    environment: O,
    world: World,
    context: Arc<WorldContext>,
    subscribers: Subscribers,
    actor_workers: AttachedWorkers,
    outbound: OutboundBuffer,
    saving: PendingSaves,
    picture_schedule: PictureSchedule,
    inputs: Vec<Input>,
    control: Vec<ControlMessage>,
    answers: Vec<Answer>,
    events: Vec<HuntEvent>,
    broadcast_log: BroadcastLog<Arc<HuntEvent>>,
    state: WriterState,
    /// The epoch of the world's clock.
    began: Instant,
    /// When its thread wakes by itself.
    sleeps_until: Instant,
    round_limiter: RoundLimiter,
    round_began: Instant,
    last_tick: Instant,
    now_us: i64,
    gone: Vec<MoverRef>,
    idle: IdleTimer,
    /// What the metrics show.
    exported: Population,
    shared: Arc<WorldsState>,
    runtime: Handle,
    /// Is called for a world whose claim log has grown and is saved. Never waits.
    on_claims_saved: Arc<dyn Fn(WorldId) + Send + Sync>,
}

/// Since when the world has no movers.
struct IdleTimer {
    after: Duration,
    since: Option<Instant>,
    check_at: Instant,
}

#[derive(Clone, Copy, Default)]
struct Population {
    movers: usize,
    sinks: usize,
    viewers: usize,
}

impl<O: WorldEnvironment> Writer<O> {
    pub(super) fn new(
        environment: O,
        world: World,
        context: Arc<WorldContext>,
        shared: Arc<WorldsState>,
        runtime: Handle,
        on_claims_saved: Arc<dyn Fn(WorldId) + Send + Sync>,
    ) -> Self {
        let (began, config) = (Instant::now(), &shared.config);
        let schedule = SnapshotSchedule::new(context.info.id, config.snapshot_every, began);
        let idle =
            IdleTimer { after: config.idle_timeout, since: Some(began), check_at: began + WORLD_IDLE_CHECK_INTERVAL };
        context.metrics.worlds.loaded.inc();
        Self {
            saving: PendingSaves::new(schedule),
            environment,
            world,
            outbound: context.senders.buffer(),
            context,
            subscribers: Subscribers::new(0),
            actor_workers: AttachedWorkers::default(),
            picture_schedule: PictureSchedule::new(),
            inputs: Vec::new(),
            control: Vec::new(),
            answers: Vec::new(),
            events: Vec::new(),
            broadcast_log: BroadcastLog::new(began),
            state: WriterState::Serving,
            began,
            sleeps_until: began,
            round_limiter: RoundLimiter::new(began),
            round_began: began,
            last_tick: began,
            now_us: 0,
            gone: Vec::new(),
            idle,
            exported: Population::default(),
            shared,
            runtime,
            on_claims_saved,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.state, WriterState::Serving | WriterState::Draining { .. })
    }

    fn take_batch(&mut self) {
        self.context.inbox.mailbox.try_recv_batch(&mut self.inputs, &mut self.control);
        self.round_began = Instant::now();
        self.round_limiter.record_round(self.round_began);
        self.now_us = self.environment.now_us();
    }

    /// Whether another worker may own the world by now, or the saved state is unknown: then nothing more is processed or sent.
    fn has_lost_world(&mut self) -> bool {
        if !self.context.lease.is_valid() && !matches!(self.state, WriterState::Lost(_)) {
            self.state = WriterState::Lost(CloseReason::WorldMoved);
        }
        matches!(self.state, WriterState::Lost(_))
    }

    /// When something is due by itself.
    fn wake_at(&self) -> Instant {
        let view = self.subscribers.next_us().map(|due_us| self.began + Duration::from_micros(due_us));
        let own = self.world.next_due().map(|due_us| {
            self.round_began + Duration::from_micros(u64::try_from(due_us.saturating_sub(self.now_us)).unwrap_or(0))
        });
        let event = self.broadcast_log.due(self.round_began);
        let leave = if let WriterState::Draining { by, .. } = self.state { Some(by) } else { None };
        let dues = [view, own, event, leave, self.saving.due(), self.picture_schedule.due(), Some(self.idle.check_at)];
        dues.into_iter().flatten().min().unwrap_or(self.idle.check_at)
    }

    fn apply(&mut self) {
        if self.inputs.is_empty() {
            return;
        }
        self.active();
        let metrics = &self.context.metrics.worlds;
        metrics.batches.inc();
        metrics.inputs.add(self.inputs.len() as u64);
        metrics.mailbox.observe(self.inputs.len());
        self.world.apply(&self.inputs, self.now_us, &mut self.answers);
        self.inputs.clear();
        metrics.apply.observe(self.round_began.elapsed());
    }

    /// Notes activity in the world.
    fn active(&self) {
        self.context.active_at_us.store(self.now_us, Ordering::Relaxed);
    }

    /// Advances the world's time. Connections of removed movers are closed.
    fn tick(&mut self) {
        let is_due = self.world.next_due().is_some_and(|due_us| due_us <= self.now_us);
        if !is_due && self.round_began.duration_since(self.last_tick) < WORLD_TICK {
            return;
        }
        self.last_tick = self.round_began;
        self.world.tick(self.now_us, &mut self.gone);
        for seat in self.gone.drain(..) {
            if let Some((index, subscriber)) = self.subscribers.remove_seat(seat) {
                self.outbound.push(index, &subscriber.sink, BatchItem::Close(CloseReason::Gone));
            }
        }
        let begun = Instant::now();
        if self.world.advance_generation(self.now_us) {
            self.context.metrics.worlds.generation.observe(begun.elapsed());
        }
    }

    /// Queues answers for sending. A mover without a sink gets none.
    fn send_answers(&mut self) {
        for answer in self.answers.drain(..) {
            if self.actor_workers.take_answer(&answer) {
                continue;
            }
            if let Some(index) = self.subscribers.index_of_seat(answer.mover) {
                send_missed_events(index, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
                if let Some(subscriber) = self.subscribers.get(index) {
                    self.outbound.push(index, &subscriber.sink, BatchItem::Answer(answer));
                }
            }
        }
    }

    /// Sends events to all subscribers, a portion at a time.
    fn broadcast_events(&mut self) {
        self.world.take_events(&mut self.events);
        self.events.drain(..).for_each(|event| self.broadcast_log.publish(Arc::new(event)));
        if let Some(portion) = self.broadcast_log.next_portion(
            self.subscribers.index_end(),
            self.outbound.is_nearly_drained(),
            self.round_began,
        ) {
            portion.clone().for_each(|index| {
                send_missed_events(index, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
            });
            self.broadcast_log.mark_sent(&portion, self.round_began);
        }
    }

    /// Sends the views that are due, a bounded number before moves are processed again.
    fn send_views(&mut self) {
        let now_us = self.elapsed_us();
        for _ in 0..WORLD_VIEWS_PER_SLICE {
            let Some((index, late_us)) = self.subscribers.next_due_view(now_us) else { return };
            let Some(subscriber) = self.subscribers.get(index) else { continue };
            let metrics = &self.context.metrics.worlds;
            metrics.view_late.observe(Duration::from_micros(late_us));
            if subscriber.sink.is_behind() || self.outbound.is_behind(index) {
                metrics.views_skipped.inc();
                self.subscribers.mark_skipped(index);
                continue;
            }
            send_missed_events(index, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
            let Some(subscriber) = self.subscribers.get(index) else { continue };
            let (seat, skipped) = (subscriber.occupancy.seat, subscriber.skipped);
            let (world, now_us) = (&mut self.world, self.now_us);
            let is_sent = self.outbound.view(index, &subscriber.sink, |delta| {
                let is_new = world.view(seat, now_us, delta);
                delta.skipped = skipped;
                is_new
            });
            metrics.views.add(u64::from(is_sent));
            self.subscribers.mark_caught_up(index);
        }
    }

    /// Occasional work: pictures, snapshots, and leaving memory.
    fn run_periodic(&mut self) {
        if self.picture_schedule.is_due(self.round_began, &self.context.pictures) {
            self.context.pictures.publish(&self.world);
        }
        self.save_snapshot();
        match self.state {
            WriterState::Draining { by, reason } => self.drain_until(by, reason),
            // The last snapshot also waits for one that is in flight.
            WriterState::Serving if self.world.is_over() && self.saving.is_settled() => {
                self.state = WriterState::Ended(CloseReason::Over);
            }
            WriterState::Serving | WriterState::Ended(_) | WriterState::Lost(_) => {}
        }
        if self.round_began >= self.idle.check_at {
            self.check_idle();
        }
    }

    /// When the store does not answer in time, clients are disconnected; they get no answers to what is not saved.
    fn drain_until(&mut self, by: Instant, reason: CloseReason) {
        if self.saving.is_settled() {
            self.state = WriterState::Ended(reason);
        } else if self.round_began >= by {
            tracing::warn!(world = %self.context.info.name, "a world is unloaded without its last snapshot: the store does not answer");
            self.state = WriterState::Lost(reason);
        }
    }

    fn check_idle(&mut self) {
        self.idle.check_at =
            self.round_began + WORLD_IDLE_CHECK_INTERVAL.min(self.idle.after.max(Duration::from_millis(1)));
        self.actor_workers.sweep();
        let (movers, sinks, viewers) = (self.world.stats().movers, self.subscribers.len(), self.subscribers.viewers());
        self.update_gauges(Population { movers, sinks, viewers });
        let is_empty = !self.world.has_movers() && self.subscribers.len() == 0 && self.actor_workers.is_empty();
        if !is_empty || !self.saving.is_settled() || self.state != WriterState::Serving {
            self.idle.since = None;
            return;
        }
        let since = *self.idle.since.get_or_insert(self.round_began);
        if self.round_began.duration_since(since) >= self.idle.after && self.retire() {
            self.state = WriterState::Ended(CloseReason::WorldMoved);
        }
    }

    /// Whether the world may leave memory now: then visits do not find it any more.
    fn retire(&self) -> bool {
        // The list's handle and this context; any further reference is a client's.
        self.shared.unload_if_unused(&self.context.info.name, 1)
    }

    /// Updates the metrics.
    fn update_gauges(&mut self, population: Population) {
        let (metrics, before) = (&self.context.metrics.worlds, std::mem::replace(&mut self.exported, population));
        metrics.movers.replace(before.movers, population.movers);
        metrics.sinks.replace(before.sinks, population.sinks);
        metrics.viewers.replace(before.viewers, population.viewers);
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.round_began.duration_since(self.began).as_micros()).unwrap_or(u64::MAX)
    }

    /// Disconnects all clients, and hands the last snapshot to the ownership.
    fn finish(&mut self, snapshot: Option<(u32, Vec<u8>)>) {
        let reason = match self.state {
            WriterState::Ended(reason) | WriterState::Lost(reason) => reason,
            WriterState::Serving | WriterState::Draining { .. } => CloseReason::Broken,
        };
        self.close_all(reason);
        self.update_gauges(Population::default());
        // An ownership that is gone has released its lease, or its lease expires.
        let _ = self.shared.ownership.send(OwnershipMessage::Ended(EndedWriter {
            id: self.context.info.id,
            name: self.context.info.name.clone(),
            epoch: self.world.epoch(),
            is_finished: snapshot.is_some() && self.world.is_over(),
            snapshot,
        }));
        self.context.metrics.worlds.loaded.dec();
    }

    fn close_all(&mut self, reason: CloseReason) {
        self.context.inbox.close(reason);
        self.context.pictures.end();
        for index in 0..self.subscribers.index_end() {
            send_missed_events(index, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
            if let Some(subscriber) = self.subscribers.get(index) {
                self.outbound.push(index, &subscriber.sink, BatchItem::Close(reason));
            }
        }
        self.outbound.flush();
        // What was taken out and not processed, and what is still queued.
        self.inputs.clear();
        let mut unprocessed = std::mem::take(&mut self.control);
        self.context.inbox.mailbox.try_recv_batch(&mut self.inputs, &mut self.control);
        unprocessed.append(&mut self.control);
        for message in unprocessed {
            // An actor worker waits for a message; other callers see their reply channel closed.
            if let ControlMessage::AddActorWorker(inbox) = message {
                self.actor_workers.attach(inbox);
            }
        }
        self.actor_workers.close();
    }
}

impl<O: WorldEnvironment> RoundRunner for Writer<O> {
    fn throttle(&mut self) -> Instant {
        let pause = self.round_limiter.wait_before_next(Instant::now());
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        self.sleeps_until = self.wake_at();
        self.sleeps_until
    }

    fn run_round(&mut self) -> bool {
        if !self.is_running() {
            return false;
        }
        self.take_batch();
        if self.has_lost_world() {
            return false;
        }
        self.apply();
        self.apply_control();
        self.tick();
        if self.has_lost_world() {
            return false;
        }
        self.save_claims();
        self.send_answers();
        self.broadcast_events();
        self.send_views();
        self.outbound.flush();
        self.actor_workers.flush();
        self.run_periodic();
        self.context.metrics.worlds.round.observe(self.round_began.elapsed());
        self.is_running()
    }

    /// Short because only a few inputs are processed: no views, no picture, no snapshot.
    fn run_inline_round(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.sleeps_until || !self.round_limiter.wait_before_next(now).is_zero() {
            return true;
        }
        self.context.metrics.worlds.inline_rounds.inc();
        !self.run_round() || self.wake_at() < self.sleeps_until
    }

    fn end(mut self: Box<Self>) {
        let snapshot = self.last_snapshot();
        self.finish(snapshot);
    }
}

/// Sends a subscriber the events that it has not received.
fn send_missed_events(
    index: u32,
    subscribers: &mut Subscribers,
    log: &BroadcastLog<Arc<HuntEvent>>,
    outbound: &mut OutboundBuffer,
) {
    let Some(next_event) = subscribers.advance_events(index, log.next_number()) else { return };
    if let Some(subscriber) = subscribers.get(index) {
        log.since(next_event).for_each(|event| outbound.push(index, &subscriber.sink, BatchItem::Event(event.clone())));
    }
}

/// A writer that panics ends like any other, but saves nothing.
impl<O: WorldEnvironment> Drop for Writer<O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.finish(None);
        }
    }
}
