//! When a pairing is decided, by what, and which games it still needs.

use crate::limits::{TOURNAMENT_SILENT_GAMES_MAX, TOURNAMENT_VOID_GAMES_MAX};
use crate::tournaments::definition::{Definition, TieBreak};
use crate::tournaments::pairing::{Decision, GameEnd, Outcome, Pairing, PairingStage};
use crate::tournaments::tournament::Entrant;
use rules::chance::{Chance, Dice, Purpose};
use std::cmp::Reverse;

/// A pairing with what its decision depends on.
pub(super) struct Judged<'a> {
    pub(super) definition: &'a Definition,
    pub(super) entrants: &'a [Entrant],
    pub(super) number: u32,
    pub(super) pairing: &'a Pairing,
}

/// What has been played of a pairing.
struct Progress {
    /// Games that count, draws included.
    played: u8,
    /// Games in which no entrant answered.
    silent: u8,
    void: u8,
    open: u8,
}

impl Judged<'_> {
    /// How it ended, if it has.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        if !self.pairing.is_ready() {
            return None;
        }
        let present = self.present();
        let came = self.pairing.entrants().count();
        let places = usize::from(self.pairing.places);
        let without_games = match (came, present.len()) {
            (0, _) => Some(Decision::Empty),
            (_, 0) => Some(Decision::DoubleWalkover),
            (1, _) => Some(Decision::Bye),
            (came, here) if here == 1 || (here < came && here <= places) => Some(Decision::Walkover),
            _ => None,
        };
        if let Some(decision) = without_games {
            return Some(Outcome { decision, ranking: self.ranked(&present).0 });
        }
        let progress = self.progress();
        if progress.open == 0 && progress.played == 0 && progress.silent >= TOURNAMENT_SILENT_GAMES_MAX {
            return Some(Outcome { decision: Decision::DoubleWalkover, ranking: Vec::new() });
        }
        let is_decided = if self.is_series() {
            let wins_needed = u16::from(self.definition.rules.best_of / 2 + 1);
            present.iter().any(|entrant| self.pairing.games_won(*entrant) >= wins_needed)
        } else {
            progress.open == 0 && progress.played >= self.definition.rules.best_of && self.ranked(&present).1.is_none()
        };
        if is_decided {
            return Some(Outcome { decision: Decision::Games, ranking: self.ranked(&present).0 });
        }
        let is_over = progress.open == 0 && self.is_exhausted(&progress);
        is_over.then(|| {
            let (ranking, tie) = self.ranked(&present);
            Outcome { decision: tie.map_or(Decision::Games, Decision::TieBreak), ranking }
        })
    }

    /// How many games it needs now, besides those that are queued or running: as many as must be played in any case.
    pub(super) fn games_needed(&self) -> u8 {
        if self.pairing.outcome.is_some() || !self.pairing.is_ready() {
            return 0;
        }
        let progress = self.progress();
        let rules = &self.definition.rules;
        let certain = if self.is_series() {
            let won = self.present().iter().map(|entrant| self.pairing.games_won(*entrant)).max().unwrap_or(0) as u8;
            (rules.best_of / 2 + 1).saturating_sub(won)
        } else {
            rules.best_of.saturating_sub(progress.played).max(1)
        };
        let room = (rules.best_of + rules.replays_max).saturating_sub(progress.played);
        // Should all of them fail, no more have failed than may.
        let failures = TOURNAMENT_VOID_GAMES_MAX.saturating_sub(progress.void + progress.silent);
        certain.min(room).min(failures).saturating_sub(progress.open)
    }

    /// Seats of its next game: those who are still there, one seat further in each game, and not always the better seed
    /// first.
    pub(super) fn seats(&self, game: usize) -> Vec<u16> {
        let mut seats = self.present();
        let shift = (game + self.number as usize) % seats.len().max(1);
        seats.rotate_left(shift);
        seats
    }

    fn present(&self) -> Vec<u16> {
        let is_here = |entrant: &u16| !self.entrants[usize::from(*entrant)].is_withdrawn();
        self.pairing.entrants().filter(is_here).collect()
    }

    /// Whether games are won one by one until one side has most of them; a game of several has points instead.
    fn is_series(&self) -> bool {
        self.pairing.stage != PairingStage::Heat
    }

    fn progress(&self) -> Progress {
        let mut progress = Progress { played: 0, silent: 0, void: 0, open: 0 };
        for game in &self.pairing.games {
            match &game.end {
                None => progress.open += 1,
                Some(GameEnd::Void(_)) => progress.void += 1,
                Some(GameEnd::Played(_)) if game.is_silent() => progress.silent += 1,
                Some(GameEnd::Played(_)) => progress.played += 1,
            }
        }
        progress
    }

    fn is_exhausted(&self, progress: &Progress) -> bool {
        let rules = &self.definition.rules;
        progress.played >= rules.best_of + rules.replays_max
            || progress.silent >= TOURNAMENT_SILENT_GAMES_MAX
            || progress.void + progress.silent >= TOURNAMENT_VOID_GAMES_MAX
    }

    /// These, best first, and the rule that was needed to tell apart those who go on and those who do not.
    fn ranked(&self, present: &[u16]) -> (Vec<u16>, Option<TieBreak>) {
        let games = |entrant: u16| {
            if self.is_series() {
                u32::from(self.pairing.games_won(entrant))
            } else {
                self.pairing.games.iter().map(|game| game.points(entrant)).sum()
            }
        };
        let tie_breaks = &self.definition.rules.tie_breaks;
        let lots = if tie_breaks.contains(&TieBreak::Lot) { self.lots(present) } else { Vec::new() };
        let criterion = |rule: TieBreak, entrant: u16| match rule {
            TieBreak::Food => u64::MAX - u64::from(self.pairing.food(entrant)),
            TieBreak::Seed => u64::from(self.entrants[usize::from(entrant)].seed),
            TieBreak::Lot => lots.iter().position(|drawn| *drawn == entrant).map_or(u64::MAX, |at| at as u64),
        };
        let keys = |entrant: u16| tie_breaks.iter().map(|rule| criterion(*rule, entrant)).collect::<Vec<_>>();
        let mut ranking = present.to_vec();
        ranking.sort_by_cached_key(|entrant| (Reverse(games(*entrant)), keys(*entrant)));
        let cut = usize::from(self.pairing.places).max(1);
        let at_the_cut = ranking.get(cut - 1).copied().zip(ranking.get(cut).copied());
        let tie = at_the_cut.filter(|(in_, out)| games(*in_) == games(*out)).and_then(|(in_, out)| {
            tie_breaks.iter().copied().find(|rule| criterion(*rule, in_) != criterion(*rule, out))
        });
        (ranking, tie)
    }

    /// A random order of these, out of the tournament's seed.
    fn lots(&self, present: &[u16]) -> Vec<u16> {
        let mut lots = present.to_vec();
        lots.sort_unstable();
        Chance::new(self.definition.seed, self.number, Purpose::TournamentLot).shuffle(&mut lots);
        lots
    }
}
