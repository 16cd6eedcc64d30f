//! Queries about worlds. Each walks an index.

use crate::columns::{Columns, worlds as rows};
use crate::contract::StoreError;
use crate::sqlite::session::Session;
use engine::ids::{PlayerId, TicketId, WorldId, WorldName};
use engine::rows::{
    AggregationLag, HuntCursor, HuntTotals, HunterCursor, HunterRow, RoundRow, WorldEntry, WorldLogPage, WorldOwner,
    WorldRow,
};
use engine::time::UnixMs;

pub(super) const LOG: &str = "
    SELECT version, data FROM world_log WHERE world_id = ?1 AND version >= ?2 ORDER BY version LIMIT ?3";
/// One seek for each world that has a log, another to its end.
pub(super) const AGGREGATION_LAGS: &str = "
    WITH RECURSIVE logged (id) AS (
        SELECT (SELECT world_id FROM world_log WHERE world_id > x'' ORDER BY world_id LIMIT 1)
        UNION ALL
        SELECT (SELECT world_id FROM world_log WHERE world_id > logged.id ORDER BY world_id LIMIT 1)
        FROM logged WHERE logged.id IS NOT NULL
    )
    SELECT id, aggregated_version, version FROM (
        SELECT w.id, w.aggregated_version,
               (SELECT version + 1 FROM world_log WHERE world_id = w.id ORDER BY version DESC LIMIT 1) AS version
        FROM logged CROSS JOIN worlds w ON w.id = logged.id)
    WHERE aggregated_version < version LIMIT ?1";
pub(super) const JOINED: &str = "SELECT 1 FROM world_members WHERE world_id = ?1 AND player = ?2";
pub(super) const MEMBERS: &str = "
    SELECT player FROM world_members WHERE world_id = ?1 ORDER BY player LIMIT ?2";

/// The owner of the matchmaking queue at ?1, if its lease is valid.
pub(super) const QUEUE_OWNER: &str = "
    SELECT d.worker, l.address FROM matchmaking_queue d
    JOIN workers l ON l.id = d.worker AND l.lease_until > ?1 AND NOT l.is_given_up WHERE d.id = 1";

/// Worlds with their owners at ?1.
fn entries(rest: &str) -> String {
    format!(
        "SELECT {}, {} FROM worlds w
         LEFT JOIN workers l ON l.id = w.worker AND l.lease_until > ?1 AND NOT l.is_given_up {rest}",
        rows::WORLD,
        rows::ENTRY
    )
}

pub(super) fn by_id() -> String {
    entries("WHERE w.id = ?2")
}

pub(super) fn by_name() -> String {
    entries("WHERE w.name = ?2")
}

pub(super) fn page() -> String {
    entries(
        "WHERE w.id > ?2 AND w.ends_at > ?1 AND (w.admission = 'everybody' OR EXISTS (
             SELECT 1 FROM world_members m WHERE m.world_id = w.id AND m.player = ?4))
         ORDER BY w.id LIMIT ?3",
    )
}

pub(super) fn lobby_page() -> String {
    entries(
        "WHERE w.ends_at > ?1 AND (w.ends_at, w.id) < (?2, ?3) AND w.kind = 'hunt'
         ORDER BY w.ends_at DESC, w.id DESC LIMIT ?4",
    )
}

/// Hunts that were over by ?1, were played, are not finished, and whose owner's lease does not hold.
pub(super) fn unfinished_page() -> String {
    format!(
        "SELECT {} FROM worlds w
         LEFT JOIN workers l ON l.id = w.worker AND l.lease_until > ?1 AND NOT l.is_given_up
         WHERE NOT w.is_finished AND w.epoch > 0 AND w.kind = 'hunt' AND w.ends_at <= ?1
           AND (w.ends_at, w.id) > (?2, ?3) AND l.id IS NULL
         ORDER BY w.ends_at, w.id LIMIT ?4",
        rows::WORLD
    )
}

/// The hunt into which the player ?1 came by the ticket ?2.
pub(super) fn of_ticket() -> String {
    format!(
        "SELECT {} FROM world_members m JOIN worlds w ON w.id = m.world_id WHERE m.player = ?1 AND m.ticket = ?2",
        rows::WORLD
    )
}

/// A hunt that is not over at ?2, into which the player ?1 was matched.
pub(super) fn of_player() -> String {
    format!(
        "SELECT {} FROM world_members m JOIN worlds w ON w.id = m.world_id
         WHERE m.player = ?1 AND m.ticket IS NOT NULL AND w.ends_at > ?2 LIMIT 1",
        rows::WORLD
    )
}

pub(super) fn leaderboard_page() -> String {
    format!(
        "SELECT {} FROM hunters WHERE (points, player) < (?1, ?2) ORDER BY points DESC, player DESC LIMIT ?3",
        rows::HUNTER
    )
}

pub(super) fn hunter_of() -> String {
    format!("SELECT {} FROM hunters WHERE player = ?1", rows::HUNTER)
}

pub(super) fn rounds_page() -> String {
    format!("SELECT {} FROM hunt_rounds WHERE world_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3", rows::ROUND)
}

pub(super) fn totals_row() -> String {
    format!("SELECT {} FROM hunt_totals WHERE id = 1", rows::TOTALS)
}

pub(in crate::sqlite) fn world(
    session: Session<'_>,
    id: WorldId,
    now: UnixMs,
) -> Result<Option<WorldEntry>, StoreError> {
    session.first(&by_id(), (now.0, id.to_bytes()), |row| rows::entry(row))
}

