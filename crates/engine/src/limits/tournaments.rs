//! Limits of tournaments.

use std::time::Duration;

/// Tournaments of one account that have not ended.
pub const TOURNAMENTS_PER_ACCOUNT_MAX: usize = 20;
/// Bots of one tournament.
pub const TOURNAMENT_ENTRANTS_MAX: u16 = 1_024;
/// Bots of one round robin, or of one group: everyone plays everyone, so games grow with the square.
pub const TOURNAMENT_ROUND_ROBIN_MAX: u16 = 64;
/// Rounds of a Swiss tournament.
pub const TOURNAMENT_SWISS_ROUNDS_MAX: u16 = 32;
/// Accounts that may be invited to one tournament.
pub const TOURNAMENT_INVITED_MAX: usize = 1_024;
/// Steps before the start (entries, withdrawals, invitations) that are kept of one tournament: each is an entry of its log.
pub const TOURNAMENT_REGISTRATIONS_MAX: usize = 8 * TOURNAMENT_ENTRANTS_MAX as usize;
/// Of these, entries that one account makes by itself: no account can use up the others' room by coming and going.
pub const TOURNAMENT_ENTRIES_BY_ACCOUNT_MAX: u16 = 64;
/// Bots that the organizer's orders of seeds name in all. Each order is one entry of the log with all its bots: by their number alone, a log
/// could have a hundred megabytes, and whoever looks at the tournament has it read.
pub const TOURNAMENT_SEEDS_NAMED_MAX: usize = 64 * TOURNAMENT_ENTRANTS_MAX as usize;
/// Longest series of a pairing.
pub const TOURNAMENT_BEST_OF_MAX: u8 = 15;
/// Drawn games of one pairing that are played again.
pub const TOURNAMENT_REPLAYS_MAX: u8 = 8;
/// See [`TOURNAMENT_REPLAYS_MAX`].
pub const TOURNAMENT_REPLAYS_DEFAULT: u8 = 4;
/// Games of one pairing without a result (failed, cancelled, too late, or this server's fault) before it is decided by the
/// tie-breaks.
pub const TOURNAMENT_VOID_GAMES_MAX: u8 = 5;
/// Games of one pairing in which no bot answered before neither is taken to be there.
pub const TOURNAMENT_SILENT_GAMES_MAX: u8 = 2;
/// Games that one tournament may need at the very most, every draw and every failure included.
pub const TOURNAMENT_GAMES_MAX: u32 = 100_000;
/// Games of one tournament in the queue or running at once.
pub const TOURNAMENT_GAMES_AT_ONCE_MAX: u16 = 256;
/// See [`TOURNAMENT_GAMES_AT_ONCE_MAX`].
pub const TOURNAMENT_GAMES_AT_ONCE_DEFAULT: u16 = 64;
/// Shortest time from the start of a game after which its board decides it.
pub const TOURNAMENT_GAME_DEADLINE_MIN: Duration = Duration::from_secs(60);
/// See [`TOURNAMENT_GAME_DEADLINE_MIN`].
pub const TOURNAMENT_GAME_DEADLINE_MAX: Duration = Duration::from_secs(7 * 24 * 3_600);
/// See [`TOURNAMENT_GAME_DEADLINE_MIN`].
pub const TOURNAMENT_GAME_DEADLINE_DEFAULT: Duration = Duration::from_secs(2 * 3_600);
/// How long a game may wait to be played before it is given up and created again: the queue's own shares let none wait for so long.
pub const TOURNAMENT_GAME_WAIT_MAX: Duration = Duration::from_secs(24 * 3_600);
/// How often a tournament looks at games that may have passed their deadline: when they began is not in its log.
pub const TOURNAMENT_DEADLINE_LOOK_INTERVAL: Duration = Duration::from_secs(15);
/// How often one bot is waited for in one tournament: each time adds two entries to its log.
pub const TOURNAMENT_ABSENCES_MAX: u8 = 8;
/// How often a tournament that waits for bots looks whether they are back.
pub const TOURNAMENT_ABSENCE_LOOK_INTERVAL: Duration = Duration::from_secs(15);
/// How soon a tournament looks whether a game that was just put into the queue has begun.
pub const TOURNAMENT_START_LOOK_INTERVAL_MIN: Duration = Duration::from_secs(1);
/// How seldom it looks for the start of games that have waited for long.
pub const TOURNAMENT_START_LOOK_INTERVAL_MAX: Duration = Duration::from_secs(30);
/// How far ahead a start may lie.
pub const TOURNAMENT_START_AHEAD_MAX: Duration = Duration::from_secs(366 * 24 * 3_600);
/// How often a change of a tournament is decided again because another writer was first.
pub const TOURNAMENT_CHANGE_ATTEMPTS_MAX: usize = 16;
/// Results of one tournament that one commit applies.
pub const TOURNAMENT_RESULTS_PER_STEP_MAX: usize = 256;

const _: () = assert!(
    (TOURNAMENT_ENTRANTS_MAX as u32) * 2 * (1 + TOURNAMENT_REPLAYS_DEFAULT as u32 + TOURNAMENT_VOID_GAMES_MAX as u32)
        <= TOURNAMENT_GAMES_MAX,
    "the largest double elimination in single games is possible"
);
const _: () = assert!(TOURNAMENT_BEST_OF_MAX % 2 == 1, "a series has an odd number of games");
const _: () = assert!(
    super::TURNS_MAX as u128 * super::BOT_TIMEOUT_DEFAULT.as_millis() < TOURNAMENT_GAME_DEADLINE_DEFAULT.as_millis(),
    "a game of slow bots ends before it is given up"
);
const _: () = assert!(
    (super::HEALTH_RETRY_MAX.as_millis() + super::HEALTH_RETRY_MIN.as_millis())
        < TOURNAMENT_GAME_DEADLINE_DEFAULT.as_millis(),
    "a paused bot that answers again is found in time, by two probes"
);
const _: () = assert!(TOURNAMENT_SILENT_GAMES_MAX <= TOURNAMENT_VOID_GAMES_MAX);
const _: () = assert!(TOURNAMENT_GAMES_AT_ONCE_MAX as usize <= super::COMMIT_COMMANDS_MAX);
