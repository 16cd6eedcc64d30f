//! Reads of committed data. A call of several queries runs them in one read transaction.

use super::match_lists::{self, ended_public, match_page, match_rows, running_public};
use super::{
    Dialect, ID_MAX, ID_MIN, IdBytes, Session, accounts, activity, bot_health, claims, codes, competitions, leaders,
    leases, limit_rules, match_logs, nodes, retire, tables, values, worlds,
};
use crate::checksums::Damage;
use crate::columns::{self, Columns, worlds as rows};
use crate::contract::{
    AccountFilter, AuditReader, BanReader, BotFilter, BotToProbe, CompetitionFilter, DeletionReader, LadderReader,
    MatchFilter, PlayerGamesFilter, Reader, RecordedGame, RememberedResponse, StoreError,
};
use crate::counters::{FAILURES_SCANNED_MAX, FAILURES_SHOWN_MAX, PROBES_COUNTED_MAX, StatsWindows, day_before};
use engine::competitions::{CompetitionKind, CompetitionResult, CompetitionRow};
use engine::ids::{
    AccountId, BotId, CodeId, CompetitionId, GameId, MatchId, PlayerId, TableId, TicketId, TokenId, WorkerId, WorldId,
    WorldName,
};
use engine::leadership::LeaderJob;
use engine::matches::entry::Face;
use engine::matches::lifecycle::MatchState;
use engine::rows::{
    Account, AccountCounts, AggregationLag, Bot, BotCallsRow, BotHealthRow, CountedAccount, EndedMatchCursor,
    GameCursor, GameRow, HuntCursor, HuntTotals, HunterCursor, HunterRow, LimitRules, MatchCounts, MatchLogPage,
    MatchRow, MatchStats, MatchStatus, NodeRow, OldestKept, OneTimeCode, OwnedBot, PublicActivity, RoundRow,
    SeatedGame, SignedCode, SigningRow, TableOwner, Token, WorldEntry, WorldLogPage, WorldOwner, WorldRow,
};
use engine::tables::Standing;
use engine::time::UnixMs;
use rules::snake::Map;

/// Sums over at most a week of minutes.
pub(crate) const WINDOWS: &str = "
    SELECT CAST(sum(created) FILTER (WHERE minute >= ?1) AS BIGINT),
           CAST(sum(created) FILTER (WHERE minute >= ?2) AS BIGINT), CAST(sum(created) AS BIGINT),
           CAST(sum(finished) FILTER (WHERE minute >= ?1) AS BIGINT),
           CAST(sum(finished) FILTER (WHERE minute >= ?2) AS BIGINT), CAST(sum(finished) AS BIGINT),
           CAST(sum(timed) FILTER (WHERE minute >= ?2) AS BIGINT),
           CAST(sum(duration_ms) FILTER (WHERE minute >= ?2) AS BIGINT)
    FROM minutes WHERE minute >= ?3";
pub(crate) const FAILURES: &str = "
    SELECT count(*), failure, max(ended_at) FROM (
        SELECT failure, ended_at FROM matches
        WHERE state = 'failed' AND ended_at >= ?1 ORDER BY ended_at DESC, id DESC LIMIT ?2) AS newest
    GROUP BY failure ORDER BY count(*) DESC, max(ended_at) DESC, failure LIMIT ?3";
/// By index; as many rows as competitions that have not ended.
pub(crate) const SCHEDULED: &str = "
    SELECT count(*) FROM competitions WHERE kind IN ('ladder', 'tournament', 'duel') AND due_at > ?1";
/// By index; as many rows as bots that are probed, at most ?1.
pub(crate) const PROBES: &str = "
    SELECT count(*) FROM (SELECT next_probe_at FROM bot_health WHERE next_probe_at > 0 ORDER BY next_probe_at LIMIT ?1) AS due";
pub(crate) const COUNTS: &str = "SELECT name, value FROM counters";

/// A place after every other.
const END: (i64, IdBytes) = (i64::MAX, ID_MAX);

/// A cursor's time, table and game; without one, a place before every game.
fn cursor_position(before: Option<GameCursor>) -> (i64, IdBytes, i64) {
    let of = |before: GameCursor| (before.at.0, before.id.table.to_bytes(), before.id.number.into());
    before.map_or((i64::MAX, ID_MAX, i64::MAX), of)
}

/// A session that reads, and the reads that each database does in its own way.
pub(crate) trait SqlReader: Send {
    type Session: Dialect;

