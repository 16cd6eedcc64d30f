//! Claims in two phases: decided at once, so that nobody else gets the item; shown when the log has them.
//!
//! ```text
//! Lying ──dig──► Claimed ──take_claims──► (the store commits) ──committed──► Gone, and everybody is told
//!                   └── who comes later is answered with the same commit
//! ```
//!
//! If the commit fails, the world leaves memory as it is: nothing of it was shown, and whoever loads it next decides again.

use super::answers::First;
use super::apply::Outcome;
use super::facts::{Claim, Fact};
use super::hunt::Found;
use super::input::{Answer, Done, Seat};
use super::log::Decided;
use super::refusal::Refusal;
use super::rounds::RoundPhase;
use super::world::{Corrupt, World};
use crate::limits::MOVER_ANSWERS_KEPT;
use crate::rows::WorldLogRow;
use crate::time::UnixMs;
use rules::world::{Item, PowerUp};

/// What is to be saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Rows that the log must have before.
    pub expected_version: u32,
    /// The rows that follow.
    pub rows: Vec<WorldLogRow>,
}

impl Pending {
    /// Rows that the log has after it: what [`World::committed`] is told.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.expected_version + self.rows.len() as u32
    }
}

impl World {
    pub(super) fn dig(&mut self, seat: Seat, seq: u32, now_us: i64) -> Outcome {
        let is_chest = |item| matches!(item, Item::Chest { .. });
        self.claim(seat, seq, now_us, is_chest)
    }

    pub(super) fn grab(&mut self, seat: Seat, seq: u32, now_us: i64) -> Outcome {
        let is_power_up = |item| matches!(item, Item::PowerUp(_));
        self.claim(seat, seq, now_us, is_power_up)
    }

    fn claim(&mut self, seat: Seat, seq: u32, now_us: i64, is_wanted: impl Fn(Item) -> bool) -> Outcome {
        let Some(hunt) = &mut self.hunt else { return Outcome::Now(Err(Refusal::NoHunt)) };
        match (hunt.phase, hunt.turning) {
            (RoundPhase::Running, None) if now_us < hunt.until.0.saturating_mul(1_000) => {}
            // Its end is as good as decided: it was committed with its beginning.
            (RoundPhase::Running, None) => return Outcome::Now(Err(Refusal::RoundOver)),
            (RoundPhase::Running, Some(group)) => return Outcome::After(group, Err(Refusal::RoundOver)),
            _ => return Outcome::Now(Err(Refusal::RoundOver)),
        }
        let Some(mover) = self.crowd.get(seat) else { return Outcome::Now(Err(Refusal::Unknown)) };
        let Some(profile) = self.profiles.get(mover.profile()) else { return Outcome::Now(Err(Refusal::Unknown)) };
        let number = match hunt.find(mover.cell(), profile.has(PowerUp::Magnet, now_us), is_wanted) {
            Found::Free(number) => number,
            Found::Claimed { group } => return Outcome::After(group, Err(Refusal::Taken)),
            Found::Gone => return Outcome::Now(Err(Refusal::Taken)),
            Found::Nothing => return Outcome::Now(Err(Refusal::NothingHere)),
        };
        let Some(item) = hunt.item(number) else { return Outcome::Now(Err(Refusal::NothingHere)) };
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
                let until = at.after(hunt.settings.power_up);
                (Fact::Grabbed { at, claim, kind, until }, Done::Grabbed { item: kind, until })
            }
        };
        self.log.decide(fact, Some(seat));
        Outcome::After(group, Ok(done))
    }

    /// What is to be saved now; nothing while the last of it is on its way. Moves go on meanwhile.
    pub fn take_claims(&mut self) -> Option<Pending> {
        let (expected_version, rows) = self.log.take()?;
        let rows = (expected_version..).zip(rows).map(|(version, bytes)| WorldLogRow { version, bytes }).collect();
        Some(Pending { expected_version, rows })
    }

    /// What was on its way is committed, and the log has so many rows ([`Pending::version`]): from here on everybody sees it, and
    /// who waited for it is answered. A version that nothing waits for changes nothing.
    ///
    /// # Errors
    /// [`Corrupt`] when a fact does not follow on what was before, which breaks an invariant: the world is to leave memory.
    pub fn committed(&mut self, version: u32, now_us: i64, out: &mut Vec<Answer>) -> Result<(), Corrupt> {
        let first = self.log.committed();
        let Some(group) = self.log.land(version) else { return Ok(()) };
        self.has_changed = true;
        for (version, decided) in (first..).zip(&group.facts) {
            self.reveal(decided, now_us).map_err(|why| Corrupt::Log { version, why })?;
        }
        for answer in &group.held {
            self.stats.refused += u64::from(answer.result.is_err());
            self.keep_answer(answer);
        }
        out.extend(group.held);
        Ok(())
    }

    fn reveal(&mut self, decided: &Decided, now_us: i64) -> Result<(), &'static str> {
        if let Some(hunt) = &mut self.hunt {
            hunt.fold(&decided.fact)?;
        }
        if let (Fact::Grabbed { kind, until, .. }, Some(seat)) = (&decided.fact, decided.seat) {
            self.help(seat, *kind, *until, now_us);
        }
        Ok(())
    }

    /// A power-up helps somebody from now on.
    pub(super) fn help(&mut self, seat: Seat, kind: PowerUp, until: UnixMs, now_us: i64) {
        let profile = self.crowd.get(seat).and_then(super::crowd::Mover::profile);
        if let Some(profile) = self.profiles.get_mut(profile) {
            let until_us = until.0.saturating_mul(1_000);
            let helped = &mut profile.helped_until_us[usize::from(kind.code())];
            *helped = until_us.max(*helped).max(now_us);
        }
    }

    /// What was kept back is said now; who asks again is told the same.
    fn keep_answer(&mut self, answer: &Answer) {
        if let Some(mover) = self.crowd.get_mut(answer.seat) {
            let behind = mover.next_seq.wrapping_sub(answer.seq) as usize;
            if (1..=MOVER_ANSWERS_KEPT).contains(&behind) {
                mover.answers.keep(answer.seq, First::Said(answer.result));
            }
        }
    }
}
