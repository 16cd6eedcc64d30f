//! Which process leads a job. Where nodes share the database, the job's row is locked before it changes.

use super::{Batch, Dialect, Session, values};
use crate::columns::worlds::owner;
use crate::contract::StoreError;
use engine::commands::Outcome;
use engine::ids::WorkerId;
use engine::leadership::LeaderJob;
use engine::rows::WorldOwner;
use engine::time::UnixMs;

/// The leader of a job at ?1, if its lease is valid.
pub(crate) const LEADER: &str = "
    SELECT leaders.worker, l.address FROM leaders
    JOIN workers l ON l.id = leaders.worker AND l.lease_until > ?1 AND NOT l.is_given_up WHERE leaders.job = ?2";
pub(crate) const LEADS: &str = "SELECT 1 FROM leaders WHERE job = ?1 AND worker = ?2";

pub(super) fn leader(
    session: &mut impl Session,
    job: LeaderJob,
    now: UnixMs,
) -> Result<Option<WorldOwner>, StoreError> {
    session.first(LEADER, values![now, job.name()], |row| owner(row))
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn acquire_leadership(
        &mut self,
        job: LeaderJob,
        worker: WorkerId,
        now: UnixMs,
    ) -> Result<Outcome, StoreError> {
        if !self.has_lease(worker, now)? {
            return Ok(Outcome::LeaseLost);
        }
        if leader(self.session, job, now)?.is_none() {
            self.session.run("UPDATE leaders SET worker = ?2 WHERE job = ?1", values![job.name(), worker])?;
        }
        let leader = leader(self.session, job, now)?;
        let missing = || StoreError::Corrupt { why: format!("leaders has no row for {}", job.name()) };
        leader.map(Outcome::LedBy).ok_or_else(missing)
    }

    /// Whether a job was last given to this worker, with a lease or without.
    pub(super) fn leads(&mut self, job: LeaderJob, worker: WorkerId) -> Result<bool, StoreError> {
        self.session.exists(LEADS, values![job.name(), worker])
    }
}
