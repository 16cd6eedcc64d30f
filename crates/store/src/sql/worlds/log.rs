//! Claim logs and snapshots, under the fence of their world's owner. Where nodes share the database, the
//! world's row is locked before.

use crate::columns::worlds as rows;
use crate::contract::StoreError;
use crate::semantics::{self, worlds::WorldVersions};
use crate::sql::{Batch, Dialect, RowStatement, values};
use engine::commands::{Outcome, WorldAppend};
use engine::ids::WorldId;

/// What decides about writes: a world's epoch, and how far its log, its snapshot and its counting are.
pub(crate) const LOG_STATE: &str = "
    SELECT epoch, snapshot_version, aggregated_version, coalesce(
        (SELECT version + 1 FROM world_log WHERE world_id = ?1 ORDER BY version DESC LIMIT 1), snapshot_version)
    FROM worlds WHERE id = ?1";

static ADD: RowStatement = RowStatement::new(
    "world_id uuid, version bigint, data bytea, checksum bigint",
    "INSERT INTO world_log (world_id, version, data, checksum) SELECT new.* FROM {new}",
);
pub(super) const FORGET: &str = "DELETE FROM world_log WHERE world_id = ?1 AND version < ?2";

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn world_log_state(&mut self, id: WorldId) -> Result<Option<(u32, WorldVersions)>, StoreError> {
        self.session.first(LOG_STATE, values![id], |row| rows::log_state(row))
    }

    /// The counters of a world that is in this epoch.
    fn fenced_world(&mut self, id: WorldId, epoch: u32) -> Result<Option<WorldVersions>, StoreError> {
        let held = self.world_log_state(id)?.filter(|(held, _)| *held == epoch && epoch > 0);
        Ok(held.map(|(_, versions)| versions))
    }

    pub(super) fn append_world(&mut self, append: &WorldAppend) -> Result<Outcome, StoreError> {
        let Some(held) = self.fenced_world(append.id, append.epoch)? else { return Ok(Outcome::Fenced) };
        if let Err(refusal) = semantics::worlds::check_world_append(append, held.log) {
            return Ok(refusal);
        }
        let rows = append.rows.iter().map(|row| {
            let checksum = rows::world_entry(append.id, row.version).checksum(&row.bytes);
            *values![append.id, row.version, &row.bytes, checksum]
        });
        self.session.run_rows(&ADD, rows)?;
        Ok(Outcome::Done)
    }

    pub(super) fn snapshot_world(
        &mut self,
        id: WorldId,
        epoch: u32,
        claims_version: u32,
        bytes: &[u8],
    ) -> Result<Outcome, StoreError> {
        let Some(held) = self.fenced_world(id, epoch)? else { return Ok(Outcome::Fenced) };
        if let Err(refusal) = semantics::worlds::check_snapshot(claims_version, held) {
            return Ok(refusal);
        }
        self.session.run(
            "INSERT INTO world_snapshots (world_id, data, checksum) VALUES (?1, ?2, ?3)
             ON CONFLICT (world_id) DO UPDATE SET data = excluded.data, checksum = excluded.checksum",
            values![id, bytes, rows::world_snapshot(id).checksum(bytes)],
        )?;
        if claims_version > held.snapshot {
            let moved = "UPDATE worlds SET snapshot_version = ?2 WHERE id = ?1";
            self.session.run(moved, values![id, claims_version])?;
            self.forget_entries(id, held, WorldVersions { snapshot: claims_version, ..held })?;
        }
        Ok(Outcome::Done)
    }

    /// Deletes entries that are no longer needed.
    pub(super) fn forget_entries(
        &mut self,
        id: WorldId,
        before: WorldVersions,
        after: WorldVersions,
    ) -> Result<(), StoreError> {
        if after.first_needed() > before.first_needed() {
            self.session.run(FORGET, values![id, after.first_needed()])?;
        }
        Ok(())
    }
}
