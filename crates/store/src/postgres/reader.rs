//! Reads of committed data. A call of several queries runs them in one repeatable-read transaction.

use super::claim::{LEASE_ADDRESS, LOST_HOLDERS};
use super::limit_rules;
use super::session::{PgId, Session};
use super::statement_error::StatementError;
use super::stories;
use super::worlds;
use crate::archives;
use crate::columns::{self, Columns, MatchWithoutSeats, SeatRow};
use crate::contract::{
    BotFilter, MatchFilter, PlayerGamesFilter, Reader, RecordedGame, RememberedResponse, StoreError,
};
use crate::counters::{FAILURES_SCANNED_MAX, FAILURES_SHOWN_MAX, StatsWindows, day_before};
use engine::ids::{
    AccountId, BotId, GameId, MatchId, PlayerId, TableId, TicketId, TokenId, WorkerId, WorldId, WorldName,
};
use engine::matches::lifecycle::MatchState;
use engine::rows::{
    Account, AggregationLag, Bot, GameCursor, GameRow, HuntCursor, HuntTotals, HunterCursor, HunterRow, LimitRules,
    MatchCounts, MatchLogPage, MatchLogRow, MatchRow, MatchStats, MatchStatus, RoundRow, SeatedGame, TableOwner, Token,
    WorldEntry, WorldLogPage, WorldOwner, WorldRow,
};
use engine::tables::Standing;
use engine::time::UnixMs;
use std::collections::BTreeMap;

const WINDOWS: &str = "
    SELECT sum(created) FILTER (WHERE minute >= $1)::bigint, sum(created) FILTER (WHERE minute >= $2)::bigint,
           sum(created)::bigint,
           sum(finished) FILTER (WHERE minute >= $1)::bigint, sum(finished) FILTER (WHERE minute >= $2)::bigint,
           sum(finished)::bigint,
           sum(timed) FILTER (WHERE minute >= $2)::bigint, sum(duration_ms) FILTER (WHERE minute >= $2)::bigint
    FROM minutes WHERE minute >= $3";
const FAILURES: &str = "
    SELECT count(*), failure, max(ended_at) FROM (
        SELECT failure, ended_at FROM matches
        WHERE state = 'failed' AND ended_at >= $1 ORDER BY ended_at DESC, id DESC LIMIT $2) AS newest
    GROUP BY failure ORDER BY count(*) DESC, max(ended_at) DESC, failure LIMIT $3";
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

    /// Several queries of one moment.
    fn snapshot<T>(&mut self, query: impl FnOnce(&mut Session) -> Result<T, StatementError>) -> Result<T, StoreError> {
        self.session.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let answer = query(&mut self.session);
        self.session.script("ROLLBACK")?;
        Ok(answer?)
    }
}

impl Reader for PostgresReader {
    fn token(&mut self, digest: &[u8; 32]) -> Result<Option<Token>, StoreError> {
        let sql = format!("SELECT {} FROM tokens WHERE digest = $1", columns::TOKEN);
        Ok(self.session.first(&sql, &[&digest.as_slice()], |row| columns::token(row))?)
    }

    fn tokens(&mut self, account: AccountId) -> Result<Vec<Token>, StoreError> {
        let sql = format!("SELECT {} FROM tokens WHERE account = $1 ORDER BY id DESC", columns::TOKEN);
        Ok(self.session.all(&sql, &[&PgId(account.0)], |row| columns::token(row))?)
    }

    fn account(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {} FROM accounts WHERE id = $1", columns::ACCOUNT);
        Ok(self.session.first(&sql, &[&PgId(id.0)], |row| columns::account(row))?)
    }

