//! One crew of actors: a thread with a ring of timers, one for each actor. A move is made when its actor's timer comes up and not before,
//! from what the actor knows then; moves that come up together travel together.
//!
//! Time here is the monotonic clock's, in microseconds since the crew began.

use super::desk::{Desk, Word};
use super::plan::Share;
use super::tally::{Report, Tally};
use crate::metrics::Metrics;
use crate::worlds::door::{Door, SendError};
use crate::worlds::ring::Ring;
use crate::worlds::writer::crews::{actor_of, tag};
use engine::limits::{ACTOR_CHECK_INTERVAL, ACTOR_REGISTRATIONS_MAX, ACTOR_REPORT_INTERVAL};
use engine::worlds::{Answer, Input, InputKind, MoverId, MoverRef, Registration};
use rules::world::{Indicator, Step};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Timers are kept to this many microseconds; moves that come up in one tick travel together.
const TICK_US: u64 = 1_000;
/// What is known of one actor: 32 bytes, so that two share a cache line and none lies across two.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Actor {
    /// When its timer comes up next.
    due_us: u64,
    /// For when the move that is under way was intended.
    intended_us: u64,
    seat: MoverRef,
    /// The number of its next input.
    seq: u32,
    state: State,
    has_moved: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It was asked for, and has not come in.
    Coming,
    /// Its timer runs.
    Resting,
    /// Its move was made and is not answered.
    Moving,
    /// It goes once its move is answered.
    Leaving,
    /// It is not there.
    Gone,
}

pub(super) struct Crew {
    door: Door,
    desk: Arc<Desk>,
    share: Share,
    /// The crew's number in the world, once it sits.
    number: Option<u16>,
    /// Tells this crew's dice from others'.
    salt: u64,
    actors: Vec<Actor>,
    ring: Ring,
    due: Vec<u32>,
    /// Moves that are made and not handed over yet.
    inputs: Vec<Input>,
    answers: Vec<Answer>,
    words: Vec<Word>,
    coming: usize,
    /// When the next one may come in.
    next_at_us: u64,
    /// Places that are wanted again though their actors have gone.
    vacant: Vec<u32>,
    wanted: u32,
    begun: Instant,
    now_us: u64,
    report: Report,
    report_at: Instant,
    /// What the metrics know of: wanted, here, moving.
    exposed: [u32; 3],
    tally: Arc<Tally>,
    metrics: Arc<Metrics>,
    is_ended: bool,
}

impl Crew {
    pub(super) fn new(door: Door, desk: Arc<Desk>, number: u32, tally: Arc<Tally>, metrics: Arc<Metrics>) -> Self {
        let (begun, share) = (Instant::now(), tally.share());
        Self {
            door,
            desk,
            share,
            number: None,
            salt: u64::from(number) << 32,
            actors: Vec::new(),
            ring: Ring::new(TICK_US, 0),
            due: Vec::new(),
            inputs: Vec::new(),
            answers: Vec::new(),
            words: Vec::new(),
            coming: 0,
            next_at_us: micros(share.lead),
            vacant: Vec::new(),
            wanted: share.plan.count,
            begun,
            now_us: 0,
            report: Report::new(),
            report_at: begun + ACTOR_REPORT_INTERVAL,
            exposed: [0; 3],
            tally,
            metrics,
            is_ended: false,
        }
    }

    /// Lets actors move until none is wanted, or the world leaves memory.
    pub(super) fn run(mut self) {
        if self.door.seat_crew(self.desk.clone()).is_err() {
            return;
        }
        while !self.is_ended && (self.wanted > 0 || self.is_anybody_here()) {
            let until = self.wake_at();
            self.desk.tray.take(&mut self.answers, &mut self.words, Some(until));
            self.now_us = u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.hear_answers();
            self.hear_words();
            self.bring_in();
            self.make_moves();
            self.send();
            self.tell();
        }
    }

    /// Whether any actor is in the world, or on its way.
    fn is_anybody_here(&self) -> bool {
        self.report.registered > 0 || self.coming > 0
    }

    fn wake_at(&self) -> Instant {
        let timer = self.ring.next_us().map(|due_us| self.begun + Duration::from_micros(due_us));
        // What the mailbox did not take, and who comes in next, are looked at again after a tick.
        let is_busy = !self.inputs.is_empty() || self.is_short();
        let soon = is_busy.then(|| Instant::now() + Duration::from_micros(TICK_US));
        [timer, soon].into_iter().flatten().fold(self.report_at, Instant::min)
    }

