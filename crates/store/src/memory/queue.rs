//! How matches enter the queue, leave it, and change workers.

use super::data::{MatchEntry, MatchLog, MemoryData, ResponseEntry, WorkerEntry};
use crate::counters::minute_of;
use crate::semantics::{self, MatchClaimant};
use engine::commands::{ClaimedMatch, CreateMatches, Outcome};
use engine::ids::{AccountId, MatchId, WorkerId};
use engine::limits::IDEMPOTENCY_RETENTION;
use engine::matches::lifecycle::{MatchEvent, MatchState};
use engine::matches::spec::MatchSpec;
use engine::rows::{MatchRow, MatchStatus};
use engine::time::UnixMs;

impl MemoryData {
    pub(super) fn create_matches(&mut self, create: &CreateMatches) -> Outcome {
        if !self.accounts.contains_key(&create.account) {
            return Outcome::NotFound;
        }
        if let Some(outcome) = self.replayed_response(create) {
            return outcome;
        }
        let is_known = |spec: &MatchSpec| self.matches.contains_key(&spec.id);
        if semantics::has_repeated_id(&create.matches) || create.matches.iter().any(is_known) {
            return Outcome::Duplicate;
        }
        for spec in &create.matches {
            let fair_tag = self.next_fair_tag(create.account);
            self.insert(new_entry(spec, create.account, fair_tag, create.now));
        }
        self.minutes.entry(minute_of(create.now)).or_default().created += create.matches.len() as u64;
        self.remember_response(create);
        Outcome::Done
    }

    fn replayed_response(&self, create: &CreateMatches) -> Option<Outcome> {
        let idempotency = create.idempotency.as_ref()?;
        let known = self.responses.get(&(create.account, idempotency.key.clone()))?;
        if known.created_at.plus(IDEMPOTENCY_RETENTION) <= create.now {
            return None;
        }
        let is_same = known.fingerprint == idempotency.fingerprint;
        Some(if is_same { Outcome::Replayed(known.response.clone()) } else { Outcome::KeyReused })
    }

    fn remember_response(&mut self, create: &CreateMatches) {
        if let Some(idempotency) = &create.idempotency {
            let entry = ResponseEntry {
                fingerprint: idempotency.fingerprint,
                response: idempotency.response.clone(),
                created_at: create.now,
            };
            self.responses.insert((create.account, idempotency.key.clone()), entry);
        }
    }

    fn next_fair_tag(&mut self, account: AccountId) -> u64 {
        let virtual_time = self.virtual_time;
        self.accounts.get_mut(&account).map_or(virtual_time, |entry| {
            entry.fair_tag = semantics::next_fair_tag(virtual_time, entry.fair_tag);
            entry.fair_tag
        })
    }

    pub(super) fn cancel(&mut self, id: MatchId, account: Option<AccountId>, now: UnixMs) -> Outcome {
        let is_theirs = |entry: &&MatchEntry| account.is_none_or(|account| account == entry.row.account);
        let Some(entry) = self.matches.get(&id).filter(is_theirs) else { return Outcome::NotFound };
        let state = entry.row.status.state;
        let Some(next) = state.transition(MatchEvent::Cancel) else { return Outcome::WrongState(state) };
        self.change(id, |entry| {
            entry.move_to(next, now);
            entry.row.status.epoch += 1;
        });
        Outcome::Done
    }

    pub(super) fn requeue(&mut self, id: MatchId, now: UnixMs) -> Outcome {
        let Some(entry) = self.matches.get(&id) else { return Outcome::NotFound };
        let (state, account) = (entry.row.status.state, entry.row.account);
        let Some(next) = state.transition(MatchEvent::Requeue) else { return Outcome::WrongState(state) };
        let fair_tag = self.next_fair_tag(account);
        self.change(id, |entry| {
            entry.move_to(next, now);
            entry.fair_tag = fair_tag;
            entry.row.status.enqueued_at = now;
            entry.row.status.attempts_charged = 0;
        });
        Outcome::Done
    }

    pub(super) fn renew_lease(&mut self, worker: WorkerId, address: &str, now: UnixMs, until: UnixMs) -> Outcome {
        if self.workers.contains_key(&worker) && !self.lease_holds(worker, now) {
            return Outcome::LeaseLost;
        }
        let (claims, table_claims) =
            self.workers.get(&worker).map_or((0, 0), |entry| (entry.claims, entry.table_claims));
        let address = address.to_owned();
        let entry = WorkerEntry { address, lease_until: until, is_given_up: false, claims, table_claims };
        self.workers.insert(worker, entry);
        Outcome::Done
    }

