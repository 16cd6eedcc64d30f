//! Reads of committed data. A call of several queries runs them in one read transaction.

use super::batch::limit_pages;
use super::claim::LEASE_ADDRESS;
use super::connection::{self, Access, OrStoreError};
use super::limit_rules;
use super::session::Session;
use super::stories;
use super::worlds;
use crate::archives;
use crate::columns::{self, Columns, MatchWithoutSeats};
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
    MatchCounts, MatchLogPage, MatchLogRow, MatchRow, MatchStats, MatchStatus, RecentFailure, RoundRow, SeatedGame,
    TableOwner, Token, WorldEntry, WorldLogPage, WorldOwner, WorldRow,
};
use engine::tables::Standing;
use engine::time::UnixMs;
use rusqlite::{Connection, TransactionBehavior, params};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Sums over at most a week of minutes.
pub(super) const WINDOWS: &str = "
    SELECT sum(created) FILTER (WHERE minute >= ?1), sum(created) FILTER (WHERE minute >= ?2), sum(created),
           sum(finished) FILTER (WHERE minute >= ?1), sum(finished) FILTER (WHERE minute >= ?2), sum(finished),
           sum(timed) FILTER (WHERE minute >= ?2), sum(duration_ms) FILTER (WHERE minute >= ?2)
    FROM minutes WHERE minute >= ?3";
pub(super) const FAILURES: &str = "
    SELECT count(*), failure, max(ended_at) FROM (
        SELECT failure, ended_at FROM matches
        WHERE state = 'failed' AND ended_at >= ?1 ORDER BY ended_at DESC, id DESC LIMIT ?2)
    GROUP BY failure ORDER BY count(*) DESC, max(ended_at) DESC, failure LIMIT ?3";
pub(super) const RUNNING_COUNT: &str = "SELECT count(*) FROM matches WHERE state = 'running' AND worker IS ?1";
pub(super) const COUNTS: &str = "SELECT name, value FROM counters";

pub(super) struct SqliteReader {
    db: Connection,
    file: Arc<Path>,
    pages_max: Arc<AtomicU32>,
    /// Opened by the first probe.
    prober: Option<Connection>,
}

impl SqliteReader {
    pub(super) fn new(db: Connection, file: Arc<Path>, pages_max: Arc<AtomicU32>) -> Self {
        Self { db, file, pages_max, prober: None }
    }

    fn session(&self) -> Session<'_> {
        Session { db: &self.db }
    }

    /// Several queries of one moment.
    fn snapshot<T>(&mut self, query: impl FnOnce(Session<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Deferred).or_store_error()?;
        query(Session { db: &transaction })
    }
}

impl Reader for SqliteReader {
    fn token(&mut self, digest: &[u8; 32]) -> Result<Option<Token>, StoreError> {
        let sql = format!("SELECT {} FROM tokens WHERE digest = ?1", columns::TOKEN);
        self.session().first(&sql, [digest], |row| columns::token(row))
    }

    fn tokens(&mut self, account: AccountId) -> Result<Vec<Token>, StoreError> {
        let sql = format!("SELECT {} FROM tokens WHERE account = ?1 ORDER BY id DESC", columns::TOKEN);
        self.session().all(&sql, [account.to_bytes()], |row| columns::token(row))
    }

    fn account(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {} FROM accounts WHERE id = ?1", columns::ACCOUNT);
        self.session().first(&sql, [id.to_bytes()], |row| columns::account(row))
    }

