//! Commands to a store about the audit log.

use crate::ids::AuditId;
use crate::rows::AuditEntry;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum AuditCommand {
    /// Add an entry. → `Done` | `Duplicate` (the id is known)
    Record(AuditEntry),
    /// Add an entry if the command before it in this batch did what it was for: the change and its entry are one commit. → `Done` | `NotFound` (that
    /// command was refused, and nothing is added)
    RecordIfDone(AuditEntry),
    /// Delete entries with ids below this one, oldest first, at most `max`. → [`super::Outcome::Retired`]
    Retire { before: AuditId, max: usize },
}
