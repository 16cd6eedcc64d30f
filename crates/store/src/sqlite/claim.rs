//! How matches change workers under leases.
//!
//! Orphans are found without reading every running match: the index by worker gives the few workers that hold any, and
//! only the matches of those without a lease are read.

use super::Batch;
use super::dialect::log_end;
use super::session::Session;
use crate::columns::{self, Columns, SeatRow};
use crate::contract::StoreError;
use crate::semantics::{self, MatchClaimant};
use crate::sql::{Session as _, values};
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
    pub(super) fn claim(
        &mut self,
        worker: WorkerId,
        number: u64,
        now: UnixMs,
        max: usize,
        attempts_max: u32,
    ) -> Result<Outcome, StoreError> {
        let Some(node) = self.lease_address(worker, now)? else { return Ok(Outcome::LeaseLost) };
        let by = MatchClaimant { worker, number, node: &node };
        let numbered = values![by.worker, by.number as i64];
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

    fn claimed_before(&mut self, by: MatchClaimant<'_>) -> Result<Vec<ClaimedMatch>, StoreError> {
        let key = values![by.worker, by.number as i64];
        let held =
            self.session.all(CLAIMED_BEFORE, key, |row| Ok((MatchId(row.id()?), row.number()?, row.number()?)))?;
        let claimed = |(id, epoch, attempts_charged)| {
            let version = log_end(self.session, id)?.version;
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
            let orphans = self.session.held_by(HOLDERS, RUNNING_OF, now, max - claimed.len())?;
            if orphans.is_empty() {
                break;
            }
            for id in orphans {
                let candidate = self.candidate(MatchId(u128::from_be_bytes(id)))?;
                if candidate.attempts > attempts_max {
                    self.fail_out_of_attempts(&candidate, attempts_max, now)?;
                } else {
                    claimed.push(self.take(&candidate, by, now)?);
                }
            }
        }
        Ok(())
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
            self.session.all(WAITING, values![limit], |row| Ok((MatchId(row.id()?), row.number::<u64>()?)))?;
        if !waiting.is_empty() {
            self.virtual_time_reached = Some(self.virtual_time()?);
        }
        for (id, tag) in waiting {
            self.virtual_time_reached = self.virtual_time_reached.max(Some(tag));
            let candidate = self.candidate(id)?;
            claimed.push(self.take(&candidate, by, now)?);
        }
        Ok(())
    }

    fn candidate(&mut self, id: MatchId) -> Result<Candidate, StoreError> {
        let end = log_end(self.session, id)?;
        let by_id = "SELECT state, attempts_charged, claimed_version FROM matches WHERE id = ?1";
        let candidate = self.session.first(by_id, values![id], |row| {
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
            values![id, next.name(), by.worker, attempts_charged, end.version, updated_at, by.number as i64, by.node,],
            |row| row.number(),
        )?;
        self.counters.record_transition(Some(state), Some(next));
        let epoch = epoch.unwrap_or_default();
        Ok(ClaimedMatch { spec: self.spec(id)?, epoch, version: end.version, attempts_charged })
    }

    fn spec(&mut self, id: MatchId) -> Result<MatchSpec, StoreError> {
        let by_id = format!("SELECT {} FROM matches WHERE id = ?1", columns::SPEC);
        let spec = self.session.first(&by_id, values![id], |row| columns::spec(row))?;
        let mut spec = spec.ok_or_else(|| StoreError::Corrupt { why: format!("match {id} vanished while claimed") })?;
        spec.seats = seats(self.session, id)?.into_iter().map(|seat| seat.spec).collect();
        Ok(spec)
    }

    fn fail_out_of_attempts(
        &mut self,
        candidate: &Candidate,
        attempts_max: u32,
        now: UnixMs,
    ) -> Result<(), StoreError> {
        let reason = semantics::out_of_attempts(attempts_max, candidate.end.version);
        self.end_failed(candidate.id, MatchState::Failed, &reason, candidate.end, now)
    }
}

pub(super) fn seats(session: &mut Session, id: MatchId) -> Result<Vec<SeatRow>, StoreError> {
    let sql = format!("SELECT {} FROM seats WHERE match_id = ?1 ORDER BY seat", columns::SEAT);
    session.all(&sql, values![id], |row| columns::seat(row))
}
