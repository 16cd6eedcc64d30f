//! Limits of duels.

use super::BULK_GAMES_MAX;

/// Bots of one duel: two, or those of a small league.
pub const DUEL_BOTS_MAX: usize = 8;
/// Games of one duel that may count: enough for a test of 0 to 10 Elo.
pub const DUEL_GAMES_MAX: u32 = 10_000;
/// Games of a duel that names no number: a test of 0 to 50 Elo needs more in about 4 of 1,000 cases.
pub const DUEL_GAMES_DEFAULT: u32 = 2_000;
/// Pairs of a league's pairing, where no number is named.
pub const DUEL_LEAGUE_PAIRS_DEFAULT: u32 = 50;
/// Pairs of one duel that may be played at once …
pub const DUEL_PAIRS_AT_ONCE_MAX: u32 = 16;
/// … and how many are where no number is named. What is under way when the test ends is thrown away.
pub const DUEL_PAIRS_AT_ONCE_DEFAULT: u32 = 4;
/// How often a game of a duel is started until its pair is void.
pub const DUEL_GAME_ATTEMPTS_MAX: u8 = 3;
/// Void pairs that a duel bears.
pub const DUEL_VOID_PAIRS_MAX: u32 = 10;
/// Games in a row without a valid move of one bot, after which its duel ends: none of them counts.
pub const DUEL_SILENT_GAMES_MAX: u8 = 3;
/// Results of one duel that one commit applies: as many games as the largest duel has in flight, several times over.
pub const DUEL_RESULTS_PER_STEP_MAX: usize = 256;
/// How often the cancellation of a duel is decided again because its driver saved a step first.
pub const DUEL_CANCEL_ATTEMPTS_MAX: usize = 8;
/// Duels of one account that have not ended.
pub const DUELS_PER_ACCOUNT_MAX: usize = 4;
/// Points of a test's history that a duel shows: each costs some fifty microseconds.
pub const DUEL_HISTORY_POINTS_MAX: usize = 100;
/// Farthest bound of a duel's test, in Elo: at 1,000 the weaker bot wins three games in a thousand.
pub const DUEL_ELO_MAX: f64 = 1_000.0;
/// Least distance of a test's bounds, in Elo.
pub const DUEL_ELO_GAP_MIN: f64 = 10.0;
/// Error rates of a duel's test: below this one, no number of games that is allowed would do …
pub const DUEL_ERROR_RATE_MIN: f64 = 0.001;
/// … and beyond this one, it would be a guess.
pub const DUEL_ERROR_RATE_MAX: f64 = 0.25;

const _: () = assert!(DUEL_GAMES_DEFAULT <= DUEL_GAMES_MAX && DUEL_PAIRS_AT_ONCE_DEFAULT <= DUEL_PAIRS_AT_ONCE_MAX);
const _: () = assert!(
    (DUEL_BOTS_MAX * (DUEL_BOTS_MAX - 1)) as u32 * DUEL_LEAGUE_PAIRS_DEFAULT <= DUEL_GAMES_MAX,
    "the largest league fits without a number of pairs"
);
const _: () = assert!(
    4 * DUEL_PAIRS_AT_ONCE_MAX as usize <= BULK_GAMES_MAX,
    "all games that a duel may start at once fit one creation"
);
