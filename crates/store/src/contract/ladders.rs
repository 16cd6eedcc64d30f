//! What can be read of ladders beyond what every competition has.

use super::StoreError;
use engine::competitions::CompetitionRow;
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::ladders::entry::{Invitation, LadderEntry, Meeting, RatedGame, SeatCounts};
use engine::ladders::ranking::{RankingCursor, RankingFilter};
use engine::ladders::recompute::StoredSeason;

/// Each call is one snapshot, and reads no more than it returns, but for the three that count.
pub trait LadderReader {
    /// The active entries of a season in the order of a ranking.
    fn ladder_ranking(&mut self, filter: &RankingFilter) -> Result<Vec<LadderEntry>, StoreError>;
    /// How many active entries with a rank are better by rating than this position: counts the entries of one index, of which a ladder has
    /// [`engine::limits::LADDER_ENTRIES_MAX`] at most.
    fn ladder_rank(&mut self, ladder: CompetitionId, season: u32, at: RankingCursor) -> Result<usize, StoreError>;
    /// How many entries of a season are active: counted as for [`LadderReader::ladder_rank`].
    fn ladder_active_entries(&mut self, ladder: CompetitionId, season: u32) -> Result<usize, StoreError>;
    /// How many accounts have active entries in a season: counted as for [`LadderReader::ladder_rank`].
    fn ladder_active_accounts(&mut self, ladder: CompetitionId, season: u32) -> Result<usize, StoreError>;
    /// Entries of a season, active or not, in the order of their bots.
    fn ladder_entries(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        after: Option<BotId>,
        limit: usize,
    ) -> Result<Vec<LadderEntry>, StoreError>;
    /// The entries of these bots, in any order; bots without one are left out.
    fn ladder_entries_of(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        bots: &[BotId],
    ) -> Result<Vec<LadderEntry>, StoreError>;
    /// Which of these bots have an entry, be it one that cannot be read, in any order.
    fn ladder_bots_of(&mut self, ladder: CompetitionId, season: u32, bots: &[BotId]) -> Result<Vec<BotId>, StoreError>;
    /// Entries of a bot on all ladders and in all seasons, at most `limit`, in any order.
    fn ladder_entries_of_bot(&mut self, bot: BotId, limit: usize) -> Result<Vec<LadderEntry>, StoreError>;
    /// The entries of a bot, active or not, in ladders that have not ended, each of the season under way, with its ladder.
    fn ladders_of_bot(&mut self, bot: BotId, limit: usize) -> Result<Vec<(CompetitionRow, LadderEntry)>, StoreError>;
    /// Rated games of a bot with a number below this one, the last first, of all seasons.
    fn ladder_games_of(
        &mut self,
        ladder: CompetitionId,
        bot: BotId,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RatedGame>, StoreError>;
    /// All rated games of the results behind number `after` up to number `last`, in their order.
    fn ladder_games(&mut self, ladder: CompetitionId, after: u64, last: u64) -> Result<Vec<RatedGame>, StoreError>;
    /// A bot against each of its opponents in a season, with their names, in the order of their ids.
    fn ladder_meetings_of(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        bot: BotId,
        after: Option<BotId>,
        limit: usize,
    ) -> Result<Vec<(Meeting, String)>, StoreError>;
    /// All meetings of a season, in the order of bot and opponent.
    fn ladder_meetings(
        &mut self,
        ladder: CompetitionId,
        season: u32,
        after: Option<(BotId, BotId)>,
        limit: usize,
    ) -> Result<Vec<Meeting>, StoreError>;
    /// What each seat was worth in a season.
    fn ladder_seats(&mut self, ladder: CompetitionId, season: u32) -> Result<Vec<(u8, SeatCounts)>, StoreError>;
    /// Everything that results change again and again in a season, in the one under way when `season` is `None`, with the ladder itself;
    /// `None` if there is no such ladder. Takes memory for all of it.
    fn ladder_season(&mut self, ladder: CompetitionId, season: Option<u32>)
    -> Result<Option<StoredSeason>, StoreError>;
    /// Accounts that are invited, in the order of their ids.
    fn ladder_invitations(
        &mut self,
        ladder: CompetitionId,
        after: Option<AccountId>,
        limit: usize,
    ) -> Result<Vec<Invitation>, StoreError>;
    fn is_invited(&mut self, ladder: CompetitionId, account: AccountId) -> Result<bool, StoreError>;
    /// Ladders to which an account is invited, in the order of their ids.
    fn ladders_invited_to(
        &mut self,
        account: AccountId,
        after: Option<CompetitionId>,
        limit: usize,
    ) -> Result<Vec<CompetitionId>, StoreError>;
}
