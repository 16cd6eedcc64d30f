//! Rows of bans.

use super::{Columns, row_of_id};
use crate::checksums::StoredKind;
use crate::contract::StoreError;
use engine::ids::{AccountId, BanId};
use engine::rows::Ban;

pub(crate) const BAN: &str = "id, target, reason, made_by, created_at, expires_at";

pub(crate) fn ban(row: &mut impl Columns) -> Result<Ban, StoreError> {
    row_of_id(row, StoredKind::Ban, |row, id| {
        Ok(Ban {
            id: BanId(id),
            target: row.named("target of a ban", |text| text.parse().ok())?,
            reason: row.text()?,
            made_by: row.maybe_id()?.map(AccountId),
            created_at: row.time()?,
            expires_at: row.maybe_time()?,
        })
    })
}
