//! Reads of committed data that are done in one statement for many rows here.

use super::session::Session;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::sql::reader::SqlReader;
use crate::sql::{Session as _, Value};
use engine::ids::MatchId;
use engine::rows::MatchStatus;
use engine::time::UnixMs;

/// A record of nothing in the write-ahead log: it must reach the disk, and leaves no row behind.
const PROBE: &str = "SELECT pg_logical_emit_message(true, 'gauntlet', 'probe')::text";

pub(super) struct PostgresReader {
    session: Session,
}

impl PostgresReader {
    pub(super) fn new(session: Session) -> Self {
        Self { session }
    }
}

impl SqlReader for PostgresReader {
    type Session = Session;

    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn statuses(session: &mut Session, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError> {
        let ids: Vec<Value<'_>> = ids.iter().copied().map(Value::from).collect();
        let sql = format!(
            "SELECT {} FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (asked_id, place)
             JOIN matches_now ON id = asked_id ORDER BY place",
            columns::STATUS
        );
        session.query(&sql, [&ids], |row| columns::status(row).map(|(status, _)| status))
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        self.session.first(sql, &[], |row| row.time())
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.session.first(PROBE, &[], |_| Ok(()))?;
        Ok(())
    }
}
