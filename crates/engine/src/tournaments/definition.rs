//! What a tournament is: its format, who may enter, what is played. Fixed when it is created.

use crate::ids::CompetitionId;
use crate::limits::{
    SEATS_MAX, TOURNAMENT_BEST_OF_MAX, TOURNAMENT_ENTRANTS_MAX, TOURNAMENT_GAME_DEADLINE_MAX,
    TOURNAMENT_GAME_DEADLINE_MIN, TOURNAMENT_GAMES_AT_ONCE_MAX, TOURNAMENT_GAMES_MAX, TOURNAMENT_REPLAYS_MAX,
    TOURNAMENT_ROUND_ROBIN_MAX, TOURNAMENT_SWISS_ROUNDS_MAX, TOURNAMENT_VOID_GAMES_MAX,
};
use crate::matches::settings::MatchSettings;
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed, packed_variants};
use crate::time::UnixMs;
use rules::chance::Seed;
use std::time::Duration;

const DEFINITION_FORMAT: u8 = 1;

/// How the field is played down to a champion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Who loses a pairing is out.
    SingleElimination {
        /// Whether the losers of the semifinals play for the third place.
        third_place: bool,
    },
    /// Games of more than two: the best of each heat meet again in the next round.
    Heats {
        /// Bots in one game, at the most.
        size: u8,
        /// How many of a heat go on, at the most; never more than half of it, rounded up.
        advance: u8,
    },
    /// Who loses twice is out.
    DoubleElimination {
        /// Whether the final is played a second time when the one without a defeat loses the first.
        final_reset: bool,
    },
    /// In each round everyone plays an opponent with about as many points, and none a second time while that can be avoided.
    Swiss {
        /// 0: as many as an elimination would take, the logarithm of the field to the base 2, rounded up.
        rounds: u16,
    },
    /// Everyone plays everyone once.
    RoundRobin,
    /// Round robins in groups, whose best play a single elimination.
    Groups {
        groups: u16,
        /// How many of each group go on.
        advance: u8,
        /// Whether the losers of the semifinals play for the third place.
        third_place: bool,
    },
}
packed_variants!(Format {
    1 => SingleElimination { third_place },
    2 => Heats { size, advance },
    3 => DoubleElimination { final_reset },
    4 => Swiss { rounds },
    5 => RoundRobin {},
    6 => Groups { groups, advance, third_place },
});

/// What decides a pairing after all its games, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieBreak {
    /// More food eaten in the games of this pairing.
    Food,
    /// The better seed: always decides.
    Seed,
    /// A lot out of the tournament's stored seed: always decides.
    Lot,
}
packed_variants!(TieBreak { 1 => Food {}, 2 => Seed {}, 3 => Lot {} });

/// Who gets which seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seeding {
    /// By lot, out of the tournament's stored seed.
    Random,
    /// The organizer's list; those who are not on it follow in the order of their entries.
    Manual,
    /// The order of this ladder; those who are not ranked there follow by lot.
    Ladder { ladder: CompetitionId },
}
packed_variants!(Seeding { 1 => Random {}, 2 => Manual {}, 3 => Ladder { ladder } });

/// Who may enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryRule {
    /// Every account with its own bots; the organizer with public bots of others too.
    Open,
    /// The organizer, and the accounts that were invited.
    Invited,
}
packed_variants!(EntryRule { 1 => Open {}, 2 => Invited {} });

/// How pairings are decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TournamentRules {
    /// Games of a pairing; who has won more than half of them has won it. Odd.
    pub best_of: u8,
    /// Drawn games of a pairing that are played again.
    pub replays_max: u8,
    /// What decides after that. The last one always decides.
    pub tie_breaks: Vec<TieBreak>,
    /// How long a game is played, from its first `/start`, before its board decides it.
    pub game_deadline: Duration,
    /// Games in the queue or running at once.
    pub games_at_once: u16,
}
packed!(TournamentRules { best_of, replays_max, tie_breaks, game_deadline, games_at_once });

