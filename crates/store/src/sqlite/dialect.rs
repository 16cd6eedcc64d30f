//! What SQLite says or does in its own way: row by row, because a statement costs no round trip.

use super::session::Session;
use crate::columns::{self, Columns, LogEnd};
use crate::contract::StoreError;
use crate::sql::matches::WriteFence;
use crate::sql::{Dialect, IdBytes, Session as _, values};
use engine::ids::{AccountId, MatchId};
use engine::time::UnixMs;

/// Workers that hold live tables and no lease: one seek into `story_tables_live` each.
pub(super) const TABLE_HOLDERS: &str = "
    WITH RECURSIVE holders (worker) AS (
        SELECT (SELECT worker FROM story_tables WHERE is_live = 1 AND worker > x'' ORDER BY worker LIMIT 1)
        UNION ALL
        SELECT (SELECT worker FROM story_tables WHERE is_live = 1 AND worker > holders.worker ORDER BY worker LIMIT 1)
        FROM holders WHERE holders.worker IS NOT NULL
    )
    SELECT holders.worker FROM holders
    LEFT JOIN workers ON workers.id = holders.worker
    WHERE holders.worker IS NOT NULL
      AND (workers.id IS NULL OR workers.is_given_up OR workers.lease_until <= ?1)";
/// Live tables of one worker, oldest first; of no worker when it is null.
pub(super) const LIVE_TABLES_OF: &str = "
    SELECT id FROM story_tables WHERE is_live = 1 AND worker IS ?1 ORDER BY id LIMIT ?2";

/// The counters after the last entry of a live log.
pub(super) fn log_end(session: &mut Session, id: MatchId) -> Result<LogEnd, StoreError> {
    let last = "SELECT version, turns, late_moves FROM match_log WHERE match_id = ?1 ORDER BY version DESC LIMIT 1";
    Ok(session.first(last, values![id], |row| columns::log_end(row))?.unwrap_or_default())
}

impl Session {
    /// What these holders hold by a query of one of them, and what has none, in the order of their ids.
    pub(super) fn held_by(
        &mut self,
        holders: &str,
        of_one: &str,
        now: UnixMs,
        max: usize,
    ) -> Result<Vec<IdBytes>, StoreError> {
        let lost = self.all(holders, values![now], |row| row.id_bytes())?;
        let mut held = Vec::new();
        for holder in std::iter::once(None).chain(lost.into_iter().map(Some)) {
            held.extend(self.all(of_one, values![holder, max], |row| row.id_bytes())?);
        }
        held.sort_unstable();
        held.truncate(max);
        Ok(held)
    }
}

impl Dialect for Session {
    const JOIN_IN_ORDER: &'static str = "CROSS JOIN";
    const AGGREGATION_LAGS: &'static str = "
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
    const TABLES_CLAIMED_BEFORE: &'static str =
        "SELECT id FROM story_tables WHERE is_live = 1 AND worker = ?1 AND claim = ?2 ORDER BY id";
    const HAS_ROW_LOCKS: bool = false;

    fn write_fence(&mut self, id: MatchId) -> Result<Option<WriteFence>, StoreError> {
        let end = log_end(self, id)?;
        let by_id = "SELECT state, account, epoch, started_at FROM matches WHERE id = ?1";
        self.first(by_id, values![id], |row| {
            let (state, account) = (columns::state(row)?, AccountId(row.id()?));
            Ok(WriteFence { state, account, epoch: row.number()?, started_at: row.maybe_time()?, end })
        })
    }

    fn replace_log(&mut self, id: MatchId, archive: &[u8]) -> Result<(), StoreError> {
        self.run("DELETE FROM match_log WHERE match_id = ?1", values![id])?;
        self.run("INSERT INTO match_archive (match_id, data) VALUES (?1, ?2)", values![id, archive])?;
        Ok(())
    }

    fn orphaned_tables(&mut self, now: UnixMs, max: usize) -> Result<Vec<IdBytes>, StoreError> {
        self.held_by(TABLE_HOLDERS, LIVE_TABLES_OF, now, max)
    }
}
