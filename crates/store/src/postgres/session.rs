//! A PostgreSQL session: prepared statements, and rows read from left to right.

use super::statement_error::StatementError;
use crate::columns::Columns;
use crate::contract::StoreError;
use ::postgres::types::private::BytesMut;
use ::postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use ::postgres::{Client, Row, Statement};
use std::collections::HashMap;
use std::error::Error;

/// Values for a statement.
pub(super) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

/// Begins a transaction.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";
/// Begins one that keeps plans. None of them may read a table from end to end, not even while it is empty and nothing costs less.
pub(crate) const BEGIN_WITH_PLANS: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off";
/// Continues such a transaction like any other.
const WITHOUT_PLANS: &str = "SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan TO DEFAULT";

/// One connection with its prepared statements.
pub(super) struct Session {
    client: Client,
    prepared: HashMap<String, Statement>,
    /// Statements whose plans this transaction keeps, as long as it sends no other.
    kept: &'static [&'static str],
}

impl Session {
    pub(super) fn new(client: Client) -> Self {
        Self { client, prepared: HashMap::new(), kept: &[] }
    }

    /// Begins a transaction that keeps the plans of these statements until it sends another one (docs/decisions/0041).
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn begin(&mut self, kept: &'static [&'static str]) -> Result<(), StatementError> {
        self.script(if kept.is_empty() { BEGIN } else { BEGIN_WITH_PLANS })?;
        self.kept = kept;
        Ok(())
    }

    /// Several statements without values.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn script(&mut self, sql: &str) -> Result<(), StatementError> {
        #[cfg(feature = "testing")]
        crate::testing::statements::record(sql);
        self.client.batch_execute(sql).map_err(|error| StatementError::from(&error))
    }

    #[cfg_attr(feature = "testing", track_caller)]
    fn prepared(&mut self, sql: &str) -> Result<Statement, StatementError> {
        #[cfg(feature = "testing")]
        crate::testing::statements::record(sql);
        if !self.kept.is_empty() && !self.kept.contains(&sql) {
            self.client.batch_execute(WITHOUT_PLANS).map_err(|error| StatementError::from(&error))?;
            self.kept = &[];
        }
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).map_err(|error| StatementError::from(&error))?;
        self.prepared.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Runs a statement; how many rows it changed.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn run(&mut self, sql: &str, params: Params<'_>) -> Result<u64, StatementError> {
        let statement = self.prepared(sql)?;
        self.client.execute(&statement, params).map_err(|error| StatementError::from(&error))
    }

    /// All rows of a query.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn all<T>(
        &mut self,
        sql: &str,
        params: Params<'_>,
        mut read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StatementError> {
        let statement = self.prepared(sql)?;
        let rows = self.client.query(&statement, params).map_err(|error| StatementError::from(&error))?;
        let read = |row: &Row| read(&mut PgColumns { row, next: 0 });
        rows.iter().map(read).collect::<Result<_, _>>().map_err(StatementError::Store)
    }

    /// The first row of a query, if there is one.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn first<T>(
        &mut self,
        sql: &str,
        params: Params<'_>,
        read: impl FnMut(&mut PgColumns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StatementError> {
        Ok(self.all(sql, params, read)?.into_iter().next())
    }

    /// Whether a query has any row.
    #[cfg_attr(feature = "testing", track_caller)]
    pub(super) fn exists(&mut self, sql: &str, params: Params<'_>) -> Result<bool, StatementError> {
        Ok(self.first(sql, params, |_| Ok(()))?.is_some())
    }
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

/// An id as PostgreSQL's UUID: the same 16 bytes in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PgId(pub(super) u128);

impl ToSql for PgId {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }
    accepts!(UUID);
    to_sql_checked!();
}

impl FromSql<'_> for PgId {
    fn from_sql(_: &Type, raw: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(u128::from_be_bytes(raw.try_into()?)))
    }
    accepts!(UUID);
}
