//! Rows of one-time codes.

use super::{Columns, digest, part_of_list, row_of_id};
use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::StoreError;
use engine::ids::{AccountId, CodeId};
use engine::rows::{CodeUse, OneTimeCode, Role, SignedCode};

pub(crate) const CODE: &str = "id, account, name, role, digest, made_by, created_at, expires_at";

pub(crate) fn code(row: &mut impl Columns) -> Result<OneTimeCode, StoreError> {
    row_of_id(row, StoredKind::Code, |row, id| code_of_id(row, CodeId(id)))
}

fn code_of_id(row: &mut impl Columns, id: CodeId) -> Result<OneTimeCode, StoreError> {
    let (account, name) = (row.maybe_id()?.map(AccountId), row.maybe_text()?);
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

/// [`CODE`] and the name of the account that made it.
pub(crate) fn signed_code(row: &mut impl Columns, damages: &mut Vec<Damage>) -> Result<SignedCode, StoreError> {
    let code = code(row)?;
    let maker = StoredKey::new(StoredKind::Account, code.made_by.map_or([0; 16], AccountId::to_bytes));
    let made_by_name = part_of_list(maker.whole(row.maybe_text()), damages)?;
    Ok(SignedCode { code, made_by_name })
}
