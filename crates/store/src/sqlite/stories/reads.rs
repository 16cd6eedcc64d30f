//! Queries about tables and games. Each walks an index; none counts games.

use super::claims::OWNER;
use crate::columns::{self, Columns};
use crate::contract::{PlayerGamesFilter, RecordedGame, RememberedResponse, StoreError};
use crate::sqlite::session::Session;
use engine::ids::{GameId, PlayerId, TableId};
use engine::rows::{GameCursor, GameRow, SeatedGame, TableOwner};
use engine::tables::Standing;
use engine::time::UnixMs;
use rusqlite::params;

pub(super) const ANSWER: &str = "SELECT fingerprint, answer FROM story_answers WHERE player = ?1 AND key = ?2";

/// A cursor's time, table and game; without one, a place before every game.
fn cursor_position(before: Option<GameCursor>) -> (i64, Vec<u8>, i64) {
    // 17 bytes sort after any 16.
    before.map_or_else(
        || (i64::MAX, vec![0xff; 17], 0),
        |before| (before.at.0, before.id.table.to_bytes().into(), before.id.number.into()),
    )
}

pub(in crate::sqlite) fn owner(
    session: Session<'_>,
    id: TableId,
    now: UnixMs,
) -> Result<Option<TableOwner>, StoreError> {
    session.first(OWNER, (id.to_bytes(), now.0), |row| columns::table_owner(row))
}

pub(super) fn game_by_id() -> String {
    format!(
        "SELECT {}, {} FROM story_games g
         LEFT JOIN story_records r ON r.table_id = g.table_id AND r.number = g.number
         WHERE g.table_id = ?1 AND g.number = ?2",
        columns::GAME,
        columns::GAME_RECORD
    )
}

pub(in crate::sqlite) fn game(session: Session<'_>, id: GameId) -> Result<Option<RecordedGame>, StoreError> {
    session.first(&game_by_id(), (id.table.to_bytes(), id.number), |row| columns::game_with_record(row))
}

/// The index of seats is walked; each seat looks its game up.
pub(super) fn games_of_player() -> String {
    format!(
        "SELECT {}, {} FROM story_seats s
         CROSS JOIN story_games g ON g.table_id = s.table_id AND g.number = s.number
         WHERE s.player = ?1 AND s.is_ended = ?2 AND (s.created_at, s.table_id, s.number) < (?3, ?4, ?5)
         ORDER BY s.created_at DESC, s.table_id DESC, s.number DESC LIMIT ?6",
        columns::GAME,
        columns::SEATED
    )
}

pub(in crate::sqlite) fn games_of(
    session: Session<'_>,
    filter: &PlayerGamesFilter,
) -> Result<Vec<SeatedGame>, StoreError> {
    let (at, table, number) = cursor_position(filter.before);
    let page = params![filter.player.to_bytes(), filter.is_ended, at, table, number, filter.limit as i64];
    session.all(&games_of_player(), page, |row| columns::seated_game(row))
}

pub(super) fn lobby_page() -> String {
    format!(
        "SELECT {} FROM story_games g
         WHERE g.phase IN ('create', 'invitation') AND g.players < g.players_max
           AND (g.created_at, g.table_id, g.number) < (?1, ?2, ?3)
         ORDER BY g.created_at DESC, g.table_id DESC, g.number DESC LIMIT ?4",
        columns::GAME
    )
}

pub(super) fn history_page() -> String {
    format!(
        "SELECT {} FROM story_games g
         WHERE g.ended_at IS NOT NULL AND (g.ended_at, g.table_id, g.number) < (?1, ?2, ?3)
         ORDER BY g.ended_at DESC, g.table_id DESC, g.number DESC LIMIT ?4",
        columns::GAME
    )
}

pub(in crate::sqlite) fn lobby(
    session: Session<'_>,
    before: Option<GameCursor>,
    limit: usize,
) -> Result<Vec<GameRow>, StoreError> {
    page(session, &lobby_page(), before, limit)
}

pub(in crate::sqlite) fn history(
    session: Session<'_>,
    before: Option<GameCursor>,
    limit: usize,
) -> Result<Vec<GameRow>, StoreError> {
    page(session, &history_page(), before, limit)
}

fn page(session: Session<'_>, sql: &str, before: Option<GameCursor>, limit: usize) -> Result<Vec<GameRow>, StoreError> {
    let (at, table, number) = cursor_position(before);
    session.all(sql, (at, table, number, limit as i64), |row| columns::game(row))
}

pub(super) fn standing_of() -> String {
    format!("SELECT {} FROM story_standings WHERE player = ?1", columns::STANDING)
}

/// The session is a snapshot.
pub(in crate::sqlite) fn standings(
    session: Session<'_>,
    players: &[PlayerId],
) -> Result<Vec<(PlayerId, Standing)>, StoreError> {
    let sql = standing_of();
    let mut players = players.to_vec();
    players.sort_unstable();
    players.dedup();
    let standing =
        |player: &PlayerId| session.first(&sql, [player.to_bytes()], |row| columns::standing(row)).transpose();
    players.iter().filter_map(standing).collect()
}

pub(in crate::sqlite) fn idempotent_response(
    session: Session<'_>,
    player: PlayerId,
    key: &str,
) -> Result<Option<RememberedResponse>, StoreError> {
    session.first(ANSWER, (player.to_bytes(), key), |row| Ok((columns::digest(row.bytes()?)?, row.bytes()?)))
}

pub(in crate::sqlite) fn secret(session: Session<'_>, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    session.first("SELECT data FROM secrets WHERE name = ?1", [name], |row| row.bytes())
}
