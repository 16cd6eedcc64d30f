//! Claim logs and snapshots, under the fence of their world's owner. The world's row is locked before.

use crate::columns::worlds as rows;
use crate::postgres::batch::Batch;
use crate::postgres::session::PgId;
use crate::postgres::statement_error::StatementError;
use crate::semantics::{self, worlds::WorldVersions};
use engine::commands::{Outcome, WorldAppend};
use engine::ids::WorldId;

/// What decides about writes: a world's epoch, and how far its log, its snapshot and its counting are.
pub(super) const LOG_STATE: &str = "
    SELECT epoch, snapshot_version, aggregated_version, coalesce(
        (SELECT version + 1 FROM world_log WHERE world_id = $1 ORDER BY version DESC LIMIT 1), snapshot_version)
    FROM worlds WHERE id = $1";

impl Batch<'_> {
    pub(super) fn world_log_state(&mut self, id: WorldId) -> Result<Option<(u32, WorldVersions)>, StatementError> {
        self.session.first(LOG_STATE, &[&PgId(id.0)], |row| rows::log_state(row))
    }

    /// The counters of a world that is in this epoch.
    fn fenced_world(&mut self, id: WorldId, epoch: u32) -> Result<Option<WorldVersions>, StatementError> {
        let held = self.world_log_state(id)?.filter(|(held, _)| *held == epoch && epoch > 0);
        Ok(held.map(|(_, versions)| versions))
    }

    pub(super) fn append_world(&mut self, append: &WorldAppend) -> Result<Outcome, StatementError> {
        let Some(held) = self.fenced_world(append.id, append.epoch)? else { return Ok(Outcome::Fenced) };
        if let Err(refusal) = semantics::worlds::check_world_append(append, held.log) {
            return Ok(refusal);
        }
        let versions: Vec<_> = append.rows.iter().map(|row| i64::from(row.version)).collect();
        let data: Vec<_> = append.rows.iter().map(|row| row.bytes.as_slice()).collect();
        if !versions.is_empty() {
            self.session.run(
                "INSERT INTO world_log (world_id, version, data)
                 SELECT $1, version, data FROM unnest($2::bigint[], $3::bytea[]) AS new (version, data)",
                &[&PgId(append.id.0), &versions, &data],
            )?;
        }
        Ok(Outcome::Done)
    }

    pub(super) fn snapshot_world(
        &mut self,
        id: WorldId,
        epoch: u32,
        claims_version: u32,
        bytes: &[u8],
    ) -> Result<Outcome, StatementError> {
        let Some(held) = self.fenced_world(id, epoch)? else { return Ok(Outcome::Fenced) };
        if let Err(refusal) = semantics::worlds::check_snapshot(claims_version, held) {
            return Ok(refusal);
        }
        self.session.run(
            "INSERT INTO world_snapshots (world_id, data) VALUES ($1, $2)
             ON CONFLICT (world_id) DO UPDATE SET data = excluded.data",
            &[&PgId(id.0), &bytes],
        )?;
        if claims_version > held.snapshot {
            let moved = "UPDATE worlds SET snapshot_version = $2 WHERE id = $1";
            self.session.run(moved, &[&PgId(id.0), &i64::from(claims_version)])?;
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
    ) -> Result<(), StatementError> {
        if after.first_needed() > before.first_needed() {
            let forget = "DELETE FROM world_log WHERE world_id = $1 AND version < $2";
            self.session.run(forget, &[&PgId(id.0), &i64::from(after.first_needed())])?;
        }
        Ok(())
    }
}
