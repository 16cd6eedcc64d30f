//! Entries of the audit log that commands leave, and the names of accounts that lists show.

use crate::output::printable;
use engine::commands::{AuditCommand, Command as Save};
use engine::ids::{AccountId, AuditId};
use engine::rows::AuditEntry;
use engine::time::UnixMs;
use node::clock::random_bytes;
use std::collections::{BTreeMap, BTreeSet};
use store::{Reader, StoreError};

/// Who has no account.
const COMMAND_LINE: &str = "command line";

/// The entry of a change by a command, to be saved in the commit of that change and directly behind it.
pub(crate) fn entry(now: UnixMs, action: &str, target: String, detail: Option<String>, reason: Option<String>) -> Save {
    Save::Audit(AuditCommand::RecordIfDone(done(now, action, target, detail, reason)))
}

/// The entry of a change by a command.
pub(crate) fn done(
    now: UnixMs,
    action: &str,
    target: String,
    detail: Option<String>,
    reason: Option<String>,
) -> AuditEntry {
    let entry = AuditEntry {
        id: AuditId::new(now, random_bytes()),
        account: None,
        token: None,
        address: None,
        action: action.to_owned(),
        target: Some(target),
        detail,
        reason,
        outcome: AuditEntry::DONE.to_owned(),
    };
    entry.bounded()
}

/// The names of these accounts, as far as there are such.
pub(crate) fn names(
    reader: &mut dyn Reader,
    ids: impl Iterator<Item = AccountId>,
) -> Result<BTreeMap<AccountId, String>, StoreError> {
    let mut names = BTreeMap::new();
    for id in ids.collect::<BTreeSet<_>>() {
        if let Some(account) = reader.account(id)? {
            names.insert(id, account.name);
        }
    }
    Ok(names)
}

/// What a person reads for the account that did something.
pub(crate) fn name(names: &BTreeMap<AccountId, String>, account: Option<AccountId>) -> String {
    match account {
        Some(id) => names.get(&id).map_or_else(|| id.to_string(), |name| printable(name)),
        None => COMMAND_LINE.to_owned(),
    }
}
