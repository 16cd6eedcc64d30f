//! What can be read of bans, and of what they end.

use super::StoreError;
use engine::ids::{AccountId, BanId, MatchId};
use engine::rows::{Ban, BanList};
use engine::time::UnixMs;

/// Each call is one snapshot.
pub trait BanReader {
    /// Bans that have not expired by `now`, newest first.
    fn ban_page(&mut self, before: Option<BanId>, limit: usize, now: UnixMs) -> Result<Vec<Ban>, StoreError>;
    /// All bans that have not expired by `now`.
    fn ban_list(&mut self, now: UnixMs) -> Result<BanList, StoreError>;
    /// [`BanList::version`] alone: one row, so that nodes on one database can check often for changes.
    fn ban_list_version(&mut self) -> Result<u64, StoreError>;
    /// Matches of an account that wait to be played, without those of competitions, in the order of the queue.
    fn waiting_matches(&mut self, account: AccountId, limit: usize) -> Result<Vec<MatchId>, StoreError>;
}
