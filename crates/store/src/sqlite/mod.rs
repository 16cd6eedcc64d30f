//! The embedded store: one SQLite file in WAL mode with `synchronous=FULL`. One writer, one `BEGIN IMMEDIATE` a batch, many
//! readers. Another process may write the same file at the same time (the command line does), so nothing is kept in memory
//! from one transaction to the next.

pub mod backup;
mod batch;
mod checkpoint;
mod connection;
mod dialect;
mod log;
mod migrate;
mod reader;
mod session;
mod tables;
#[cfg(test)]
mod tests;

use crate::checksums::ChecksumReport;
use crate::contract::{Backend, Database, Reader, StoreError};
use crate::schema::{SchemaPolicy, SchemaVersion};
use crate::sql::{self, Session as _};
use connection::Access;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// One transaction on its way.
type Batch<'s> = sql::Batch<'s, session::Session>;

/// A database file. It is made, with its schema, when its writer is first opened.
#[derive(Clone)]
pub struct SqliteDatabase {
    file: Arc<Path>,
    /// The file may have so many pages of 4 KiB; 0 is no limit. A test's way to fill the disk up and to make room again.
    pages_max: Arc<AtomicU32>,
    policy: SchemaPolicy,
}

impl SqliteDatabase {
    /// The database in this file, whose directory must exist. Opening a writer migrates it.
    #[must_use]
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into().into(), pages_max: Arc::default(), policy: SchemaPolicy::Migrate }
    }

    /// The same, whose writer and readers follow this policy.
    #[must_use]
    pub fn with_policy(self, policy: SchemaPolicy) -> Self {
        Self { policy, ..self }
    }

    /// The version of its schema.
    ///
    /// # Errors
    /// As for [`Database::reader`]; a newer version is none.
    pub fn schema_version(&self) -> Result<SchemaVersion, StoreError> {
        migrate::version(&connection::open(&self.file, Access::Read)?, &self.file)
    }

    /// Compares every checksum and reads every row that has a text, as of one moment, also while a server uses the file.
    ///
    /// # Errors
    /// It cannot be read, or is of another version than this program.
    pub fn check_rows(&self) -> Result<ChecksumReport, StoreError> {
        let db = connection::open(&self.file, Access::Read)?;
        migrate::check(&db, &self.file, SchemaPolicy::Never)?;
        session::Session::new(db).snapshot(sql::checked_rows::check)
    }

    /// Brings it to the version of this program; the version before.
    ///
    /// # Errors
    /// As for [`Database::writer`].
    pub fn migrate(&self) -> Result<i64, StoreError> {
        let mut db = connection::open(&self.file, Access::Write)?;
        let before = migrate::version(&db, &self.file)?;
        if before.found > before.known {
            return Err(before.refuse_newer(&self.file.display().to_string()));
        }
        migrate::migrate(&mut db, &self.file, SchemaPolicy::Migrate)
    }

    /// Lets the file grow to this many pages of 4 KiB from the next batch on; 0 is no limit.
    #[cfg(any(test, feature = "testing"))]
    pub fn limit_pages(&self, pages_max: u32) {
        self.pages_max.store(pages_max, std::sync::atomic::Ordering::SeqCst);
    }

    /// The query plans of the queries about stories in this file: their names, and the steps in the words of `EXPLAIN
    /// QUERY PLAN`.
    ///
    /// # Errors
    /// As for [`Database::reader`].
    #[cfg(any(test, feature = "testing"))]
    pub fn story_query_plans(&self) -> Result<Vec<(&'static str, Vec<String>)>, StoreError> {
        let db = connection::open(&self.file, Access::Read)?;
        migrate::check(&db, &self.file, self.policy)?;
        let plans = tables::queries().into_iter().map(|(name, sql)| Ok((name, session::plan(&db, &sql)?)));
        plans.collect()
    }
}

impl Database for SqliteDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        let mut db = connection::open(&self.file, Access::Write)?;
        migrate::migrate(&mut db, &self.file, self.policy)?;
        Ok(Box::new(batch::SqliteWriter::new(db, &self.file, Arc::clone(&self.pages_max))))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let db = connection::open(&self.file, Access::Read)?;
        migrate::check(&db, &self.file, self.policy)?;
        Ok(Box::new(reader::SqliteReader::new(db, Arc::clone(&self.file), Arc::clone(&self.pages_max))))
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn kind(&self) -> &'static str {
        "sqlite"
    }
}

#[cfg(feature = "testing")]
impl crate::testing::RecordUnplayed for SqliteDatabase {
    fn record_unplayed(
        &self,
        ladder: engine::ids::CompetitionId,
        results: &[engine::competitions::CompetitionResult],
    ) -> Result<(), StoreError> {
        let mut session = session::Session::new(connection::open(&self.file, Access::Write)?);
        session.script("BEGIN IMMEDIATE")?;
        sql::competitions::record_unplayed(&mut session, ladder, results)?;
        session.script("COMMIT")
    }
}

#[cfg(feature = "testing")]
impl SqliteDatabase {
    fn unchecked(&self) -> session::Session {
        let db = connection::open(&self.file, Access::Write).expect("the file can be opened");
        db.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)
            .expect("triggers can be off");
        let session = session::Session::new(db);
        session
            .script("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF")
            .expect("constraints can be off");
        session
    }
}

#[cfg(feature = "testing")]
impl crate::testing::DamageRows for SqliteDatabase {
    fn run_unchecked(&self, sql: &str) {
        self.unchecked().script(sql).expect("the statement can be run");
    }

    fn rewrite(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>)) {
        sql::checked_rows::rewrite(&mut self.unchecked(), place, change).expect("the row can be written");
    }

    fn rewrite_as_before(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>)) {
        let db = connection::open(&self.file, Access::Write).expect("the file can be opened");
        sql::checked_rows::rewrite(&mut session::Session::new(db), place, change).expect("the row can be written");
    }

    fn check_checksums(&self) -> ChecksumReport {
        self.check_rows().expect("the store can be read")
    }
}
