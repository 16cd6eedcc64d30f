//! What PostgreSQL says or does in its own way: many rows go in one statement.

use super::appends::write_fences;
use super::session::{PgId, Session};
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::sql::matches::WriteFence;
use crate::sql::{Dialect, IdBytes, Session as _, values};
use engine::ids::{MatchId, PlayerId, WorldId};
use engine::matches::result::MatchResult;
use engine::rows::{HunterRow, WorldLogRow};
use engine::time::UnixMs;
use rules::snake::Cause;
use std::collections::{BTreeMap, BTreeSet};

/// Workers that hold live tables and no lease: one seek into `story_tables_live` each.
pub(super) const LOST_TABLE_HOLDERS: &str = "
    WITH RECURSIVE holders (worker) AS (
        (SELECT worker FROM story_tables WHERE is_live AND worker IS NOT NULL ORDER BY worker LIMIT 1)
        UNION ALL
        SELECT (SELECT worker FROM story_tables WHERE is_live AND worker > holders.worker ORDER BY worker LIMIT 1)
        FROM holders WHERE holders.worker IS NOT NULL
    )
    SELECT holders.worker FROM holders LEFT JOIN workers ON workers.id = holders.worker
    WHERE holders.worker IS NOT NULL
      AND (workers.id IS NULL OR workers.is_given_up OR workers.lease_until <= ?1)";
const ORPHANED_TABLES: &str = "
    SELECT id FROM story_tables WHERE is_live AND (worker IS NULL OR worker = ANY ($1))
    ORDER BY id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED";

impl Dialect for Session {
    const JOIN_IN_ORDER: &'static str = "JOIN";
    const AGGREGATION_LAGS: &'static str = "
        WITH RECURSIVE logged (id) AS (
            (SELECT world_id FROM world_log ORDER BY world_id LIMIT 1)
            UNION ALL
            SELECT (SELECT world_id FROM world_log WHERE world_id > logged.id ORDER BY world_id LIMIT 1)
            FROM logged WHERE logged.id IS NOT NULL
        )
        SELECT w.id, w.aggregated_version, last.version + 1 FROM logged JOIN worlds w ON w.id = logged.id
        CROSS JOIN LATERAL (
            SELECT version FROM world_log WHERE world_id = w.id ORDER BY version DESC LIMIT 1) AS last
        WHERE w.aggregated_version <= last.version LIMIT ?1";
    const TABLES_CLAIMED_BEFORE: &'static str =
        "SELECT id FROM story_tables WHERE is_live AND worker = ?1 AND claim = ?2 ORDER BY id";
    const HAS_ROW_LOCKS: bool = true;

    fn write_fence(&mut self, id: MatchId) -> Result<Option<WriteFence>, StoreError> {
        Ok(write_fences(self, &BTreeSet::from([id]))?.remove(&id))
    }

    fn write_seat_results(&mut self, id: MatchId, result: &MatchResult) -> Result<(), StoreError> {
        let places: Vec<_> = result.placements.iter().map(|place| i64::from(*place)).collect();
        let causes: Vec<_> = result.causes.iter().map(|cause| cause.map(Cause::as_str)).collect();
        self.execute(
            "UPDATE seats SET place = ended.place, cause = ended.cause
             FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY AS ended (place, cause, number)
             WHERE match_id = $1 AND seat = ended.number - 1",
            &[&PgId(id.0), &places, &causes],
        )?;
        Ok(())
    }

    fn replace_log(&mut self, id: MatchId, archive: &[u8]) -> Result<(), StoreError> {
        self.run(
            "WITH emptied AS (DELETE FROM match_log WHERE match_id = ?1)
             INSERT INTO match_archive (match_id, data) VALUES (?1, ?2)",
            values![id, archive],
        )?;
        Ok(())
    }

    fn orphaned_tables(&mut self, now: UnixMs, max: usize) -> Result<Vec<IdBytes>, StoreError> {
        let lost = self.all(LOST_TABLE_HOLDERS, values![now], |row| row.id().map(PgId))?;
        self.query(ORPHANED_TABLES, &[&lost, &(max as i64)], |row| row.id_bytes())
    }

    fn insert_world_rows(&mut self, id: WorldId, rows: &[WorldLogRow]) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let versions: Vec<_> = rows.iter().map(|row| i64::from(row.version)).collect();
        let data: Vec<_> = rows.iter().map(|row| row.bytes.as_slice()).collect();
        self.execute(
            "INSERT INTO world_log (world_id, version, data)
             SELECT $1, version, data FROM unnest($2::bigint[], $3::bytea[]) AS new (version, data)",
            &[&PgId(id.0), &versions, &data],
        )?;
        Ok(())
    }

    fn add_to_hunters(&mut self, sums: &BTreeMap<PlayerId, HunterRow>) -> Result<usize, StoreError> {
        let players: Vec<_> = sums.keys().map(|player| PgId(player.0)).collect();
        let new = self.execute(
            "INSERT INTO hunters (player, name, points, chests, power_ups, rounds, rounds_won, last_at)
             SELECT player, '', 0, 0, 0, 0, 0, 0 FROM unnest($1::uuid[]) AS counted (player)
             ON CONFLICT (player) DO NOTHING",
            &[&players],
        )?;
        let names: Vec<_> = sums.values().map(|sum| sum.name.as_str()).collect();
        let column = |value: fn(&HunterRow) -> i64| -> Vec<i64> { sums.values().map(value).collect() };
        self.execute(
            "UPDATE hunters AS h SET name = CASE sum.name WHEN '' THEN h.name ELSE sum.name END,
               points = h.points + sum.points, chests = h.chests + sum.chests, power_ups = h.power_ups + sum.power_ups,
               rounds = h.rounds + sum.rounds, rounds_won = h.rounds_won + sum.rounds_won,
               last_at = greatest(h.last_at, sum.last_at)
             FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
               $8::bigint[]) AS sum (player, name, points, chests, power_ups, rounds, rounds_won, last_at)
             WHERE h.player = sum.player",
            &[
                &players,
                &names,
                &column(|sum| sum.points as i64),
                &column(|sum| sum.chests as i64),
                &column(|sum| sum.power_ups as i64),
                &column(|sum| sum.rounds as i64),
                &column(|sum| sum.rounds_won as i64),
                &column(|sum| sum.last_at.0),
            ],
        )?;
        Ok(new as usize)
    }
}
