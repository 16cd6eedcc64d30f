//! What PostgreSQL says or does in its own way: many rows go in one statement.

use super::appends::write_fences;
use super::session::{PgId, Session};
use crate::columns::Columns;
use crate::contract::StoreError;
use crate::sql::matches::WriteFence;
use crate::sql::{Dialect, IdBytes, Session as _, values};
use engine::ids::MatchId;
use engine::time::UnixMs;
use std::collections::BTreeSet;

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
}
