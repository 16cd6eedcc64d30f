//! One actor worker: a thread with a ring of timers, one for each actor. A move is made when its actor's timer fires and not before, from
//! what the actor knows then; moves that are due together are sent together.
//!
//! Time here is the monotonic clock's, in microseconds since the worker started.

use super::counters::{ActorCounters, Report};
use super::plan::PlanShare;
use crate::actor_inbox::{ActorInbox, ActorWorkerMessage, actor_of, tag};
use crate::handle::WorldHandle;
use crate::inbox::SendError;
use crate::timer_ring::TimerRing;
use engine::limits::{ACTOR_CHECK_INTERVAL, ACTOR_REGISTRATIONS_MAX, ACTOR_REPORT_INTERVAL};
use engine::worlds::{Answer, Input, InputKind, MoverId, MoverRef, Registration};
use metrics::Metrics;
use rules::world::{Indicator, Step};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Resolution of the timers in microseconds; moves that are due in one tick are sent together.
const TICK_US: u64 = 1_000;
/// State of one actor: 32 bytes, so that two share a cache line and none spans two.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Actor {
    /// When its timer fires next.
    due_us: u64,
    /// The moment for which the move in flight was intended.
    intended_us: u64,
    seat: MoverRef,
    /// The number of its next input.
    seq: u32,
    state: ActorState,
    has_moved: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ActorState {
    /// Registration requested, no reply yet.
    Coming,
    /// Its timer runs.
    Resting,
    /// Its move has no answer yet.
    Moving,
    /// It leaves once its move has an answer.
    Leaving,
    Gone,
}

pub(super) struct ActorWorker {
    world: WorldHandle,
    inbox: Arc<ActorInbox>,
    share: PlanShare,
    /// The worker's number in the world, once it is attached.
    number: Option<u16>,
    /// Makes this worker's random numbers differ from others'.
    seed: u64,
    actors: Vec<Actor>,
    timers: TimerRing,
    due: Vec<u32>,
    /// Moves that are made and not sent yet.
    inputs: Vec<Input>,
    answers: Vec<Answer>,
    messages: Vec<ActorWorkerMessage>,
    registering: usize,
    /// When the next actor may enter.
    next_spawn_us: u64,
    /// Slots of actors that have gone, to be filled again.
    vacant: Vec<u32>,
    target: u32,
    begun: Instant,
    now_us: u64,
    report: Report,
    report_at: Instant,
    /// What the metrics show: planned, present, moving.
    exposed: [u32; 3],
    counters: Arc<ActorCounters>,
    metrics: Arc<Metrics>,
}

impl ActorWorker {
    pub(super) fn new(world: WorldHandle, number: u32, counters: Arc<ActorCounters>, metrics: Arc<Metrics>) -> Self {
        let (begun, share) = (Instant::now(), counters.share());
        Self {
            world,
            inbox: Arc::new(ActorInbox::new()),
            share,
            number: None,
            seed: u64::from(number) << 32,
            actors: Vec::new(),
            timers: TimerRing::new(TICK_US, 0),
            due: Vec::new(),
            inputs: Vec::new(),
            answers: Vec::new(),
            messages: Vec::new(),
            registering: 0,
            next_spawn_us: micros(share.first_delay),
            vacant: Vec::new(),
            target: share.plan.count,
            begun,
            now_us: 0,
            report: Report::new(),
            report_at: begun + ACTOR_REPORT_INTERVAL,
            exposed: [0; 3],
            counters,
            metrics,
        }
    }

    /// Moves actors until none is wanted, or the world leaves memory.
    pub(super) fn run(mut self) {
        if !self.world.add_actor_worker(self.inbox.clone()) {
            return;
        }
        while self.target > 0 || self.has_actors() {
            let until = self.wake_at();
            if !self.inbox.mailbox.recv_batch(&mut self.answers, &mut self.messages, Some(until)) {
                return;
            }
            self.now_us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.handle_answers();
            self.handle_messages();
            self.register_actors();
            self.make_moves();
            self.send();
            self.report_and_look_at_plan();
        }
    }

    /// Whether any actor is in the world, or about to enter.
    fn has_actors(&self) -> bool {
        self.report.registered > 0 || self.registering > 0
    }

    fn wake_at(&self) -> Instant {
        let timer = self.timers.next_us().map(|due_us| self.begun + Duration::from_micros(due_us));
        // What the mailbox did not take, and actors still to enter, are tried again after a tick.
        let is_busy = !self.inputs.is_empty() || self.is_below_target();
        let soon = is_busy.then(|| Instant::now() + Duration::from_micros(TICK_US));
        [timer, soon].into_iter().flatten().fold(self.report_at, Instant::min)
    }

