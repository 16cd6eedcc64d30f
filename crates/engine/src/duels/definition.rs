//! What a duel is about, fixed when it is created: who plays what, and when it ends.

use super::game_key::GameKey;
use super::sprt::{Sprt, SprtError};
use crate::competitions::{CompetitionKind, MatchOrigin};
use crate::digest::digest;
use crate::ids::{BotId, CompetitionId, MatchId};
use crate::limits::{DUEL_BOTS_MAX, DUEL_GAMES_MAX, DUEL_PAIRS_AT_ONCE_MAX};
use crate::matches::settings::MatchSettings;
use crate::matches::spec::{MatchSpec, SeatSpec};
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed};
use rules::chance::Seed;
use rules::snake::RuleError;

const FORMAT: u8 = 1;

/// A bot of a duel, as it was when the duel was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuelBot {
    /// The registered bot; for one that was named by its URL alone, an id that only this duel knows.
    pub bot: BotId,
    pub name: String,
    /// The name of its account; empty for a bot that is not registered.
    pub owner: String,
    pub url: String,
    /// Whether it is registered. If so, it is only called for as long as the duel's owner may use it.
    pub is_registered: bool,
}
packed!(DuelBot { bot, name, owner, url, is_registered });

/// Who plays, what is played, and when it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct DuelDefinition {
    /// Two: the baseline, then the candidate. More: a league.
    pub bots: Vec<DuelBot>,
    /// What is played, as in a match of two.
    pub settings: MatchSettings,
    /// The seeds of all games follow from it.
    pub seed: Seed,
    /// Between two bots: the question. A league has none.
    pub test: Option<Sprt>,
    /// Pairs that are played of each pairing: at most, where a test may end it sooner.
    pub pairs_max: u32,
    /// Pairs that are played at the same time.
    pub pairs_at_once: u32,
    /// Whether its games are public.
    pub is_public: bool,
}
packed!(DuelDefinition { bots, settings, seed, test, pairs_max, pairs_at_once, is_public });