    fn account_named(&mut self, name: &str) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {} FROM accounts WHERE name = $1", columns::ACCOUNT);
        Ok(self.session.first(&sql, &[&name], |row| columns::account(row))?)
    }

    fn existing_tokens(&mut self, ids: &[TokenId]) -> Result<Vec<TokenId>, StoreError> {
        let ids: Vec<PgId> = ids.iter().map(|id| PgId(id.0)).collect();
        Ok(self.session.all("SELECT id FROM tokens WHERE id = ANY ($1)", &[&ids], |row| row.id().map(TokenId))?)
    }

    fn bots_by_id(&mut self, ids: &[BotId]) -> Result<Vec<Bot>, StoreError> {
        let ids: Vec<PgId> = ids.iter().map(|id| PgId(id.0)).collect();
        let sql = format!("SELECT {} FROM bots WHERE id = ANY ($1) ORDER BY id", columns::BOT);
        Ok(self.session.all(&sql, &[&ids], |row| columns::bot(row))?)
    }

    fn bots(&mut self, filter: &BotFilter) -> Result<Vec<Bot>, StoreError> {
        let before = filter.before.map(|id| PgId(id.0));
        let cursor = if before.is_some() { "id < $2" } else { "$2::uuid IS NULL" };
        let sql =
            format!("SELECT {} FROM bots WHERE account = $1 AND {cursor} ORDER BY id DESC LIMIT $3", columns::BOT);
        let page: [&(dyn ::postgres::types::ToSql + Sync); 3] =
            [&PgId(filter.account.0), &before, &(filter.limit as i64)];
        Ok(self.session.all(&sql, &page, |row| columns::bot(row))?)
    }

    fn match_by_id(&mut self, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
        let sql = format!("{} WHERE id = $1", select_matches());
        let rows = self.snapshot(|session| {
            let rows = session.all(&sql, &[&PgId(id.0)], |row| columns::bare_match(row))?;
            with_seats(session, rows)
        })?;
        Ok(rows.into_iter().next())
    }

    fn matches(&mut self, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
        let sql = format!("{} {}", select_matches(), matches_where(filter));
        let account = filter.account.map(|id| PgId(id.0));
        let bot = filter.bot.map(|id| PgId(id.0));
        let before = filter.before.map(|id| PgId(id.0));
        self.snapshot(|session| {
            let page: [&(dyn ::postgres::types::ToSql + Sync); 4] = [&before, &(filter.limit as i64), &account, &bot];
            let rows = session.all(&sql, &page, |row| columns::bare_match(row))?;
            with_seats(session, rows)
        })
    }

    fn statuses(&mut self, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError> {
        Ok(statuses(&mut self.session, ids)?)
    }

    fn match_log(&mut self, id: MatchId, from: u32, limit: usize) -> Result<Option<MatchLogPage>, StoreError> {
        self.snapshot(|session| {
            let status = statuses(session, &[id])?.into_iter().next();
            let Some(MatchStatus { state, version, .. }) = status else { return Ok(None) };
            let rows = match state {
                MatchState::Finished => archived_log(session, id, version, (from, limit))?,
                MatchState::Waiting | MatchState::Running | MatchState::Failed | MatchState::Cancelled => {
                    live_log(session, id, from, limit)?
                }
            };
            Ok(Some(MatchLogPage { state, version, rows }))
        })
    }

    fn idempotent_response(&mut self, account: AccountId, key: &str) -> Result<Option<RememberedResponse>, StoreError> {
        let sql = "SELECT fingerprint, answer FROM idempotency_keys WHERE account = $1 AND key = $2";
        let read = |row: &mut super::session::PgColumns<'_>| Ok((columns::digest(row.bytes()?)?, row.bytes()?));
        Ok(self.session.first(sql, &[&PgId(account.0), &key], read)?)
    }

    fn lease_address(&mut self, worker: WorkerId, now: UnixMs) -> Result<Option<String>, StoreError> {
        Ok(self.session.first(LEASE_ADDRESS, &[&PgId(worker.0), &now.0], |row| row.text())?)
    }

    fn leases_at(&mut self, address: &str, now: UnixMs) -> Result<Vec<(WorkerId, UnixMs)>, StoreError> {
        let sql = "SELECT id, lease_until FROM workers
                   WHERE address = $1 AND lease_until > $2 AND NOT is_given_up ORDER BY id";
        Ok(self.session.all(sql, &[&address, &now.0], |row| Ok((WorkerId(row.id()?), row.time()?)))?)
    }

    fn match_counts(&mut self) -> Result<MatchCounts, StoreError> {
        Ok(counts(&mut self.session)?)
    }

    fn match_stats(&mut self, now: UnixMs) -> Result<MatchStats, StoreError> {
        let StatsWindows { hour, day, week } = StatsWindows::ending_at(now);
        self.snapshot(|session| {
            let windows = session.first(WINDOWS, &[&hour, &day, &week], |row| columns::recent_stats(row))?;
            let mut stats = windows.unwrap_or_default();
            stats.counts = counts(session)?;
            let lost = session.all(LOST_HOLDERS, &[&now.0], |row| row.id().map(PgId))?;
            let orphaned = session.first(ORPHANED, &[&lost], |row| row.number())?;
            stats.orphaned = orphaned.unwrap_or_default();
            let limits = (FAILURES_SCANNED_MAX as i64, FAILURES_SHOWN_MAX as i64);
            let since = day_before(now).0;
            stats.failures = session.all(FAILURES, &[&since, &limits.0, &limits.1], |row| columns::failure(row))?;
            Ok(stats)
        })
    }

    fn limit_rules(&mut self) -> Result<LimitRules, StoreError> {
        self.snapshot(limit_rules::rules)
    }

    fn limit_rules_version(&mut self) -> Result<u64, StoreError> {
        Ok(limit_rules::version(&mut self.session)?)
    }

    fn secret(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(stories::secret(&mut self.session, name)?)
    }

    fn table_owner(&mut self, id: TableId, now: UnixMs) -> Result<Option<TableOwner>, StoreError> {
        Ok(stories::owner(&mut self.session, id, now)?)
    }

    fn story_game(&mut self, id: GameId) -> Result<Option<RecordedGame>, StoreError> {
        Ok(stories::game(&mut self.session, id)?)
    }

    fn story_games_of(&mut self, filter: &PlayerGamesFilter) -> Result<Vec<SeatedGame>, StoreError> {
        Ok(stories::games_of(&mut self.session, filter)?)
    }

    fn story_lobby(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        Ok(stories::lobby(&mut self.session, before, limit)?)
    }

    fn story_history(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        Ok(stories::history(&mut self.session, before, limit)?)
    }

    fn standings(&mut self, players: &[PlayerId]) -> Result<Vec<(PlayerId, Standing)>, StoreError> {
        Ok(stories::standings(&mut self.session, players)?)
    }

    fn story_idempotent_response(
        &mut self,
        player: PlayerId,
        key: &str,
    ) -> Result<Option<RememberedResponse>, StoreError> {
        Ok(stories::idempotent_response(&mut self.session, player, key)?)
    }

    fn worlds(
        &mut self,
        after: Option<WorldId>,
        limit: usize,
        viewer: Option<PlayerId>,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        Ok(worlds::worlds(&mut self.session, after, limit, (viewer, now))?)
    }

    fn world(&mut self, id: WorldId, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        Ok(worlds::world(&mut self.session, id, now)?)
    }

    fn world_named(&mut self, name: &WorldName, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        Ok(worlds::world_named(&mut self.session, name, now)?)
    }

    fn world_log(&mut self, id: WorldId, from: u32, limit: usize) -> Result<Option<WorldLogPage>, StoreError> {
        self.snapshot(|session| worlds::log_page(session, id, from, limit))
    }

    fn aggregation_lags(&mut self, limit: usize) -> Result<Vec<AggregationLag>, StoreError> {
        Ok(worlds::aggregation_lags(&mut self.session, limit)?)
    }

    fn has_joined(&mut self, id: WorldId, player: PlayerId) -> Result<bool, StoreError> {
        Ok(worlds::has_joined(&mut self.session, id, player)?)
    }

    fn members(&mut self, id: WorldId, limit: usize) -> Result<Vec<PlayerId>, StoreError> {
        Ok(worlds::members(&mut self.session, id, limit)?)
    }

    fn hunt_lobby(
        &mut self,
        before: Option<HuntCursor>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        Ok(worlds::lobby(&mut self.session, before, limit, now)?)
    }

    fn unfinished_hunts(
        &mut self,
        after: Option<HuntCursor>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<WorldRow>, StoreError> {
        Ok(worlds::unfinished(&mut self.session, after, limit, now)?)
    }

    fn hunt_of_ticket(&mut self, ticket: TicketId, player: PlayerId) -> Result<Option<WorldRow>, StoreError> {
        Ok(worlds::hunt_of_ticket(&mut self.session, ticket, player)?)
    }

    fn hunt_of_player(&mut self, player: PlayerId, now: UnixMs) -> Result<Option<WorldRow>, StoreError> {
        Ok(worlds::hunt_of_player(&mut self.session, player, now)?)
    }

    fn hunt_leaderboard(&mut self, before: Option<HunterCursor>, limit: usize) -> Result<Vec<HunterRow>, StoreError> {
        Ok(worlds::leaderboard(&mut self.session, before, limit)?)
    }

    fn hunter(&mut self, player: PlayerId) -> Result<Option<HunterRow>, StoreError> {
        Ok(worlds::hunter(&mut self.session, player)?)
    }

    fn hunt_rounds(&mut self, id: WorldId, before: Option<u32>, limit: usize) -> Result<Vec<RoundRow>, StoreError> {
        Ok(worlds::rounds(&mut self.session, id, before, limit)?)
    }

    fn matchmaking_queue_owner(&mut self, now: UnixMs) -> Result<Option<WorldOwner>, StoreError> {
        Ok(worlds::queue_owner(&mut self.session, now)?)
    }

    fn hunt_totals(&mut self) -> Result<HuntTotals, StoreError> {
        Ok(worlds::totals(&mut self.session)?)
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        Ok(self.session.first(sql, &[], |row| row.time())?)
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

fn with_seats(session: &mut Session, rows: Vec<MatchWithoutSeats>) -> Result<Vec<MatchRow>, StatementError> {
    let ids: Vec<PgId> = rows.iter().map(|row| PgId(row.status.id.0)).collect();
    let sql = format!("SELECT {} FROM seats WHERE match_id = ANY ($1) ORDER BY match_id, seat", columns::SEAT);
    let mut seats = BTreeMap::<MatchId, Vec<SeatRow>>::new();
    for seat in session.all(&sql, &[&ids], |row| columns::seat(row))? {
        seats.entry(seat.id).or_default().push(seat);
    }
    let seated = rows.into_iter().map(|row| {
        let of_match = seats.remove(&row.status.id).unwrap_or_default();
        row.seated(of_match)
    });
    Ok(seated.collect())
}

fn statuses(session: &mut Session, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StatementError> {
    let ids: Vec<PgId> = ids.iter().map(|id| PgId(id.0)).collect();
    let sql = format!(
        "SELECT {} FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (asked_id, place)
         JOIN matches_now ON id = asked_id ORDER BY place",
        columns::STATUS
    );
    session.all(&sql, &[&ids], |row| columns::status(row).map(|(status, _)| status))
}

fn live_log(session: &mut Session, id: MatchId, from: u32, limit: usize) -> Result<Vec<MatchLogRow>, StatementError> {
    let sql = format!(
        "SELECT {} FROM match_log WHERE match_id = $1 AND version >= $2 ORDER BY version LIMIT $3",
        columns::LOG
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    session.all(&sql, &[&PgId(id.0), &i64::from(from), &limit], |row| columns::log_row(row))
}

fn archived_log(
    session: &mut Session,
    id: MatchId,
    version: u32,
    (from, limit): (u32, usize),
) -> Result<Vec<MatchLogRow>, StatementError> {
    let sql = "SELECT data FROM match_archive WHERE match_id = $1";
    let stored = session.first(sql, &[&PgId(id.0)], |row| row.bytes())?;
    let stored =
        stored.ok_or_else(|| StoreError::Corrupt { why: format!("match {id} finished without an archive") })?;
    Ok(archives::decode_rows(id, &stored, version, from, limit)?)
}

fn counts(session: &mut Session) -> Result<MatchCounts, StatementError> {
    let figures = session.all("SELECT name, value FROM counters", &[], |row| Ok((row.text()?, row.number()?)))?;
    Ok(columns::counts(&figures))
}
