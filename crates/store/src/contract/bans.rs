//! What can be read of bans.

use super::StoreError;
use engine::ids::BanId;
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
}
