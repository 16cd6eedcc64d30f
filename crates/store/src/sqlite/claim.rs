//! Leases, and how matches change workers under them.
//!
//! Orphans are found without reading every running match: the index by worker gives the few workers that hold any, and
//! only the matches of those without a lease are read.

use super::batch::Batch;
use crate::columns::{self, Columns};
use crate::contract::StoreError;
use crate::semantics::{self, MatchClaimant};
use engine::commands::{ClaimedMatch, Outcome};
use engine::ids::{MatchId, WorkerId};
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;

/// Workers that hold running matches: one seek into `matches_running` each.
pub(super) const HOLDERS: &str = "
    WITH RECURSIVE holders (worker) AS (
        SELECT (SELECT worker FROM matches WHERE state = 'running' AND worker > x'' ORDER BY worker LIMIT 1)
        UNION ALL
        SELECT (SELECT worker FROM matches WHERE state = 'running' AND worker > holders.worker ORDER BY worker LIMIT 1)
        FROM holders WHERE holders.worker IS NOT NULL
    )
    SELECT holders.worker FROM holders
    LEFT JOIN workers ON workers.id = holders.worker
    WHERE holders.worker IS NOT NULL
      AND (workers.id IS NULL OR workers.is_given_up OR workers.lease_until <= ?1)";
/// Running matches of one worker, oldest first; of no worker when it is null.
pub(super) const RUNNING_OF: &str = "
    SELECT id FROM matches WHERE state = 'running' AND worker IS ?1 ORDER BY id LIMIT ?2";
/// What a worker's claim of one number took, and the worker still holds.
pub(super) const CLAIMED_BEFORE: &str = "
    SELECT id, epoch, attempts_charged FROM matches WHERE state = 'running' AND worker = ?1 AND claim = ?2 ORDER BY id";
/// The address in a worker's lease, if the lease holds.
pub(super) const LEASE_ADDRESS: &str = "
    SELECT address FROM workers WHERE id = ?1 AND lease_until > ?2 AND NOT is_given_up";
pub(super) const WAITING: &str = "
    SELECT id, fair_tag FROM matches WHERE state = 'waiting' ORDER BY fair_tag, id LIMIT ?1";

/// What a claim must know of a match.
struct Candidate {
    id: MatchId,
    state: MatchState,
    attempts: u32,
    end: columns::LogEnd,
}

