//! Who stands where.
//!
//! Where everyone plays on (Swiss, round robin, groups): points, then in a Swiss tournament the points of the opponents (Buchholz),
//! elsewhere the points against those with as many points (direct encounter), then the points of those who were beaten
//! (Sonneborn-Berger), games won less games lost, the better seed. A bye is a point; it counts as an opponent with as many points as
//! one has oneself. Where a defeat is the end: who lasted longer.
//! Who left stands behind all who stayed on.

use crate::tournaments::definition::Format;
use crate::tournaments::pairing::{Decision, Pairing, PairingStage};
use crate::tournaments::tournament::{Phase, Tournament};
use std::cmp::Reverse;

/// One line of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub entrant: u16,
    /// From 1; equals share it. `None` while the entrant can still win or lose in a bracket.
    pub place: Option<u16>,
    /// Pairings won, byes and walkovers included.
    pub points: u32,
    pub losses: u32,
    pub byes: u32,
    /// Points of the opponents.
    pub buchholz: u32,
    /// Points of the opponents who were beaten.
    pub sonneborn_berger: u32,
    /// Points against those with as many points.
    pub direct_encounter: u32,
    pub games_won: u32,
    pub games_lost: u32,
    pub food: u32,
}

impl Tournament {
    /// The table, best first.
    #[must_use]
    pub fn standings(&self) -> Vec<Standing> {
        let all: Vec<&Pairing> = self.pairings.iter().collect();
        match self.definition.format {
            Format::Swiss { .. } | Format::RoundRobin => {
                let mut table = self.table(&self.field, &all);
                for (standing, place) in table.iter_mut().zip(1..) {
                    standing.place = Some(place);
                }
                table
            }
            Format::SingleElimination { .. }
            | Format::Heats { .. }
            | Format::DoubleElimination { .. }
            | Format::Groups { .. } => self.elimination_table(&all),
        }
    }

    /// The entrants of a group, best first.
    #[must_use]
    pub fn group_table(&self, group: u16) -> Vec<Standing> {
        let pairings: Vec<&Pairing> =
            self.pairings.iter().filter(|pairing| pairing.stage == PairingStage::Group(group)).collect();
        let Format::Groups { groups, .. } = self.definition.format else { return Vec::new() };
        let split = crate::tournaments::group_stage::split(&self.field, groups);
        let field = split.get(usize::from(group)).cloned().unwrap_or_default();
        let mut table = self.table(&field, &pairings);
        for (standing, place) in table.iter_mut().zip(1..) {
            standing.place = Some(place);
        }
        table
    }

    /// Those of a group who are still in the tournament, best first.
    pub(super) fn group_ranking(&self, group: u16) -> Vec<u16> {
        let entrants = self.group_table(group).into_iter().map(|standing| standing.entrant);
        entrants.filter(|entrant| !self.entrants[usize::from(*entrant)].is_withdrawn()).collect()
    }

    /// Points and what tells apart those with as many, best first.
    fn table(&self, field: &[u16], pairings: &[&Pairing]) -> Vec<Standing> {
        let mut by_entrant = self.counted(pairings);
        let counted = by_entrant.clone();
        let points = |entrant: u16| counted[usize::from(entrant)].points;
        for pairing in pairings {
            let Some(outcome) = &pairing.outcome else { continue };
            let entrants: Vec<u16> = pairing.entrants().collect();
            for own in entrants.iter().copied() {
                let line = &mut by_entrant[usize::from(own)];
                if outcome.decision == Decision::Bye {
                    line.buchholz += points(own);
                    line.sonneborn_berger += points(own);
                }
                for other in entrants.iter().copied().filter(|other| *other != own) {
                    let has_won = pairing.winner() == Some(own);
                    line.buchholz += points(other);
                    line.sonneborn_berger += if has_won { points(other) } else { 0 };
                    line.direct_encounter += u32::from(has_won && points(other) == points(own));
                }
            }
        }
        let is_swiss = matches!(self.definition.format, Format::Swiss { .. });
        let mut table: Vec<Standing> = field.iter().map(|entrant| by_entrant[usize::from(*entrant)].clone()).collect();
        table.sort_by_cached_key(|line| {
            let entrant = &self.entrants[usize::from(line.entrant)];
            let first = if is_swiss { line.buchholz } else { line.direct_encounter };
            let games = i64::from(line.games_won) - i64::from(line.games_lost);
            let strength = (line.points, first, line.sonneborn_berger, games);
            (entrant.is_withdrawn(), Reverse(strength), entrant.seed)
        });
        table
    }