    fn hear_answers(&mut self) {
        let mut answers = std::mem::take(&mut self.answers);
        for answer in answers.drain(..) {
            let number = actor_of(answer.tag);
            let Some(actor) = self.actors.get_mut(number as usize) else { continue };
            if actor.seat != answer.mover {
                continue;
            }
            self.report.moved(self.now_us.saturating_sub(actor.intended_us));
            self.report.refused += u64::from(answer.result.is_err());
            self.report.moving += u32::from(!std::mem::replace(&mut actor.has_moved, true));
            actor.seq = answer.seq.wrapping_add(1);
            match actor.state {
                State::Moving => actor.state = State::Resting,
                State::Leaving if number < self.wanted => {
                    // It was to go, and is wanted again.
                    (actor.state, actor.due_us) = (State::Resting, self.now_us + micros(self.share.plan.period));
                    self.arm(number);
                }
                State::Leaving => self.dismiss(number),
                State::Coming | State::Resting | State::Gone => {}
            }
        }
        self.answers = answers;
    }

    fn hear_words(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        for word in words.drain(..) {
            match word {
                Word::Seated(number) => self.number = Some(number),
                Word::Registered { actor, seat, next_seq } => self.came_in(actor, seat, next_seq),
                Word::Refused { actor, refusal } => {
                    tracing::debug!(?refusal, "an actor was not let in");
                    self.report.refused += 1;
                    self.coming -= 1;
                    if let Some(actor) = self.actors.get_mut(actor as usize) {
                        actor.state = State::Gone;
                    }
                    // The world is full: more would not come in either.
                    self.wanted = self.wanted.min(self.report.registered);
                }
                Word::Wanted(share) => self.want(share),
                Word::Ended(_) => self.is_ended = true,
            }
        }
        self.words = words;
    }

    /// Something else is wanted: whoever comes from now on begins as it says, and everybody's next move is the first at its pace.
    fn want(&mut self, share: Share) {
        (self.share, self.wanted) = (share, share.plan.count);
        self.next_at_us = self.next_at_us.max(self.now_us + micros(share.lead));
        self.vacant.clear();
        self.forget_gone();
        let gone = |number: &u32| self.actors[*number as usize].state == State::Gone;
        self.vacant = (0..self.wanted.min(self.actors.len() as u32)).rev().filter(gone).collect();
    }

    /// Those who were the last are forgotten once they have gone.
    fn forget_gone(&mut self) {
        while self.vacant.is_empty() && self.actors.last().is_some_and(|actor| actor.state == State::Gone) {
            self.actors.pop();
        }
    }

    fn came_in(&mut self, number: u32, seat: MoverRef, next_seq: u32) {
        self.coming -= 1;
        let Some(actor) = self.actors.get_mut(number as usize) else { return };
        let period_us = micros(self.share.plan.period).max(1);
        let phase_us = dice(self.salt | u64::from(number), u64::MAX) % period_us;
        let due_us = self.now_us + phase_us;
        *actor = Actor { due_us, intended_us: due_us, seat, seq: next_seq, state: State::Resting, has_moved: false };
        self.arm(number);
        self.report.registered += 1;
    }

    fn is_short(&self) -> bool {
        self.number.is_some() && (!self.vacant.is_empty() || (self.actors.len() as u32) < self.wanted)
    }

    /// Asks for more actors to be let in, as the plan's pace and the places for those under way allow.
    fn bring_in(&mut self) {
        while let Some(crew) = self.number
            && self.is_short()
            && self.coming < ACTOR_REGISTRATIONS_MAX
        {
            if self.next_at_us > self.now_us {
                return;
            }
            let number = self.vacant.last().copied().unwrap_or(self.actors.len() as u32);
            let registration = Registration {
                indicator: Indicator::ACTOR,
                at: self.share.plan.spawn,
                view: None,
                player: None,
                name: None,
                is_resumable: false,
                resume: None,
            };
            if self.door.register_actor(crew, number, registration).is_err() {
                return;
            }
            let seat = MoverRef { slot: 0, id: MoverId(0) };
            let actor = Actor { due_us: 0, intended_us: 0, seat, seq: 0, state: State::Coming, has_moved: false };
            match self.vacant.pop() {
                Some(number) => self.actors[number as usize] = actor,
                None => self.actors.push(actor),
            }
            self.coming += 1;
            self.next_at_us += micros(self.share.pace);
        }
    }

    /// Makes the moves that are due.
    fn make_moves(&mut self) {
        let Some(crew) = self.number else { return };
        let at_us = self.door.now_us();
        let mut due = std::mem::take(&mut self.due);
        while self.ring.expire(self.now_us, &mut due) {
            for number in due.drain(..) {
                self.come_up(crew, number, at_us);
            }
        }
        self.due = due;
    }

