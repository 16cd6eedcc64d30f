//! A SQLite connection: cached statements, rows read from left to right.

use super::connection::OrStoreError;
use crate::columns::{self, Columns, LogEnd, SeatRow};
use crate::contract::StoreError;
use engine::ids::MatchId;
use rusqlite::types::FromSql;
use rusqlite::{CachedStatement, Connection, Params, Row};

/// A connection, and the few kinds of queries that it runs.
#[derive(Clone, Copy)]
pub(super) struct Session<'c> {
    pub(super) db: &'c Connection,
}

#[cfg(test)]
thread_local! {
    /// Statements that this thread has run: what a command costs is tested by their number.
    pub(super) static STATEMENTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl<'c> Session<'c> {
    fn prepared(self, sql: &str) -> Result<CachedStatement<'c>, StoreError> {
        #[cfg(test)]
        STATEMENTS.set(STATEMENTS.get() + 1);
        self.db.prepare_cached(sql).or_store_error()
    }

    /// Runs a statement; how many rows it changed.
    pub(super) fn run(self, sql: &str, params: impl Params) -> Result<usize, StoreError> {
        self.prepared(sql)?.execute(params).or_store_error()
    }

    /// All rows of a query.
    pub(super) fn all<T>(
        self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&mut SqliteColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepared(sql)?;
        let mut rows = statement.query(params).or_store_error()?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().or_store_error()? {
            all.push(read(&mut SqliteColumns { row, next: 0 })?);
        }
        Ok(all)
    }

    /// The first row of a query, if there is one.
    pub(super) fn first<T>(
        self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&mut SqliteColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepared(sql)?;
        let mut rows = statement.query(params).or_store_error()?;
        let row = rows.next().or_store_error()?;
        row.map(|row| read(&mut SqliteColumns { row, next: 0 })).transpose()
    }

    /// Whether a query has any row.
    pub(super) fn exists(self, sql: &str, params: impl Params) -> Result<bool, StoreError> {
        Ok(self.first(sql, params, |_| Ok(()))?.is_some())
    }

    /// The counters after the last entry of a live log.
    pub(super) fn log_end(self, id: MatchId) -> Result<LogEnd, StoreError> {
        let last = "SELECT version, turns, late_moves FROM match_log WHERE match_id = ?1 ORDER BY version DESC LIMIT 1";
        Ok(self.first(last, [id.to_bytes()], |row| columns::log_end(row))?.unwrap_or_default())
    }

    pub(super) fn seats(self, id: MatchId) -> Result<Vec<SeatRow>, StoreError> {
        let sql = format!("SELECT {} FROM seats WHERE match_id = ?1 ORDER BY seat", columns::SEAT);
        self.all(&sql, [id.to_bytes()], |row| columns::seat(row))
    }
}

/// The steps of a plan, as `EXPLAIN QUERY PLAN` words them.
#[cfg(any(test, feature = "testing"))]
pub(super) fn plan(db: &Connection, sql: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).or_store_error()?;
    let nothing = rusqlite::params_from_iter(vec![rusqlite::types::Null; statement.parameter_count()]);
    let steps = statement.query_map(nothing, |row| row.get(3)).or_store_error()?;
    steps.map(OrStoreError::or_store_error).collect()
}

/// A row of SQLite. Ids are blobs of 16 bytes, flags are 0 and 1.
pub(super) struct SqliteColumns<'r> {
    row: &'r Row<'r>,
    next: usize,
}

impl SqliteColumns<'_> {
    fn take<T: FromSql>(&mut self) -> Result<Option<T>, StoreError> {
        let at = self.next;
        self.next += 1;
        self.row.get(at).or_store_error()
    }
}

impl Columns for SqliteColumns<'_> {
    fn maybe_id(&mut self) -> Result<Option<u128>, StoreError> {
        Ok(self.take::<[u8; 16]>()?.map(u128::from_be_bytes))
    }
    fn maybe_int(&mut self) -> Result<Option<i64>, StoreError> {
        self.take()
    }
    fn maybe_flag(&mut self) -> Result<Option<bool>, StoreError> {
        self.take()
    }
    fn maybe_text(&mut self) -> Result<Option<String>, StoreError> {
        self.take()
    }
    fn maybe_bytes(&mut self) -> Result<Option<Vec<u8>>, StoreError> {
        self.take()
    }
}
