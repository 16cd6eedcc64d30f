//! The shared store: any number of processes on one PostgreSQL. One connection writes, a transaction a batch; others
//! read.
//!
//! Rows that a batch decides about are locked first, always in the order counters of the limiter's rules, keys of
//! openings, accounts, matches by id, tables by id, worlds by id, totals of hunts, standings by player, counters by
//! name, so that two nodes do not deadlock; where the database still finds a deadlock, the batch is retried.

mod address;
mod appends;
mod batch;
mod batch_plan;
mod connection;
mod dialect;
mod host_addresses;
mod migrate;
mod session;
mod statement_error;
mod tables;
#[cfg(test)]
mod tests;
mod tls;

#[cfg(feature = "fuzzing")]
pub(crate) use address::without_files;
#[cfg(feature = "testing")]
pub(crate) use {
    appends::KEPT,
    connection::SETTINGS,
    session::{BEGIN, BEGIN_WITH_PLANS},
};

use crate::checksums::ChecksumReport;
use crate::contract::{Backend, Database, Reader, StoreError};
use crate::schema::{SchemaPolicy, SchemaVersion};
use crate::sql::{self, Session as _};

/// One transaction on its way.
type Batch<'s> = sql::Batch<'s, session::Session>;

/// A PostgreSQL database; its schema is made, or migrated, when a writer is first opened.
#[derive(Clone)]
pub struct PostgresDatabase {
    connector: connection::Connector,
    policy: SchemaPolicy,
}

impl PostgresDatabase {
    /// The database at this address: `postgres://user:password@host:port/name`, with the parameters of libpq (`sslmode`, `sslrootcert`,
    /// `passfile` and those that the library reads), or `key=value` pairs.
    ///
    /// # Errors
    /// When this is no such address, or a file that it names cannot be read. The error does not repeat it: it may hold a password.
    pub fn new(address: &str) -> Result<Self, StoreError> {
        connection::Connector::new(address).map(|connector| Self { connector, policy: SchemaPolicy::Migrate })
    }

    /// Whether the newest connection is encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.connector.is_encrypted()
    }

    /// The hosts of other machines to which the newest connection went in plain text, if it did.
    #[must_use]
    pub fn plain_text_hosts(&self) -> Vec<String> {
        self.connector.plain_text_hosts()
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
        migrate::version(&mut self.connector.open()?)
    }

    /// Compares every checksum and reads every row that has a text, as of one moment.
    ///
    /// # Errors
    /// It cannot be read, or is of another version than this program.
    pub fn check_rows(&self) -> Result<ChecksumReport, StoreError> {
        let mut session = self.connector.open()?;
        migrate::check(&mut session, SchemaPolicy::Never)?;
        session.script("SET statement_timeout = 0")?;
        session.snapshot(sql::checked_rows::check)
    }

    /// Brings it to the version of this program; the version before.
    ///
    /// # Errors
    /// As for [`Database::writer`].
    pub fn migrate(&self) -> Result<i64, StoreError> {
        migrate::migrate_known(&mut self.connector.open()?)
    }
}

impl Database for PostgresDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        let mut session = self.connector.open()?;
        migrate::migrate(&mut session, self.policy)?;
        Ok(Box::new(batch::PostgresWriter::new(session)))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let mut session = self.connector.open()?;
        migrate::check(&mut session, self.policy)?;
        Ok(Box::new(session))
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn kind(&self) -> &'static str {
        "postgres"
    }
}

#[cfg(feature = "testing")]
impl crate::testing::RecordUnplayed for PostgresDatabase {
    fn record_unplayed(
        &self,
        ladder: engine::ids::CompetitionId,
        results: &[engine::competitions::CompetitionResult],
    ) -> Result<(), StoreError> {
        let mut session = self.connector.open()?;
        session.begin(&[])?;
        sql::competitions::record_unplayed(&mut session, ladder, results)?;
        session.script("COMMIT")
    }
}

#[cfg(feature = "testing")]
impl PostgresDatabase {
    fn unchecked(&self) -> session::Session {
        let mut session = self.connector.open().expect("the database can be reached");
        let unchecked = "SET session_replication_role = replica;
            DO $$ DECLARE found record; BEGIN
                FOR found IN SELECT conrelid::regclass AS of, conname FROM pg_constraint
                             WHERE contype = 'c' AND connamespace = current_schema()::regnamespace LOOP
                    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', found.of, found.conname);
                END LOOP;
            END $$";
        session.script(unchecked).expect("triggers and constraints can be off");
        session
    }
}

#[cfg(feature = "testing")]
impl crate::testing::DamageRows for PostgresDatabase {
    fn run_unchecked(&self, sql: &str) {
        self.unchecked().script(sql).expect("the statement can be run");
    }

    fn rewrite(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>)) {
        sql::checked_rows::rewrite(&mut self.unchecked(), place, change).expect("the row can be written");
    }

    fn rewrite_as_before(&self, place: (&str, &str, &str), change: &mut dyn FnMut(&mut Vec<u8>)) {
        let mut session = self.connector.open().expect("the database can be reached");
        sql::checked_rows::rewrite(&mut session, place, change).expect("the row can be written");
    }

    fn check_checksums(&self) -> ChecksumReport {
        self.check_rows().expect("the store can be read")
    }
}
