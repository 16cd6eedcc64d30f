//! What can be read of accounts that are deleted, or are about to be.

use super::StoreError;
use engine::competitions::CompetitionKind;
use engine::ids::{AccountId, BotId, CompetitionId, WorldName};
use engine::rows::AccountHoldings;
use engine::time::UnixMs;

/// Each call is one snapshot.
pub trait DeletionReader {
    /// What an account has at `now`; `None` of one that is unknown or deleted.
    fn account_holdings(&mut self, id: AccountId, now: UnixMs) -> Result<Option<AccountHoldings>, StoreError>;
    /// Those of these accounts that are deleted, in no order.
    fn deleted_among(&mut self, ids: &[AccountId]) -> Result<Vec<AccountId>, StoreError>;
    /// Accounts that were deleted by `until` and have something left, the first deleted first.
    fn uncleared_accounts(&mut self, until: UnixMs, limit: usize) -> Result<Vec<AccountId>, StoreError>;
    /// Competitions of an account that have not ended, in no order.
    fn live_competitions(&mut self, id: AccountId) -> Result<Vec<(CompetitionKind, CompetitionId)>, StoreError>;
    /// Hunts that an account made and that are not over at `now`.
    fn live_hunts(&mut self, id: AccountId, now: UnixMs) -> Result<Vec<WorldName>, StoreError>;
    /// Bots of an account, also those that cannot be read.
    fn bots_left(&mut self, id: AccountId, limit: usize) -> Result<Vec<BotId>, StoreError>;
    /// Whether a match of this account has not ended, or one in which a bot plays that was the account's at the creation. Walks what waits and
    /// runs.
    fn has_live_seats(&mut self, id: AccountId) -> Result<bool, StoreError>;
}