impl Batch<'_> {
    pub(super) fn renew_lease(
        &mut self,
        worker: WorkerId,
        address: &str,
        now: UnixMs,
        until: UnixMs,
    ) -> Result<Outcome, StoreError> {
        let written = self.session.run(
            "INSERT INTO workers (id, address, lease_until, is_given_up) VALUES (?1, ?2, ?3, 0)
             ON CONFLICT (id) DO UPDATE SET address = excluded.address, lease_until = excluded.lease_until
               WHERE lease_until > ?4 AND NOT is_given_up",
            (worker.to_bytes(), address, until.0, now.0),
        )?;
        Ok(if written == 1 { Outcome::Done } else { Outcome::LeaseLost })
    }

    pub(super) fn end_lease(&mut self, worker: WorkerId) -> Result<Outcome, StoreError> {
        self.session.run("UPDATE workers SET is_given_up = 1 WHERE id = ?1", [worker.to_bytes()])?;
        Ok(Outcome::Done)
    }

    pub(super) fn end_all_leases(&mut self) -> Result<Outcome, StoreError> {
        // Leases without an end get one: ended leases are deleted in time.
        self.session.run("UPDATE workers SET is_given_up = 1, lease_until = 0 WHERE lease_until > 0", [])?;
        Ok(Outcome::Done)
    }

    pub(super) fn claim(
        &mut self,
        worker: WorkerId,
        number: u64,
        now: UnixMs,
        max: usize,
        attempts_max: u32,
    ) -> Result<Outcome, StoreError> {
        let node = self.session.first(LEASE_ADDRESS, (worker.to_bytes(), now.0), |row| row.text())?;
        let Some(node) = node else { return Ok(Outcome::LeaseLost) };
        let by = MatchClaimant { worker, number, node: &node };
        let numbered = (by.worker.to_bytes(), by.number as i64);
        if self.session.exists("SELECT 1 FROM workers WHERE id = ?1 AND claims >= ?2", numbered)? {
            return self.claimed_before(by).map(Outcome::MatchesClaimed);
        }
        let mut claimed = Vec::new();
        self.claim_orphans(&mut claimed, by, now, max, attempts_max)?;
        self.claim_waiting(&mut claimed, by, now, max)?;
        // A commit in which nothing was written costs no write to the disk either.
        if !claimed.is_empty() {
            self.session.run("UPDATE workers SET claims = ?2 WHERE id = ?1", numbered)?;
        }
        Ok(Outcome::MatchesClaimed(claimed))
    }

    fn claimed_before(&self, by: MatchClaimant<'_>) -> Result<Vec<ClaimedMatch>, StoreError> {
        let key = (by.worker.to_bytes(), by.number as i64);
        let held =
            self.session.all(CLAIMED_BEFORE, key, |row| Ok((MatchId(row.id()?), row.number()?, row.number()?)))?;
        let claimed = |(id, epoch, attempts_charged)| {
            let version = self.session.log_end(id)?.version;
            Ok(ClaimedMatch { spec: self.spec(id)?, epoch, version, attempts_charged })
        };
        held.into_iter().map(claimed).collect()
    }

    /// In rounds, because orphans that are out of attempts do not count; each round reads no more than it may claim.
    fn claim_orphans(
        &mut self,
        claimed: &mut Vec<ClaimedMatch>,
        by: MatchClaimant<'_>,
        now: UnixMs,
        max: usize,
        attempts_max: u32,
    ) -> Result<(), StoreError> {
        while claimed.len() < max {
            let orphans = self.orphans(now, max - claimed.len())?;
            if orphans.is_empty() {
                break;
            }
            for id in orphans {
                let candidate = self.candidate(id)?;
                if candidate.attempts > attempts_max {
                    self.fail_out_of_attempts(&candidate, attempts_max, now)?;
                } else {
                    claimed.push(self.take(&candidate, by, now)?);
                }
            }
        }
        Ok(())
    }

    fn orphans(&self, now: UnixMs, limit: usize) -> Result<Vec<MatchId>, StoreError> {
        let lost = self.session.all(HOLDERS, [now.0], |row| row.id())?;
        let holders = std::iter::once(None).chain(lost.into_iter().map(|worker| Some(worker.to_be_bytes())));
        let mut orphans = Vec::new();
        for holder in holders {
            let of_holder = self.session.all(RUNNING_OF, (holder, limit as i64), |row| row.id())?;
            orphans.extend(of_holder.into_iter().map(MatchId));
        }
        orphans.sort_unstable();
        orphans.truncate(limit);
        Ok(orphans)
    }

    fn claim_waiting(
        &mut self,
        claimed: &mut Vec<ClaimedMatch>,
        by: MatchClaimant<'_>,
        now: UnixMs,
        max: usize,
    ) -> Result<(), StoreError> {
        let limit = max - claimed.len();
        let waiting =
            self.session.all(WAITING, [limit as i64], |row| Ok((MatchId(row.id()?), row.number::<u64>()?)))?;
        for (id, tag) in waiting {
            let reached = self.virtual_time()?.max(tag);
            self.virtual_time_reached = Some(reached);
            let candidate = self.candidate(id)?;
            claimed.push(self.take(&candidate, by, now)?);
        }
        Ok(())
    }

    fn candidate(&self, id: MatchId) -> Result<Candidate, StoreError> {
        let end = self.session.log_end(id)?;
        let by_id = "SELECT state, attempts_charged, claimed_version FROM matches WHERE id = ?1";
        let candidate = self.session.first(by_id, [id.to_bytes()], |row| {
            let state = columns::state(row)?;
            let attempts = semantics::attempts_after_claim(row.number()?, row.number()?, end.version);
            Ok(Candidate { id, state, attempts, end })
        })?;
        candidate.ok_or_else(|| StoreError::Corrupt { why: format!("an index knows match {id}, its table does not") })
    }

    fn take(&mut self, candidate: &Candidate, by: MatchClaimant<'_>, now: UnixMs) -> Result<ClaimedMatch, StoreError> {
        let &Candidate { id, state, attempts: attempts_charged, end } = candidate;
        let next = state.transition(MatchEvent::Claim).unwrap_or(MatchState::Running);
        let updated_at = (state != next).then_some(now.0);
        let epoch = self.session.first(
            "UPDATE matches SET state = ?2, worker = ?3, epoch = epoch + 1, fair_tag = NULL,
               attempts_charged = ?4, claimed_version = ?5, updated_at = coalesce(?6, updated_at), claim = ?7, node = ?8
             WHERE id = ?1 RETURNING epoch",
            (
                id.to_bytes(),
                next.name(),
                by.worker.to_bytes(),
                attempts_charged,
                end.version,
                updated_at,
                by.number as i64,
                by.node,
            ),
            |row| row.number(),
        )?;
        self.counters.record_transition(Some(state), Some(next));
        let epoch = epoch.unwrap_or_default();
        Ok(ClaimedMatch { spec: self.spec(id)?, epoch, version: end.version, attempts_charged })
    }

    fn spec(&self, id: MatchId) -> Result<MatchSpec, StoreError> {
        let by_id = format!("SELECT {} FROM matches WHERE id = ?1", columns::SPEC);
        let spec = self.session.first(&by_id, [id.to_bytes()], |row| columns::spec(row))?;
        let mut spec = spec.ok_or_else(|| StoreError::Corrupt { why: format!("match {id} vanished while claimed") })?;
        spec.seats = self.session.seats(id)?.into_iter().map(|seat| seat.spec).collect();
        Ok(spec)
    }

    fn fail_out_of_attempts(
        &mut self,
        candidate: &Candidate,
        attempts_max: u32,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let reason = semantics::out_of_attempts(attempts_max, candidate.end.version);
        self.end_failed(candidate.id, MatchState::Failed, &reason, now)
    }
}
