//! Limits of ladders.

use super::SEATS_MAX;
use std::time::Duration;

/// Fewest bots of a ladder's match: one alone says nothing about it against others.
pub const LADDER_PLAYERS_MIN: u8 = 2;
/// Most of them.
pub const LADDER_PLAYERS_MAX: u8 = SEATS_MAX as u8;
/// Rated games after which an entry has a rank.
pub const LADDER_MIN_GAMES: u32 = 10;
/// Ladders that the page of a bot shows: the rank on each is counted.
pub const LADDERS_OF_BOT_SHOWN: usize = 50;
/// Shortest season: a bot that enters an hour late still gets its ranked games.
pub const LADDER_SEASON_MIN: Duration = Duration::from_secs(24 * 3_600);
/// Longest season.
pub const LADDER_SEASON_MAX: Duration = Duration::from_secs(366 * 24 * 3_600);
/// Ladders of one account that have not ended. An operator's account may have [`LADDERS_OF_OPERATOR_MAX`].
pub const LADDERS_PER_ACCOUNT_MAX: usize = 5;
/// See [`LADDERS_PER_ACCOUNT_MAX`].
pub const LADDERS_OF_OPERATOR_MAX: usize = 1_000;
/// Seasons whose ratings a process recomputes at the same time: each keeps all entries and meetings of its season in memory.
pub const LADDER_RECOMPUTATIONS_AT_ONCE: usize = 1;
/// Active entries of one ladder.
pub const LADDER_ENTRIES_MAX: usize = 20_000;
/// Active entries that one account may have in one ladder.
pub const LADDER_ENTRIES_PER_ACCOUNT_MAX: usize = 1_000;
/// Accounts that are invited to one ladder.
pub const LADDER_INVITATIONS_MAX: usize = 1_000;
/// Games of one ladder that a bot may be in at once: small bots answer one request after the other.
pub const LADDER_GAMES_AT_ONCE_PER_BOT: u32 = 2;
/// Matches that one look of the matchmaker creates on one ladder: one commit, and few milliseconds for the plan.
pub const LADDER_LINE_UPS_MAX: usize = 64;
/// Ladders without a match under way that one look of the matchmaker reads: with more of these, each is looked at less often.
pub const LADDERS_IDLE_PER_LOOK_MAX: usize = 16;
/// Games of each of two bots, the last ones, in which those that they played together are looked for …
pub const LADDER_PAIR_GAMES_READ: usize = 500;
/// … and how many of these are shown.
pub const LADDER_PAIR_GAMES_SHOWN: usize = 20;
/// Paused bots that the matchmaker knows at once; beyond these, those that registered last would be paired.
pub const LADDER_PAUSED_BOTS_MAX: usize = 100_000;
/// Matches of ladders that may be under way when no number is set, unless this process plays fewer than twice as many.
pub const LADDER_MATCHES_AT_ONCE_DEFAULT: usize = 256;
/// The ladders of one account have at most one in so many of the matches that all ladders may have under way; those of the server itself may
/// have all.
pub const LADDER_ACCOUNT_SHARE_DIVISOR: usize = 4;
/// How often the end of a ladder is tried again because results were rated first.
pub const LADDER_END_ATTEMPTS_MAX: usize = 10;
/// Entries of one page of a ranking, ranked and in placement together: programs that know no pages get as many.
pub const RANKING_PAGE_MAX: usize = 1_000;
/// Results that are rated in one commit.
pub const RATED_AT_ONCE_MAX: usize = 256;
/// Rows that one commit of a repair writes.
pub const REPAIR_ROWS_MAX: usize = 4_096;
/// How often a repair begins again because results were rated meanwhile: each time only these are left to compare.
pub const REPAIR_ATTEMPTS_MAX: usize = 16;

const _: () = assert!(LADDER_PLAYERS_MIN >= 2 && LADDER_PLAYERS_MIN < LADDER_PLAYERS_MAX);
const _: () = assert!(LADDER_LINE_UPS_MAX <= super::BULK_GAMES_MAX, "the matches of a look fit one commit");
const _: () = assert!(LADDER_SEASON_MIN.as_secs() < LADDER_SEASON_MAX.as_secs());
const _: () = assert!(
    LADDER_ENTRIES_PER_ACCOUNT_MAX * 10 <= LADDER_ENTRIES_MAX,
    "one account cannot fill a ladder by itself, nor can a few"
);
