//! Reads of committed data that are done row by row here.

use super::batch::limit_pages;
use super::claim::{HOLDERS, seats};
use super::connection::{self, Access};
use super::dialect::log_end;
use super::session::Session;
use crate::columns::{self, Columns, MatchWithoutSeats};
use crate::contract::{MatchFilter, StoreError};
use crate::sql::reader::SqlReader;
use crate::sql::{ID_MAX, Session as _, values};
use engine::ids::MatchId;
use engine::rows::{MatchRow, MatchStatus};
use engine::time::UnixMs;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(super) const RUNNING_COUNT: &str = "SELECT count(*) FROM matches WHERE state = 'running' AND worker IS ?1";

pub(super) struct SqliteReader {
    session: Session,
    file: Arc<Path>,
    pages_max: Arc<AtomicU32>,
    /// Opened by the first probe.
    prober: Option<Session>,
}

impl SqliteReader {
    pub(super) fn new(db: Connection, file: Arc<Path>, pages_max: Arc<AtomicU32>) -> Self {
        Self { session: Session { db }, file, pages_max, prober: None }
    }
}

impl SqlReader for SqliteReader {
    type Session = Session;

    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn matches(session: &mut Session, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
        let before = filter.before.map_or(ID_MAX, MatchId::to_bytes);
        let page = values![before, filter.limit, filter.account, filter.bot];
        let ids = session.all(&match_ids(filter), page, |row| row.id())?;
        ids.into_iter().filter_map(|id| match_row(session, MatchId(id)).transpose()).collect()
    }

    fn match_by_id(session: &mut Session, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
        match_row(session, id)
    }

    fn statuses(session: &mut Session, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError> {
        session.snapshot(|session| ids.iter().filter_map(|id| status(session, *id).transpose()).collect())
    }

    fn orphaned(session: &mut Session, now: UnixMs) -> Result<u64, StoreError> {
        let lost = session.all(HOLDERS, values![now], |row| row.id_bytes())?;
        let holders = std::iter::once(None).chain(lost.into_iter().map(Some));
        let count =
            |holder| Ok(session.first(RUNNING_COUNT, values![holder], |row| row.number::<u64>())?.unwrap_or_default());
        holders.map(count).sum()
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        Ok(None)
    }

    /// Through a connection of its own, which fails where the writer would. The row is gone in the same transaction; its page
    /// is written all the same.
    fn probe(&mut self) -> Result<(), StoreError> {
        let prober = match self.prober.take() {
            Some(prober) => prober,
            None => {
                let db = connection::open(&self.file, Access::Write)?;
                connection::prepare_to_write(&db)?;
                Session { db }
            }
        };
        limit_pages(&prober, self.pages_max.load(Ordering::SeqCst))?;
        prober.script(
            "BEGIN IMMEDIATE; INSERT INTO probe (written_at) VALUES (unixepoch()); DELETE FROM probe; COMMIT;",
        )?;
        self.prober = Some(prober);
        Ok(())
    }
}

/// Ids of the matches that a filter shows; ?1 is the cursor, ?2 the limit, ?3 the account, ?4 the bot.
pub(super) fn match_ids(filter: &MatchFilter) -> String {
    let by_account = if filter.account.is_some() { "account = ?3" } else { "?3 IS NULL" };
    match filter.bot {
        None => {
            format!("SELECT id FROM matches WHERE id < ?1 AND {by_account} AND ?4 IS NULL ORDER BY id DESC LIMIT ?2")
        }
        Some(_) if filter.account.is_none() => {
            "SELECT DISTINCT match_id FROM seats WHERE bot = ?4 AND match_id < ?1 AND ?3 IS NULL \
             ORDER BY match_id DESC LIMIT ?2"
                .to_owned()
        }
        Some(_) => "SELECT DISTINCT seats.match_id FROM seats CROSS JOIN matches ON matches.id = seats.match_id \
             WHERE seats.bot = ?4 AND seats.match_id < ?1 AND matches.account = ?3 \
             ORDER BY seats.match_id DESC LIMIT ?2"
            .to_owned(),
    }
}

fn match_row(session: &mut Session, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
    let (spec, status, result) = (columns::SPEC, columns::STATUS, columns::RESULT);
    let sql = format!("SELECT {spec}, {status}, {result} FROM matches WHERE id = ?1");
    let row = session.first(&sql, values![id], |row| columns::bare_match(row))?;
    row.map(|row| with_seats(session, row)).transpose()
}

fn with_seats(session: &mut Session, mut row: MatchWithoutSeats) -> Result<MatchRow, StoreError> {
    let id = row.status.id;
    if row.is_log_live {
        columns::fill_log_end(&mut row.status, log_end(session, id)?);
    }
    Ok(row.seated(seats(session, id)?))
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
