//! A PostgreSQL session: prepared statements, and rows read from left to right.

use super::statement_error::{is_conflict, store_error};
use crate::checksums::Damage;
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::sql::{self, IdBytes, RowStatement, Value};
use ::postgres::fallible_iterator::FallibleIterator;
use ::postgres::types::{BorrowToSql, FromSql, ToSql, Type, accepts};
use ::postgres::{Client, Row, Statement};
use std::collections::HashMap;
use std::error::Error;

/// Begins a transaction.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// Begins one that keeps plans. None of them may read a table from end to end, not even while it is empty and nothing costs less.
pub(crate) const BEGIN_WITH_PLANS: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off";
/// Begins one that reads of one moment.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
/// Continues such a transaction like any other.
const WITHOUT_PLANS: &str = "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan TO DEFAULT";

/// One connection with its prepared statements.
pub(super) struct Session {
    client: Client,
    prepared: HashMap<String, Statement>,
    /// Statements whose plans this transaction keeps, as long as it sends no other.
    kept: &'static [&'static str],
    /// Whether a statement of this transaction met a conflict with another node: all of it may be done again.
    pub(super) is_conflict: bool,
    /// Damage that was passed over, and not reported yet.
    pub(super) damages: Vec<Damage>,
}

impl Session {
    pub(super) fn new(client: Client) -> Self {
        Self { client, prepared: HashMap::new(), kept: &[], is_conflict: false, damages: Vec::new() }
    }

    fn check<T>(&mut self, result: Result<T, ::postgres::Error>) -> Result<T, StoreError> {
        result.map_err(|error| {
            self.is_conflict = is_conflict(&error);
            store_error(&error)
        })
    }

    /// Begins a transaction that keeps the plans of these statements until it sends another one (docs/decisions/0041).
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn begin(&mut self, kept: &'static [&'static str]) -> Result<(), StoreError> {
        self.is_conflict = false;
        self.script(if kept.is_empty() { BEGIN } else { BEGIN_WITH_PLANS })?;
        self.kept = kept;
        Ok(())
    }

    /// Several statements without values.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        #[cfg(feature = "testing")]
        crate::testing::statements::record(sql);
        let done = self.client.batch_execute(sql);
        self.check(done)
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn prepared(&mut self, sql: &str) -> Result<Statement, StoreError> {
        #[cfg(feature = "testing")]
        crate::testing::statements::record(&with_own_placeholders(sql));
        if !self.kept.is_empty() && !self.kept.contains(&sql) {
            let left = self.client.batch_execute(WITHOUT_PLANS);
            self.check(left)?;
            self.kept = &[];
        }
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(&with_own_placeholders(sql));
        let statement = self.check(statement)?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Runs a statement with values of any kind; how many rows it changed.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn execute<P: BorrowToSql>(
        &mut self,
        sql: &str,
        params: impl IntoIterator<Item = P, IntoIter: ExactSizeIterator>,
    ) -> Result<usize, StoreError> {
        let statement = self.prepared(sql)?;
        let changed = self.client.query_raw(&statement, params).and_then(|mut rows| {
            while rows.next()?.is_some() {}
            Ok(rows.rows_affected())
        });
        Ok(self.check(changed)?.unwrap_or_default() as usize)
    }

    /// All rows of a query with values of any kind.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn query<P: BorrowToSql, T>(
        &mut self,
        sql: &str,
        params: impl IntoIterator<Item = P, IntoIter: ExactSizeIterator>,
        mut read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let statement = self.prepared(sql)?;
        let mut all = Vec::new();
        let rows = self.client.query_raw(&statement, params).and_then(|rows| {
            rows.for_each(|row| {
                all.push(read(&mut PgColumns { row: &row, next: 0 }));
                Ok(())
            })
        });
        self.check(rows)?;
        all.into_iter().collect()
    }
}

