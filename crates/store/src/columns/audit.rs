//! Rows of the audit log.

use super::{Columns, require_known, row_of_id};
use crate::checksums::StoredKind;
use crate::contract::StoreError;
use engine::ids::{AccountId, AuditId, TokenId};
use engine::rows::AuditEntry;

pub(crate) const AUDIT_ENTRY: &str = "id, account, token, address, action, target, detail, reason, outcome";

pub(crate) fn audit_entry(row: &mut impl Columns) -> Result<AuditEntry, StoreError> {
    row_of_id(row, StoredKind::AuditEntry, |row, id| entry_of_id(row, AuditId(id)))
}

fn entry_of_id(row: &mut impl Columns, id: AuditId) -> Result<AuditEntry, StoreError> {
    Ok(AuditEntry {
        id,
        account: row.maybe_id()?.map(AccountId),
        token: row.maybe_id()?.map(TokenId),
        address: match row.maybe_text()? {
            Some(text) => Some(require_known(text.parse().ok(), "address in the audit log", &text)?),
            None => None,
        },
        action: row.text()?,
        target: row.maybe_text()?,
        detail: row.maybe_text()?,
        reason: row.maybe_text()?,
        outcome: row.text()?,
    })
}
