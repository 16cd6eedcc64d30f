//! The writer of a world, which alone changes it: on a thread of its own, or, for a few inputs that come while that sleeps, on the thread
//! that brought them. It takes what has come, in batches, lets the world decide, hands answers and views to those who tell them, and
//! claims to the store; it never waits for any of them.
//!
//! Save, then tell: a claim is held by the world until its commit is heard of here. When that fails, or somebody else has the
//! world, it leaves memory at once and everybody is told to come again: nothing was shown that is not saved, and nothing is shown
//! by who is not sure of owning the world. A process may stand still between any two lines, for longer than its lease.

pub(super) mod attached_workers;
mod broadcast_log;
mod control;
mod round_limiter;
mod saving;
mod snapshot_schedule;

use super::client_sink::CloseReason;
use super::environment::WorldEnvironment;
use super::handle::{ControlMessage, WorldContext};
use super::inline_rounds::RoundRunner;
use super::ownership::{EndedWriter, OwnershipMessage};
use super::pictures::PictureSchedule;
use super::sender_pool::OutboundBuffer;
use super::subscribers::Subscribers;
use attached_workers::AttachedWorkers;
use broadcast_log::BroadcastLog;
use engine::limits::{WORLD_IDLE_CHECK_INTERVAL, WORLD_TICK, WORLD_VIEWS_PER_SLICE};
use engine::worlds::{Answer, HuntEvent, Input, MoverRef, World};
use round_limiter::RoundLimiter;
use saving::PendingSaves;
use snapshot_schedule::SnapshotSchedule;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

/// What a writer is given to begin with.
pub(super) struct WriterParams<O> {
    pub(super) environment: O,
    pub(super) world: World,
    pub(super) epoch: u32,
    pub(super) context: Arc<WorldContext>,
    pub(super) ownership: UnboundedSender<OwnershipMessage>,
    pub(super) runtime: Handle,
    pub(super) snapshot_every: Duration,
    pub(super) idle_timeout: Duration,
    /// How long to wait for the store when everybody leaves.
    pub(super) drain_max: Duration,
    /// Whether the world may leave memory now: nobody holds a door. From then on nobody finds it here.
    pub(super) retire: Box<dyn Fn() -> bool + Send>,
}

/// How a writer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriterState {
    Serving,
    /// Takes nothing new; ends when nothing is under way to the store, or at this moment without it.
    Draining {
        by: Instant,
        why: CloseReason,
    },
    /// Over, in order: what is here is what is so.
    Ended(CloseReason),
    /// Over, and nobody knows whether what is here is so.
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
    /// The epoch of our clock.
    began: Instant,
    /// When its thread wakes by itself.
    sleeps_until: Instant,
    round_limiter: RoundLimiter,
    /// When this round began.
    round_began: Instant,
    /// When the world ticked last.
    last_tick: Instant,
    now_us: i64,
    gone: Vec<MoverRef>,
    idle: IdleTimer,
    /// What the metrics know of.
    exported: Population,
    ownership: UnboundedSender<OwnershipMessage>,
    runtime: Handle,
    drain_max: Duration,
    retire: Box<dyn Fn() -> bool + Send>,
}

/// Since when nobody is here.
struct IdleTimer {
    after: Duration,
    since: Option<Instant>,
    check_at: Instant,
}

/// How many are here.
#[derive(Clone, Copy, Default)]
struct Population {
    movers: usize,
    sinks: usize,
    viewers: usize,
}

impl<O: WorldEnvironment> Writer<O> {
    pub(super) fn new(charge: WriterParams<O>) -> Self {
        let began = Instant::now();
        let pen = charge.context.senders.buffer();
        let idle =
            IdleTimer { after: charge.idle_timeout, since: Some(began), check_at: began + WORLD_IDLE_CHECK_INTERVAL };
        charge.context.metrics.worlds().loaded.inc();
        Self {
            saving: PendingSaves::new(
                charge.epoch,
                SnapshotSchedule::new(charge.context.info.id, charge.snapshot_every, began),
            ),
            environment: charge.environment,
            world: charge.world,
            context: charge.context,
            subscribers: Subscribers::new(0),
            actor_workers: AttachedWorkers::default(),
            outbound: pen,
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
            ownership: charge.ownership,
            runtime: charge.runtime,
            drain_max: charge.drain_max,
            retire: charge.retire,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.state, WriterState::Serving | WriterState::Draining { .. })
    }

    /// Takes what there is.
    fn take_batch(&mut self) {
        self.context.inbox.mailbox.try_recv_batch(&mut self.inputs, &mut self.control);
        self.round_began = Instant::now();
        self.round_limiter.record_round(self.round_began);
        self.now_us = self.environment.now_us();
    }

    /// Whether somebody else may have the world by now, or nobody knows what is so: then nothing more is heard or shown here.
    fn has_lost_world(&mut self) -> bool {
        if !self.context.lease.is_valid() && !matches!(self.state, WriterState::Lost(_)) {
            self.state = WriterState::Lost(CloseReason::WorldMoved);
        }
        matches!(self.state, WriterState::Lost(_))
    }

