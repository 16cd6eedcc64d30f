//! Claims in two phases: decided at once, so that no other mover gets the item; shown when the log has them.
//!
//! ```text
//! Lying ──dig──► Claimed ──take_claims──► (the store commits) ──committed──► Gone, and sent to all viewers
//!                   └── later claims of it are answered after the same commit
//! ```
//!
//! If the commit fails, the world leaves memory as it is: nothing of it was shown, and its next owner decides again.

use super::answers::RecordedAnswer;
use super::apply::InputOutcome;
use super::claim_log::DecidedFact;
use super::facts::{Claim, Fact, WorldLogRow};
use super::hunt::ClaimTarget;
use super::input::{Answer, Done, MoverRef};
use super::refusal::Refusal;
use super::rounds::RoundPhase;
use super::world::{World, WorldLoadError};
use crate::ids::WorldId;
use crate::limits::MOVER_ANSWERS_KEPT;
use crate::time::UnixMs;
use rules::world::{Item, PowerUp};

/// Entries for a world's claim log, and the two fences that guard it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldAppend {
    pub id: WorldId,
    /// The owner's fencing token: a later claim makes it void.
    pub epoch: u32,
    /// How many entries were ever added before these, the deleted ones included.
    pub expected_version: u32,
    /// The entries, in order; the first one's version is `expected_version`.
    pub rows: Vec<WorldLogRow>,
}

impl WorldAppend {
    /// Entries that the log has with these: the argument of [`World::committed`].
    #[must_use]
    pub fn version(&self) -> u32 {
        self.expected_version + self.rows.len() as u32
    }
}

impl World {
    pub(super) fn dig(&mut self, mover_ref: MoverRef, seq: u32, now_us: i64) -> InputOutcome {
        let is_chest = |item| matches!(item, Item::Chest { .. });
        self.claim(mover_ref, seq, now_us, is_chest)
    }

    pub(super) fn grab(&mut self, mover_ref: MoverRef, seq: u32, now_us: i64) -> InputOutcome {
        let is_power_up = |item| matches!(item, Item::PowerUp(_));
        self.claim(mover_ref, seq, now_us, is_power_up)
    }

    fn claim(&mut self, mover_ref: MoverRef, seq: u32, now_us: i64, is_wanted: impl Fn(Item) -> bool) -> InputOutcome {
        let refused = |refusal| InputOutcome::Immediate(Err(refusal));
        let Some(hunt) = &mut self.hunt else { return refused(Refusal::NoHunt) };
        match (hunt.phase, hunt.round_change_group) {
            (RoundPhase::Running, None) if now_us < hunt.until.0.saturating_mul(1_000) => {}
            // Its end is as good as decided: it was committed with its beginning.
            (RoundPhase::Running, None) => return refused(Refusal::RoundOver),
            (RoundPhase::Running, Some(group)) => return InputOutcome::AfterCommit(group, Err(Refusal::RoundOver)),
            _ => return refused(Refusal::RoundOver),
        }
        let Some(mover) = self.crowd.get(mover_ref) else { return refused(Refusal::UnknownMover) };
        let Some(profile) = self.profiles.get(mover.profile()) else { return refused(Refusal::UnknownMover) };
        let number = match hunt.find_target(mover.cell(), profile.has_power_up(PowerUp::Magnet, now_us), is_wanted) {
            ClaimTarget::Free(number) => number,
            ClaimTarget::Claimed { group } => return InputOutcome::AfterCommit(group, Err(Refusal::Taken)),
            ClaimTarget::Gone => return refused(Refusal::Taken),
            ClaimTarget::Nothing => return refused(Refusal::NothingHere),
        };
        let Some(item) = hunt.item(number) else { return refused(Refusal::NothingHere) };
        let (hunter, round) = (profile.hunter(), hunt.number);
        let claim = Claim { hunter, seq, round, item: number, cell: mover.cell() };
        let at = UnixMs(now_us.div_euclid(1_000));
        let group = self.log.next_group();
        hunt.claim(number, group);
        let (fact, done) = match item {
            Item::Chest { points } => {
                let score = hunt.decide_points(&claim.hunter, u32::from(points));
                (Fact::Dug { at, claim, points: u32::from(points), score }, Done::Dug { points, score })
            }
            Item::PowerUp(kind) => {
                let until = at.plus(hunt.settings.power_up);
                (Fact::Grabbed { at, claim, kind, until }, Done::Grabbed { item: kind, until })
            }
        };
        self.log.push(fact, Some(mover_ref));
        InputOutcome::AfterCommit(group, Ok(done))
    }

    /// What is to be saved now; nothing while the last group is in flight. Moves continue meanwhile.
    pub fn take_claims(&mut self) -> Option<WorldAppend> {
        let (expected_version, rows) = self.log.take_group()?;
        let rows = (expected_version..).zip(rows).map(|(version, bytes)| WorldLogRow { version, bytes }).collect();
        Some(WorldAppend { id: self.id, epoch: self.epoch, expected_version, rows })
    }

    /// The group in flight is committed, and the log has so many rows ([`WorldAppend::version`]): from here on all
    /// viewers see it, and waiting answers are sent. A version that nothing waits for changes nothing.
    ///
    /// # Errors
    /// [`WorldLoadError`] when a fact does not follow on what was before, which breaks an invariant: the world is to leave
    /// memory.
    pub fn committed(&mut self, version: u32, now_us: i64, out: &mut Vec<Answer>) -> Result<(), WorldLoadError> {
        let first = self.log.committed();
        let Some(group) = self.log.complete(version) else { return Ok(()) };
        self.has_changed = true;
        for (version, decided) in (first..).zip(&group.facts) {
            self.reveal(decided, now_us).map_err(|why| WorldLoadError::Log { version, why })?;
        }
        for answer in &group.held_answers {
            self.stats.refused += u64::from(answer.result.is_err());
            self.record_answer(answer);
        }
        out.extend(group.held_answers);
        Ok(())
    }

    fn reveal(&mut self, decided: &DecidedFact, now_us: i64) -> Result<(), &'static str> {
        if let Some(hunt) = &mut self.hunt {
            hunt.apply(&decided.fact)?;
        }
        if let (Fact::Grabbed { kind, until, .. }, Some(mover_ref)) = (&decided.fact, decided.mover) {
            self.activate_power_up(mover_ref, *kind, *until, now_us);
        }
        Ok(())
    }

    /// A power-up becomes active for a mover.
    pub(super) fn activate_power_up(&mut self, mover_ref: MoverRef, kind: PowerUp, until: UnixMs, now_us: i64) {
        if let Some(profile) = self.profile_mut(mover_ref) {
            let until_us = until.0.saturating_mul(1_000);
            let helped = &mut profile.power_ups_until_us[usize::from(kind.code())];
            *helped = until_us.max(*helped).max(now_us);
        }
    }

    /// A held answer is sent now; a repeated input gets the same one.
    fn record_answer(&mut self, answer: &Answer) {
        if let Some(mover) = self.crowd.get_mut(answer.mover) {
            let behind = mover.next_seq.wrapping_sub(answer.seq) as usize;
            if (1..=MOVER_ANSWERS_KEPT).contains(&behind) {
                mover.answers.record(answer.seq, RecordedAnswer::Final(answer.result));
            }
        }
    }
}
