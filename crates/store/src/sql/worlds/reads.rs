//! Queries about worlds. Each walks an index.

use crate::columns::worlds as rows;
use crate::contract::StoreError;
use crate::sql::{Dialect, ID_MAX, ID_MIN, Session, values};
use engine::ids::{PlayerId, WorldId, WorldName};
use engine::rows::{HuntCursor, WorldEntry, WorldRow};
use engine::time::UnixMs;

pub(crate) const LOG: &str = "
    SELECT version, data, checksum FROM world_log WHERE world_id = ?1 AND version >= ?2 ORDER BY version LIMIT ?3";
pub(crate) const JOINED: &str = "SELECT 1 FROM world_members WHERE world_id = ?1 AND player = ?2";
pub(crate) const MEMBERS: &str = "
    SELECT player FROM world_members WHERE world_id = ?1 ORDER BY player LIMIT ?2";

/// Worlds whose logs have entries that are not counted yet, at most ?1: one seek for each world that has a log, another to its end. ?2
/// is before every world.
pub(crate) fn aggregation_lags<S: Dialect>() -> String {
    format!(
        "WITH RECURSIVE logged (id) AS (
             SELECT (SELECT world_id FROM world_log WHERE world_id >= ?2 ORDER BY world_id LIMIT 1)
             UNION ALL
             SELECT (SELECT world_id FROM world_log WHERE world_id > logged.id ORDER BY world_id LIMIT 1)
             FROM logged WHERE logged.id IS NOT NULL
         )
         SELECT id, aggregated_version, version FROM (
             SELECT w.id, w.aggregated_version,
                    (SELECT version + 1 FROM world_log WHERE world_id = w.id ORDER BY version DESC LIMIT 1) AS version
             FROM logged {} worlds w ON w.id = logged.id) AS ends
         WHERE aggregated_version < version LIMIT ?1",
        S::JOIN_IN_ORDER
    )
}

/// Worlds with their owners at ?1.
fn entries(rest: &str) -> String {
    format!(
        "SELECT {}, {} FROM worlds w
         LEFT JOIN workers l ON l.id = w.worker AND l.lease_until > ?1 AND NOT l.is_given_up {rest}",
        rows::WORLD,
        rows::ENTRY
    )
}

pub(crate) fn by_id() -> String {
    entries("WHERE w.id = ?2")
}

pub(crate) fn by_name() -> String {
    entries("WHERE w.name = ?2")
}

/// `EXISTS` could become a table of everything that the player is a member of, for which all members are read.
pub(crate) fn page() -> String {
    entries(
        "WHERE w.id > ?2 AND w.ends_at > ?1 AND (w.admission = 'everybody' OR (
             SELECT true FROM world_members m WHERE m.world_id = w.id AND m.player = ?4))
         ORDER BY w.id LIMIT ?3",
    )
}

pub(crate) fn lobby_page(with_matched: bool) -> String {
    let shown = if with_matched { "" } else { "AND w.admission <> 'matched'" };
    entries(&format!(
        "WHERE w.ends_at > ?1 AND (w.ends_at, w.id) < (?2, ?3) AND w.kind = 'hunt' {shown}
         ORDER BY w.ends_at DESC, w.id DESC LIMIT ?4"
    ))
}

/// Hunts that were over by ?1, were played, are not finished, and whose owner's lease does not hold.
pub(crate) fn unfinished_page() -> String {
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
pub(crate) fn of_ticket() -> String {
    format!(
        "SELECT {} FROM world_members m JOIN worlds w ON w.id = m.world_id WHERE m.player = ?1 AND m.ticket = ?2",
        rows::WORLD
    )
}

/// A hunt that is not over at ?2, into which the player ?1 was matched.
pub(crate) fn of_player() -> String {
    format!(
        "SELECT {} FROM world_members m JOIN worlds w ON w.id = m.world_id
         WHERE m.player = ?1 AND m.ticket IS NOT NULL AND w.ends_at > ?2 LIMIT 1",
        rows::WORLD
    )
}

pub(crate) fn leaderboard_page() -> String {
    format!(
        "SELECT {} FROM hunters WHERE (points, player) < (?1, ?2) ORDER BY points DESC, player DESC LIMIT ?3",
        rows::HUNTER
    )
}

pub(crate) fn hunter_of() -> String {
    format!("SELECT {} FROM hunters WHERE player = ?1", rows::HUNTER)
}

pub(crate) fn rounds_page() -> String {
    format!("SELECT {} FROM hunt_rounds WHERE world_id = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3", rows::ROUND)
}

pub(crate) fn totals_row() -> String {
    format!("SELECT {} FROM hunt_totals WHERE id = 1", rows::TOTALS)
}

/// See [`crate::Reader::worlds`].
pub(in crate::sql) fn visible(
    session: &mut impl Session,
    after: Option<WorldId>,
    limit: usize,
    viewer: Option<PlayerId>,
    now: UnixMs,
) -> Result<Vec<WorldEntry>, StoreError> {
    let after = after.map_or(ID_MIN, WorldId::to_bytes);
    session.page(&page(), limit, |limit| *values![now, after, limit, viewer], |row, _| rows::entry(row))
}

/// See [`crate::Reader::hunt_lobby`].
pub(in crate::sql) fn lobby(
    session: &mut impl Session,
    before: Option<HuntCursor>,
    limit: usize,
    with_matched: bool,
    now: UnixMs,
) -> Result<Vec<WorldEntry>, StoreError> {
    let (ends_at, id) = before.map_or((i64::MAX, ID_MAX), |before| (before.ends_at.0, before.id.to_bytes()));
    session.page(&lobby_page(with_matched), limit, |limit| *values![now, ends_at, id, limit], |row, _| rows::entry(row))
}

/// See [`crate::Reader::unfinished_hunts`].
pub(in crate::sql) fn unfinished(
    session: &mut impl Session,
    after: Option<HuntCursor>,
    limit: usize,
    now: UnixMs,
) -> Result<Vec<WorldRow>, StoreError> {
    let (ends_at, id) = after.map_or((i64::MIN, ID_MIN), |after| (after.ends_at.0, after.id.to_bytes()));
    session.page(&unfinished_page(), limit, |limit| *values![now, ends_at, id, limit], |row, _| rows::world(row))
}

pub(in crate::sql) fn world(
    session: &mut impl Session,
    id: WorldId,
    now: UnixMs,
) -> Result<Option<WorldEntry>, StoreError> {
    session.first(&by_id(), values![now, id], |row| rows::entry(row))
}

pub(in crate::sql) fn world_named(
    session: &mut impl Session,
    name: &WorldName,
    now: UnixMs,
) -> Result<Option<WorldEntry>, StoreError> {
    session.first(&by_name(), values![now, name.as_str()], |row| rows::entry(row))
}

pub(in crate::sql) fn has_joined(
    session: &mut impl Session,
    id: WorldId,
    player: PlayerId,
) -> Result<bool, StoreError> {
    session.exists(JOINED, values![id, player])
}
