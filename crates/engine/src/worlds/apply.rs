//! Applying a batch of inputs, in an order that is drawn anew each time.
//!
//! An input is applied once: a mover's own inputs count up without gaps, and a repeated one gets the first one's
//! answer, also when that still waits for a commit.

use super::answers::RecordedAnswer;
use super::batch_order::BatchOrder;
use super::input::{Answer, Done, Input, InputKind};
use super::profiles::Profile;
use super::refusal::Refusal;
use super::world::World;
use crate::limits::MOVER_ANSWERS_KEPT;
use rules::world::{Cell, PowerUp, Sharing, Step};

/// Inputs whose memory is read ahead together: as many as the processor waits for at once, with room.
const PREFETCHED_INPUTS: usize = 16;

impl InputKind {
    fn step(self) -> Step {
        match self {
            Self::Step(step) => step,
            Self::Dig | Self::Grab => Step::Stay,
        }
    }
}

/// What becomes of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputOutcome {
    /// This answer, to be sent now.
    Immediate(Result<Done, Refusal>),
    /// This, when the group is committed.
    AfterCommit(u32, Result<Done, Refusal>),
}

impl World {
    /// Applies a batch. Every input is answered once: in `out`, or from [`World::committed`] when the answer waits for
    /// a commit.
    pub fn apply(&mut self, batch: &[Input], now_us: i64, out: &mut Vec<Answer>) {
        let mut order = std::mem::take(&mut self.order);
        order.shuffle(self.seed, self.batch, batch);
        self.batch = self.batch.wrapping_add(1);
        self.stats.batches += 1;
        self.stats.inputs += batch.len() as u64;
        out.reserve(batch.len());
        for keys in order.keys().chunks(PREFETCHED_INPUTS) {
            let inputs = keys.iter().map(|key| &batch[BatchOrder::index_of(*key)]);
            self.crowd.prefetch(inputs.clone().map(|input| (input.mover.slot, input.kind.step())));
            for input in inputs {
                self.apply_input(input, now_us, out);
            }
        }
        self.order = order;
    }

    fn apply_input(&mut self, input: &Input, now_us: i64, out: &mut Vec<Answer>) {
        let Input { mover: mover_ref, seq, tag, at_us, kind: what } = *input;
        let answer = |result| Answer { tag, mover: mover_ref, seq, result };
        let Some(mover) = self.crowd.get_mut(mover_ref) else { return out.push(answer(Err(Refusal::UnknownMover))) };
        let expected = mover.next_seq;
        if seq != expected {
            let is_kept = (expected.wrapping_sub(seq) as usize) <= MOVER_ANSWERS_KEPT;
            match mover.answers.get(seq).filter(|_| is_kept) {
                Some(RecordedAnswer::Final(result)) => out.push(answer(result)),
                Some(RecordedAnswer::Held(at)) => self.log.hold_again(at, |first| answer(first.result)),
                None => out.push(answer(Err(Refusal::OutOfOrder { expected }))),
            }
            return;
        }
        mover.next_seq = seq.wrapping_add(1);
        let outcome = match what {
            InputKind::Step(step) => {
                InputOutcome::Immediate(self.step(mover_ref.slot, step, at_us.min(now_us), now_us))
            }
            InputKind::Dig => self.dig(mover_ref, seq, now_us),
            InputKind::Grab => self.grab(mover_ref, seq, now_us),
        };
        let first = match outcome {
            InputOutcome::Immediate(result) => RecordedAnswer::Final(result),
            InputOutcome::AfterCommit(group, result) => {
                self.log.hold(group, answer(result)).map_or(RecordedAnswer::Final(result), RecordedAnswer::Held)
            }
        };
        if let RecordedAnswer::Final(result) = first {
            self.stats.refused += u64::from(result.is_err());
            out.push(answer(result));
        }
        if let Some(mover) = self.crowd.get_mut(mover_ref) {
            mover.answers.record(seq, first);
        }
    }

    fn step(&mut self, slot: u32, step: Step, at_us: i64, now_us: i64) -> Result<Done, Refusal> {
        let mover = self.crowd.at_mut(slot);
        let (from, profile) = (mover.cell(), mover.profile());
        if !mover.move_limiter.try_acquire(at_us, self.settings.move_min) {
            return Err(Refusal::TooFast);
        }
        if step == Step::Stay {
            return Ok(Done::Moved(from));
        }
        let near = self.destination(from, step)?;
        let has_double = profile.is_some() && self.profiles.get(profile).is_some_and(|own| is_double(own, now_us));
        let to = if has_double { self.destination(near, step).unwrap_or(near) } else { near };
        self.crowd.move_to(slot, to, at_us);
        self.has_changed |= profile.is_some();
        if let Some(life) = &mut self.life {
            life.trample(to);
        }
        Ok(Done::Moved(to))
    }

    /// Where a step leads, if one may stand there.
    fn destination(&self, from: Cell, step: Step) -> Result<Cell, Refusal> {
        let to = self.settings.size.neighbour(from, step).ok_or(Refusal::OutOfBounds)?;
        if self.trees.contains(to) {
            return Err(Refusal::Blocked);
        }
        if self.settings.sharing == Sharing::One && self.crowd.count(to) > 0 {
            return Err(Refusal::Occupied);
        }
        Ok(to)
    }
}

fn is_double(profile: &Profile, now_us: i64) -> bool {
    profile.has_power_up(PowerUp::DoubleStep, now_us)
}
