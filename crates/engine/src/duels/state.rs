//! A duel as its definition and its log have it.

use super::definition::DuelDefinition;
use super::entry::{DuelEnd, Entry, GameOutcome, GameResult, PairOutcome, SilentAnswer, StartedGame};
use super::game_key::GameKey;
use super::pair_counts::PairCounts;
use crate::ids::MatchId;
use crate::limits::{DUEL_GAME_ATTEMPTS_MAX, DUEL_SILENT_GAMES_MAX};
use std::collections::BTreeMap;

/// A log that cannot be this duel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log names pairing {pairing}, and the duel has none of this number")]
pub struct CorruptLog {
    pub pairing: u8,
}

/// Where a duel is.
#[derive(Clone, Debug, PartialEq)]
pub struct Duel {
    definition: DuelDefinition,
    pub(super) pairings: Vec<PairingState>,
    pub(super) in_flight: BTreeMap<GameKey, MatchId>,
    games_repeated: u32,
    /// By bot.
    silences: Vec<Silence>,
    end: Option<DuelEnd>,
}

/// How long a bot has given no valid move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Silence {
    /// Games in a row.
    pub games: u8,
    /// What came instead of a move, in the last of them.
    pub answer: Option<SilentAnswer>,
}

/// Two bots of a duel, and what they played.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairingState {
    /// What counts, in the order of the pairs.
    outcomes: Vec<PairOutcome>,
    counts: PairCounts,
    wins: u32,
    draws: u32,
    losses: u32,
    /// Pairs that were started and do not count yet.
    pub(super) open: BTreeMap<u32, OpenPair>,
    pub(super) pairs_started: u32,
}

