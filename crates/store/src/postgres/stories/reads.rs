//! Queries about tables and games. Each walks an index; none counts games.

use crate::columns::{self, Columns};
use crate::contract::{PlayerGamesFilter, RecordedGame, RememberedResponse};
use crate::postgres::session::{PgColumns, PgId, Session};
use crate::postgres::statement_error::StatementError;
use engine::ids::{GameId, PlayerId, TableId};
use engine::rows::{GameCursor, GameRow, SeatedGame, TableOwner};
use engine::tables::Standing;
use engine::time::UnixMs;

/// A table's worker, and the address in that worker's lease if the lease holds.
pub(super) const OWNER: &str = "
    SELECT t.worker, w.address FROM story_tables t
    LEFT JOIN workers w ON w.id = t.worker AND w.lease_until > $2 AND NOT w.is_given_up
    WHERE t.id = $1";

/// A cursor's time, table and game; without one, a place before every game.
fn cursor_position(before: Option<GameCursor>) -> (i64, PgId, i64) {
    before.map_or((i64::MAX, PgId(u128::MAX), i64::MAX), |before| {
        (before.at.0, PgId(before.id.table.0), before.id.number.into())
    })
}

pub(in crate::postgres) fn owner(
    session: &mut Session,
    id: TableId,
    now: UnixMs,
) -> Result<Option<TableOwner>, StatementError> {
    session.first(OWNER, &[&PgId(id.0), &now.0], |row| columns::table_owner(row))
}

pub(super) fn game_by_id() -> String {
    format!(
        "SELECT {}, {} FROM story_games g
         LEFT JOIN story_records r ON r.table_id = g.table_id AND r.number = g.number
         WHERE g.table_id = $1 AND g.number = $2",
        columns::GAME,
        columns::GAME_RECORD
    )
}

pub(in crate::postgres) fn game(session: &mut Session, id: GameId) -> Result<Option<RecordedGame>, StatementError> {
    let key: [&(dyn ::postgres::types::ToSql + Sync); 2] = [&PgId(id.table.0), &i64::from(id.number)];
    session.first(&game_by_id(), &key, |row| columns::game_with_record(row))
}

/// The index of seats is walked; each seat looks its game up.
pub(super) fn games_of_player() -> String {
    format!(
        "SELECT {}, {} FROM story_seats s JOIN story_games g ON g.table_id = s.table_id AND g.number = s.number
         WHERE s.player = $1 AND s.is_ended = $2 AND (s.created_at, s.table_id, s.number) < ($3, $4, $5)
         ORDER BY s.created_at DESC, s.table_id DESC, s.number DESC LIMIT $6",
        columns::GAME,
        columns::SEATED
    )
}

pub(in crate::postgres) fn games_of(
    session: &mut Session,
    filter: &PlayerGamesFilter,
) -> Result<Vec<SeatedGame>, StatementError> {
    let (at, table, number) = cursor_position(filter.before);
    let page: [&(dyn ::postgres::types::ToSql + Sync); 6] =
        [&PgId(filter.player.0), &filter.is_ended, &at, &table, &number, &(filter.limit as i64)];
    session.all(&games_of_player(), &page, |row| columns::seated_game(row))
}

pub(super) fn lobby_page() -> String {
    format!(
        "SELECT {} FROM story_games g
         WHERE g.phase IN ('create', 'invitation') AND g.players < g.players_max
           AND (g.created_at, g.table_id, g.number) < ($1, $2, $3)
         ORDER BY g.created_at DESC, g.table_id DESC, g.number DESC LIMIT $4",
        columns::GAME
    )
}

pub(super) fn history_page() -> String {
    format!(
        "SELECT {} FROM story_games g
         WHERE g.ended_at IS NOT NULL AND (g.ended_at, g.table_id, g.number) < ($1, $2, $3)
         ORDER BY g.ended_at DESC, g.table_id DESC, g.number DESC LIMIT $4",
        columns::GAME
    )
}

pub(in crate::postgres) fn lobby(
    session: &mut Session,
    before: Option<GameCursor>,
    limit: usize,
) -> Result<Vec<GameRow>, StatementError> {
    page(session, &lobby_page(), before, limit)
}

pub(in crate::postgres) fn history(
    session: &mut Session,
    before: Option<GameCursor>,
    limit: usize,
) -> Result<Vec<GameRow>, StatementError> {
    page(session, &history_page(), before, limit)
}

fn page(
    session: &mut Session,
    sql: &str,
    before: Option<GameCursor>,
    limit: usize,
) -> Result<Vec<GameRow>, StatementError> {
    let (at, table, number) = cursor_position(before);
    session.all(sql, &[&at, &table, &number, &(limit as i64)], |row| columns::game(row))
}

pub(in crate::postgres) fn standings(
    session: &mut Session,
    players: &[PlayerId],
) -> Result<Vec<(PlayerId, Standing)>, StatementError> {
    let players: Vec<PgId> = players.iter().map(|id| PgId(id.0)).collect();
    let sql = format!("SELECT {} FROM story_standings WHERE player = ANY ($1) ORDER BY player", columns::STANDING);
    session.all(&sql, &[&players], |row| columns::standing(row))
}

pub(in crate::postgres) fn idempotent_response(
    session: &mut Session,
    player: PlayerId,
    key: &str,
) -> Result<Option<RememberedResponse>, StatementError> {
    let sql = "SELECT fingerprint, answer FROM story_answers WHERE player = $1 AND key = $2";
    let read = |row: &mut PgColumns<'_>| Ok((columns::digest(row.bytes()?)?, row.bytes()?));
    session.first(sql, &[&PgId(player.0), &key], read)
}

pub(in crate::postgres) fn secret(session: &mut Session, name: &str) -> Result<Option<Vec<u8>>, StatementError> {
    session.first("SELECT data FROM secrets WHERE name = $1", &[&name], |row| row.bytes())
}