    pub(super) fn end_lease(&mut self, worker: WorkerId) -> Outcome {
        if let Some(entry) = self.workers.get_mut(&worker) {
            entry.is_given_up = true;
        }
        Outcome::Done
    }

    pub(super) fn end_all_leases(&mut self) -> Outcome {
        // Leases without an end get one: ended leases are deleted in time.
        for entry in self.workers.values_mut() {
            (entry.is_given_up, entry.lease_until) = (true, UnixMs(0));
        }
        Outcome::Done
    }

    pub(super) fn claim(
        &mut self,
        worker: WorkerId,
        number: u64,
        now: UnixMs,
        max: usize,
        attempts_max: u32,
    ) -> Outcome {
        let Some(node) = self.lease_address(worker, now) else { return Outcome::LeaseLost };
        let by = MatchClaimant { worker, number, node: &node };
        if self.workers.get(&by.worker).is_none_or(|entry| by.number <= entry.claims) {
            return Outcome::MatchesClaimed(self.claimed_before(by));
        }
        let mut claimed = Vec::new();
        for id in self.orphans(now) {
            if claimed.len() == max {
                break;
            }
            claimed.extend(self.claim_orphan(id, by, now, attempts_max));
        }
        while claimed.len() < max
            && let Some(&(fair_tag, id)) = self.waiting.first()
        {
            self.virtual_time = self.virtual_time.max(fair_tag);
            claimed.extend(self.change(id, |entry| take(entry, by, now)));
        }
        if !claimed.is_empty() {
            self.workers.entry(by.worker).and_modify(|entry| entry.claims = by.number);
        }
        Outcome::MatchesClaimed(claimed)
    }

    /// What the claim of this number took and its worker still holds.
    fn claimed_before(&self, by: MatchClaimant<'_>) -> Vec<ClaimedMatch> {
        let held = self.running.range((Some(by.worker), MatchId(0))..=(Some(by.worker), MatchId(u128::MAX)));
        held.filter_map(|(_, id)| self.matches.get(id)).filter(|entry| entry.claim == by.number).map(claimed).collect()
    }

    /// `None` for an orphan that is out of attempts: it failed instead.
    fn claim_orphan(
        &mut self,
        id: MatchId,
        by: MatchClaimant<'_>,
        now: UnixMs,
        attempts_max: u32,
    ) -> Option<ClaimedMatch> {
        self.change(id, |entry| {
            if attempts(entry) <= attempts_max {
                return Some(take(entry, by, now));
            }
            entry.move_to(MatchState::Failed, now);
            entry.row.status.failure = Some(semantics::out_of_attempts(attempts_max, entry.row.status.version));
            None
        })
        .flatten()
    }
}

fn attempts(entry: &MatchEntry) -> u32 {
    let status = &entry.row.status;
    semantics::attempts_after_claim(status.attempts_charged, entry.claimed_version, status.version)
}

fn take(entry: &mut MatchEntry, by: MatchClaimant<'_>, now: UnixMs) -> ClaimedMatch {
    let attempts_charged = attempts(entry);
    if entry.row.status.state != MatchState::Running {
        entry.move_to(MatchState::Running, now);
    }
    entry.claimed_version = entry.row.status.version;
    entry.claim = by.number;
    let status = &mut entry.row.status;
    status.worker = Some(by.worker);
    status.node = Some(by.node.to_owned());
    status.epoch += 1;
    status.attempts_charged = attempts_charged;
    claimed(entry)
}

fn claimed(entry: &MatchEntry) -> ClaimedMatch {
    let MatchStatus { epoch, version, attempts_charged, .. } = entry.row.status;
    ClaimedMatch { spec: entry.row.spec.clone(), epoch, version, attempts_charged }
}

fn new_entry(spec: &MatchSpec, account: AccountId, fair_tag: u64, now: UnixMs) -> MatchEntry {
    let status = MatchStatus {
        id: spec.id,
        state: MatchState::Waiting,
        created_at: now,
        updated_at: now,
        enqueued_at: now,
        started_at: None,
        ended_at: None,
        turns: 0,
        late_moves: 0,
        version: 0,
        attempts_charged: 0,
        epoch: 0,
        failure: None,
        worker: None,
        node: None,
    };
    let row = MatchRow { spec: spec.clone(), account, status, result: None };
    MatchEntry { row, fair_tag, claimed_version: 0, claim: 0, log: MatchLog::Live(Vec::new()) }
}
