//! The writer: one transaction a batch. A command that is refused is refused before it writes, so nothing has to be
//! undone; an error rolls the whole batch back.

use super::checkpoint::Checkpointer;
use super::session::Session;
use super::{Batch, connection};
use crate::checksums::Damage;
use crate::contract::{Backend, StoreError};
use crate::sql::Session as _;
use engine::commands::{Command, Outcome};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// SQLite's own limit on the pages of a file.
const PAGES_MAX: u32 = 0xffff_fffe;

pub(super) struct SqliteWriter {
    session: Session,
    /// A database in memory has no log to copy from.
    checkpointer: Option<Checkpointer>,
    pages_max: Arc<AtomicU32>,
    pages_max_in_force: u32,
}

impl SqliteWriter {
    pub(super) fn new(db: Connection, file: &Path, pages_max: Arc<AtomicU32>) -> Self {
        let checkpointer = (!connection::is_in_memory(file)).then(|| Checkpointer::start(file));
        Self { session: Session::new(db), checkpointer, pages_max, pages_max_in_force: 0 }
    }

    /// All of a transaction that has begun.
    fn apply_all(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        let mut batch = Batch::new(&mut self.session);
        let outcomes = commands.iter().map(|command| batch.apply(command)).collect::<Result<_, _>>()?;
        batch.write_awards()?;
        batch.write_results()?;
        batch.write_counters()?;
        self.session.script("COMMIT")?;
        Ok(outcomes)
    }

    fn limit_pages(&mut self) -> Result<(), StoreError> {
        let wanted = self.pages_max.load(Ordering::SeqCst);
        if wanted != self.pages_max_in_force {
            limit_pages(&self.session, wanted)?;
            self.pages_max_in_force = wanted;
        }
        Ok(())
    }
}

/// Lets a file grow to this many pages; 0 is no limit but SQLite's.
pub(super) fn limit_pages(session: &Session, pages_max: u32) -> Result<(), StoreError> {
    let pages_max = if pages_max == 0 { PAGES_MAX } else { pages_max };
    session.script(&format!("PRAGMA max_page_count = {pages_max}"))
}

impl Backend for SqliteWriter {
    fn commit(&mut self, commands: &[Command]) -> Result<Vec<Outcome>, StoreError> {
        self.limit_pages()?;
        self.session.script("BEGIN IMMEDIATE")?;
        let outcomes = self.apply_all(commands);
        if outcomes.is_err() {
            // After some errors SQLite has rolled back by itself.
            let _ = self.session.script("ROLLBACK");
        }
        let outcomes = outcomes?;
        if let Some(checkpointer) = &self.checkpointer {
            checkpointer.after_commit(&mut self.session);
        }
        Ok(outcomes)
    }

    fn take_damages(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.session.damages)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.limit_pages()?;
        self.session.probe()
    }
}

impl Batch<'_> {
    fn apply(&mut self, command: &Command) -> Result<Outcome, StoreError> {
        match command {
            Command::AppendMatch(append) => self.append(append),
            Command::EndAllLeases => self.end_all_leases(),
            Command::OpenTable(open) => self.open_table(open),
            Command::AppendTable(append) => self.append_table(append),
            Command::ReleaseTable { id, epoch } => self.release_table(*id, *epoch),
            other => self.apply_common(other),
        }
    }

    /// The file belongs to this process alone.
    fn end_all_leases(&mut self) -> Result<Outcome, StoreError> {
        // Leases without an end get one: ended leases are deleted in time.
        self.session.run("UPDATE workers SET is_given_up = 1, lease_until = 0 WHERE lease_until > 0", &[])?;
        Ok(Outcome::Done)
    }
}
