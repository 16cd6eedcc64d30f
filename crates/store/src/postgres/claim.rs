//! How matches change workers under leases. Several nodes claim at once: each skips the rows that another
//! holds, so none waits and no match is taken twice.

use super::Batch;
use super::session::PgId;
use crate::columns::{self, Columns, LogEnd};
use crate::contract::StoreError;
use crate::semantics::{self, MatchClaimant};
use crate::sql::{Session as _, values};
use engine::commands::{ClaimedMatch, Outcome};
use engine::ids::{MatchId, WorkerId};
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::time::UnixMs;
use std::collections::BTreeMap;

/// Workers that hold running matches and no lease: one seek into `matches_running` each.
pub(super) const LOST_HOLDERS: &str = "
    WITH RECURSIVE holders (worker) AS (
        (SELECT worker FROM matches WHERE state = 'running' AND worker IS NOT NULL ORDER BY worker LIMIT 1)
        UNION ALL
        SELECT (SELECT worker FROM matches WHERE state = 'running' AND worker > holders.worker ORDER BY worker LIMIT 1)
        FROM holders WHERE holders.worker IS NOT NULL
    )
    SELECT holders.worker FROM holders LEFT JOIN workers ON workers.id = holders.worker
    WHERE holders.worker IS NOT NULL
      AND (workers.id IS NULL OR workers.is_given_up OR workers.lease_until <= $1)";
/// What a worker's claim of one number took, and the worker still holds.
const CLAIMED_BEFORE: &str = "
    SELECT id, epoch, version, attempts_charged FROM matches_now
    WHERE state = 'running' AND worker = $1
      AND id IN (SELECT id FROM matches WHERE state = 'running' AND worker = $1 AND claim = $2)
    ORDER BY id";
const ORPHANS: &str = "
    SELECT id, state, attempts_charged, claimed_version, 0::bigint FROM matches
    WHERE state = 'running' AND (worker IS NULL OR worker = ANY ($1))
    ORDER BY id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED";
const WAITING: &str = "
    SELECT id, state, attempts_charged, claimed_version, fair_tag FROM matches
    WHERE state = 'waiting' ORDER BY fair_tag, id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED";

/// What a claim must know of a match.
struct Candidate {
    id: MatchId,
    state: MatchState,
    charged: u32,
    claimed_version: u32,
    tag: u64,
}

