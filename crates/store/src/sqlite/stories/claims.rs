//! How tables change owners under leases. Those that are to be taken over are found as orphaned matches are: the index
//! by worker gives the few workers that hold any live ones, and only the tables of those without a lease are read.

use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::sqlite::batch::Batch;
use crate::sqlite::claim::LEASE_ADDRESS;
use engine::commands::{ClaimedTable, Outcome};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableOwner;
use engine::time::UnixMs;

/// A table's worker, and the address in that worker's lease if the lease holds.
pub(super) const OWNER: &str = "
    SELECT t.worker, w.address FROM story_tables t
    LEFT JOIN workers w ON w.id = t.worker AND w.lease_until > ?2 AND NOT w.is_given_up
    WHERE t.id = ?1";
/// Workers that hold live tables and no lease: one seek into `story_tables_live` each.
pub(super) const HOLDERS: &str = "
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
pub(super) const LIVE_OF: &str = "
    SELECT id FROM story_tables WHERE is_live = 1 AND worker IS ?1 ORDER BY id LIMIT ?2";
/// What a worker's claim of one number took, and the worker still holds live.
pub(super) const CLAIMED_BEFORE: &str = "
    SELECT id FROM story_tables WHERE is_live = 1 AND worker = ?1 AND claim = ?2 ORDER BY id";
const TAKE: &str = "UPDATE story_tables SET worker = ?2, claim = ?3, epoch = epoch + 1 WHERE id = ?1";
pub(super) const LOAD: &str = "
    SELECT id, epoch, base_version, data FROM story_tables LEFT JOIN story_bases ON table_id = id WHERE id = ?1";
pub(super) const LOAD_ROWS: &str = "
    SELECT version, data FROM story_log WHERE table_id = ?1 ORDER BY version";

impl Batch<'_> {
    pub(in crate::sqlite) fn has_lease(&self, worker: WorkerId, now: UnixMs) -> Result<bool, StoreError> {
        self.session.exists(LEASE_ADDRESS, (worker.to_bytes(), now.0))
    }

    pub(in crate::sqlite) fn claim_table(
        &mut self,
        id: TableId,
        worker: WorkerId,
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        match super::reads::owner(self.session, id, now)? {
            None => Ok(Outcome::NotFound),
            Some(TableOwner::Leased { worker: other, address }) if other != worker => {
                Ok(Outcome::TableElsewhere { address })
            }
            Some(TableOwner::Leased { .. } | TableOwner::Unowned) => {
                self.take_table(id, worker, 0).map(Outcome::TableClaimed)
            }
        }
    }

    pub(in crate::sqlite) fn claim_tables(
        &mut self,
        worker: WorkerId,
        number: u64,
        now: UnixMs,
        max: usize,
    ) -> Result<Outcome, StoreError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        let by = (worker.to_bytes(), number as i64);
        let is_old = self.session.exists("SELECT 1 FROM workers WHERE id = ?1 AND table_claims >= ?2", by)?;
        let claimed = if !is_old {
            let orphans = self.orphaned_tables(now, max)?;
            if !orphans.is_empty() {
                self.session.run("UPDATE workers SET table_claims = ?2 WHERE id = ?1", by)?;
            }
            orphans.into_iter().map(|id| self.take_table(id, worker, number)).collect::<Result<_, _>>()?
        } else {
            let held = self.session.all(CLAIMED_BEFORE, by, |row| row.id().map(TableId))?;
            held.into_iter().map(|id| self.load_table(id)).collect::<Result<_, _>>()?
        };
        Ok(Outcome::TablesClaimed(claimed))
    }

    fn orphaned_tables(&self, now: UnixMs, limit: usize) -> Result<Vec<TableId>, StoreError> {
        let lost = self.session.all(HOLDERS, [now.0], |row| row.id())?;
        let holders = std::iter::once(None).chain(lost.into_iter().map(|worker| Some(worker.to_be_bytes())));
        let mut orphans = Vec::new();
        for holder in holders {
            let of_holder = self.session.all(LIVE_OF, (holder, limit as i64), |row| row.id())?;
            orphans.extend(of_holder.into_iter().map(TableId));
        }
        orphans.sort_unstable();
        orphans.truncate(limit);
        Ok(orphans)
    }

    fn take_table(&self, id: TableId, worker: WorkerId, claim: u64) -> Result<ClaimedTable, StoreError> {
        self.session.run(TAKE, (id.to_bytes(), worker.to_bytes(), claim as i64))?;
        self.load_table(id)
    }

    fn load_table(&self, id: TableId) -> Result<ClaimedTable, StoreError> {
        let table = self.session.first(LOAD, [id.to_bytes()], |row| columns::claimed_row(row))?;
        let mut table =
            table.ok_or_else(|| StoreError::Corrupt { why: format!("table {id} vanished while it was claimed") })?;
        table.rows = self.session.all(LOAD_ROWS, [id.to_bytes()], |row| columns::table_log_row(row))?;
        Ok(table)
    }

    pub(in crate::sqlite) fn release_table(&mut self, id: TableId, epoch: u32) -> Result<Outcome, StoreError> {
        let release = "UPDATE story_tables SET worker = NULL WHERE id = ?1 AND epoch = ?2";
        let released = self.session.run(release, (id.to_bytes(), epoch))?;
        Ok(if released == 1 { Outcome::Done } else { Outcome::Fenced })
    }
}
