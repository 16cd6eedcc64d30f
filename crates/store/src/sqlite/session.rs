//! A SQLite connection: cached statements, rows read from left to right.

use super::connection::OrStoreError;
use crate::checksums::Damage;
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::sql::{self, IdBytes, RowStatement, Value, values};
use rusqlite::types::FromSql;
use rusqlite::{CachedStatement, Connection, Row, params_from_iter};

/// A connection, and the few kinds of queries that it runs.
pub(super) struct Session {
    pub(super) db: Connection,
    /// Passed over, and not reported yet.
    pub(super) damages: Vec<Damage>,
}

#[cfg(test)]
thread_local! {
    /// Statements that this thread has run: what a command costs is tested by their number.
    pub(super) static STATEMENTS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

impl Session {
    pub(super) fn new(db: Connection) -> Self {
        Self { db, damages: Vec::new() }
    }

    fn prepared(&self, sql: &str) -> Result<CachedStatement<'_>, StoreError> {
        #[cfg(test)]
        STATEMENTS.set(STATEMENTS.get() + 1);
        self.db.prepare_cached(sql).or_store_error()
    }

    /// Several statements without values.
    pub(super) fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.db.execute_batch(sql).or_store_error()
    }

    /// Writes a row that is gone in the same transaction; its page is written all the same. A connection on which this fails is closed.
    pub(super) fn probe(&self) -> Result<(), StoreError> {
        self.script("BEGIN IMMEDIATE; INSERT INTO probe (written_at) VALUES (unixepoch()); DELETE FROM probe; COMMIT;")
    }
}

impl sql::Session for Session {
    type Row<'r> = SqliteColumns<'r>;

    fn note_damages(&mut self, damages: Vec<Damage>) {
        self.damages.extend(damages);
    }

    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.prepared(sql)?.execute(params_from_iter(values)).or_store_error()
    }

    fn all<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&mut SqliteColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.prepared(sql)?;
        let mut rows = statement.query(params_from_iter(values)).or_store_error()?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().or_store_error()? {
            all.push(read(&mut SqliteColumns { row, next: 0 })?);
        }
        Ok(all)
    }

    fn first<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        mut read: impl FnMut(&mut SqliteColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let mut statement = self.prepared(sql)?;
        let mut rows = statement.query(params_from_iter(values)).or_store_error()?;
        let row = rows.next().or_store_error()?;
        row.map(|row| read(&mut SqliteColumns { row, next: 0 })).transpose()
    }

    fn run_each(&mut self, sql: &str, ids: &[IdBytes], values: &[Value<'_>]) -> Result<usize, StoreError> {
        let sql = format!("{sql} = ?1");
        ids.iter().map(|id| self.run(&sql, &[values![*id], values].concat())).sum()
    }

    fn all_each<T>(
        &mut self,
        sql: &str,
        rest: &str,
        ids: &[IdBytes],
        mut read: impl FnMut(&mut SqliteColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let sql = format!("{sql} = ?1 {rest}");
        self.snapshot(|session| {
            let mut all = Vec::new();
            for id in ids {
                all.extend(session.all(&sql, values![*id], &mut read)?);
            }
            Ok(all)
        })
    }

    fn all_of_workers<T>(
        &mut self,
        sql: &str,
        rest: &str,
        workers: &[IdBytes],
        values: &[Value<'_>],
        mut read: impl FnMut(&mut SqliteColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let sql = format!("{sql} worker IS ?1 {rest}");
        let mut all = Vec::new();
        for worker in std::iter::once(None).chain(workers.iter().copied().map(Some)) {
            all.extend(self.all(&sql, &[values![worker], values].concat(), &mut read)?);
        }
        Ok(all)
    }

    fn run_rows<'v, const N: usize>(
        &mut self,
        statement: &RowStatement,
        mut rows: impl Iterator<Item = [Value<'v>; N]>,
    ) -> Result<usize, StoreError> {
        rows.try_fold(0, |changed, row| Ok(changed + self.run(statement.of_one_row(), &row)?))
    }

    fn all_rows<'v, const N: usize, T>(
        &mut self,
        statement: &RowStatement,
        rows: impl Iterator<Item = [Value<'v>; N]>,
        mut read: impl FnMut(&mut SqliteColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut all = Vec::new();
        for row in rows {
            all.extend(self.all(statement.of_one_row(), &row, &mut read)?);
        }
        Ok(all)
    }

    /// A part of the transaction in which this is called, if there is one.
    fn snapshot<T>(&mut self, query: impl FnOnce(&mut Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if !self.db.is_autocommit() {
            return query(self);
        }
        self.script("BEGIN")?;
        let answer = query(self);
        // After some errors SQLite has rolled back by itself.
        let _ = self.script("ROLLBACK");
        answer
    }
}

/// The steps of a plan, as `EXPLAIN QUERY PLAN` words them.
#[cfg(any(test, feature = "testing"))]
pub(super) fn plan(db: &Connection, sql: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).or_store_error()?;
    let nothing = params_from_iter(vec![Value::Null; statement.parameter_count()]);
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
    fn maybe_real(&mut self) -> Result<Option<f64>, StoreError> {
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