    fn account_named(&mut self, name: &str) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {} FROM accounts WHERE name = ?1", columns::ACCOUNT);
        self.session().first(&sql, [name], |row| columns::account(row))
    }

    fn existing_tokens(&mut self, ids: &[TokenId]) -> Result<Vec<TokenId>, StoreError> {
        let sql = "SELECT id FROM tokens WHERE id = ?1";
        self.snapshot(|session| {
            let exists =
                |id: &TokenId| session.exists(sql, [id.to_bytes()]).map(|exists| exists.then_some(*id)).transpose();
            ids.iter().filter_map(exists).collect()
        })
    }

    fn bots_by_id(&mut self, ids: &[BotId]) -> Result<Vec<Bot>, StoreError> {
        let sql = format!("SELECT {} FROM bots WHERE id = ?1", columns::BOT);
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        self.snapshot(|session| {
            let bot = |id: &BotId| session.first(&sql, [id.to_bytes()], |row| columns::bot(row)).transpose();
            ids.iter().filter_map(bot).collect()
        })
    }

    fn bots(&mut self, filter: &BotFilter) -> Result<Vec<Bot>, StoreError> {
        let sql = format!("SELECT {} FROM bots WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3", columns::BOT);
        let before = before(filter.before.map(BotId::to_bytes));
        let page = params![filter.account.to_bytes(), before, filter.limit as i64];
        self.session().all(&sql, page, |row| columns::bot(row))
    }

    fn match_by_id(&mut self, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
        self.snapshot(|session| match_row(session, id))
    }

    fn matches(&mut self, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
        let sql = match_ids(filter);
        let page = params![
            before(filter.before.map(MatchId::to_bytes)),
            filter.limit as i64,
            filter.account.map(AccountId::to_bytes),
            filter.bot.map(BotId::to_bytes),
        ];
        self.snapshot(|session| {
            let ids = session.all(&sql, page, |row| row.id())?;
            ids.into_iter().filter_map(|id| match_row(session, MatchId(id)).transpose()).collect()
        })
    }

    fn statuses(&mut self, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError> {
        self.snapshot(|session| ids.iter().filter_map(|id| status(session, *id).transpose()).collect())
    }

    fn match_log(&mut self, id: MatchId, from: u32, limit: usize) -> Result<Option<MatchLogPage>, StoreError> {
        self.snapshot(|session| {
            let Some(MatchStatus { state, version, .. }) = status(session, id)? else { return Ok(None) };
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
        let sql = "SELECT fingerprint, answer FROM idempotency_keys WHERE account = ?1 AND key = ?2";
        self.session().first(sql, (account.to_bytes(), key), |row| Ok((columns::digest(row.bytes()?)?, row.bytes()?)))
    }

    fn lease_address(&mut self, worker: WorkerId, now: UnixMs) -> Result<Option<String>, StoreError> {
        self.session().first(LEASE_ADDRESS, (worker.to_bytes(), now.0), |row| row.text())
    }

    fn leases_at(&mut self, address: &str, now: UnixMs) -> Result<Vec<(WorkerId, UnixMs)>, StoreError> {
        let sql = "SELECT id, lease_until FROM workers
                   WHERE address = ?1 AND lease_until > ?2 AND NOT is_given_up ORDER BY id";
        self.session().all(sql, (address, now.0), |row| Ok((WorkerId(row.id()?), row.time()?)))
    }

    fn match_counts(&mut self) -> Result<MatchCounts, StoreError> {
        counts(self.session())
    }

    fn match_stats(&mut self, now: UnixMs) -> Result<MatchStats, StoreError> {
        self.snapshot(|session| {
            let mut stats = windows(session, now)?;
            stats.counts = counts(session)?;
            stats.orphaned = orphaned(session, now)?;
            stats.failures = failures(session, now)?;
            Ok(stats)
        })
    }

    fn limit_rules(&mut self) -> Result<LimitRules, StoreError> {
        self.snapshot(limit_rules::rules)
    }

    fn limit_rules_version(&mut self) -> Result<u64, StoreError> {
        limit_rules::version(self.session())
    }

    fn secret(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        stories::secret(self.session(), name)
    }

    fn table_owner(&mut self, id: TableId, now: UnixMs) -> Result<Option<TableOwner>, StoreError> {
        stories::owner(self.session(), id, now)
    }

    fn story_game(&mut self, id: GameId) -> Result<Option<RecordedGame>, StoreError> {
        stories::game(self.session(), id)
    }

    fn story_games_of(&mut self, filter: &PlayerGamesFilter) -> Result<Vec<SeatedGame>, StoreError> {
        stories::games_of(self.session(), filter)
    }

    fn story_lobby(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        stories::lobby(self.session(), before, limit)
    }

    fn story_history(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        stories::history(self.session(), before, limit)
    }

    fn standings(&mut self, players: &[PlayerId]) -> Result<Vec<(PlayerId, Standing)>, StoreError> {
        self.snapshot(|session| stories::standings(session, players))
    }

    fn story_idempotent_response(
        &mut self,
        player: PlayerId,
        key: &str,
    ) -> Result<Option<RememberedResponse>, StoreError> {
        stories::idempotent_response(self.session(), player, key)
    }

    fn worlds(
        &mut self,
        after: Option<WorldId>,
        limit: usize,
        viewer: Option<PlayerId>,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        worlds::worlds(self.session(), after, limit, (viewer, now))
    }

    fn world(&mut self, id: WorldId, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        worlds::world(self.session(), id, now)
    }

    fn world_named(&mut self, name: &WorldName, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        worlds::world_named(self.session(), name, now)
    }

    fn world_log(&mut self, id: WorldId, from: u32, limit: usize) -> Result<Option<WorldLogPage>, StoreError> {
        self.snapshot(|session| worlds::log_page(session, id, from, limit))
    }

    fn aggregation_lags(&mut self, limit: usize) -> Result<Vec<AggregationLag>, StoreError> {
        worlds::aggregation_lags(self.session(), limit)
    }

    fn has_joined(&mut self, id: WorldId, player: PlayerId) -> Result<bool, StoreError> {
        worlds::has_joined(self.session(), id, player)
    }

    fn members(&mut self, id: WorldId, limit: usize) -> Result<Vec<PlayerId>, StoreError> {
        worlds::members(self.session(), id, limit)
    }

    fn hunt_lobby(
        &mut self,
        before: Option<HuntCursor>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        worlds::lobby(self.session(), before, limit, now)
    }

    fn unfinished_hunts(
        &mut self,
        after: Option<HuntCursor>,
        limit: usize,
        now: UnixMs,
    ) -> Result<Vec<WorldRow>, StoreError> {
        worlds::unfinished(self.session(), after, limit, now)
    }

    fn hunt_of_ticket(&mut self, ticket: TicketId, player: PlayerId) -> Result<Option<WorldRow>, StoreError> {
        worlds::hunt_of_ticket(self.session(), ticket, player)
    }

    fn hunt_of_player(&mut self, player: PlayerId, now: UnixMs) -> Result<Option<WorldRow>, StoreError> {
        worlds::hunt_of_player(self.session(), player, now)
    }

    fn hunt_leaderboard(&mut self, before: Option<HunterCursor>, limit: usize) -> Result<Vec<HunterRow>, StoreError> {
        worlds::leaderboard(self.session(), before, limit)
    }

    fn hunter(&mut self, player: PlayerId) -> Result<Option<HunterRow>, StoreError> {
        worlds::hunter(self.session(), player)
    }

    fn hunt_rounds(&mut self, id: WorldId, before: Option<u32>, limit: usize) -> Result<Vec<RoundRow>, StoreError> {
        worlds::rounds(self.session(), id, before, limit)
    }

    fn matchmaking_queue_owner(&mut self, now: UnixMs) -> Result<Option<WorldOwner>, StoreError> {
        worlds::queue_owner(self.session(), now)
    }

    fn hunt_totals(&mut self) -> Result<HuntTotals, StoreError> {
        worlds::totals(self.session())
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        Ok(None)
    }

    /// Through a connection of its own, which fails where the writer would. The row is gone in the same transaction; its page
    /// is written all the same.
    fn probe(&mut self) -> Result<(), StoreError> {
        let db = match self.prober.take() {
            Some(db) => db,
            None => {
                let db = connection::open(&self.file, Access::Write)?;
                connection::prepare_to_write(&db)?;
                db
            }
        };
        limit_pages(&db, self.pages_max.load(Ordering::SeqCst))?;
        db.execute_batch(
            "BEGIN IMMEDIATE; INSERT INTO probe (written_at) VALUES (unixepoch()); DELETE FROM probe; COMMIT;",
        )
        .or_store_error()?;
        self.prober = Some(db);
        Ok(())
    }
}

/// The cursor, or what is above every id: 17 bytes sort after any 16.
fn before(id: Option<[u8; 16]>) -> Vec<u8> {
    id.map_or_else(|| vec![0xff; 17], Vec::from)
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

fn match_row(session: Session<'_>, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
    let (spec, status, result) = (columns::SPEC, columns::STATUS, columns::RESULT);
    let sql = format!("SELECT {spec}, {status}, {result} FROM matches WHERE id = ?1");
    let row = session.first(&sql, [id.to_bytes()], |row| columns::bare_match(row))?;
    row.map(|row| with_seats(session, row)).transpose()
}

fn with_seats(session: Session<'_>, mut row: MatchWithoutSeats) -> Result<MatchRow, StoreError> {
    let id = row.status.id;
    if row.is_log_live {
        columns::fill_log_end(&mut row.status, session.log_end(id)?);
    }
    Ok(row.seated(session.seats(id)?))
}

pub(super) fn status_by_id() -> String {
    format!("SELECT {} FROM matches WHERE id = ?1", columns::STATUS)
}

fn status(session: Session<'_>, id: MatchId) -> Result<Option<MatchStatus>, StoreError> {
    let Some((mut status, is_log_live)) =
        session.first(&status_by_id(), [id.to_bytes()], |row| columns::status(row))?
    else {
        return Ok(None);
    };
    if is_log_live {
        columns::fill_log_end(&mut status, session.log_end(id)?);
    }
    Ok(Some(status))
}

fn live_log(session: Session<'_>, id: MatchId, from: u32, limit: usize) -> Result<Vec<MatchLogRow>, StoreError> {
    let sql = format!(
        "SELECT {} FROM match_log WHERE match_id = ?1 AND version >= ?2 ORDER BY version LIMIT ?3",
        columns::LOG
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    session.all(&sql, (id.to_bytes(), from, limit), |row| columns::log_row(row))
}

fn archived_log(
    session: Session<'_>,
    id: MatchId,
    version: u32,
    (from, limit): (u32, usize),
) -> Result<Vec<MatchLogRow>, StoreError> {
    let archive = "SELECT data FROM match_archive WHERE match_id = ?1";
    let stored = session.first(archive, [id.to_bytes()], |row| row.bytes())?;
    let stored =
        stored.ok_or_else(|| StoreError::Corrupt { why: format!("match {id} finished without an archive") })?;
    archives::decode_rows(id, &stored, version, from, limit)
}

fn windows(session: Session<'_>, now: UnixMs) -> Result<MatchStats, StoreError> {
    let StatsWindows { hour, day, week } = StatsWindows::ending_at(now);
    let sums = session.first(WINDOWS, (hour, day, week), |row| columns::recent_stats(row))?;
    Ok(sums.unwrap_or_default())
}

fn counts(session: Session<'_>) -> Result<MatchCounts, StoreError> {
    let counters = session.all(COUNTS, [], |row| Ok((row.text()?, row.number()?)))?;
    Ok(columns::counts(&counters))
}

fn orphaned(session: Session<'_>, now: UnixMs) -> Result<u64, StoreError> {
    let lost = session.all(super::claim::HOLDERS, [now.0], |row| row.id())?;
    let holders = std::iter::once(None).chain(lost.into_iter().map(|worker| Some(worker.to_be_bytes())));
    let count = |holder: Option<[u8; 16]>| session.first(RUNNING_COUNT, [holder], |row| row.number::<u64>());
    holders.map(|holder| Ok(count(holder)?.unwrap_or_default())).sum()
}

fn failures(session: Session<'_>, now: UnixMs) -> Result<Vec<RecentFailure>, StoreError> {
    let limits = (day_before(now).0, FAILURES_SCANNED_MAX as i64, FAILURES_SHOWN_MAX as i64);
    session.all(FAILURES, limits, |row| columns::failure(row))
}