    fn session(&mut self) -> &mut Self::Session;
    /// See [`Reader::statuses`].
    fn statuses(session: &mut Self::Session, ids: &[MatchId]) -> Result<Vec<Result<MatchStatus, Damage>>, StoreError>;
    /// See [`Reader::take_damages`].
    fn take_damages(&mut self) -> Vec<Damage>;
    /// See [`Reader::database_time`].
    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError>;
    /// See [`Reader::probe`].
    fn probe(&mut self) -> Result<(), StoreError>;
}

impl<R: SqlReader> Reader for R {
    fn take_damages(&mut self) -> Vec<Damage> {
        SqlReader::take_damages(self)
    }

    fn created_with(&mut self) -> Result<i64, StoreError> {
        let found = self.session().first("SELECT created_with FROM gauntlet_schema", values![], |row| row.int());
        Ok(found?.unwrap_or_default())
    }

    fn token(&mut self, digest: &[u8; 32]) -> Result<Option<Token>, StoreError> {
        let sql = format!("SELECT {} FROM tokens WHERE digest = ?1", columns::TOKEN);
        self.session().first(&sql, values![digest], |row| columns::token(row))
    }

    fn tokens(&mut self, account: AccountId) -> Result<Vec<Token>, StoreError> {
        let sql = format!("SELECT {} FROM tokens WHERE account = ?1 ORDER BY id DESC", columns::TOKEN);
        self.session().list(&sql, values![account], |row, _| columns::token(row))
    }

    fn existing_tokens(&mut self, ids: &[TokenId]) -> Result<Vec<TokenId>, StoreError> {
        let ids: Vec<IdBytes> = ids.iter().map(|id| id.to_bytes()).collect();
        let sql = "SELECT id FROM tokens WHERE id";
        self.session().all_each(sql, "", &ids, |row| row.id().map(TokenId))
    }

    fn one_time_code(&mut self, digest: &[u8; 32], now: UnixMs) -> Result<Option<OneTimeCode>, StoreError> {
        codes::code(self.session(), digest, now)
    }

    fn invites(&mut self, before: Option<CodeId>, limit: usize, now: UnixMs) -> Result<Vec<SignedCode>, StoreError> {
        codes::invites(self.session(), before, limit, now)
    }

