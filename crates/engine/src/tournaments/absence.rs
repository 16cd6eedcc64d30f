//! Bots that are paused when they should play: their pairings wait for them. How long, the caller decides: the fold knows no clock.

use crate::ids::BotId;
use crate::limits::TOURNAMENT_ABSENCES_MAX;
use crate::time::UnixMs;
use crate::tournaments::pairing::Pairing;
use crate::tournaments::refusal::Refusal;
use crate::tournaments::tournament::{Entrant, Phase, Tournament};

impl Tournament {
    /// Bots that are waited for, and since when.
    pub fn absent(&self) -> impl Iterator<Item = (BotId, UnixMs)> {
        let is_running = self.phase == Phase::Running;
        let active = self.active().filter(move |_| is_running);
        active.filter_map(|(_, entrant)| entrant.absent_since.map(|since| (entrant.info.bot, since)))
    }

    /// Whether a pairing would get a game now if this bot were there.
    #[must_use]
    pub fn is_due(&self, bot: BotId) -> bool {
        let Some(entrant) = self.entrant_of(bot) else { return false };
        let numbered = self.pairings.iter().enumerate().filter(|(_, pairing)| pairing.outcome.is_none());
        let mut own = numbered.filter(|(_, pairing)| pairing.entrants().any(|player| player == entrant));
        own.any(|(number, pairing)| self.judged(number, pairing).games_needed() > 0)
    }

    /// Whether the bot may be waited for once more.
    #[must_use]
    pub fn may_be_absent(&self, bot: BotId) -> bool {
        let entrant = self.entrant_of(bot).map(|at| &self.entrants[usize::from(at)]);
        entrant.is_some_and(|entrant| entrant.absences < TOURNAMENT_ABSENCES_MAX)
    }

    /// Whether a game of this pairing would have to be played without an entrant that is waited for.
    pub(super) fn is_held_up(&self, pairing: &Pairing) -> bool {
        pairing.entrants().map(|entrant| &self.entrants[usize::from(entrant)]).any(Entrant::is_absent)
    }

    pub(super) fn begin_absence(&mut self, bot: BotId, at: UnixMs) -> Result<(), Refusal> {
        let entrant = self.playing(bot)?;
        if entrant.absent_since.is_some() || entrant.absences >= TOURNAMENT_ABSENCES_MAX {
            return Err(Refusal::Inconsistent("a bot that cannot become absent"));
        }
        entrant.absent_since = Some(at);
        entrant.absences += 1;
        Ok(())
    }

    pub(super) fn end_absence(&mut self, bot: BotId) -> Result<(), Refusal> {
        let absence = self.playing(bot)?.absent_since.take();
        absence.map(|_| ()).ok_or(Refusal::Inconsistent("a bot returns that was not absent"))
    }

    fn playing(&mut self, bot: BotId) -> Result<&mut Entrant, Refusal> {
        let is_running = self.phase == Phase::Running;
        let at = self.entrant_of(bot).filter(|_| is_running).map(usize::from);
        let entrant = at.map(|at| &mut self.entrants[at]).filter(|entrant| !entrant.is_withdrawn());
        entrant.ok_or(Refusal::NotEntered)
    }
}