/// A pair that was started and does not count yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenPair {
    pub(super) games: [PairGame; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PairGame {
    /// How often it was started.
    pub(super) attempts: u8,
    is_in_flight: bool,
    half_points: Option<u8>,
}

impl PairGame {
    /// Whether it must be started, for the first time or again.
    pub(super) fn is_startable(self) -> bool {
        !self.is_in_flight && self.half_points.is_none() && self.attempts < DUEL_GAME_ATTEMPTS_MAX
    }

    fn is_given_up(self) -> bool {
        !self.is_in_flight && self.half_points.is_none() && self.attempts >= DUEL_GAME_ATTEMPTS_MAX
    }
}

impl OpenPair {
    /// What the pair is worth, once that is known.
    pub(super) fn outcome(&self) -> Option<PairOutcome> {
        if self.games.iter().any(|game| game.is_given_up()) {
            return Some(PairOutcome::Void);
        }
        let [one, other] = self.games.map(|game| game.half_points);
        Some(PairOutcome::Played([one?, other?]))
    }
}

impl PairingState {
    /// What counts, in the order of the pairs, void ones too.
    #[must_use]
    pub fn outcomes(&self) -> &[PairOutcome] {
        &self.outcomes
    }

    /// Pairs that count, by their score for the second bot.
    #[must_use]
    pub fn counts(&self) -> &PairCounts {
        &self.counts
    }

    /// Wins, draws and losses of the second bot in the games that count.
    #[must_use]
    pub fn games(&self) -> [u32; 3] {
        [self.wins, self.draws, self.losses]
    }

    pub(super) fn count(&mut self, outcome: PairOutcome) {
        self.open.remove(&(self.outcomes.len() as u32));
        self.outcomes.push(outcome);
        if let PairOutcome::Played(half_points) = outcome {
            self.counts.add(half_points[0] + half_points[1]);
            for half_points in half_points {
                *[&mut self.losses, &mut self.draws, &mut self.wins][usize::from(half_points.min(2))] += 1;
            }
        }
    }

    /// Pairs that could not be played.
    #[must_use]
    pub fn void_pairs(&self) -> u32 {
        self.outcomes.len() as u32 - self.counts.pairs()
    }
}

impl Duel {
    /// One that has not begun.
    #[must_use]
    pub fn new(definition: DuelDefinition) -> Self {
        let pairings = vec![PairingState::default(); definition.pairings().len()];
        let silences = vec![Silence::default(); definition.bots.len()];
        Self { definition, pairings, in_flight: BTreeMap::new(), games_repeated: 0, silences, end: None }
    }

    /// Takes the next entry of the log.
    ///
    /// # Errors
    /// [`CorruptLog`]; nothing has changed then, or only a part of the entry is applied.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), CorruptLog> {
        match entry {
            Entry::Started { games } => games.iter().try_for_each(|game| self.start(game)),
            Entry::Ended { games } => games.iter().try_for_each(|game| self.end_game(game)),
            Entry::Counted { pairing, pairs } => {
                let state = self.pairing_mut(*pairing)?;
                pairs.iter().for_each(|pair| state.count(*pair));
                Ok(())
            }
            Entry::Over { end } => {
                self.end = Some(*end);
                Ok(())
            }
            Entry::Silent { bot, answer } => {
                if let Some(silence) = self.silences.get_mut(usize::from(*bot)) {
                    silence.games = silence.games.saturating_add(1);
                    silence.answer = Some(answer.clone());
                }
                Ok(())
            }
        }
    }

    fn pairing_mut(&mut self, pairing: u8) -> Result<&mut PairingState, CorruptLog> {
        self.pairings.get_mut(usize::from(pairing)).ok_or(CorruptLog { pairing })
    }

    fn start(&mut self, started: &StartedGame) -> Result<(), CorruptLog> {
        let GameKey { pairing, pair, game, attempt } = started.key;
        let state = self.pairing_mut(pairing)?;
        state.pairs_started = state.pairs_started.max(pair + 1);
        let open = state.open.entry(pair).or_default();
        let game = &mut open.games[usize::from(game)];
        *game = PairGame { attempts: attempt.saturating_add(1), is_in_flight: true, half_points: None };
        self.games_repeated += u32::from(attempt > 0);
        self.in_flight.insert(started.key, started.match_id);
        Ok(())
    }

    fn end_game(&mut self, ended: &GameResult) -> Result<(), CorruptLog> {
        let GameKey { pairing, pair, game, .. } = ended.key;
        self.in_flight.remove(&ended.key);
        if let GameOutcome::Played(_) = ended.outcome
            && let Some(&(first, second)) = self.definition.pairings().get(usize::from(pairing))
        {
            for bot in [first, second] {
                self.silences[bot] = Silence::default();
            }
        }
        // The pair may have been given up because of its other game.
        if let Some(open) = self.pairing_mut(pairing)?.open.get_mut(&pair) {
            let game = &mut open.games[usize::from(game)];
            game.is_in_flight = false;
            if let GameOutcome::Played(half_points) = ended.outcome {
                game.half_points = Some(half_points);
            }
        }
        Ok(())
    }

    #[must_use]
    pub fn definition(&self) -> &DuelDefinition {
        &self.definition
    }

    /// In the order of [`DuelDefinition::pairings`].
    #[must_use]
    pub fn pairings(&self) -> &[PairingState] {
        &self.pairings
    }

    /// Why it is over, once it is.
    #[must_use]
    pub fn end(&self) -> Option<DuelEnd> {
        self.end
    }

    /// Games that were started and have not ended, as far as the log knows.
    pub fn games_in_flight(&self) -> impl ExactSizeIterator<Item = StartedGame> {
        self.in_flight.iter().map(|(key, match_id)| StartedGame { key: *key, match_id: *match_id })
    }

    /// The bot, by its place, that has given no valid move for as long as a duel bears.
    #[must_use]
    pub fn silent_bot(&self) -> Option<(usize, &Silence)> {
        self.silences.iter().enumerate().find(|(_, silence)| silence.games >= DUEL_SILENT_GAMES_MAX)
    }

    /// Games that were started again because the attempt before said nothing about the bots.
    #[must_use]
    pub fn games_repeated(&self) -> u32 {
        self.games_repeated
    }
}