    fn account(&mut self, id: AccountId) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {} FROM accounts WHERE id = ?1", columns::ACCOUNT);
        self.session().first(&sql, values![id], |row| columns::account(row))
    }

    fn account_counts(&mut self, id: AccountId) -> Result<AccountCounts, StoreError> {
        let sql = "SELECT bots, (SELECT count(*) FROM tokens WHERE account = ?1) FROM accounts WHERE id = ?1";
        let counts = |row: &mut <R::Session as Session>::Row<'_>| {
            Ok(AccountCounts { bots: row.number()?, tokens: row.number()? })
        };
        Ok(self.session().first(sql, values![id], counts)?.unwrap_or_default())
    }

    fn account_named(&mut self, name: &str) -> Result<Option<Account>, StoreError> {
        let sql = format!("SELECT {} FROM accounts WHERE name = ?1", columns::ACCOUNT);
        self.session().first(&sql, values![name], |row| columns::account(row))
    }

    fn accounts(&mut self, filter: &AccountFilter) -> Result<Vec<CountedAccount>, StoreError> {
        self.session().snapshot(|session| accounts::page(session, filter))
    }

    fn bots_by_id(&mut self, ids: &[BotId]) -> Result<Vec<Bot>, StoreError> {
        let mut ids: Vec<IdBytes> = ids.iter().map(|id| id.to_bytes()).collect();
        ids.sort_unstable();
        ids.dedup();
        let sql = format!("SELECT {} FROM bots WHERE id", columns::BOT);
        self.session().list_each(&sql, "", &ids, |row, _| columns::bot(row))
    }

    fn bots_with_owners(&mut self, ids: &[BotId]) -> Result<Vec<OwnedBot>, StoreError> {
        let mut ids: Vec<IdBytes> = ids.iter().map(|id| id.to_bytes()).collect();
        ids.sort_unstable();
        ids.dedup();
        let owner = "(SELECT accounts.name FROM accounts WHERE accounts.id = bots.account)";
        let sql = format!("SELECT {}, {owner} FROM bots WHERE id", columns::BOT);
        self.session().list_each(&sql, "", &ids, |row, damages| columns::owned_bot(row, damages))
    }

    fn bots(&mut self, filter: &BotFilter) -> Result<Vec<Bot>, StoreError> {
        let sql = format!("SELECT {} FROM bots WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3", columns::BOT);
        let before = filter.before.map_or(ID_MAX, BotId::to_bytes);
        let page = |limit| *values![filter.account, before, limit];
        self.session().page(&sql, filter.limit, page, |row, _| columns::bot(row))
    }

    fn public_bots(&mut self, before: Option<BotId>, limit: usize) -> Result<Vec<OwnedBot>, StoreError> {
        let before = before.map_or(ID_MAX, BotId::to_bytes);
        let page = |limit| *values![before, limit];
        self.session().page(&public_bots::<R::Session>(), limit, page, |row, damages| columns::owned_bot(row, damages))
    }

    fn bot_faces(&mut self, bots: &[BotId]) -> Result<Vec<(BotId, Face)>, StoreError> {
        bot_health::faces(self.session(), bots)
    }

    fn match_by_id(&mut self, id: MatchId) -> Result<Option<MatchRow>, StoreError> {
        let rows = self.session().snapshot(|session| match_rows(session, "id = ?1", values![id]))?;
        Ok(rows.into_iter().next().transpose()?)
    }

    fn matches(&mut self, filter: &MatchFilter) -> Result<Vec<MatchRow>, StoreError> {
        self.session().snapshot(|session| match_lists::page(session, filter))
    }

    fn running_public_matches(
        &mut self,
        map: Option<Map>,
        before: Option<MatchId>,
        limit: usize,
    ) -> Result<Vec<MatchRow>, StoreError> {
        let before = before.map_or(ID_MAX, MatchId::to_bytes);
        let which = running_public::<R::Session>(map.is_some());
        self.session().snapshot(|session| match map {
            None => match_page(session, &which, limit, |limit| *values![before, limit]),
            Some(map) => match_page(session, &which, limit, |limit| *values![before, limit, map.name()]),
        })
    }

    fn ended_public_matches(
        &mut self,
        map: Option<Map>,
        before: Option<EndedMatchCursor>,
        limit: usize,
    ) -> Result<Vec<MatchRow>, StoreError> {
        let (ended_at, id) = before.map_or(END, |before| (before.ended_at.0, before.id.to_bytes()));
        let which = ended_public::<R::Session>(map.is_some());
        self.session().snapshot(|session| match map {
            None => match_page(session, &which, limit, |limit| *values![ended_at, id, limit]),
            Some(map) => match_page(session, &which, limit, |limit| *values![ended_at, id, limit, map.name()]),
        })
    }

    fn statuses(&mut self, ids: &[MatchId]) -> Result<Vec<MatchStatus>, StoreError> {
        let statuses = <R as SqlReader>::statuses(self.session(), ids)?;
        Ok(self.session().note_unreadable(statuses))
    }

    fn match_log(&mut self, id: MatchId, from: u32, limit: usize) -> Result<Option<MatchLogPage>, StoreError> {
        self.session().snapshot(|session| {
            let status = <R as SqlReader>::statuses(session, &[id])?.into_iter().next().transpose()?;
            let Some(MatchStatus { state, version, .. }) = status else { return Ok(None) };
            let rows = match state {
                MatchState::Finished => match_logs::archived(session, id, version, (from, limit))?,
                MatchState::Waiting | MatchState::Running | MatchState::Failed | MatchState::Cancelled => {
                    match_logs::live(session, id, from, limit)?
                }
            };
            Ok(Some(MatchLogPage { state, version, rows }))
        })
    }

    fn idempotent_response(&mut self, account: AccountId, key: &str) -> Result<Option<RememberedResponse>, StoreError> {
        let sql = "SELECT fingerprint, answer, checksum FROM idempotency_keys WHERE account = ?1 AND key = ?2";
        let stored_key = columns::response(account.to_bytes(), key);
        self.session().first(sql, values![account, key], |row| columns::remembered_response(row, stored_key))
    }

    fn lease_address(&mut self, worker: WorkerId, now: UnixMs) -> Result<Option<String>, StoreError> {
        leases::address(self.session(), worker, now)
    }

    fn leases_at(&mut self, address: &str, now: UnixMs) -> Result<Vec<(WorkerId, UnixMs)>, StoreError> {
        let sql = "SELECT id, lease_until FROM workers
                   WHERE address = ?1 AND lease_until > ?2 AND NOT is_given_up ORDER BY id";
        self.session().all(sql, values![address, now], |row| Ok((WorkerId(row.id()?), row.time()?)))
    }

    fn nodes(&mut self, now: UnixMs, limit: usize) -> Result<Vec<NodeRow>, StoreError> {
        self.session().snapshot(|session| nodes::nodes(session, now, limit))
    }

    fn match_counts(&mut self) -> Result<MatchCounts, StoreError> {
        counts(self.session())
    }

    fn match_stats(&mut self, now: UnixMs) -> Result<MatchStats, StoreError> {
        let StatsWindows { hour, day, week } = StatsWindows::ending_at(now);
        let shown = values![day_before(now), FAILURES_SCANNED_MAX, FAILURES_SHOWN_MAX];
        self.session().snapshot(|session| {
            let windows = session.first(WINDOWS, values![hour, day, week], |row| columns::recent_stats(row))?;
            let mut stats = windows.unwrap_or_default();
            stats.counts = counts(session)?;
            stats.orphaned = claims::orphaned(session, now)?;
            stats.scheduled = session.first(SCHEDULED, values![now], |row| row.number())?.unwrap_or_default();
            stats.probes = session.first(PROBES, values![PROBES_COUNTED_MAX], |row| row.number())?.unwrap_or_default();
            stats.failures = session.all(FAILURES, shown, |row| columns::failure(row))?;
            Ok(stats)
        })
    }

    fn public_activity(&mut self, now: UnixMs) -> Result<PublicActivity, StoreError> {
        self.session().snapshot(|session| activity::public(session, now))
    }

    fn limit_rules(&mut self) -> Result<LimitRules, StoreError> {
        self.session().snapshot(limit_rules::rules)
    }

    fn limit_rules_version(&mut self) -> Result<u64, StoreError> {
        limit_rules::version(self.session())
    }

    fn secret(&mut self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        accounts::secret(self.session(), name)
    }

    fn table_owner(&mut self, id: TableId, now: UnixMs) -> Result<Option<TableOwner>, StoreError> {
        tables::owner(self.session(), id, now)
    }

    fn story_game(&mut self, id: GameId) -> Result<Option<RecordedGame>, StoreError> {
        let sql = tables::game_by_id();
        self.session().first(&sql, values![id.table, id.number], |row| columns::game_with_record(row))
    }

    fn story_games_of(&mut self, filter: &PlayerGamesFilter) -> Result<Vec<SeatedGame>, StoreError> {
        let &PlayerGamesFilter { player, is_ended, before, limit } = filter;
        let (at, table, number) = cursor_position(before);
        let page = |limit| *values![player, is_ended, at, table, number, limit];
        let sql = tables::games_of_player::<R::Session>();
        self.session().page(&sql, limit, page, |row, _| columns::seated_game(row))
    }

    fn story_lobby(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        games_before(self.session(), &tables::lobby_page(), before, limit)
    }

    fn story_history(&mut self, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
        games_before(self.session(), &tables::history_page(), before, limit)
    }

    fn standings(&mut self, players: &[PlayerId]) -> Result<Vec<(PlayerId, Standing)>, StoreError> {
        let mut players: Vec<IdBytes> = players.iter().map(|id| id.to_bytes()).collect();
        players.sort_unstable();
        players.dedup();
        let sql = format!("SELECT {} FROM story_standings WHERE player", columns::STANDING);
        self.session().list_each(&sql, "ORDER BY player", &players, |row, _| columns::standing(row))
    }

    fn story_idempotent_response(
        &mut self,
        player: PlayerId,
        key: &str,
    ) -> Result<Option<RememberedResponse>, StoreError> {
        let stored_key = columns::response(player.to_bytes(), key);
        self.session().first(tables::ANSWER, values![player, key], |row| columns::remembered_response(row, stored_key))
    }

    fn worlds(
        &mut self,
        after: Option<WorldId>,
        limit: usize,
        viewer: Option<PlayerId>,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        worlds::visible(self.session(), after, limit, viewer, now)
    }

    fn world(&mut self, id: WorldId, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        worlds::world(self.session(), id, now)
    }

    fn world_named(&mut self, name: &WorldName, now: UnixMs) -> Result<Option<WorldEntry>, StoreError> {
        worlds::world_named(self.session(), name, now)
    }

    fn world_log(&mut self, id: WorldId, from: u32, limit: usize) -> Result<Option<WorldLogPage>, StoreError> {
        self.session().snapshot(|session| {
            let held = session.first(worlds::LOG_STATE, values![id], |row| rows::log_state(row))?;
            let Some((_, versions)) = held else { return Ok(None) };
            let rows = session.all(worlds::LOG, values![id, from, limit], |row| rows::log_row(row, id))?;
            Ok(Some(WorldLogPage { rows, version: versions.log, aggregated_version: versions.aggregated }))
        })
    }

    fn aggregation_lags(&mut self, limit: usize) -> Result<Vec<AggregationLag>, StoreError> {
        self.session()
            .all(&worlds::aggregation_lags::<R::Session>(), values![limit, ID_MIN], |row| rows::aggregation_lag(row))
    }

    fn has_joined(&mut self, id: WorldId, player: PlayerId) -> Result<bool, StoreError> {
        worlds::has_joined(self.session(), id, player)
    }

    fn members(&mut self, id: WorldId, limit: usize) -> Result<Vec<PlayerId>, StoreError> {
        self.session().all(worlds::MEMBERS, values![id, limit], |row| row.id().map(PlayerId))
    }

    fn hunt_lobby(
        &mut self,
        before: Option<HuntCursor>,
        limit: usize,
        with_matched: bool,
        now: UnixMs,
    ) -> Result<Vec<WorldEntry>, StoreError> {
        worlds::lobby(self.session(), before, limit, with_matched, now)
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
        self.session().first(&worlds::of_ticket(), values![player, ticket], |row| rows::world(row))
    }

    fn hunt_of_player(&mut self, player: PlayerId, now: UnixMs) -> Result<Option<WorldRow>, StoreError> {
        self.session().first(&worlds::of_player(), values![player, now], |row| rows::world(row))
    }

    fn hunt_leaderboard(&mut self, before: Option<HunterCursor>, limit: usize) -> Result<Vec<HunterRow>, StoreError> {
        let place = |before: HunterCursor| (i64::try_from(before.points).unwrap_or(i64::MAX), before.player.to_bytes());
        let (points, player) = before.map_or(END, place);
        let page = |limit| *values![points, player, limit];
        self.session().page(&worlds::leaderboard_page(), limit, page, |row, _| rows::hunter(row))
    }

    fn hunter(&mut self, player: PlayerId) -> Result<Option<HunterRow>, StoreError> {
        self.session().first(&worlds::hunter_of(), values![player], |row| rows::hunter(row))
    }

    fn hunt_rounds(&mut self, id: WorldId, before: Option<u32>, limit: usize) -> Result<Vec<RoundRow>, StoreError> {
        let before = before.map_or(i64::MAX, i64::from);
        let page = |limit| *values![id, before, limit];
        self.session().page(&worlds::rounds_page(), limit, page, |row, _| rows::round(row, id))
    }

    fn hunt_totals(&mut self) -> Result<HuntTotals, StoreError> {
        Ok(self.session().first(&worlds::totals_row(), &[], |row| rows::totals(row))?.unwrap_or_default())
    }

    fn oldest_kept(&mut self, now: UnixMs) -> Result<OldestKept, StoreError> {
        self.session().snapshot(|session| retire::oldest_kept(session, now))
    }

    fn leader(&mut self, job: LeaderJob, now: UnixMs) -> Result<Option<WorldOwner>, StoreError> {
        leaders::leader(self.session(), job, now)
    }

    fn ladders(&mut self) -> &mut dyn LadderReader {
        self
    }

    fn audit(&mut self) -> &mut dyn AuditReader {
        self
    }

    fn bans(&mut self) -> &mut dyn BanReader {
        self
    }

    fn deletions(&mut self) -> &mut dyn DeletionReader {
        self
    }

    fn competition(&mut self, id: CompetitionId) -> Result<Option<CompetitionRow>, StoreError> {
        competitions::by_id_of(self.session(), id)
    }

    fn competitions_by_id(&mut self, ids: &[CompetitionId]) -> Result<Vec<CompetitionRow>, StoreError> {
        competitions::of_ids(self.session(), ids)
    }

    fn competitions(&mut self, filter: &CompetitionFilter) -> Result<Vec<CompetitionRow>, StoreError> {
        competitions::page(self.session(), filter)
    }

    fn competitions_unapplied(
        &mut self,
        kind: CompetitionKind,
        after: Option<CompetitionId>,
        limit: usize,
    ) -> Result<Vec<CompetitionRow>, StoreError> {
        let after = after.map_or(ID_MIN, CompetitionId::to_bytes);
        let page = |limit| *values![kind.name(), after, limit];
        competitions::list(self.session(), &competitions::unapplied(), limit, page)
    }

    fn competitions_due(
        &mut self,
        kind: CompetitionKind,
        now: UnixMs,
        after: Option<(UnixMs, CompetitionId)>,
        limit: usize,
    ) -> Result<Vec<CompetitionRow>, StoreError> {
        let (due_at, id) = after.map_or((i64::MIN, ID_MIN), |(due_at, id)| (due_at.0, id.to_bytes()));
        let page = |limit| *values![kind.name(), now, due_at, id, limit];
        competitions::list(self.session(), &competitions::due(), limit, page)
    }

    fn bot_health(&mut self, bots: &[BotId]) -> Result<Vec<BotHealthRow>, StoreError> {
        bot_health::health(self.session(), bots)
    }

    fn paused_bots(&mut self, limit: usize) -> Result<Vec<BotId>, StoreError> {
        self.session().all(bot_health::PAUSED, values![limit], |row| row.id().map(BotId))
    }

    fn bots_to_probe(
        &mut self,
        now: UnixMs,
        besides: &[AccountId],
        limit: usize,
    ) -> Result<Vec<BotToProbe>, StoreError> {
        bot_health::to_probe(self.session(), now, besides, limit)
    }

    fn bot_calls(&mut self, bot: BotId, from_hour: u32) -> Result<Vec<BotCallsRow>, StoreError> {
        let hours = values![bot, from_hour];
        self.session().list(&bot_health::calls_since(), hours, |row, damages| columns::health::calls(row, damages))
    }

    fn signing(&mut self, bot: BotId) -> Result<Option<SigningRow>, StoreError> {
        let rows = bot_health::signing(self.session(), [bot.to_bytes()].into())?;
        Ok(rows.into_iter().next())
    }

    fn competitions_running(
        &mut self,
        kind: CompetitionKind,
        after: Option<CompetitionId>,
        limit: usize,
    ) -> Result<Vec<CompetitionRow>, StoreError> {
        let after = after.map_or([0; 16], CompetitionId::to_bytes);
        let page = |limit| *values![kind.name(), after, limit];
        competitions::list(self.session(), &competitions::running_page(), limit, page)
    }

    fn competition_log(&mut self, id: CompetitionId, from: u32, limit: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        competitions::log(self.session(), id, from, limit)
    }

    fn matches_of_deleted_bots(&mut self, kind: CompetitionKind, limit: usize) -> Result<Vec<MatchId>, StoreError> {
        let page = values![[0; 16], kind.name(), limit];
        self.session().all(competitions::OF_DELETED_BOTS, page, |row| row.id().map(MatchId))
    }

    fn competition_matches(
        &mut self,
        id: CompetitionId,
        is_live: bool,
        before: Option<MatchId>,
        limit: usize,
    ) -> Result<Vec<MatchRow>, StoreError> {
        let before = before.map_or(ID_MAX, MatchId::to_bytes);
        let page = |limit| *values![id, before, limit];
        self.session().snapshot(|session| match_page(session, competitions::matches_of(is_live), limit, page))
    }

    fn competition_results(
        &mut self,
        id: CompetitionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<CompetitionResult>, StoreError> {
        competitions::results(self.session(), id, after, limit)
    }

    fn database_time(&mut self) -> Result<Option<UnixMs>, StoreError> {
        SqlReader::database_time(self)
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        SqlReader::probe(self)
    }
}

/// ?1 is the cursor, ?2 the limit.
pub(crate) fn public_bots<S: Dialect>() -> String {
    let (bot, is_public) = (columns::BOT, S::is_set("is_public"));
    let owner = "(SELECT accounts.name FROM accounts WHERE accounts.id = bots.account)";
    format!("SELECT {bot}, {owner} FROM bots WHERE {is_public} AND id < ?1 ORDER BY id DESC LIMIT ?2")
}

fn games_before(
    session: &mut impl Session,
    sql: &str,
    before: Option<GameCursor>,
    limit: usize,
) -> Result<Vec<GameRow>, StoreError> {
    let (at, table, number) = cursor_position(before);
    session.page(sql, limit, |limit| *values![at, table, number, limit], |row, _| columns::game(row))
}

fn counts(session: &mut impl Session) -> Result<MatchCounts, StoreError> {
    let counters = session.all(COUNTS, &[], |row| Ok((row.text()?, row.number()?)))?;
    Ok(columns::counts(&counters))
}
