//! Rows of bans.

use super::{Columns, part_of_list, require_known, row_of_id};
use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::StoreError;
use engine::ids::{AccountId, BanId};
use engine::rows::{Ban, Role};

pub(crate) const BAN: &str = "id, target, reason, made_by, made_by_role, created_at, expires_at";

/// A ban holds as long as it can be read whom it is of: a reason, a maker or an end that is damaged reads as none.
pub(crate) fn ban(row: &mut impl Columns, damages: &mut Vec<Damage>) -> Result<Ban, StoreError> {
    row_of_id(row, StoredKind::Ban, |row, id| {
        let ban = StoredKey::new(StoredKind::Ban, id.to_be_bytes());
        let target = row.named("target of a ban", |text| text.parse().ok())?;
        let reason = part_of_list(ban.whole(row.text()), damages)?;
        let made_by = part_of_list(ban.whole(row.maybe_id()), damages)?.map(AccountId);
        let role = row
            .maybe_text()
            .and_then(|name| name.map(|name| require_known(Role::from_name(&name), "role", &name)).transpose());
        let made_by_role = part_of_list(ban.whole(role), damages)?;
        let created_at = part_of_list(ban.whole(row.time()), damages)?;
        let expires_at = part_of_list(ban.whole(row.maybe_time()), damages)?;
        Ok(Ban { id: BanId(id), target, reason, made_by, made_by_role, created_at, expires_at })
    })
}
