//! Reads of committed data that are done row by row here.

use super::batch::limit_pages;
use super::connection::{self, Access};
use super::dialect::log_end;
use super::session::Session;
use crate::checksums::Damage;
use crate::columns;
use crate::contract::StoreError;
use crate::sql::reader::SqlReader;
use crate::sql::{Session as _, values};
use engine::ids::MatchId;
use engine::rows::MatchStatus;
use engine::time::UnixMs;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) struct SqliteReader {
    session: Session,
    file: Arc<Path>,
    pages_max: Arc<AtomicU32>,
    /// Opened by the first probe.
    prober: Option<Session>,
}

impl SqliteReader {
    pub(super) fn new(db: Connection, file: Arc<Path>, pages_max: Arc<AtomicU32>) -> Self {
        Self { session: Session::new(db), file, pages_max, prober: None }
    }
}

impl SqlReader for SqliteReader {
    type Session = Session;

    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn statuses(session: &mut Session, ids: &[MatchId]) -> Result<Vec<Result<MatchStatus, Damage>>, StoreError> {
        session.snapshot(|session| {
            let statuses = ids.iter().filter_map(|id| status(session, *id).transpose());
            statuses.map(columns::damage_of).collect()
        })
    }

    fn take_damages(&mut self) -> Vec<Damage> {
        std::mem::take(&mut self.session.damages)
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        Ok(None)
    }

    /// Through a connection of its own, which fails where the writer would.
    fn probe(&mut self) -> Result<(), StoreError> {
        let prober = match self.prober.take() {
            Some(prober) => prober,
            None => {
                let db = connection::open(&self.file, Access::Write)?;
                connection::prepare_to_write(&db)?;
                Session::new(db)
            }
        };
        limit_pages(&prober, self.pages_max.load(Ordering::SeqCst))?;
        prober.probe()?;
        self.prober = Some(prober);
        Ok(())
    }
}

pub(super) fn status_by_id() -> String {
    format!("SELECT {} FROM matches WHERE id = ?1", columns::STATUS)
}

fn status(session: &mut Session, id: MatchId) -> Result<Option<MatchStatus>, StoreError> {
    let Some((mut status, is_log_live)) = session.first(&status_by_id(), values![id], |row| columns::status(row))?
    else {
        return Ok(None);
    };
    if is_log_live {
        columns::fill_log_end(&mut status, log_end(session, id)?);
    }
    Ok(Some(status))
}
