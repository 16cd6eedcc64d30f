//! Queries about worlds. Each walks an index.

use crate::columns::{Columns, worlds as rows};
use crate::postgres::session::{PgId, Session};
use crate::postgres::statement_error::StatementError;
use engine::ids::{PlayerId, TicketId, WorldId, WorldName};
use engine::rows::{
    AggregationLag, HuntCursor, HuntTotals, HunterCursor, HunterRow, RoundRow, WorldEntry, WorldLogPage, WorldOwner,
    WorldRow,
};
use engine::time::UnixMs;

pub(super) const LOG: &str = "
    SELECT version, data FROM world_log WHERE world_id = $1 AND version >= $2 ORDER BY version LIMIT $3";
/// One seek for each world that has a log, another to its end.
pub(super) const AGGREGATION_LAGS: &str = "
    WITH RECURSIVE logged (id) AS (
        (SELECT world_id FROM world_log ORDER BY world_id LIMIT 1)
        UNION ALL
        SELECT (SELECT world_id FROM world_log WHERE world_id > logged.id ORDER BY world_id LIMIT 1)
        FROM logged WHERE logged.id IS NOT NULL
    )
    SELECT w.id, w.aggregated_version, last.version + 1 FROM logged JOIN worlds w ON w.id = logged.id
    CROSS JOIN LATERAL (
        SELECT version FROM world_log WHERE world_id = w.id ORDER BY version DESC LIMIT 1) AS last
    WHERE w.aggregated_version <= last.version LIMIT $1";
pub(super) const JOINED: &str = "SELECT 1 FROM world_members WHERE world_id = $1 AND player = $2";
pub(super) const MEMBERS: &str = "
    SELECT player FROM world_members WHERE world_id = $1 ORDER BY player LIMIT $2";

/// The owner of the matchmaking queue at $1, if its lease is valid.
pub(super) const QUEUE_OWNER: &str = "
    SELECT d.worker, l.address FROM matchmaking_queue d
    JOIN workers l ON l.id = d.worker AND l.lease_until > $1 AND NOT l.is_given_up WHERE d.id = 1";

/// Worlds with their owners at $1.
fn entries(rest: &str) -> String {
    format!(
        "SELECT {}, {} FROM worlds w
         LEFT JOIN workers l ON l.id = w.worker AND l.lease_until > $1 AND NOT l.is_given_up {rest}",
        rows::WORLD,
        rows::ENTRY
    )
}

pub(super) fn by_id() -> String {
    entries("WHERE w.id = $2")
}

pub(super) fn by_name() -> String {
    entries("WHERE w.name = $2")
}

/// `EXISTS` could become a table of everything that the player is a member of, for which all members are read.
pub(super) fn page() -> String {
    entries(
        "WHERE w.id > $2 AND w.ends_at > $1 AND (w.admission = 'everybody' OR (
             SELECT true FROM world_members m WHERE m.world_id = w.id AND m.player = $4))
         ORDER BY w.id LIMIT $3",
    )
}

pub(super) fn lobby_page() -> String {
    entries(
        "WHERE w.ends_at > $1 AND (w.ends_at, w.id) < ($2, $3) AND w.kind = 'hunt'
         ORDER BY w.ends_at DESC, w.id DESC LIMIT $4",
    )
}

/// Hunts that were over by $1, were played, are not finished, and whose owner's lease does not hold.
pub(super) fn unfinished_page() -> String {
    format!(
        "SELECT {} FROM worlds w
         LEFT JOIN workers l ON l.id = w.worker AND l.lease_until > $1 AND NOT l.is_given_up
         WHERE NOT w.is_finished AND w.epoch > 0 AND w.kind = 'hunt' AND w.ends_at <= $1
           AND (w.ends_at, w.id) > ($2, $3) AND l.id IS NULL
         ORDER BY w.ends_at, w.id LIMIT $4",
        rows::WORLD
    )
}

/// The hunt into which the player $1 came by the ticket $2.
pub(super) fn of_ticket() -> String {
    format!(
        "SELECT {} FROM world_members m JOIN worlds w ON w.id = m.world_id WHERE m.player = $1 AND m.ticket = $2",
        rows::WORLD
    )
}

/// A hunt that is not over at $2, into which the player $1 was matched.
pub(super) fn of_player() -> String {
    format!(
        "SELECT {} FROM world_members m JOIN worlds w ON w.id = m.world_id
         WHERE m.player = $1 AND m.ticket IS NOT NULL AND w.ends_at > $2 LIMIT 1",
        rows::WORLD
    )
}

pub(super) fn leaderboard_page() -> String {
    format!(
        "SELECT {} FROM hunters WHERE (points, player) < ($1, $2) ORDER BY points DESC, player DESC LIMIT $3",
        rows::HUNTER
    )
}

pub(super) fn hunter_of() -> String {
    format!("SELECT {} FROM hunters WHERE player = $1", rows::HUNTER)
}

pub(super) fn rounds_page() -> String {
    format!("SELECT {} FROM hunt_rounds WHERE world_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3", rows::ROUND)
}

pub(super) fn totals_row() -> String {
    format!("SELECT {} FROM hunt_totals WHERE id = 1", rows::TOTALS)
}

pub(in crate::postgres) fn world(
    session: &mut Session,
    id: WorldId,
    now: UnixMs,
) -> Result<Option<WorldEntry>, StatementError> {
    session.first(&by_id(), &[&now.0, &PgId(id.0)], |row| rows::entry(row))
}

