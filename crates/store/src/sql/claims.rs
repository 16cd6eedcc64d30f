//! How matches change workers under leases. Where nodes share the database several claim at once: each skips the rows that another
//! holds, so none waits and no match is taken twice.
//!
//! Orphans are found without reading every running match: the index by worker gives the few workers that hold any, and
//! only the matches of those without a lease are read.

use super::waiting::WaitingMatches;
use super::{Batch, Dialect, ID_MIN, IdBytes, RowStatement, Session, bot_health, values};
use crate::checksums::Damage;
use crate::columns::{self, Columns, LogEnd, ReadOfMatch, SeatRow, damage_of};
use crate::contract::StoreError;
use crate::semantics::{self, MatchClaimant};
use engine::commands::{ClaimedMatch, Outcome};
use engine::ids::{AccountId, MatchId, WorkerId};
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::slots::SlotUsage;
use engine::matches::spec::MatchSpec;
use engine::rows::SigningRow;
use engine::time::UnixMs;
use std::collections::BTreeMap;

/// What a worker's claim of one number took, and the worker still holds.
pub(crate) const CLAIMED_BEFORE: &str = "
    SELECT id, account, epoch, attempts_charged FROM matches WHERE state = 'running' AND worker = ?1 AND claim = ?2 ORDER BY id";
/// Running matches, which a condition about their workers follows.
pub(crate) const RUNNING: &str = "
    SELECT id, account, attempts_charged, claimed_version, CAST(0 AS BIGINT) FROM matches WHERE state = 'running' AND";
pub(crate) const RUNNING_COUNT: &str = "SELECT count(*) FROM matches WHERE state = 'running' AND";
static TAKE: RowStatement = RowStatement::new(
    "id uuid, attempts bigint, version bigint, state text, worker uuid, now bigint, claim bigint, node text",
    "UPDATE matches SET state = new.state, worker = new.worker, epoch = epoch + 1, fair_tag = NULL,
       attempts_charged = new.attempts, claimed_version = new.version, updated_at = coalesce(new.now, updated_at),
       claim = new.claim, node = new.node
     FROM {new} WHERE matches.id = new.id RETURNING matches.id, epoch",
);

/// Workers that hold rows of a table and no lease at ?1: one seek each into the index of `worker` where `held` holds. ?2 is before every
/// worker.
pub(crate) fn lost_holders(table: &str, held: &str) -> String {
    format!(
        "WITH RECURSIVE holders (worker) AS (
             SELECT (SELECT worker FROM {table} WHERE {held} AND worker >= ?2 ORDER BY worker LIMIT 1)
             UNION ALL
             SELECT (SELECT worker FROM {table} WHERE {held} AND worker > holders.worker ORDER BY worker LIMIT 1)
             FROM holders WHERE holders.worker IS NOT NULL
         )
         SELECT holders.worker FROM holders LEFT JOIN workers ON workers.id = holders.worker
         WHERE holders.worker IS NOT NULL
           AND (workers.id IS NULL OR workers.is_given_up OR workers.lease_until <= ?1)"
    )
}

/// Workers that hold running matches and no lease.
fn lost_workers(session: &mut impl Session, now: UnixMs) -> Result<Vec<IdBytes>, StoreError> {
    session.all(&lost_holders("matches", "state = 'running'"), values![now, ID_MIN], |row| row.id_bytes())
}

/// How many running matches have no worker whose lease holds.
pub(super) fn orphaned(session: &mut impl Session, now: UnixMs) -> Result<u64, StoreError> {
    let lost = lost_workers(session, now)?;
    let counts = session.all_of_workers(RUNNING_COUNT, "", &lost, &[], |row| row.number::<u64>())?;
    Ok(counts.into_iter().sum())
}

/// What a claim must know of a match, by id.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) id: MatchId,
    pub(super) account: AccountId,
    charged: u32,
    claimed_version: u32,
    pub(super) tag: u64,
}

/// A match that this claim takes.
#[derive(Clone, Copy)]
struct Taken {
    id: MatchId,
    account: AccountId,
    attempts: u32,
    end: LogEnd,
}

pub(super) fn candidate(row: &mut impl Columns) -> Result<Candidate, StoreError> {
    let (id, account, charged) = (MatchId(row.id()?), AccountId(row.id()?), row.number()?);
    Ok(Candidate { id, account, charged, claimed_version: row.number()?, tag: row.number()? })
}

