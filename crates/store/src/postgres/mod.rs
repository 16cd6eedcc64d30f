//! The shared store: any number of processes on one PostgreSQL. One connection writes, a transaction a batch; others
//! read.
//!
//! Rows that a batch decides about are locked first, always in the order counters of the limiter's rules, keys of
//! openings, accounts, matches by id, tables by id, worlds by id, totals of hunts, standings by player, counters by
//! name, so that two nodes do not deadlock; where the database still finds a deadlock, the batch is retried.

mod appends;
mod batch;
mod batch_plan;
mod connection;
mod dialect;
mod migrate;
mod session;
mod statement_error;
mod tables;
#[cfg(test)]
mod tests;

#[cfg(feature = "testing")]
pub(crate) use {
    appends::KEPT,
    connection::SETTINGS,
    session::{BEGIN, BEGIN_WITH_PLANS},
};

use crate::contract::{Backend, Database, Reader, StoreError};
use crate::sql;
use ::postgres::Config;

/// One transaction on its way.
type Batch<'s> = sql::Batch<'s, session::Session>;

/// A PostgreSQL database; its schema is made when a writer is first opened.
#[derive(Clone)]
pub struct PostgresDatabase {
    config: Config,
}

impl PostgresDatabase {
    /// The database at this address: `postgres://user:password@host:port/name`, or `key=value` pairs as in libpq.
    ///
    /// # Errors
    /// When this is no such address. The error does not repeat it: it may hold a password.
    pub fn new(address: &str) -> Result<Self, StoreError> {
        connection::configured(address).map(|config| Self { config })
    }
}

impl Database for PostgresDatabase {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        let mut session = connection::open(&self.config)?;
        migrate::migrate(&mut session)?;
        Ok(Box::new(batch::PostgresWriter::new(session)))
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        let mut session = connection::open(&self.config)?;
        migrate::check(&mut session)?;
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
        let mut session = connection::open(&self.config)?;
        session.begin(&[])?;
        sql::competitions::record_unplayed(&mut session, ladder, results)?;
        session.script("COMMIT")
    }
}