    fn handle_answers(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        for answer in answers.drain(..) {
            let number = actor_of(answer.tag);
            let Some(actor) = self.actors.get_mut(number as usize) else { continue };
            if actor.seat != answer.mover {
                continue;
            }
            self.report.record_move(self.now_us.saturating_sub(actor.intended_us));
            self.report.refused += u64::from(answer.result.is_err());
            self.report.moving += u32::from(!std::mem::replace(&mut actor.has_moved, true));
            actor.seq = answer.seq.wrapping_add(1);
            match actor.state {
                ActorState::Moving => actor.state = ActorState::Resting,
                ActorState::Leaving if number < self.target => {
                    // It was to leave, and is wanted again.
                    (actor.state, actor.due_us) = (ActorState::Resting, self.now_us + micros(self.share.plan.period));
                    self.arm(number);
                }
                ActorState::Leaving => self.remove_actor(number),
                ActorState::Coming | ActorState::Resting | ActorState::Gone => {}
            }
        }
        self.answers = answers;
    }

    fn handle_messages(&mut self) {
        let mut messages = std::mem::take(&mut self.messages);
        for message in messages.drain(..) {
            match message {
                ActorWorkerMessage::Attached(number) => self.number = Some(number),
                ActorWorkerMessage::Registered { actor, seat, next_seq } => {
                    self.actor_registered(actor, seat, next_seq);
                }
                ActorWorkerMessage::Refused { actor, refusal } => {
                    tracing::debug!(?refusal, "the world refused an actor");
                    self.report.refused += 1;
                    self.registering -= 1;
                    if let Some(actor) = self.actors.get_mut(actor as usize) {
                        actor.state = ActorState::Gone;
                    }
                    // The world is full: further actors would be refused as well.
                    self.target = self.target.min(self.report.registered);
                }
            }
        }
        self.messages = messages;
    }

    /// Applies a changed plan: actors that start from now on begin as it says, and every actor's next move is the first at its pace.
    fn apply_plan(&mut self, share: PlanShare) {
        (self.share, self.target) = (share, share.plan.count);
        self.next_spawn_us = self.next_spawn_us.max(self.now_us + micros(share.first_delay));
        self.vacant.clear();
        self.forget_gone();
        let gone = |number: &u32| self.actors[*number as usize].state == ActorState::Gone;
        self.vacant = (0..self.target.min(self.actors.len() as u32)).rev().filter(gone).collect();
    }

    /// Forgets the last actors once they have gone.
    fn forget_gone(&mut self) {
        while self.vacant.is_empty() && self.actors.last().is_some_and(|actor| actor.state == ActorState::Gone) {
            self.actors.pop();
        }
    }

    fn actor_registered(&mut self, number: u32, seat: MoverRef, next_seq: u32) {
        self.registering -= 1;
        let Some(actor) = self.actors.get_mut(number as usize) else { return };
        let period_us = micros(self.share.plan.period).max(1);
        let phase_us = hash_random(self.seed | u64::from(number), u64::MAX) % period_us;
        let due_us = self.now_us + phase_us;
        *actor =
            Actor { due_us, intended_us: due_us, seat, seq: next_seq, state: ActorState::Resting, has_moved: false };
        self.arm(number);
        self.report.registered += 1;
    }

    fn is_below_target(&self) -> bool {
        self.number.is_some() && (!self.vacant.is_empty() || (self.actors.len() as u32) < self.target)
    }

    /// Requests the registration of more actors, as the plan's pace and the limit on pending ones allow.
    fn register_actors(&mut self) {
        while let Some(worker) = self.number
            && self.is_below_target()
            && self.registering < ACTOR_REGISTRATIONS_MAX
        {
            if self.next_spawn_us > self.now_us {
                return;
            }
            let number = self.vacant.last().copied().unwrap_or(self.actors.len() as u32);
            let (indicator, at) = (Indicator::ACTOR, self.share.plan.spawn);
            let registration = Registration { indicator, at, ..Registration::default() };
            if self.world.register_actor(worker, number, registration).is_err() {
                return;
            }
            let seat = MoverRef { slot: 0, id: MoverId(0) };
            let actor = Actor { due_us: 0, intended_us: 0, seat, seq: 0, state: ActorState::Coming, has_moved: false };
            match self.vacant.pop() {
                Some(number) => self.actors[number as usize] = actor,
                None => self.actors.push(actor),
            }
            self.registering += 1;
            self.next_spawn_us += micros(self.share.spawn_interval);
        }
    }

    fn make_moves(&mut self) {
        let Some(worker) = self.number else { return };
        let at_us = self.world.now_us();
        let mut due = std::mem::take(&mut self.due);
        while self.timers.expire(self.now_us, &mut due) {
            for number in due.drain(..) {
                self.timer_fired(worker, number, at_us);
            }
        }
        self.due = due;
    }