/// A tournament before anything has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub format: Format,
    pub rules: TournamentRules,
    pub seeding: Seeding,
    pub entry_rule: EntryRule,
    /// With fewer at its start, it is cancelled.
    pub entrants_min: u16,
    pub entrants_max: u16,
    /// Bots that one account may enter; the organizer may enter as many as fit.
    pub entrants_per_account_max: u16,
    /// When it starts by itself; `None`: when its organizer starts it.
    pub starts_at: Option<UnixMs>,
    /// Where all chance of the tournament comes from, the seeds of its games included.
    pub seed: Seed,
    pub game: MatchSettings,
}
packed!(Definition {
    format,
    rules,
    seeding,
    entry_rule,
    entrants_min,
    entrants_max,
    entrants_per_account_max,
    starts_at,
    seed,
    game
});

/// A field of a definition that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    /// As in the JSON of the request.
    pub field: &'static str,
    /// What was expected.
    pub reason: String,
}

impl Definition {
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(DEFINITION_FORMAT, self)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(DEFINITION_FORMAT, bytes)
    }

    /// Everything that is wrong with it.
    ///
    /// # Errors
    /// All that is wrong: a field may have several errors, each with what was expected.
    pub fn validate(&self) -> Result<(), Vec<DefinitionError>> {
        let mut errors = Vec::new();
        self.validate_field_sizes(&mut errors);
        self.validate_rules(&mut errors);
        for snakes in self.format.seats() {
            let Err(error) = self.game.validate(snakes) else { continue };
            let error = DefinitionError { field: "game", reason: error.to_string() };
            // Most errors do not depend on how many bots meet.
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
        // What is wrong with the field makes its games meaningless.
        if errors.is_empty() && self.games_max() > u64::from(TOURNAMENT_GAMES_MAX) {
            let reason = format!(
                "with every draw and failure this may need {} games, and at most {TOURNAMENT_GAMES_MAX} are played: \
                 fewer entrants, games or replays",
                self.games_max()
            );
            errors.push(DefinitionError { field: "entrants_max", reason });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn validate_field_sizes(&self, errors: &mut Vec<DefinitionError>) {
        let mut expect = |is_right: bool, field, reason: String| {
            if !is_right {
                errors.push(DefinitionError { field, reason });
            }
        };
        let most = match self.format {
            Format::RoundRobin => TOURNAMENT_ROUND_ROBIN_MAX,
            _ => TOURNAMENT_ENTRANTS_MAX,
        };
        let least = match self.format {
            Format::Groups { groups, .. } => groups.saturating_mul(2),
            _ => 2,
        };
        let max = self.entrants_max;
        expect((least.max(2)..=most).contains(&max), "entrants_max", format!("expected {least} to {most}"));
        let min = self.entrants_min;
        expect((least..=max).contains(&min), "entrants_min", format!("expected {least} to entrants_max ({max})"));
        let own = self.entrants_per_account_max;
        expect((1..=most).contains(&own), "entrants_per_account_max", format!("expected 1 to {most}"));
        match self.format {
            Format::Heats { size, advance } => {
                let most = SEATS_MAX as u8;
                expect((3..=most).contains(&size), "size", format!("expected 3 to {most} bots in a game"));
                expect((1..=size / 2).contains(&advance), "advance", format!("expected 1 to {} (half)", size / 2));
            }
            Format::Swiss { rounds } => {
                let most = TOURNAMENT_SWISS_ROUNDS_MAX.min(min.saturating_sub(1).max(1));
                let reason = format!(
                    "expected 0 (chosen by the field) to {most}: below entrants_min, so that rematches stay rare"
                );
                expect(rounds <= most, "rounds", reason);
            }
            Format::Groups { groups, advance, .. } => {
                expect((2..=256).contains(&groups), "groups", "expected 2 to 256 groups".to_owned());
                let largest = max.div_ceil(groups.max(1));
                let reason = format!("groups of up to {largest}, expected at most {TOURNAMENT_ROUND_ROBIN_MAX}");
                expect(largest <= TOURNAMENT_ROUND_ROBIN_MAX, "groups", reason);
                let smallest = min / groups.max(1);
                let reason = format!("expected 1 to {smallest}: the smallest group of the smallest field");
                expect(advance >= 1 && u16::from(advance) <= smallest, "advance", reason);
            }
            Format::SingleElimination { .. } | Format::DoubleElimination { .. } | Format::RoundRobin => {}
        }
    }

    fn validate_rules(&self, errors: &mut Vec<DefinitionError>) {
        let mut expect = |is_right: bool, field, reason: String| {
            if !is_right {
                errors.push(DefinitionError { field, reason });
            }
        };
        let TournamentRules { best_of, replays_max, tie_breaks, game_deadline, games_at_once } = &self.rules;
        let reason = format!("expected an odd number from 1 to {TOURNAMENT_BEST_OF_MAX}");
        expect(*best_of <= TOURNAMENT_BEST_OF_MAX && best_of % 2 == 1, "best_of", reason);
        let reason = format!("expected 0 to {TOURNAMENT_REPLAYS_MAX}");
        expect(*replays_max <= TOURNAMENT_REPLAYS_MAX, "replays_max", reason);
        let decides = |rule: &TieBreak| matches!(rule, TieBreak::Seed | TieBreak::Lot);
        let first_deciding = tie_breaks.iter().position(decides);
        let is_distinct = tie_breaks.iter().enumerate().all(|(at, rule)| !tie_breaks[..at].contains(rule));
        expect(
            is_distinct && first_deciding.is_some_and(|at| at + 1 == tie_breaks.len()),
            "tie_breaks",
            "expected different rules, of which the last, and no other, is `seed` or `lot`: these always decide"
                .to_owned(),
        );
        let (least, most) = (TOURNAMENT_GAME_DEADLINE_MIN, TOURNAMENT_GAME_DEADLINE_MAX);
        let reason = format!("expected {} to {}", least.as_secs(), most.as_secs());
        expect((least..=most).contains(game_deadline), "game_deadline_s", reason);
        let most = TOURNAMENT_GAMES_AT_ONCE_MAX;
        expect((1..=most).contains(games_at_once), "games_at_once", format!("expected 1 to {most}"));
    }

    /// Games that the largest field may need when all draws and failures happen that are played again.
    #[must_use]
    pub fn games_max(&self) -> u64 {
        let TournamentRules { best_of, replays_max, .. } = self.rules;
        let in_pairing = u64::from(best_of) + u64::from(replays_max) + u64::from(TOURNAMENT_VOID_GAMES_MAX);
        self.format.pairings_max(self.entrants_max) * in_pairing
    }
}

impl Format {
    /// Numbers of bots that meet in one game.
    fn seats(self) -> std::ops::RangeInclusive<u8> {
        match self {
            Self::Heats { size, .. } => 2..=size.min(SEATS_MAX as u8),
            _ => 2..=2,
        }
    }

    /// Pairings of a field of this size, at the most.
    fn pairings_max(self, entrants: u16) -> u64 {
        let everyone = |entrants: u64| entrants * entrants.saturating_sub(1) / 2;
        let entrants_u64 = u64::from(entrants);
        match self {
            Self::SingleElimination { .. } => entrants_u64,
            // Half of those that are left are out after each round.
            Self::Heats { size, .. } => 2 * entrants_u64.div_ceil(u64::from(size.max(3)) - 1) + 16,
            Self::DoubleElimination { .. } => 2 * entrants_u64,
            Self::Swiss { .. } => u64::from(self.swiss_rounds(entrants)) * (entrants_u64 / 2),
            Self::RoundRobin => everyone(entrants_u64),
            Self::Groups { groups, advance, .. } => {
                let groups = u64::from(groups.max(1));
                groups * everyone(entrants_u64.div_ceil(groups)) + groups * u64::from(advance)
            }
        }
    }

    /// Rounds of a Swiss tournament with so many entrants.
    #[must_use]
    pub fn swiss_rounds(self, entrants: u16) -> u16 {
        match self {
            Self::Swiss { rounds: 0 } => (u32::from(entrants).max(2) - 1).ilog2() as u16 + 1,
            Self::Swiss { rounds } => rounds,
            _ => 0,
        }
    }
}