    /// An actor's timer came up.
    fn come_up(&mut self, crew: u16, number: u32, at_us: i64) {
        let Some(actor) = self.actors.get_mut(number as usize) else { return };
        if number >= self.wanted {
            match actor.state {
                State::Resting => self.dismiss(number),
                State::Moving => actor.state = State::Leaving,
                State::Coming | State::Leaving | State::Gone => {}
            }
            return;
        }
        if actor.due_us > self.now_us {
            return self.arm(number);
        }
        // A timer that comes whole periods late has let moves fall out: they are counted, not made up for.
        let period_us = micros(self.share.plan.period).max(1);
        let passed = (self.now_us - actor.due_us) / period_us;
        self.report.missed += passed;
        actor.due_us += passed * period_us;
        let chance = dice(self.salt | u64::from(number), u64::from(actor.seq));
        match actor.state {
            State::Resting => {
                actor.state = State::Moving;
                actor.intended_us = actor.due_us;
                let what = InputKind::Step(Step::ALL[(chance % Step::ALL.len() as u64) as usize]);
                self.inputs.push(Input {
                    mover: actor.seat,
                    seq: actor.seq,
                    tag: tag(crew, number),
                    at_us,
                    kind: what,
                });
            }
            State::Moving => self.report.missed += 1,
            State::Coming | State::Leaving | State::Gone => return,
        }
        actor.due_us += swayed(period_us, micros(self.share.plan.jitter), chance >> 32);
        self.arm(number);
    }

    /// Sets an actor's timer for its next move; one that rests for long is looked at now and then, for it may be wanted no more.
    fn arm(&mut self, number: u32) {
        let look_us = self.now_us + micros(ACTOR_CHECK_INTERVAL);
        self.ring.arm(number, self.actors[number as usize].due_us.min(look_us));
    }

    /// Hands over what was made; what the mailbox does not take waits for the next tick.
    fn send(&mut self) {
        if self.inputs.is_empty() {
            return;
        }
        match self.door.put(&mut self.inputs) {
            Ok(waiting) => self.report.mailbox_max = self.report.mailbox_max.max(waiting as u64),
            Err(SendError::Busy) => self.report.delayed += self.inputs.len() as u64,
            // The desk is told, or was.
            Err(SendError::Gone(_)) => self.inputs.clear(),
        }
    }

    fn dismiss(&mut self, number: u32) {
        let actor = &mut self.actors[number as usize];
        self.door.dismiss_actor(actor.seat);
        actor.state = State::Gone;
        self.report.registered -= 1;
        self.report.moving -= u32::from(actor.has_moved);
    }

    /// Tells now and then what was counted.
    fn tell(&mut self) {
        self.forget_gone();
        let now = Instant::now();
        if now >= self.report_at {
            self.report_at = now + ACTOR_REPORT_INTERVAL;
            self.hand_in();
        }
    }
}

impl Crew {
    /// Hands in what was counted.
    fn hand_in(&mut self) {
        let (report, figures) = (&self.report, self.metrics.worlds());
        figures.actor_moves.add(report.times.len());
        figures.actor_missed.add(report.missed);
        let now = [self.wanted, report.registered, report.moving];
        let before = std::mem::replace(&mut self.exposed, now);
        for (gauge, at) in [&figures.actors_planned, &figures.actors, &figures.actors_moving].into_iter().zip(0..) {
            gauge.change(before[at] as usize, now[at] as usize);
        }
        for step in report.times.iter_recorded() {
            let took = Duration::from_micros(step.value_iterated_to());
            figures.actor_move.observe_many(took, step.count_since_last_iteration());
        }
        self.tally.take(&mut self.report);
    }
}

/// However a crew ends, none of its actors stays behind.
impl Drop for Crew {
    fn drop(&mut self) {
        self.desk.tray.close();
        let is_here = |actor: &&Actor| matches!(actor.state, State::Resting | State::Moving | State::Leaving);
        self.actors.iter().filter(is_here).for_each(|actor| self.door.dismiss_actor(actor.seat));
        (self.wanted, self.report.registered, self.report.moving) = (0, 0, 0);
        self.hand_in();
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// A period, longer or shorter by at most `jitter_us`, never nothing.
fn swayed(period_us: u64, jitter_us: u64, chance: u64) -> u64 {
    if jitter_us == 0 {
        return period_us;
    }
    let sway = chance % (2 * jitter_us + 1);
    (period_us + sway).saturating_sub(jitter_us).max(1)
}

/// Dice that need no memory: the same two numbers always give the same (SplitMix64, Steele and others, 2014).
fn dice(who: u64, nth: u64) -> u64 {
    let mut z = who.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(nth.wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
