//! The writer: one transaction a batch. A command that is refused is refused before it writes, so nothing has to be
//! undone; an error rolls the whole batch back.

use super::checkpoint::Checkpointer;
use super::connection::{self, OrStoreError};
use super::session::Session;
use crate::columns::Columns;
use crate::contract::{Backend, StoreError};
use crate::counters::CounterChanges;
use engine::commands::{Command, Outcome};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// SQLite's own limit on the pages of a file.
const PAGES_MAX: u32 = 0xffff_fffe;

pub(super) struct SqliteWriter {
    db: Connection,
    /// A database in memory has no log to copy from.
    checkpointer: Option<Checkpointer>,
    pages_max: Arc<AtomicU32>,
    pages_max_in_force: u32,
}

impl SqliteWriter {
    pub(super) fn new(db: Connection, file: &Path, pages_max: Arc<AtomicU32>) -> Self {
        let checkpointer = (!connection::is_in_memory(file)).then(|| Checkpointer::start(file));
        Self { db, checkpointer, pages_max, pages_max_in_force: 0 }
    }

    fn limit_pages(&mut self) -> Result<(), StoreError> {
        let wanted = self.pages_max.load(Ordering::SeqCst);
        if wanted != self.pages_max_in_force {
            limit_pages(&self.db, wanted)?;
            self.pages_max_in_force = wanted;
        }
        Ok(())
    }
}

/// Lets a file grow to this many pages; 0 is no limit but SQLite's.
pub(super) fn limit_pages(db: &Connection, pages_max: u32) -> Result<(), StoreError> {
    let pages_max = if pages_max == 0 { PAGES_MAX } else { pages_max };
    db.execute_batch(&format!("PRAGMA max_page_count = {pages_max}")).or_store_error()
}

impl Backend for SqliteWriter {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        self.limit_pages()?;
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate).or_store_error()?;
        let mut batch = Batch {
            session: Session { db: &transaction },
            counters: CounterChanges::default(),
            virtual_time_reached: None,
        };
        let outcomes = commands.iter().map(|command| batch.apply(command)).collect::<Result<_, _>>()?;
        batch.write_counters()?;
        transaction.commit().or_store_error()?;
        if let Some(checkpointer) = &self.checkpointer {
            checkpointer.after_commit(&self.db);
        }
        Ok(outcomes)
    }
}

/// One transaction on its way.
pub(super) struct Batch<'c> {
    pub(super) session: Session<'c>,
    pub(super) counters: CounterChanges,
    /// The highest tag that was claimed in this batch.
    pub(super) virtual_time_reached: Option<u64>,
}

impl Batch<'_> {
    fn apply(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        match command {
            Command::EnsureAccount(account) => self.ensure_account(account),
            Command::CreateToken(token) => self.create_token(token),
            Command::DeleteToken { id, account } => self.delete_token(*id, *account),
            Command::CreateBot(bot) => self.create_bot(bot),
            Command::UpdateBot(bot) => self.update_bot(bot),
            Command::DeleteBot { id, account } => self.delete_bot(*id, *account),
            Command::CreateMatches(create) => self.create_matches(create),
            Command::CancelMatch { id, account, now } => self.cancel(*id, *account, *now),
            Command::RequeueMatch { id, now } => self.requeue(*id, *now),
            Command::RenewLease { worker, address, now, until } => self.renew_lease(*worker, address, *now, *until),
            Command::EndLease { worker } => self.end_lease(*worker),
            Command::EndAllLeases => self.end_all_leases(),
            Command::ClaimMatches { worker, number, now, max, attempts_max } => {
                self.claim(*worker, *number, *now, *max, *attempts_max)
            }
            Command::AppendMatch(append) => self.append(append),
            Command::FinishMatch { append, result, archive, now } => self.finish(append, result, archive, *now),
            Command::FailMatch { id, epoch, reason, now } => self.fail(*id, *epoch, reason, *now),
            Command::ReleaseMatch { id, epoch, is_refunded } => self.release(*id, *epoch, *is_refunded),
            Command::RetireMatches { now, keep_for, keep_archive_bytes, max } => {
                self.retire(*now, *keep_for, *keep_archive_bytes, *max)
            }
            Command::PutLimitPolicy(policy) => self.put_limit_policy(policy),
            Command::DeleteLimitPolicy { name } => self.delete_limit_policy(name),
            Command::PutLimitOverride(quota) => self.put_limit_override(quota),
            Command::DeleteLimitOverride { policy, key } => self.delete_limit_override(policy, key),
            Command::OpenTable(open) => self.open_table(open),
            Command::AppendTable(append) => self.append_table(append),
            Command::ClaimTable { id, worker, now } => self.claim_table(*id, *worker, *now),
            Command::ClaimTables { worker, number, now, max } => self.claim_tables(*worker, *number, *now, *max),
            Command::ReleaseTable { id, epoch } => self.release_table(*id, *epoch),
            Command::RetireGames { now, keep_for, max } => self.retire_games(*now, *keep_for, *max),
            Command::EnsureSecret { name, bytes } => self.ensure_secret(name, bytes),
            Command::World(command) => self.world(command),
        }
    }

    /// A counter as it was before this batch.
    pub(super) fn counter(&self, name: &str) -> Result<i64, StoreError> {
        let value = self.session.first("SELECT value FROM counters WHERE name = ?1", [name], |row| row.int())?;
        Ok(value.unwrap_or_default())
    }

    pub(super) fn virtual_time(&self) -> Result<u64, StoreError> {
        match self.virtual_time_reached {
            Some(reached) => Ok(reached),
            None => Ok(self.counter("virtual_time")? as u64),
        }
    }

    fn write_counters(&self) -> Result<(), StoreError> {
        for (name, change) in self.counters.changes() {
            self.session.run("UPDATE counters SET value = value + ?2 WHERE name = ?1", (name, change))?;
        }
        if let Some(reached) = self.virtual_time_reached {
            self.session.run("UPDATE counters SET value = ?1 WHERE name = 'virtual_time'", [reached as i64])?;
        }
        for (minute, minute_counters) in &self.counters.minutes {
            self.session.run(
                "INSERT INTO minutes (minute, created, finished, timed, duration_ms) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (minute) DO UPDATE SET
                   created = created + excluded.created, finished = finished + excluded.finished,
                   timed = timed + excluded.timed, duration_ms = duration_ms + excluded.duration_ms",
                (
                    minute,
                    minute_counters.created as i64,
                    minute_counters.finished as i64,
                    minute_counters.with_duration as i64,
                    minute_counters.duration_ms as i64,
                ),
            )?;
        }
        Ok(())
    }
}