/// Why a duel cannot be played as it was asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DefinitionError {
    #[error("a duel has 2 bots, a league up to {DUEL_BOTS_MAX}")]
    Bots,
    #[error("two bots are tested, a league is not: every two of it play a fixed number of pairs")]
    Test,
    #[error("all pairings together have 1 to {} pairs: two games each, {DUEL_GAMES_MAX} in all", DUEL_GAMES_MAX / 2)]
    Pairs,
    #[error("1 to {DUEL_PAIRS_AT_ONCE_MAX} pairs can be played at once")]
    PairsAtOnce,
    #[error(transparent)]
    Sprt(#[from] SprtError),
    #[error(transparent)]
    Rules(#[from] RuleError),
}

impl DuelDefinition {
    /// # Errors
    /// The first [`DefinitionError`] that applies.
    pub fn validate(&self) -> Result<(), DefinitionError> {
        if !(2..=DUEL_BOTS_MAX).contains(&self.bots.len()) {
            return Err(DefinitionError::Bots);
        }
        if self.test.is_some() != (self.bots.len() == 2) {
            return Err(DefinitionError::Test);
        }
        let games = (self.pairings().len() as u64).saturating_mul(u64::from(self.pairs_max)).saturating_mul(2);
        if self.pairs_max == 0 || games > u64::from(DUEL_GAMES_MAX) {
            return Err(DefinitionError::Pairs);
        }
        if !(1..=DUEL_PAIRS_AT_ONCE_MAX).contains(&self.pairs_at_once) {
            return Err(DefinitionError::PairsAtOnce);
        }
        if let Some(test) = &self.test {
            test.validate()?;
        }
        Ok(self.settings.validate(2)?)
    }

    /// Every two bots, by their places in [`DuelDefinition::bots`], the lower first. Scores are those of the second.
    #[must_use]
    pub fn pairings(&self) -> Vec<(usize, usize)> {
        let count = self.bots.len();
        (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second))).collect()
    }

    /// The seed of both games of a pair; the same again when one of them is repeated.
    #[must_use]
    pub fn pair_seed(&self, key: GameKey) -> Seed {
        let hashed = digest(&format!("duel {} {} {}", self.seed.0, key.pairing, key.pair));
        Seed(u64::from_be_bytes(std::array::from_fn(|at| hashed[at])))
    }

    /// The places of the bots in this game, by seat.
    #[must_use]
    pub fn seats(&self, key: GameKey) -> Option<[usize; 2]> {
        let (first, second) = *self.pairings().get(usize::from(key.pairing))?;
        Some(if key.game == 0 { [first, second] } else { [second, first] })
    }

    /// The match of this game. `None` where the duel has no such pairing.
    #[must_use]
    pub fn match_spec(&self, duel: CompetitionId, key: GameKey, id: MatchId) -> Option<MatchSpec> {
        let seat = |place: usize| {
            let DuelBot { bot, name, owner, url, .. } = self.bots[place].clone();
            SeatSpec { bot, name, owner, url }
        };
        let origin = MatchOrigin { kind: CompetitionKind::Duel, competition: duel, key: key.to_u64() };
        let seats = self.seats(key)?.map(seat).into();
        Some(self.settings.spec(id, self.pair_seed(key), Some(origin), seats, self.is_public))
    }

    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use rules::snake::Rules;

    pub(crate) fn definition(bots: usize) -> DuelDefinition {
        let bot = |number: usize| DuelBot {
            bot: BotId(number as u128 + 1),
            name: format!("bot {number}"),
            owner: if number == 1 { "ann".to_owned() } else { String::new() },
            url: format!("http://127.0.0.1:4100/{number}"),
            is_registered: number == 1,
        };
        DuelDefinition {
            bots: (0..bots).map(bot).collect(),
            settings: MatchSettings {
                rules: Rules::default(),
                width: 11,
                height: 11,
                timeout_ms: 500,
                turns_max: 1_000,
            },
            seed: Seed(7),
            test: (bots == 2).then(Sprt::default),
            pairs_max: 100,
            pairs_at_once: 4,
            is_public: bots == 3,
        }
    }

    #[test]
    fn it_is_read_back() {
        for bots in [2, 3, DUEL_BOTS_MAX] {
            let mut want = definition(bots);
            want.settings.rules.settings.hazard_damage_per_turn = -30;
            assert_eq!(DuelDefinition::decode(&want.encode()), Ok(want));
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut DuelDefinition), want: impl Into<Option<DefinitionError>>) {
        let mut changed = definition(2);
        change(&mut changed);
        assert_eq!(changed.validate().err(), want.into());
    }

    #[test]
    fn what_cannot_be_played_is_refused() {
        check(|_| (), None);
        check(|duel| duel.bots.truncate(1), DefinitionError::Bots);
        check(|duel| *duel = definition(DUEL_BOTS_MAX + 1), DefinitionError::Bots);
        check(|duel| duel.test = None, DefinitionError::Test);
        check(|duel| duel.bots = definition(3).bots, DefinitionError::Test);
        check(|duel| duel.pairs_max = 0, DefinitionError::Pairs);
        check(|duel| duel.pairs_max = DUEL_GAMES_MAX / 2 + 1, DefinitionError::Pairs);
        check(|duel| duel.pairs_at_once = 0, DefinitionError::PairsAtOnce);
        check(|duel| duel.pairs_at_once = DUEL_PAIRS_AT_ONCE_MAX + 1, DefinitionError::PairsAtOnce);
        check(|duel| duel.test = Some(Sprt { elo1: 0.0, ..Sprt::default() }), DefinitionError::Sprt(SprtError::Gap));
    }

    #[test]
    fn a_pair_is_one_seed_with_seats_exchanged() {
        let duel = definition(3);
        let spec = |pairing, pair, game, attempt| {
            let key = GameKey { pairing, pair, game, attempt };
            duel.match_spec(CompetitionId(9), key, MatchId(1)).expect("a pairing of three")
        };
        let (one, other, repeated) = (spec(2, 5, 0, 0), spec(2, 5, 1, 0), spec(2, 5, 0, 1));
        assert_eq!((one.seed, one.seed), (other.seed, repeated.seed));
        assert_eq!(one.seats, repeated.seats);
        assert_eq!([&one.seats[0], &one.seats[1]], [&other.seats[1], &other.seats[0]]);
        assert_eq!([one.seats[0].bot, one.seats[1].bot], [BotId(2), BotId(3)]);
        assert_ne!(one.seed, spec(2, 6, 0, 0).seed);
        assert_ne!(one.seed, spec(1, 5, 0, 0).seed);
        assert_eq!(one.validate(), Ok(()));
        let beyond = GameKey { pairing: 3, pair: 0, game: 0, attempt: 0 };
        assert_eq!(duel.match_spec(CompetitionId(9), beyond, MatchId(1)), None);
    }
}