/// A statement in PostgreSQL's own form: `$1` for `?1`. None of ours has a question mark of another meaning.
fn with_own_placeholders(sql: &str) -> String {
    sql.replace('?', "$")
}

impl sql::Session for Session {
    type Row<'r> = PgColumns<'r>;

    fn note_damages(&mut self, damages: Vec<Damage>) {
        self.damages.extend(damages);
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.execute(sql, values)
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn all<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        self.query(sql, values, read)
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn first<T>(
        &mut self,
        sql: &str,
        values: &[Value<'_>],
        read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.all(sql, values, read)?.into_iter().next())
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn run_each(&mut self, sql: &str, ids: &[IdBytes], values: &[Value<'_>]) -> Result<usize, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        self.execute(&format!("{sql} = ANY (?1)"), with_ids(&array(ids), values))
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn all_each<T>(
        &mut self,
        sql: &str,
        rest: &str,
        ids: &[IdBytes],
        read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.query(&format!("{sql} = ANY (?1) {rest}"), [&array(ids)], read)
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn all_of_workers<T>(
        &mut self,
        sql: &str,
        rest: &str,
        workers: &[IdBytes],
        values: &[Value<'_>],
        read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let sql = format!("{sql} (worker IS NULL OR worker = ANY (?1)) {rest}");
        self.query(&sql, with_ids(&array(workers), values), read)
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn run_rows<'v, const N: usize>(
        &mut self,
        statement: &RowStatement,
        rows: impl Iterator<Item = [Value<'v>; N]>,
    ) -> Result<usize, StoreError> {
        let columns = arrays(rows);
        if columns.first().is_none_or(Vec::is_empty) {
            return Ok(0);
        }
        self.execute(statement.of_arrays(), &columns)
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn all_rows<'v, const N: usize, T>(
        &mut self,
        statement: &RowStatement,
        rows: impl Iterator<Item = [Value<'v>; N]>,
        read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let columns = arrays(rows);
        if columns.first().is_none_or(Vec::is_empty) {
            return Ok(Vec::new());
        }
        self.query(statement.of_arrays(), &columns, read)
    }

    fn snapshot<T>(&mut self, query: impl FnOnce(&mut Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.script(BEGIN_SNAPSHOT)?;
        let answer = query(self);
        self.script("ROLLBACK")?;
        answer
    }
}

/// Ids as one array.
pub(super) fn array<'v>(ids: &[IdBytes]) -> Vec<Value<'v>> {
    ids.iter().copied().map(Value::Id).collect()
}

fn with_ids<'p>(ids: &'p (dyn ToSql + Sync), values: &'p [Value<'_>]) -> Vec<&'p (dyn ToSql + Sync)> {
    std::iter::once(ids).chain(values.iter().map(|value| value as &(dyn ToSql + Sync))).collect()
}

/// The columns of these rows.
pub(super) fn arrays<'v, const N: usize>(rows: impl Iterator<Item = [Value<'v>; N]>) -> [Vec<Value<'v>>; N] {
    let mut columns = std::array::from_fn(|_| Vec::new());
    for row in rows {
        columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
    }
    columns
}

/// A row of PostgreSQL. Ids are UUIDs, every number is a BIGINT.
pub(super) struct PgColumns<'r> {
    row: &'r Row,
    next: usize,
}

impl<'r> PgColumns<'r> {
    fn take<T: FromSql<'r>>(&mut self) -> Result<Option<T>, StoreError> {
        let at = self.next;
        self.next += 1;
        self.row.try_get(at).map_err(|error| StoreError::Corrupt { why: error.to_string() })
    }
}

impl Columns for PgColumns<'_> {
    fn maybe_id(&mut self) -> Result<Option<u128>, StoreError> {
        Ok(self.take::<PgId>()?.map(|id| id.0))
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

/// An id of PostgreSQL's type UUID: the same 16 bytes in network order.
struct PgId(u128);

impl FromSql<'_> for PgId {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }
    accepts!(UUID);
}