pub(in crate::postgres) fn world_named(
    session: &mut Session,
    name: &WorldName,
    now: UnixMs,
) -> Result<Option<WorldEntry>, StatementError> {
    session.first(&by_name(), &[&now.0, &name.as_str()], |row| rows::entry(row))
}

pub(in crate::postgres) fn worlds(
    session: &mut Session,
    after: Option<WorldId>,
    limit: usize,
    (viewer, now): (Option<PlayerId>, UnixMs),
) -> Result<Vec<WorldEntry>, StatementError> {
    // No world has the id 0.
    let after = PgId(after.map_or(0, |after| after.0));
    let viewer = viewer.map(|viewer| PgId(viewer.0));
    session.all(&page(), &[&now.0, &after, &(limit as i64), &viewer], |row| rows::entry(row))
}

/// The session is a snapshot.
pub(in crate::postgres) fn log_page(
    session: &mut Session,
    id: WorldId,
    from: u32,
    limit: usize,
) -> Result<Option<WorldLogPage>, StatementError> {
    let held = session.first(super::log::LOG_STATE, &[&PgId(id.0)], |row| rows::log_state(row))?;
    let Some((_, versions)) = held else { return Ok(None) };
    let rows = session.all(LOG, &[&PgId(id.0), &i64::from(from), &(limit as i64)], |row| rows::log_row(row))?;
    Ok(Some(WorldLogPage { rows, version: versions.log, aggregated_version: versions.aggregated }))
}

pub(in crate::postgres) fn aggregation_lags(
    session: &mut Session,
    limit: usize,
) -> Result<Vec<AggregationLag>, StatementError> {
    session.all(AGGREGATION_LAGS, &[&(limit as i64)], |row| rows::aggregation_lag(row))
}

pub(in crate::postgres) fn has_joined(
    session: &mut Session,
    id: WorldId,
    player: PlayerId,
) -> Result<bool, StatementError> {
    session.exists(JOINED, &[&PgId(id.0), &PgId(player.0)])
}

pub(in crate::postgres) fn members(
    session: &mut Session,
    id: WorldId,
    limit: usize,
) -> Result<Vec<PlayerId>, StatementError> {
    session.all(MEMBERS, &[&PgId(id.0), &(limit as i64)], |row| row.id().map(PlayerId))
}

pub(in crate::postgres) fn lobby(
    session: &mut Session,
    before: Option<HuntCursor>,
    limit: usize,
    now: UnixMs,
) -> Result<Vec<WorldEntry>, StatementError> {
    let (ends_at, id) = before.map_or(END, |before| (before.ends_at.0, PgId(before.id.0)));
    session.all(&lobby_page(), &[&now.0, &ends_at, &id, &(limit as i64)], |row| rows::entry(row))
}

pub(in crate::postgres) fn unfinished(
    session: &mut Session,
    after: Option<HuntCursor>,
    limit: usize,
    now: UnixMs,
) -> Result<Vec<WorldRow>, StatementError> {
    // No world has the id 0.
    let (ends_at, id) = after.map_or((i64::MIN, PgId(0)), |after| (after.ends_at.0, PgId(after.id.0)));
    session.all(&unfinished_page(), &[&now.0, &ends_at, &id, &(limit as i64)], |row| rows::world(row))
}

pub(in crate::postgres) fn hunt_of_ticket(
    session: &mut Session,
    ticket: TicketId,
    player: PlayerId,
) -> Result<Option<WorldRow>, StatementError> {
    session.first(&of_ticket(), &[&PgId(player.0), &PgId(ticket.0)], |row| rows::world(row))
}

pub(in crate::postgres) fn hunt_of_player(
    session: &mut Session,
    player: PlayerId,
    now: UnixMs,
) -> Result<Option<WorldRow>, StatementError> {
    session.first(&of_player(), &[&PgId(player.0), &now.0], |row| rows::world(row))
}

/// A place after every other.
const END: (i64, PgId) = (i64::MAX, PgId(u128::MAX));

pub(in crate::postgres) fn leaderboard(
    session: &mut Session,
    before: Option<HunterCursor>,
    limit: usize,
) -> Result<Vec<HunterRow>, StatementError> {
    let place = |before: HunterCursor| (i64::try_from(before.points).unwrap_or(i64::MAX), PgId(before.player.0));
    let (points, player) = before.map_or(END, place);
    session.all(&leaderboard_page(), &[&points, &player, &(limit as i64)], |row| rows::hunter(row))
}

pub(in crate::postgres) fn hunter(
    session: &mut Session,
    player: PlayerId,
) -> Result<Option<HunterRow>, StatementError> {
    session.first(&hunter_of(), &[&PgId(player.0)], |row| rows::hunter(row))
}

pub(in crate::postgres) fn rounds(
    session: &mut Session,
    id: WorldId,
    before: Option<u32>,
    limit: usize,
) -> Result<Vec<RoundRow>, StatementError> {
    let before = before.map_or(i64::MAX, i64::from);
    session.all(&rounds_page(), &[&PgId(id.0), &before, &(limit as i64)], |row| rows::round(row))
}

pub(in crate::postgres) fn totals(session: &mut Session) -> Result<HuntTotals, StatementError> {
    Ok(session.first(&totals_row(), &[], |row| rows::totals(row))?.unwrap_or_default())
}

pub(in crate::postgres) fn queue_owner(
    session: &mut Session,
    now: UnixMs,
) -> Result<Option<WorldOwner>, StatementError> {
    session.first(QUEUE_OWNER, &[&now.0], |row| rows::owner(row))
}