    /// What each entrant has won and lost, by its number.
    fn counted(&self, pairings: &[&Pairing]) -> Vec<Standing> {
        let mut counted: Vec<Standing> =
            (0..self.entrants.len()).map(|at| Standing { entrant: at as u16, ..Standing::default() }).collect();
        for pairing in pairings {
            for entrant in pairing.entrants() {
                let line = &mut counted[usize::from(entrant)];
                let won = u32::from(pairing.games_won(entrant));
                let decided = pairing.games.iter().filter(|game| game.winner().is_some());
                let played = decided.filter(|game| game.seats.contains(&entrant)).count() as u32;
                line.games_won += won;
                line.games_lost += played - won;
                line.food += pairing.food(entrant);
                let Some(outcome) = &pairing.outcome else { continue };
                let has_won = outcome.ranking.first() == Some(&entrant);
                line.points += u32::from(has_won);
                line.losses += u32::from(!has_won && outcome.decision != Decision::NotNeeded);
                line.byes += u32::from(outcome.decision == Decision::Bye);
            }
        }
        counted
    }

    /// Who lasted longer stands before the others; those who went out at the same point share a place.
    fn elimination_table(&self, pairings: &[&Pairing]) -> Vec<Standing> {
        let counted = self.counted(pairings);
        let in_groups = self.ranks_in_groups();
        let progress: Vec<_> = (0..self.entrants.len()).map(|at| self.progress(at as u16, &in_groups)).collect();
        let is_still_in = |entrant: u16| self.phase() == Phase::Running && progress[usize::from(entrant)].is_still_in;
        let key = |entrant: u16| {
            let is_withdrawn = self.entrants[usize::from(entrant)].is_withdrawn();
            (Reverse(is_still_in(entrant)), Reverse(progress[usize::from(entrant)].reached), is_withdrawn)
        };
        let mut order = self.field.clone();
        order.sort_by_key(|entrant| (key(*entrant), self.entrants[usize::from(*entrant)].seed));
        let place = |entrant: u16| order.iter().position(|other| key(*other) == key(entrant)).map(|at| at as u16 + 1);
        let line = |entrant: &u16| Standing {
            place: place(*entrant).filter(|_| !is_still_in(*entrant)),
            ..counted[usize::from(*entrant)].clone()
        };
        order.iter().map(line).collect()
    }

    /// The rank of each entrant in the table of its group, from 0, by its number; `None` without groups.
    fn ranks_in_groups(&self) -> Vec<Option<usize>> {
        let mut ranks = vec![None; self.entrants.len()];
        if let Format::Groups { groups, .. } = self.definition.format {
            for line in (0..groups).flat_map(|group| self.group_table(group)) {
                ranks[usize::from(line.entrant)] = line.place.map(|place| usize::from(place) - 1);
            }
        }
        ranks
    }

    fn progress(&self, entrant: u16, in_groups: &[Option<usize>]) -> Progress {
        let mine = |pairing: &&Pairing| {
            let is_played = pairing.outcome.as_ref().is_none_or(|outcome| outcome.decision != Decision::NotNeeded);
            is_played && pairing.entrants().any(|player| player == entrant)
        };
        let Some(last) = self.pairings.iter().rev().find(mine) else {
            return Progress { is_still_in: true, reached: (0, 0) };
        };
        let rank = last.outcome.as_ref().map(|outcome| outcome.ranking.iter().position(|other| *other == entrant));
        // Who won, or went on from a heat, without a further pairing yet; who lost, with one to come, is in it by then.
        let is_still_in = match rank {
            None => true,
            Some(rank) => match last.stage {
                PairingStage::Group(_) => !self.pairings.iter().any(|pairing| pairing.stage == PairingStage::Winners),
                _ => rank.is_some_and(|rank| rank < usize::from(last.places)),
            },
        };
        // Better ranks count more; in a group, the place in its table.
        let rank = match last.stage {
            PairingStage::Group(_) => in_groups[usize::from(entrant)],
            _ => rank.flatten(),
        };
        let within = rank.map_or(0, |rank| u32::MAX - rank as u32);
        Progress { is_still_in, reached: (self.depth(last), within) }
    }

    /// How far a pairing is on the way to the title; going out in a later one is better.
    fn depth(&self, pairing: &Pairing) -> u32 {
        let round = u32::from(pairing.round);
        let is_double = matches!(self.definition.format, Format::DoubleElimination { .. });
        match pairing.stage {
            PairingStage::Group(_) => 0,
            // A loser goes on in the round of the others that takes the losers of this one.
            PairingStage::Winners if is_double => 2 * (2 * round).saturating_sub(2).max(1),
            PairingStage::Losers => 2 * round,
            PairingStage::Winners | PairingStage::Heat | PairingStage::RoundRobin | PairingStage::Swiss => 2 * round,
            // Behind the finalists, before all others.
            PairingStage::ThirdPlace => 2 * round - 1,
            PairingStage::GrandFinal => u32::MAX - 1,
            PairingStage::FinalReset => u32::MAX,
        }
    }
}

/// How far an entrant came.
struct Progress {
    is_still_in: bool,
    reached: (u32, u32),
}
