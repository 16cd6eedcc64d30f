//! What can be read of the audit log.

use super::StoreError;
use engine::rows::{AuditEntry, AuditFilter};

pub trait AuditReader {
    /// A page of entries, newest first. Those of one millisecond stand in no order.
    fn audit_page(&mut self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError>;
}
