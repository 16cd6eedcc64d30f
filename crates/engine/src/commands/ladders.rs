//! Commands to a store about ladders.

use super::competitions::Advance;
use crate::ids::{AccountId, BotId, CompetitionId, EntryId};
use crate::ladders::entry::{Entrant, EntryRecord, Meeting, RatedGame, SeatCounts};
use crate::ladders::rating::RatingChanges;
use crate::time::UnixMs;

/// Something about a ladder.
#[derive(Clone, Debug, PartialEq)]
pub enum LadderCommand {
    /// Enter a public bot of this account, or make its entry active again. → [`crate::commands::Outcome::LadderEntry`] | `NotFound` (no such ladder, or no such
    /// public bot of this account, or the account is not invited) | `NotOpen` (the ladder has ended) | `LimitReached` (entries
    /// of this account) | `Full` (entries of the ladder)
    Enter { ladder: CompetitionId, entry: EntryId, bot: BotId, account: AccountId, now: UnixMs },
    /// Take a bot out: it is not paired any more, and keeps its record. Of this account, or of any when `account` is `None`. → `Done` |
    /// `NotFound` (no such entry in the season under way)
    Leave { ladder: CompetitionId, bot: BotId, account: Option<AccountId> },
    /// Apply results: their numbers are those that the advance moves over. All of it or nothing. → what
    /// [`crate::commands::CompetitionCommand::Advance`] leads to
    Rate(Box<RateResults>),
    /// End the season under way: the advance has its end as the one entry for the log, and the next season's as the time that is due. The
    /// next season's entries are made with it, unless the ladder ends. → as for `Rate`
    EndSeason(Advance),
    /// Let an account enter a ladder that is not public. → `Done` | `NotFound` (no such ladder or account) | `LimitReached`
    Invite { ladder: CompetitionId, account: AccountId, now: UnixMs },
    /// Take an invitation back; entries that the account has are taken out. → `Done` | `NotFound`
    Uninvite { ladder: CompetitionId, account: AccountId },
    /// Put records right that a recomputation found wrong. Refused when results were applied meanwhile; ratings that
    /// were computed before are refused afterwards. → `Done` | `NotFound` |
    /// `VersionConflict`
    Repair(Box<RepairRatings>),
}

/// Results, and what they change.
#[derive(Clone, Debug, PartialEq)]
pub struct RateResults {
    pub advance: Advance,
    /// The season for which they count.
    pub season: u32,
    pub changes: RatingChanges,
    /// Who the bots are that have no entry in this season: their entries are made, not active.
    pub strangers: Vec<Entrant>,
}

/// Rows that a recomputation found wrong, as they must be.
#[derive(Clone, Debug, PartialEq)]
pub struct RepairRatings {
    pub ladder: CompetitionId,
    pub season: u32,
    /// How many results were applied when this was computed.
    pub expected_results_applied: u64,
    /// Records of entries; everything else of them stays.
    pub records: Vec<(BotId, EntryRecord)>,
    /// Who those are that have no entry: their entries are made, not active.
    pub strangers: Vec<Entrant>,
    pub games: Vec<RatedGame>,
    /// Number and seat of games that no result has.
    pub games_removed: Vec<(u64, u8)>,
    pub meetings: Vec<Meeting>,
    pub seats: Vec<(u8, SeatCounts)>,
    pub now: UnixMs,
}
