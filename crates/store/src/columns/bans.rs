//! Rows of bans.

use super::{Columns, require_known, row_of_id};
use crate::checksums::StoredKind;
use crate::contract::StoreError;
use engine::ids::{AccountId, BanId};
use engine::rows::{Ban, Role};

pub(crate) const BAN: &str = "id, target, reason, made_by, made_by_role, created_at, expires_at";

pub(crate) fn ban(row: &mut impl Columns) -> Result<Ban, StoreError> {
    row_of_id(row, StoredKind::Ban, |row, id| {
        Ok(Ban {
            id: BanId(id),
            target: row.named("target of a ban", |text| text.parse().ok())?,
            reason: row.text()?,
            made_by: row.maybe_id()?.map(AccountId),
            made_by_role: row
                .maybe_text()?
                .map(|name| require_known(Role::from_name(&name), "role", &name))
                .transpose()?,
            created_at: row.time()?,
            expires_at: row.maybe_time()?,
        })
    })
}