impl<S: Dialect> Batch<'_, S> {
    pub(super) fn claim(
        &mut self,
        worker: WorkerId,
        number: u64,
        now: UnixMs,
        max: usize,
        mut slots: SlotUsage,
        attempts_max: u32,
    ) -> Result<Outcome, StoreError> {
        let Some(node) = self.lease_address(worker, now)? else { return Ok(Outcome::LeaseLost) };
        let by = MatchClaimant { worker, number, node: &node };
        let numbered = values![by.worker, by.number as i64];
        if self.session.exists("SELECT 1 FROM workers WHERE id = ?1 AND claims >= ?2", numbered)? {
            return self.claimed_before(by, now).map(Outcome::MatchesClaimed);
        }
        let mut claimed = Vec::new();
        self.claim_orphans(&mut claimed, by, now, max, attempts_max)?;
        claimed.iter().for_each(|orphan| slots.take(orphan.account));
        self.claim_waiting(&mut claimed, by, now, max, &mut slots)?;
        // A transaction in which nothing was written costs no write to the disk either.
        if !claimed.is_empty() {
            self.session.run("UPDATE workers SET claims = ?2 WHERE id = ?1", numbered)?;
        }
        Ok(Outcome::MatchesClaimed(claimed))
    }

    fn claimed_before(&mut self, by: MatchClaimant<'_>, now: UnixMs) -> Result<Vec<ClaimedMatch>, StoreError> {
        let key = values![by.worker, by.number as i64];
        let mut held = self.session.all(CLAIMED_BEFORE, key, |row| {
            let (id, account, epoch) = (MatchId(row.id()?), AccountId(row.id()?), row.number()?);
            Ok((Taken { id, account, attempts: row.number()?, end: LogEnd::default() }, epoch))
        })?;
        let ids: Vec<IdBytes> = held.iter().map(|(taken, _)| taken.id.to_bytes()).collect();
        let ends = self.session.log_ends(&ids)?;
        for (taken, _) in &mut held {
            taken.end = ends.get(&taken.id).copied().unwrap_or_default();
        }
        self.load_claimed(&held, now)
    }

    /// What is played of these matches, each with its epoch, in the order given. Those that are damaged end.
    fn load_claimed(&mut self, taken: &[(Taken, u32)], now: UnixMs) -> Result<Vec<ClaimedMatch>, StoreError> {
        let ids: Vec<IdBytes> = taken.iter().map(|(taken, _)| taken.id.to_bytes()).collect();
        let mut specs = self.specs(&ids)?;
        let signing = self.signing(&specs)?;
        let mut claimed = Vec::with_capacity(taken.len());
        for &(Taken { id, account, attempts: attempts_charged, end }, epoch) in taken {
            match specs.remove(&id).ok_or_else(|| vanished(id))? {
                Ok((spec, seat_accounts)) => {
                    let (version, signing) = (end.version, signing_of(&spec, &signing));
                    let played =
                        ClaimedMatch { account, spec, epoch, version, attempts_charged, signing, seat_accounts };
                    claimed.push(played);
                }
                Err(damage) => self.fail_damaged(id, damage, end, now)?,
            }
        }
        Ok(claimed)
    }

    /// Ends a running match that cannot be played: its slot is free again, and it stands in no other's way.
    fn fail_damaged(&mut self, id: MatchId, damage: Damage, end: LogEnd, now: UnixMs) -> Result<(), StoreError> {
        self.fail_claimed(id, &format!("it is damaged: {damage}"), end, now)?;
        self.session.note_damages(vec![damage]);
        Ok(())
    }

    /// Ends a running match as failed. A competition of which its row cannot tell gets no result.
    fn fail_claimed(&mut self, id: MatchId, reason: &str, end: LogEnd, now: UnixMs) -> Result<(), StoreError> {
        self.end_failed(id, MatchState::Failed, reason, end, now)?;
        match damage_of(self.session.write_fence(id))? {
            Ok(held) => {
                let origin = held.and_then(|held| held.origin);
                self.record_result(id, origin, MatchState::Failed, None, now)
            }
            Err(damage) => {
                self.session.note_damages(vec![damage]);
                Ok(())
            }
        }
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
        let lost = lost_workers(self.session, now)?;
        while claimed.len() < max {
            let orphans = self.session.held_by(RUNNING, &lost, max - claimed.len(), |row| candidate(row))?;
            if orphans.is_empty() {
                break;
            }
            let ids: Vec<IdBytes> = orphans.iter().map(|orphan| orphan.id.to_bytes()).collect();
            let ends = self.session.log_ends(&ids)?;
            let mut taken = Vec::new();
            for orphan in orphans {
                let end = ends.get(&orphan.id).copied().unwrap_or_default();
                let attempts = semantics::attempts_after_claim(orphan.charged, orphan.claimed_version, end.version);
                if attempts > attempts_max {
                    let reason = semantics::out_of_attempts(attempts_max, end.version);
                    self.fail_claimed(orphan.id, &reason, end, now)?;
                } else {
                    taken.push(Taken { id: orphan.id, account: orphan.account, attempts, end });
                }
            }
            claimed.extend(self.take(&taken, MatchState::Running, by, now)?);
        }
        Ok(())
    }

    /// What waits, in the order of the queue, as far as the slots admit it.
    fn claim_waiting(
        &mut self,
        claimed: &mut Vec<ClaimedMatch>,
        by: MatchClaimant<'_>,
        now: UnixMs,
        max: usize,
        slots: &mut SlotUsage,
    ) -> Result<(), StoreError> {
        let mut queue = WaitingMatches::new(slots);
        while claimed.len() < max {
            let waiting = queue.next_admitted(self.session, max - claimed.len())?;
            claimed.extend(self.take_waiting(&waiting, by, now)?);
            if queue.is_exhausted() {
                break;
            }
        }
        Ok(())
    }

    fn take_waiting(
        &mut self,
        waiting: &[Candidate],
        by: MatchClaimant<'_>,
        now: UnixMs,
    ) -> Result<Vec<ClaimedMatch>, StoreError> {
        let ids: Vec<IdBytes> = waiting.iter().map(|candidate| candidate.id.to_bytes()).collect();
        let ends = self.session.log_ends(&ids)?;
        let taken = waiting.iter().map(|&Candidate { id, account, charged, claimed_version, .. }| {
            let end = ends.get(&id).copied().unwrap_or_default();
            let attempts = semantics::attempts_after_claim(charged, claimed_version, end.version);
            Taken { id, account, attempts, end }
        });
        let taken: Vec<_> = taken.collect();
        let tags = waiting.iter().map(|candidate| candidate.tag);
        self.virtual_time_reached = tags.chain(self.virtual_time_reached).max();
        self.take(&taken, MatchState::Waiting, by, now)
    }

    /// Writes the claim of matches in this state, and reads what is played of them.
    fn take(
        &mut self,
        taken: &[Taken],
        from: MatchState,
        by: MatchClaimant<'_>,
        now: UnixMs,
    ) -> Result<Vec<ClaimedMatch>, StoreError> {
        let next = from.transition(MatchEvent::Claim).unwrap_or(MatchState::Running);
        let updated_at = (from != next).then_some(now);
        let rows = taken.iter().map(|taken| {
            let &Taken { id, attempts, end, .. } = taken;
            *values![id, attempts, end.version, next.name(), by.worker, updated_at, by.number as i64, by.node]
        });
        let epochs = self.session.all_rows(&TAKE, rows, |row| Ok((MatchId(row.id()?), row.number()?)))?;
        let epochs: BTreeMap<MatchId, u32> = epochs.into_iter().collect();
        let mut held = Vec::with_capacity(taken.len());
        for taken in taken {
            self.counters.record_transition(Some(from), Some(next));
            held.push((*taken, *epochs.get(&taken.id).ok_or_else(|| vanished(taken.id))?));
        }
        self.load_claimed(&held, now)
    }

    /// With which secrets the bots of these matches are called: one query for a whole claim.
    fn signing(&mut self, specs: &SpecsById) -> Result<Vec<SigningRow>, StoreError> {
        let seats = specs.values().flatten().flat_map(|(spec, _)| &spec.seats);
        let bots = seats.map(|seat| seat.bot.to_bytes());
        bot_health::signing(self.session, bots.collect())
    }

    fn specs(&mut self, ids: &[IdBytes]) -> Result<SpecsById, StoreError> {
        let sql = format!("SELECT {}, account FROM matches WHERE id", columns::SPEC);
        let specs = self.session.all_each(&sql, "", ids, |row| columns::claimed_spec(row))?;
        let mut seats_by_match = BTreeMap::new();
        for (id, seat) in seats(self.session, ids)? {
            columns::add_of_match(seats_by_match.entry(id).or_insert_with(|| Ok(Vec::new())), seat);
        }
        let whole = specs.into_iter().map(|(id, spec)| {
            let seats = seats_by_match.remove(&id).unwrap_or_else(|| Ok(Vec::new()));
            (id, spec.and_then(|(spec, account)| Ok(with_seats(spec, account, seats?))))
        });
        Ok(whole.collect())
    }
}