    /// When there is something to do by itself.
    fn wake_at(&self) -> Instant {
        let turn = self.subscribers.next_us().map(|due_us| self.began + Duration::from_micros(due_us));
        let own = self.world.next_due().map(|due_us| {
            self.round_began + Duration::from_micros(u64::try_from(due_us.saturating_sub(self.now_us)).unwrap_or(0))
        });
        let news = self.broadcast_log.due(self.round_began);
        let leave = if let WriterState::Draining { by, .. } = self.state { Some(by) } else { None };
        let dues = [turn, own, news, leave, self.saving.due(), self.picture_schedule.due(), Some(self.idle.check_at)];
        dues.into_iter().flatten().min().unwrap_or(self.idle.check_at)
    }

    fn apply(&mut self) {
        if self.inputs.is_empty() {
            return;
        }
        self.active();
        let figures = self.context.metrics.worlds();
        figures.batches.inc();
        figures.inputs.add(self.inputs.len() as u64);
        figures.mailbox.observe(self.inputs.len());
        self.world.apply(&self.inputs, self.now_us, &mut self.answers);
        self.inputs.clear();
        figures.apply.observe(self.round_began.elapsed());
    }

    /// Somebody does something here.
    fn active(&self) {
        self.context.active_at_us.store(self.now_us, Ordering::Relaxed);
    }

    /// What time brings. Movers that are gone with it are told nothing more.
    fn tick(&mut self) {
        let is_due = self.world.next_due().is_some_and(|due_us| due_us <= self.now_us);
        if !is_due && self.round_began.duration_since(self.last_tick) < WORLD_TICK {
            return;
        }
        self.last_tick = self.round_began;
        self.world.tick(self.now_us, &mut self.gone);
        for seat in self.gone.drain(..) {
            if let Some((line, post)) = self.subscribers.remove_seat(seat) {
                self.outbound.close(line, &post.sink, CloseReason::Gone);
            }
        }
        let begun = Instant::now();
        if self.world.advance_generation(self.now_us) {
            self.context.metrics.worlds().generation.observe(begun.elapsed());
        }
    }