pub(in crate::sqlite) fn world_named(
    session: Session<'_>,
    name: &WorldName,
    now: UnixMs,
) -> Result<Option<WorldEntry>, StoreError> {
    session.first(&by_name(), (now.0, name.as_str()), |row| rows::entry(row))
}

pub(in crate::sqlite) fn worlds(
    session: Session<'_>,
    after: Option<WorldId>,
    limit: usize,
    (viewer, now): (Option<PlayerId>, UnixMs),
) -> Result<Vec<WorldEntry>, StoreError> {
    // No bytes sort before any 16.
    let after = after.map_or_else(Vec::new, |after| after.to_bytes().into());
    let viewer = viewer.map(PlayerId::to_bytes);
    session.all(&page(), (now.0, after, limit as i64, viewer), |row| rows::entry(row))
}

/// The session is a snapshot.
pub(in crate::sqlite) fn log_page(
    session: Session<'_>,
    id: WorldId,
    from: u32,
    limit: usize,
) -> Result<Option<WorldLogPage>, StoreError> {
    let held = session.first(super::log::LOG_STATE, [id.to_bytes()], |row| rows::log_state(row))?;
    let Some((_, versions)) = held else { return Ok(None) };
    let rows = session.all(LOG, (id.to_bytes(), from, limit as i64), |row| rows::log_row(row))?;
    Ok(Some(WorldLogPage { rows, version: versions.log, aggregated_version: versions.aggregated }))
}

pub(in crate::sqlite) fn aggregation_lags(
    session: Session<'_>,
    limit: usize,
) -> Result<Vec<AggregationLag>, StoreError> {
    session.all(AGGREGATION_LAGS, [limit as i64], |row| rows::aggregation_lag(row))
}

pub(in crate::sqlite) fn has_joined(session: Session<'_>, id: WorldId, player: PlayerId) -> Result<bool, StoreError> {
    session.exists(JOINED, (id.to_bytes(), player.to_bytes()))
}

pub(in crate::sqlite) fn members(session: Session<'_>, id: WorldId, limit: usize) -> Result<Vec<PlayerId>, StoreError> {
    session.all(MEMBERS, (id.to_bytes(), limit as i64), |row| row.id().map(PlayerId))
}

pub(in crate::sqlite) fn lobby(
    session: Session<'_>,
    before: Option<HuntCursor>,
    limit: usize,
    now: UnixMs,
) -> Result<Vec<WorldEntry>, StoreError> {
    let (ends_at, id) = before.map_or_else(end, |before| (before.ends_at.0, before.id.to_bytes().into()));
    session.all(&lobby_page(), (now.0, ends_at, id, limit as i64), |row| rows::entry(row))
}

pub(in crate::sqlite) fn unfinished(
    session: Session<'_>,
    after: Option<HuntCursor>,
    limit: usize,
    now: UnixMs,
) -> Result<Vec<WorldRow>, StoreError> {
    // No bytes sort before any 16.
    let (ends_at, id) =
        after.map_or_else(|| (i64::MIN, Vec::new()), |after| (after.ends_at.0, after.id.to_bytes().into()));
    session.all(&unfinished_page(), (now.0, ends_at, id, limit as i64), |row| rows::world(row))
}

pub(in crate::sqlite) fn hunt_of_ticket(
    session: Session<'_>,
    ticket: TicketId,
    player: PlayerId,
) -> Result<Option<WorldRow>, StoreError> {
    session.first(&of_ticket(), (player.to_bytes(), ticket.to_bytes()), |row| rows::world(row))
}

pub(in crate::sqlite) fn hunt_of_player(
    session: Session<'_>,
    player: PlayerId,
    now: UnixMs,
) -> Result<Option<WorldRow>, StoreError> {
    session.first(&of_player(), (player.to_bytes(), now.0), |row| rows::world(row))
}

/// A place after every other: 17 bytes sort after any 16.
fn end() -> (i64, Vec<u8>) {
    (i64::MAX, vec![0xff; 17])
}

pub(in crate::sqlite) fn leaderboard(
    session: Session<'_>,
    before: Option<HunterCursor>,
    limit: usize,
) -> Result<Vec<HunterRow>, StoreError> {
    let place =
        |before: HunterCursor| (i64::try_from(before.points).unwrap_or(i64::MAX), before.player.to_bytes().into());
    let (points, player) = before.map_or_else(end, place);
    session.all(&leaderboard_page(), (points, player, limit as i64), |row| rows::hunter(row))
}

pub(in crate::sqlite) fn hunter(session: Session<'_>, player: PlayerId) -> Result<Option<HunterRow>, StoreError> {
    session.first(&hunter_of(), [player.to_bytes()], |row| rows::hunter(row))
}

pub(in crate::sqlite) fn rounds(
    session: Session<'_>,
    id: WorldId,
    before: Option<u32>,
    limit: usize,
) -> Result<Vec<RoundRow>, StoreError> {
    let before = before.map_or(i64::MAX, i64::from);
    session.all(&rounds_page(), (id.to_bytes(), before, limit as i64), |row| rows::round(row))
}

pub(in crate::sqlite) fn totals(session: Session<'_>) -> Result<HuntTotals, StoreError> {
    Ok(session.first(&totals_row(), [], |row| rows::totals(row))?.unwrap_or_default())
}

pub(in crate::sqlite) fn queue_owner(session: Session<'_>, now: UnixMs) -> Result<Option<WorldOwner>, StoreError> {
    session.first(QUEUE_OWNER, [now.0], |row| rows::owner(row))
}