/// A match with the account on whose behalf each seat's bot is called.
type OwnedSpec = (MatchSpec, Vec<AccountId>);

/// Matches, or what is wrong with them.
type SpecsById = BTreeMap<MatchId, Result<OwnedSpec, Damage>>;

fn with_seats(mut spec: MatchSpec, account: AccountId, seats: Vec<SeatRow>) -> OwnedSpec {
    let seat_accounts = seats.iter().map(|seat| seat.account.unwrap_or(account)).collect();
    spec.seats = seats.into_iter().map(|seat| seat.spec).collect();
    (spec, seat_accounts)
}

/// Those of a match's bots whose calls are signed.
fn signing_of(spec: &MatchSpec, signing: &[SigningRow]) -> Vec<SigningRow> {
    signing.iter().filter(|row| spec.seats.iter().any(|seat| seat.bot == row.bot)).copied().collect()
}

fn vanished(id: MatchId) -> StoreError {
    StoreError::Corrupt { why: format!("match {id} vanished while it was claimed") }
}

/// The seats of these matches, each match's in their order.
pub(super) fn seats(session: &mut impl Session, ids: &[IdBytes]) -> Result<Vec<ReadOfMatch<SeatRow>>, StoreError> {
    let sql = format!("SELECT {} FROM seats WHERE match_id", columns::SEAT);
    session.all_each(&sql, "ORDER BY match_id, seat", ids, |row| columns::seat(row))
}
