//! Reads of committed data that are done in one statement for many rows here.

use super::claim::LOST_HOLDERS;
use super::session::{PgId, Session};
use crate::columns::{self, Columns, MatchWithoutSeats, SeatRow};
use crate::contract::{MatchFilter, StoreError};
use crate::sql::reader::SqlReader;
use crate::sql::{Session as _, values};
use engine::ids::MatchId;
use engine::rows::{MatchRow, MatchStatus};
use engine::time::UnixMs;
use std::collections::BTreeMap;

const ORPHANED: &str = "
    SELECT count(*) FROM matches WHERE state = 'running' AND (worker IS NULL OR worker = ANY ($1))";
/// A record of nothing in the write-ahead log: it must reach the disk, and leaves no row behind.
const PROBE: &str = "SELECT pg_logical_emit_message(true, 'gauntlet', 'probe')::text";

pub(super) struct PostgresReader {
    session: Session,
}

impl PostgresReader {
    pub(super) fn new(session: Session) -> Self {
        Self { session }
    }
}

impl SqlReader for PostgresReader {
    type Session = Session;

    fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn matches(session: &mut Session, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
        let sql = format!("{} {}", select_matches(), matches_where(filter));
        let page = values![filter.before, filter.limit, filter.account, filter.bot];
        let rows = session.all(&sql, page, |row| columns::bare_match(row))?;
        with_seats(session, rows)
    }

    fn match_by_id(session: &mut Session, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
        let sql = format!("{} WHERE id = ?1", select_matches());
        let rows = session.all(&sql, values![id], |row| columns::bare_match(row))?;
        Ok(with_seats(session, rows)?.into_iter().next())
    }

    fn statuses(session: &mut Session, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError> {
        let ids: Vec<PgId> = ids.iter().map(|id| PgId(id.0)).collect();
        let sql = format!(
            "SELECT {} FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (asked_id, place)
             JOIN matches_now ON id = asked_id ORDER BY place",
            columns::STATUS
        );
        session.query(&sql, &[&ids], |row| columns::status(row).map(|(status, _)| status))
    }

    fn orphaned(session: &mut Session, now: UnixMs) -> Result<u64, StoreError> {
        let lost = session.all(LOST_HOLDERS, values![now], |row| row.id().map(PgId))?;
        let count = session.query(ORPHANED, &[&lost], |row| row.number())?;
        Ok(count.into_iter().next().unwrap_or_default())
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        self.session.first(sql, &[], |row| row.time())
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        self.session.first(PROBE, &[], |_| Ok(()))?;
        Ok(())
    }
}

fn select_matches() -> String {
    format!("SELECT {}, {}, {} FROM matches_now", columns::SPEC, columns::STATUS, columns::RESULT)
}

/// $1 is the cursor, $2 the limit, $3 the account, $4 the bot. An absent filter is not in the condition, so that each
/// list is read from its own index.
fn matches_where(filter: &MatchFilter) -> String {
    let term =
        |is_set: bool, condition: &'static str, otherwise: &'static str| if is_set { condition } else { otherwise };
    let cursor = term(filter.before.is_some(), "id < $1", "$1::uuid IS NULL");
    let account = term(filter.account.is_some(), "account = $3", "$3::uuid IS NULL");
    let by_bot = "id IN (SELECT match_id FROM seats WHERE bot = $4)";
    let bot = term(filter.bot.is_some(), by_bot, "$4::uuid IS NULL");
    format!("WHERE {cursor} AND {account} AND {bot} ORDER BY id DESC LIMIT $2")
}

fn with_seats(session: &mut Session, rows: Vec<MatchWithoutSeats>) -> Result<Vec<MatchRow>, StoreError> {
    let ids: Vec<PgId> = rows.iter().map(|row| PgId(row.status.id.0)).collect();
    let sql = format!("SELECT {} FROM seats WHERE match_id = ANY ($1) ORDER BY match_id, seat", columns::SEAT);
    let mut seats = BTreeMap::<MatchId, Vec<SeatRow>>::new();
    for seat in session.query(&sql, &[&ids], |row| columns::seat(row))? {
        seats.entry(seat.id).or_default().push(seat);
    }
    let seated = rows.into_iter().map(|row| {
        let of_match = seats.remove(&row.status.id).unwrap_or_default();
        row.seated(of_match)
    });
    Ok(seated.collect())
}
