//! How tables change owners under leases. A claim of one table waits for its row; a claim of many skips rows that
//! another node holds.

use super::reads;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::postgres::batch::Batch;
use crate::postgres::claim::LEASE_ADDRESS;
use crate::postgres::session::PgId;
use crate::postgres::statement_error::StatementError;
use engine::commands::{ClaimedTable, Outcome};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableOwner;
use engine::time::UnixMs;

/// Workers that hold live tables and no lease: one seek into `story_tables_live` each.
pub(super) const LOST_HOLDERS: &str = "
    WITH RECURSIVE holders (worker) AS (
        (SELECT worker FROM story_tables WHERE is_live AND worker IS NOT NULL ORDER BY worker LIMIT 1)
        UNION ALL
        SELECT (SELECT worker FROM story_tables WHERE is_live AND worker > holders.worker ORDER BY worker LIMIT 1)
        FROM holders WHERE holders.worker IS NOT NULL
    )
    SELECT holders.worker FROM holders LEFT JOIN workers ON workers.id = holders.worker
    WHERE holders.worker IS NOT NULL
      AND (workers.id IS NULL OR workers.is_given_up OR workers.lease_until <= $1)";
pub(super) const ORPHANS: &str = "
    SELECT id FROM story_tables WHERE is_live AND (worker IS NULL OR worker = ANY ($1))
    ORDER BY id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED";
/// What a worker's claim of one number took, and the worker still holds live.
pub(super) const CLAIMED_BEFORE: &str = "
    SELECT id FROM story_tables WHERE is_live AND worker = $1 AND claim = $2 ORDER BY id";
const TAKE: &str = "UPDATE story_tables SET worker = $2, claim = $3, epoch = epoch + 1 WHERE id = ANY ($1)";
pub(super) const LOAD: &str = "
    SELECT id, epoch, base_version, data FROM story_tables LEFT JOIN story_bases ON table_id = id
    WHERE id = ANY ($1) ORDER BY id";
pub(super) const LOAD_ROWS: &str = "
    SELECT table_id, version, data FROM story_log WHERE table_id = ANY ($1) ORDER BY table_id, version";

impl Batch<'_> {
    pub(in crate::postgres) fn has_lease(&mut self, worker: WorkerId, now: UnixMs) -> Result<bool, StatementError> {
        self.session.exists(LEASE_ADDRESS, &[&PgId(worker.0), &now.0])
    }

    /// The table's row is locked before.
    pub(in crate::postgres) fn claim_table(
        &mut self,
        id: TableId,
        worker: WorkerId,
        now: UnixMs,
    ) -> Result<Outcome, StatementError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        match reads::owner(self.session, id, now)? {
            None => Ok(Outcome::NotFound),
            Some(TableOwner::Leased { worker: other, address }) if other != worker => {
                Ok(Outcome::TableElsewhere { address })
            }
            Some(TableOwner::Leased { .. } | TableOwner::Unowned) => {
                let taken = self.take_tables(&vec![PgId(id.0)], worker, 0)?;
                let taken = taken.into_iter().next();
                Ok(taken.map_or(Outcome::NotFound, Outcome::TableClaimed))
            }
        }
    }

    pub(in crate::postgres) fn claim_tables(
        &mut self,
        worker: WorkerId,
        number: u64,
        now: UnixMs,
        max: usize,
    ) -> Result<Outcome, StatementError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        let counted = "SELECT 1 FROM workers WHERE id = $1 AND table_claims >= $2";
        let is_old = self.session.exists(counted, &[&PgId(worker.0), &(number as i64)])?;
        let claimed = if !is_old {
            let lost = self.session.all(LOST_HOLDERS, &[&now.0], |row| row.id().map(PgId))?;
            let orphans = self.session.all(ORPHANS, &[&lost, &(max as i64)], |row| row.id().map(PgId))?;
            if orphans.is_empty() {
                return Ok(Outcome::TablesClaimed(Vec::new()));
            }
            let count = "UPDATE workers SET table_claims = $2 WHERE id = $1";
            self.session.run(count, &[&PgId(worker.0), &(number as i64)])?;
            self.take_tables(&orphans, worker, number)?
        } else {
            let by: [&(dyn ::postgres::types::ToSql + Sync); 2] = [&PgId(worker.0), &(number as i64)];
            let held = self.session.all(CLAIMED_BEFORE, &by, |row| row.id().map(PgId))?;
            self.load_tables(&held)?
        };
        Ok(Outcome::TablesClaimed(claimed))
    }

    fn take_tables(
        &mut self,
        ids: &Vec<PgId>,
        worker: WorkerId,
        claim: u64,
    ) -> Result<Vec<ClaimedTable>, StatementError> {
        self.session.run(TAKE, &[ids, &PgId(worker.0), &(claim as i64)])?;
        self.load_tables(ids)
    }

    fn load_tables(&mut self, ids: &Vec<PgId>) -> Result<Vec<ClaimedTable>, StatementError> {
        let mut tables = self.session.all(LOAD, &[ids], |row| columns::claimed_row(row))?;
        let rows = self.session.all(LOAD_ROWS, &[ids], |row| Ok((TableId(row.id()?), columns::table_log_row(row)?)))?;
        for (id, row) in rows {
            let at = tables
                .binary_search_by_key(&id, |table| table.id)
                .map_err(|_| StoreError::Corrupt { why: format!("table {id} vanished while it was claimed") })?;
            tables[at].rows.push(row);
        }
        Ok(tables)
    }
}
