//! Rows of one-time codes.

use super::{Columns, digest};
use crate::contract::StoreError;
use engine::ids::{AccountId, CodeId};
use engine::rows::{CodeUse, OneTimeCode, Role};

pub(crate) const CODE: &str = "id, account, name, role, digest, made_by, created_at, expires_at";

pub(crate) fn code(row: &mut impl Columns) -> Result<OneTimeCode, StoreError> {
    let (id, account, name) = (CodeId(row.id()?), row.maybe_id()?.map(AccountId), row.maybe_text()?);
    Ok(OneTimeCode {
        id,
        used_for: account.map_or(CodeUse::Invite { name }, |account| CodeUse::SignIn { account }),
        role: row.named("role", Role::from_name)?,
        digest: digest(row.bytes()?)?,
        made_by: row.maybe_id()?.map(AccountId),
        created_at: row.time()?,
        expires_at: row.time()?,
    })
}