/// A match that this claim takes.
struct Taken {
    id: MatchId,
    attempts: u32,
    version: u32,
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
        // A transaction in which nothing was written costs no flush either.
        if !claimed.is_empty() {
            self.session.run("UPDATE workers SET claims = ?2 WHERE id = ?1", numbered)?;
        }
        Ok(Outcome::MatchesClaimed(claimed))
    }

    /// What the claim of this number took and its worker still holds.
    fn claimed_before(&mut self, by: MatchClaimant<'_>) -> Result<Vec<ClaimedMatch>, StoreError> {
        let held = self.session.query(CLAIMED_BEFORE, &[&PgId(by.worker.0), &(by.number as i64)], |row| {
            Ok((MatchId(row.id()?), row.number()?, row.number()?, row.number()?))
        })?;
        let ids: Vec<_> = held.iter().map(|(id, ..)| PgId(id.0)).collect();
        let mut specs = self.specs(&ids)?;
        let claimed = held.into_iter().filter_map(|(id, epoch, version, attempts_charged)| {
            Some(ClaimedMatch { spec: specs.remove(&id)?, epoch, version, attempts_charged })
        });
        Ok(claimed.collect())
    }

    /// In rounds, because orphans that are out of attempts do not count; each round locks no more than it may claim.
    fn claim_orphans(
        &mut self,
        claimed: &mut Vec<ClaimedMatch>,
        by: MatchClaimant<'_>,
        now: UnixMs,
        max: usize,
        attempts_max: u32,
    ) -> Result<(), StoreError> {
        let lost = self.session.query(LOST_HOLDERS, &[&now.0], |row| row.id().map(PgId))?;
        while claimed.len() < max {
            let limit = (max - claimed.len()) as i64;
            let orphans = self.session.query(ORPHANS, &[&lost, &limit], candidate)?;
            if orphans.is_empty() {
                break;
            }
            let ends = self.log_ends(orphans.iter().map(|orphan| orphan.id))?;
            let mut taken = Vec::new();
            for orphan in orphans {
                let end = ends.get(&orphan.id).copied().unwrap_or_default();
                let attempts = semantics::attempts_after_claim(orphan.charged, orphan.claimed_version, end.version);
                if attempts > attempts_max {
                    let reason = semantics::out_of_attempts(attempts_max, end.version);
                    self.end_failed(orphan.id, MatchState::Failed, &reason, end, now)?;
                } else {
                    taken.push(Taken { id: orphan.id, attempts, version: end.version });
                }
            }
            claimed.extend(self.take(&taken, MatchState::Running, by, now)?);
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
        let limit = (max - claimed.len()) as i64;
        let waiting = self.session.query(WAITING, &[&limit], candidate)?;
        let ends = self.log_ends(waiting.iter().map(|candidate| candidate.id))?;
        let taken = waiting.iter().map(|candidate| {
            let version = ends.get(&candidate.id).map_or(0, |end| end.version);
            let attempts = semantics::attempts_after_claim(candidate.charged, candidate.claimed_version, version);
            Taken { id: candidate.id, attempts, version }
        });
        let taken: Vec<_> = taken.collect();
        let tags = waiting.iter().map(|candidate| candidate.tag);
        self.virtual_time_reached = tags.chain(self.virtual_time_reached).max();
        claimed.extend(self.take(&taken, MatchState::Waiting, by, now)?);
        for candidate in &waiting {
            self.counters.record_transition(Some(candidate.state), candidate.state.transition(MatchEvent::Claim));
        }
        Ok(())
    }

    fn log_ends(&mut self, ids: impl Iterator<Item = MatchId>) -> Result<BTreeMap<MatchId, LogEnd>, StoreError> {
        let ids: Vec<PgId> = ids.map(|id| PgId(id.0)).collect();
        let sql = "SELECT id, last.version, last.turns, last.late_moves FROM unnest($1::uuid[]) AS asked (id)
                   CROSS JOIN LATERAL (SELECT version, turns, late_moves FROM match_log
                                       WHERE match_id = asked.id ORDER BY version DESC LIMIT 1) AS last";
        let ends = self.session.query(sql, &[&ids], |row| Ok((MatchId(row.id()?), columns::log_end(row)?)))?;
        Ok(ends.into_iter().collect())
    }

    /// Writes the claim of matches in this state, and reads what is played, in the order given.
    fn take(
        &mut self,
        taken: &[Taken],
        from: MatchState,
        by: MatchClaimant<'_>,
        now: UnixMs,
    ) -> Result<Vec<ClaimedMatch>, StoreError> {
        if taken.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<_> = taken.iter().map(|taken| PgId(taken.id.0)).collect();
        let attempts: Vec<_> = taken.iter().map(|taken| i64::from(taken.attempts)).collect();
        let versions: Vec<_> = taken.iter().map(|taken| i64::from(taken.version)).collect();
        let next = from.transition(MatchEvent::Claim).unwrap_or(MatchState::Running);
        let updated_at = (from != next).then_some(now.0);
        let epochs = self.session.query(
            "UPDATE matches SET state = $4, worker = $5, epoch = epoch + 1, fair_tag = NULL,
               attempts_charged = taken.attempts, claimed_version = taken.version, updated_at = coalesce($6, updated_at),
               claim = $7, node = $8
             FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS taken (id, attempts, version)
             WHERE matches.id = taken.id RETURNING matches.id, epoch",
            &[
                &ids,
                &attempts,
                &versions,
                &next.name(),
                &PgId(by.worker.0),
                &updated_at,
                &(by.number as i64),
                &by.node,
            ],
            |row| Ok((MatchId(row.id()?), row.number()?)),
        )?;
        let epochs: BTreeMap<MatchId, u32> = epochs.into_iter().collect();
        let mut specs = self.specs(&ids)?;
        let claimed = taken.iter().filter_map(|taken| {
            let &Taken { id, attempts: attempts_charged, version } = taken;
            Some(ClaimedMatch { spec: specs.remove(&id)?, epoch: *epochs.get(&id)?, version, attempts_charged })
        });
        Ok(claimed.collect())
    }

    fn specs(&mut self, ids: &Vec<PgId>) -> Result<BTreeMap<MatchId, MatchSpec>, StoreError> {
        let sql = format!("SELECT {} FROM matches WHERE id = ANY ($1)", columns::SPEC);
        let specs = self.session.query(&sql, &[ids], |row| columns::spec(row))?;
        let mut specs: BTreeMap<_, _> = specs.into_iter().map(|spec| (spec.id, spec)).collect();
        let sql = format!("SELECT {} FROM seats WHERE match_id = ANY ($1) ORDER BY match_id, seat", columns::SEAT);
        let seats: Vec<(MatchId, SeatSpec)> =
            self.session.query(&sql, &[ids], |row| columns::seat(row).map(|seat| (seat.id, seat.spec)))?;
        for (id, seat) in seats {
            if let Some(spec) = specs.get_mut(&id) {
                spec.seats.push(seat);
            }
        }
        Ok(specs)
    }
}

fn candidate(row: &mut super::session::PgColumns<'_>) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id: MatchId(row.id()?),
        state: columns::state(row)?,
        charged: row.number()?,
        claimed_version: row.number()?,
        tag: row.number()?,
    })
}