    /// Hands answers to those who tell them. A mover without an outlet hears of nothing.
    fn send_answers(&mut self) {
        for answer in self.answers.drain(..) {
            if self.actor_workers.take_answer(&answer) {
                continue;
            }
            if let Some(line) = self.subscribers.index_of_seat(answer.mover) {
                send_missed_events(line, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
                if let Some(post) = self.subscribers.get(line) {
                    self.outbound.answer(line, &post.sink, answer);
                }
            }
        }
    }

    /// What everybody is told, a portion at a time.
    fn broadcast_events(&mut self) {
        self.world.take_events(&mut self.events);
        self.events.drain(..).for_each(|news| self.broadcast_log.publish(Arc::new(news)));
        if let Some(portion) = self.broadcast_log.next_portion(
            self.subscribers.index_end(),
            self.outbound.is_nearly_drained(),
            self.round_began,
        ) {
            portion.clone().for_each(|line| {
                send_missed_events(line, &mut self.subscribers, &self.broadcast_log, &mut self.outbound)
            });
            self.broadcast_log.mark_sent(&portion, self.round_began);
        }
    }

    /// Shows those around whose turn has come, a bounded number of them before moves have their turn again.
    fn send_views(&mut self) {
        let now_us = self.elapsed_us();
        for _ in 0..WORLD_VIEWS_PER_SLICE {
            let Some((line, late_us)) = self.subscribers.next_due_view(now_us) else { return };
            let Some(post) = self.subscribers.get(line) else { continue };
            let figures = self.context.metrics.worlds();
            figures.view_late.observe(Duration::from_micros(late_us));
            if post.sink.is_behind() || self.outbound.is_behind(line) {
                figures.views_skipped.inc();
                self.subscribers.mark_skipped(line);
                continue;
            }
            send_missed_events(line, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
            let Some(post) = self.subscribers.get(line) else { continue };
            let (seat, skipped) = (post.occupancy.seat, post.skipped);
            let (world, now_us) = (&mut self.world, self.now_us);
            let is_told = self.outbound.view(line, &post.sink, |delta| {
                let is_news = world.view(seat, now_us, delta);
                delta.skipped = skipped;
                is_news
            });
            figures.views.add(u64::from(is_told));
            self.subscribers.mark_caught_up(line);
        }
    }

    /// What is done now and then: pictures, snapshots, and leaving memory.
    fn run_periodic(&mut self) {
        if self.picture_schedule.is_due(self.round_began, &self.context.pictures) {
            self.context.pictures.publish(&self.world);
        }
        self.save_snapshot();
        match self.state {
            WriterState::Draining { by, why } => self.drain_until(by, why),
            // Also the last snapshot waits for one that is under way.
            WriterState::Serving if self.world.is_over() && self.saving.is_settled() => {
                self.state = WriterState::Ended(CloseReason::Over);
            }
            WriterState::Serving | WriterState::Ended(_) | WriterState::Lost(_) => {}
        }
        if self.round_began >= self.idle.check_at {
            self.check_idle();
        }
    }

    /// Whoever waits for a store that does not answer is told to go in time, and of what is not saved he is told nothing.
    fn drain_until(&mut self, by: Instant, why: CloseReason) {
        if self.saving.is_settled() {
            self.state = WriterState::Ended(why);
        } else if self.round_began >= by {
            tracing::warn!(world = %self.context.info.name, "a world is left without its last snapshot: the store does not answer");
            self.state = WriterState::Lost(why);
        }
    }

    fn check_idle(&mut self) {
        self.idle.check_at =
            self.round_began + WORLD_IDLE_CHECK_INTERVAL.min(self.idle.after.max(Duration::from_millis(1)));
        self.actor_workers.sweep();
        let (movers, outlets, viewers) =
            (self.world.stats().movers, self.subscribers.len(), self.subscribers.viewers());
        self.update_gauges(Population { movers, sinks: outlets, viewers });
        let is_empty = !self.world.has_movers() && self.subscribers.len() == 0 && self.actor_workers.is_empty();
        if !is_empty || !self.saving.is_settled() || self.state != WriterState::Serving {
            self.idle.since = None;
            return;
        }
        let since = *self.idle.since.get_or_insert(self.round_began);
        if self.round_began.duration_since(since) >= self.idle.after && (self.retire)() {
            self.state = WriterState::Ended(CloseReason::WorldMoved);
        }
    }

    /// Shows in the metrics how many are here.
    fn update_gauges(&mut self, people: Population) {
        let (figures, before) = (self.context.metrics.worlds(), std::mem::replace(&mut self.exported, people));
        figures.movers.replace(before.movers, people.movers);
        figures.sinks.replace(before.sinks, people.sinks);
        figures.viewers.replace(before.viewers, people.viewers);
    }

    fn elapsed_us(&self) -> u64 {
        u64::try_from(self.round_began.duration_since(self.began).as_micros()).unwrap_or(u64::MAX)
    }

    /// Everybody is told that it is over, and the life is given what is to be kept.
    fn finish(&mut self, snapshot: Option<(u32, Vec<u8>)>) {
        let why = match self.state {
            WriterState::Ended(why) | WriterState::Lost(why) => why,
            WriterState::Serving | WriterState::Draining { .. } => CloseReason::Broken,
        };
        self.close_all(why);
        self.update_gauges(Population::default());
        // A life that is gone has told the store so, or will be found out by its lease.
        let _ = self.ownership.send(OwnershipMessage::Ended(EndedWriter {
            id: self.context.info.id,
            name: self.context.info.name.clone(),
            epoch: self.saving.epoch(),
            is_finished: snapshot.is_some() && self.world.is_over(),
            snapshot,
        }));
        self.context.metrics.worlds().loaded.dec();
    }

    fn close_all(&mut self, why: CloseReason) {
        self.context.inbox.close(why);
        self.context.pictures.end();
        for line in 0..self.subscribers.index_end() {
            send_missed_events(line, &mut self.subscribers, &self.broadcast_log, &mut self.outbound);
            if let Some(post) = self.subscribers.get(line) {
                self.outbound.close(line, &post.sink, why);
            }
        }
        self.outbound.flush();
        // What was taken out and not heard, and what nobody will take out any more.
        self.inputs.clear();
        let mut unheard = std::mem::take(&mut self.control);
        self.context.inbox.mailbox.try_recv_batch(&mut self.inputs, &mut self.control);
        unheard.append(&mut self.control);
        for order in unheard {
            // A crew waits for a word; whoever else asked for something is told with the drop of what he asked.
            if let ControlMessage::AddActorWorker(desk) = order {
                self.actor_workers.attach(desk);
            }
        }
        self.actor_workers.close(why);
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
        self.context.metrics.worlds().round.observe(self.round_began.elapsed());
        self.is_running()
    }

    /// Short because nothing is due but a few inputs: no views, no picture, no snapshot.
    fn run_inline_round(&mut self) -> bool {
        let now = Instant::now();
        if now >= self.sleeps_until || !self.round_limiter.wait_before_next(now).is_zero() {
            return true;
        }
        self.context.metrics.worlds().inline_rounds.inc();
        !self.run_round() || self.wake_at() < self.sleeps_until
    }

    fn end(mut self: Box<Self>) {
        let snapshot = self.last_snapshot();
        self.finish(snapshot);
    }
}

/// Tells somebody the news that he has not heard.
fn send_missed_events(
    line: u32,
    posts: &mut Subscribers,
    bulletin: &BroadcastLog<Arc<HuntEvent>>,
    pen: &mut OutboundBuffer,
) {
    let Some(heard) = posts.advance_events(line, bulletin.next_number()) else { return };
    if let Some(post) = posts.get(line) {
        bulletin.since(heard).for_each(|news| pen.event(line, &post.sink, news));
    }
}

/// A writer that breaks down on its way ends like any other, but that it keeps nothing.
impl<O: WorldEnvironment> Drop for Writer<O> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.finish(None);
        }
    }
}