    fn timer_fired(&mut self, worker: u16, number: u32, at_us: i64) {
        let Some(actor) = self.actors.get_mut(number as usize) else { return };
        if number >= self.target {
            match actor.state {
                ActorState::Resting => self.remove_actor(number),
                ActorState::Moving => actor.state = ActorState::Leaving,
                ActorState::Coming | ActorState::Leaving | ActorState::Gone => {}
            }
            return;
        }
        if actor.due_us > self.now_us {
            return self.arm(number);
        }
        // A timer that fires whole periods late has skipped moves: they are counted, not made up for.
        let period_us = micros(self.share.plan.period).max(1);
        let passed = (self.now_us - actor.due_us) / period_us;
        self.report.missed += passed;
        actor.due_us += passed * period_us;
        let chance = hash_random(self.seed | u64::from(number), u64::from(actor.seq));
        match actor.state {
            ActorState::Resting => {
                actor.state = ActorState::Moving;
                actor.intended_us = actor.due_us;
                let what = InputKind::Step(Step::ALL[(chance % Step::ALL.len() as u64) as usize]);
                self.inputs.push(Input {
                    mover: actor.seat,
                    seq: actor.seq,
                    tag: tag(worker, number),
                    at_us,
                    kind: what,
                });
            }
            ActorState::Moving => self.report.missed += 1,
            ActorState::Coming | ActorState::Leaving | ActorState::Gone => return,
        }
        actor.due_us += jittered(period_us, micros(self.share.plan.jitter), chance >> 32);
        self.arm(number);
    }

    /// Sets an actor's timer for its next move. A long wait is split, since the actor may not be wanted any more.
    fn arm(&mut self, number: u32) {
        let look_us = self.now_us + micros(ACTOR_CHECK_INTERVAL);
        self.timers.arm(number, self.actors[number as usize].due_us.min(look_us));
    }

    /// Sends the moves that were made; what the mailbox does not take waits for the next tick.
    fn send(&mut self) {
        if self.inputs.is_empty() {
            return;
        }
        match self.world.enqueue(&mut self.inputs) {
            Ok(waiting) => self.report.mailbox_max = self.report.mailbox_max.max(waiting as u64),
            Err(SendError::Busy) => self.report.delayed += self.inputs.len() as u64,
            // The inbox receives the reason, or has it already.
            Err(SendError::Gone(_)) => self.inputs.clear(),
        }
    }

    fn remove_actor(&mut self, number: u32) {
        let actor = &mut self.actors[number as usize];
        self.world.remove_actor(actor.seat);
        actor.state = ActorState::Gone;
        self.report.registered -= 1;
        self.report.moving -= u32::from(actor.has_moved);
    }

    /// At intervals, reports the counts and follows a changed plan.
    fn report_and_look_at_plan(&mut self) {
        self.forget_gone();
        let now = Instant::now();
        if now >= self.report_at {
            self.report_at = now + ACTOR_REPORT_INTERVAL;
            self.submit_report();
            if let Some(share) = self.counters.take_new_share() {
                self.apply_plan(share);
            }
        }
    }
}

impl ActorWorker {
    /// Adds the counts to the metrics and the totals.
    fn submit_report(&mut self) {
        let (report, metrics) = (&self.report, &self.metrics.worlds);
        metrics.actor_moves.add(report.times.len());
        metrics.actor_moves_missed.add(report.missed);
        let now = [self.target, report.registered, report.moving];
        let before = std::mem::replace(&mut self.exposed, now);
        for (gauge, at) in [&metrics.actors_planned, &metrics.actors, &metrics.actors_moving].into_iter().zip(0..) {
            gauge.replace(before[at] as usize, now[at] as usize);
        }
        for step in report.times.iter_recorded() {
            let took = Duration::from_micros(step.value_iterated_to());
            metrics.actor_move.observe_many(took, step.count_since_last_iteration());
        }
        self.counters.add_report(&mut self.report);
    }
}

/// However a worker ends, none of its actors stays in the world.
impl Drop for ActorWorker {
    fn drop(&mut self) {
        self.inbox.mailbox.close();
        let is_here =
            |actor: &&Actor| matches!(actor.state, ActorState::Resting | ActorState::Moving | ActorState::Leaving);
        self.actors.iter().filter(is_here).for_each(|actor| self.world.remove_actor(actor.seat));
        (self.target, self.report.registered, self.report.moving) = (0, 0, 0);
        self.submit_report();
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// A period, longer or shorter by at most `jitter_us`, never zero.
fn jittered(period_us: u64, jitter_us: u64, chance: u64) -> u64 {
    if jitter_us == 0 {
        return period_us;
    }
    let sway = chance % (2 * jitter_us + 1);
    (period_us + sway).saturating_sub(jitter_us).max(1)
}

/// Stateless random numbers: the same two inputs always give the same output (SplitMix64, Steele and others, 2014).
fn hash_random(who: u64, nth: u64) -> u64 {
    let mut z = who.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(nth.wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
