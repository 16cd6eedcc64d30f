//! The audit log: it only grows, at its end, and is deleted from its beginning.

use super::reader::SqlReader;
use super::{Batch, Dialect, Session, Value, readable, values};
use crate::columns::{self, AUDIT_ENTRY};
use crate::contract::{AuditReader, StoreError};
use engine::commands::{AuditCommand, Outcome};
use engine::ids::AuditId;
use engine::rows::{AuditEntry, AuditFilter};

impl<R: SqlReader> AuditReader for R {
    fn audit_page(&mut self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
        let (from, below) = filter.id_range();
        const LIMIT: usize = 2;
        let mut values = vec![Value::from(from), below.into(), filter.limit.into()];
        let mut wanted = String::new();
        let columns = [
            ("account", filter.account.map(Value::from)),
            ("action", filter.action.as_deref().map(Value::from)),
            ("target", filter.target.as_deref().map(Value::from)),
        ];
        for (column, value) in columns {
            let Some(value) = value else { continue };
            values.push(value);
            wanted.push_str(&format!(" AND {column} = ?{}", values.len()));
        }
        let page = format!(
            "SELECT {AUDIT_ENTRY} FROM audit_entries WHERE id >= ?1 AND id < ?2{wanted} ORDER BY id DESC LIMIT ?3"
        );
        readable(self.session(), filter.limit, |session, limit| {
            values[LIMIT] = limit.into();
            session.all(&page, &values, |row| columns::damage_of(columns::audit_entry(row)))
        })
    }
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn audit_command(&mut self, command: &AuditCommand) -> Result<Outcome, StoreError> {
        match command {
            AuditCommand::Record(entry) => self.record(entry),
            AuditCommand::RecordIfDone(entry) if self.is_last_done => self.record(entry),
            AuditCommand::RecordIfDone(_) => Ok(Outcome::NotFound),
            AuditCommand::Retire { before, max } => self.retire_audit_entries(*before, *max),
        }
    }

    fn record(&mut self, entry: &AuditEntry) -> Result<Outcome, StoreError> {
        let AuditEntry { id, account, token, address, action, target, detail, reason, outcome } = entry;
        let address = address.map(|address| address.to_string());
        let added = self.session.run(
            "INSERT INTO audit_entries (id, account, token, address, action, target, detail, reason, outcome)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING",
            values![
                *id,
                *account,
                *token,
                address.as_deref(),
                action,
                target.as_deref(),
                detail.as_deref(),
                reason.as_deref(),
                outcome,
            ],
        )?;
        Ok(if added == 0 { Outcome::Duplicate } else { Outcome::Done })
    }

    fn retire_audit_entries(&mut self, before: AuditId, max: usize) -> Result<Outcome, StoreError> {
        let oldest = "SELECT id FROM audit_entries WHERE id < ?1 ORDER BY id LIMIT ?2";
        let retired =
            self.session.run(&format!("DELETE FROM audit_entries WHERE id IN ({oldest})"), values![before, max])?;
        Ok(Outcome::Retired(retired))
    }
}
