//! One check of many policies: which apply, what each decides, and all or nothing. Does not know how a set of policies
//! changes.
//!
//! Locks are taken in one order (policies as they stand in the set, shards by number), each once, and held until all
//! are charged or none: two checks never deadlock.

use std::sync::Arc;

use crate::budget::Reservation;
use crate::clock::ClockReading;
use crate::key::KeyProbe;
use crate::key_hasher::KeyHasher;
use crate::limits::ROOM_KEYS_MAX;
use crate::policy_keys::{ActivePolicy, LockedShard};
use crate::{CheckResult, Decision, Hit, Moment, Outcome, PolicyDecision, Quota};

/// A hit that a policy is for.
struct PolicyHit<'a> {
    hit: usize,
    policy: usize,
    shard: usize,
    probe: KeyProbe<'a>,
    cost: u64,
    /// The claim that answers for it.
    request: usize,
}

/// A key of a policy that some of the hits use, and for how much in all.
struct KeyRequest<'a> {
    policy: usize,
    probe: KeyProbe<'a>,
    cost: u64,
    /// The lock that it stands behind.
    lock_index: usize,
    quota: Quota,
    decision: Decision,
    /// What was taken of the room for its charge.
    reserved: Option<Reservation>,
}

/// Locked shards, each with its own time.
type Locks<'a> = Vec<(LockedShard<'a>, ClockReading)>;

/// `brought` are the quotas that the hits have brought along, in the order of the hits; it may be shorter than they are.
pub(crate) fn check(
    set: &[ActivePolicy],
    hasher: &KeyHasher,
    hits: &[Hit<'_>],
    supplied: &[Option<Quota>],
    now: Moment,
) -> CheckResult {
    let mut policy_hits = match_policies(set, hasher, hits, supplied);
    let (mut locks, mut requests) = lock_and_decide(set, &mut policy_hits, now);
    if outcome(set, &requests) == Outcome::Allowed {
        reserve_or_deny(&mut locks, &mut requests);
    }
    let outcome = outcome(set, &requests);
    charge_or_release(&mut locks, &mut requests, outcome);
    drop(locks);
    CheckResult {
        outcome,
        decisions: policy_hits
            .iter()
            .map(|policy_hit| policy_decision(set, policy_hit, &requests[policy_hit.request]))
            .collect(),
    }
}

/// Every pair of a hit and a policy that is for it.
fn match_policies<'a>(
    set: &[ActivePolicy],
    hasher: &KeyHasher,
    hits: &[Hit<'a>],
    supplied: &[Option<Quota>],
) -> Vec<PolicyHit<'a>> {
    let mut policy_hits = Vec::new();
    for (hit, Hit { class, key, cost }) in hits.iter().enumerate() {
        let probe = KeyProbe { supplied_quota: supplied.get(hit).copied().flatten(), ..KeyProbe::new(hasher, key) };
        for (policy, ActivePolicy { policy: rule, keys }) in set.iter().enumerate() {
            if rule.class.matches(class.as_bytes()) && rule.key.matches(key) {
                let shard = keys.shard_of(probe.hash);
                policy_hits.push(PolicyHit { hit, policy, shard, probe, cost: *cost, request: 0 });
            }
        }
    }
    policy_hits
}

/// Locks what the hits need, in the one order, and decides each key once for its total cost.
fn lock_and_decide<'s, 'a>(
    set: &'s [ActivePolicy],
    policy_hits: &mut [PolicyHit<'a>],
    now: Moment,
) -> (Locks<'s>, Vec<KeyRequest<'a>>) {
    let mut order: Vec<usize> = (0..policy_hits.len()).collect();
    order.sort_unstable_by_key(|index| {
        let PolicyHit { policy, shard, probe, hit, .. } = policy_hits[*index];
        (policy, shard, probe.hash, probe.key, hit)
    });
    let (mut locks, mut requests): (Locks<'_>, Vec<KeyRequest<'_>>) =
        (Vec::new(), Vec::with_capacity(policy_hits.len()));
    let mut locked = None;
    for index in order {
        let policy_hit = &mut policy_hits[index];
        if locked.replace((policy_hit.policy, policy_hit.shard)) != Some((policy_hit.policy, policy_hit.shard)) {
            let mut held = set[policy_hit.policy].keys.lock(policy_hit.shard);
            let reading = held.read_clock(now);
            locks.push((held, reading));
        }
        let held = locks.len() - 1;
        match requests.last_mut() {
            Some(request) if request.lock_index == held && request.probe.key == policy_hit.probe.key => {
                request.cost = request.cost.saturating_add(policy_hit.cost);
            }
            _ => requests.push(KeyRequest::new(policy_hit, held, locks[held].0.quota_of(policy_hit.probe))),
        }
        policy_hit.request = requests.len() - 1;
    }
    for request in &mut requests {
        let (held, reading) = &mut locks[request.lock_index];
        request.decision = held.peek(request.probe, request.cost, reading.now).shifted_back(reading.ahead_ns);
    }
    (locks, requests)
}

impl<'a> KeyRequest<'a> {
    fn new(policy_hit: &PolicyHit<'a>, held: usize, quota: Quota) -> Self {
        let PolicyHit { policy, probe, cost, .. } = *policy_hit;
        Self { policy, probe, cost, lock_index: held, quota, decision: Decision::Never, reserved: None }
    }
}

/// The outcome of the policies that are not in shadow.
fn outcome(set: &[ActivePolicy], requests: &[KeyRequest<'_>]) -> Outcome {
    let loud = requests.iter().filter(|request| !set[request.policy].policy.is_shadow);
    loud.fold(Outcome::Allowed, |outcome, request| outcome.combine(request.decision))
}

/// Whether a policy allows its total cost: one in shadow that does not is charged nothing, as if it were in force.
fn allows_all(requests: &[KeyRequest<'_>]) -> bool {
    requests.iter().all(|request| request.decision.is_allowed())
}

fn by_policy<'c, 'a>(requests: &'c mut [KeyRequest<'a>]) -> impl Iterator<Item = &'c mut [KeyRequest<'a>]> {
    requests.chunk_by_mut(|one, next| one.policy == next.policy)
}

/// Reserves for all that will be charged, before anything is. Where the budget is too small, the idle keys of the
/// locked shards are forgotten; what still does not fit is denied or admitted as its policy says.
fn reserve_or_deny(locks: &mut Locks<'_>, requests: &mut [KeyRequest<'_>]) {
    if reserve(locks, requests) {
        return;
    }
    // Reserved before anything is charged: a key that is charged must not be forgotten between the two.
    requests.iter_mut().for_each(|request| request.release_reservation(locks));
    forget_idle(locks);
    reserve(locks, requests);
    for request in requests.iter_mut().filter(|request| request.needs_reservation()) {
        if !locks[request.lock_index].0.admits_uncounted() {
            request.decision = Decision::Full;
        }
    }
}

/// Forgets idle keys of the locked shards. A check of many policies has many of them locked, and other threads wait
/// meanwhile: it does not search them all.
fn forget_idle(locks: &mut Locks<'_>) {
    let mut looked_at = 0;
    for (held, reading) in locks {
        if looked_at >= ROOM_KEYS_MAX {
            return;
        }
        looked_at += held.forget_idle(reading.now);
    }
}

/// Whether all that need room have it.
fn reserve(locks: &Locks<'_>, requests: &mut [KeyRequest<'_>]) -> bool {
    for requests in by_policy(requests).filter(|requests| allows_all(requests)) {
        for request in requests.iter_mut().filter(|request| request.needs_reservation()) {
            request.reserved = locks[request.lock_index].0.reserve(request.probe, request.cost);
        }
    }
    by_policy(requests).filter(|requests| allows_all(requests)).flatten().all(|request| !request.needs_reservation())
}

fn charge_or_release(locks: &mut Locks<'_>, requests: &mut [KeyRequest<'_>], outcome: Outcome) {
    for requests in by_policy(requests) {
        let takes = outcome == Outcome::Allowed && allows_all(requests);
        for request in requests {
            if takes {
                request.charge(locks);
            } else {
                request.release(locks);
            }
        }
    }
}

impl KeyRequest<'_> {
    fn needs_reservation(&self) -> bool {
        self.cost > 0 && self.reserved.is_none() && self.decision.is_allowed()
    }

    fn charge(&self, locks: &mut Locks<'_>) {
        let (held, reading) = &mut locks[self.lock_index];
        if let Some(reservation) = self.reserved {
            held.charge(self.probe, self.cost, reading.now, reservation);
        }
    }

    /// Charges nothing; a decision that would have allowed reports what could be taken now.
    fn release(&mut self, locks: &mut Locks<'_>) {
        self.release_reservation(locks);
        if self.decision.is_allowed() {
            let (held, reading) = &mut locks[self.lock_index];
            self.decision = held.peek(self.probe, 0, reading.now).shifted_back(reading.ahead_ns);
        }
    }

    fn release_reservation(&mut self, locks: &Locks<'_>) {
        if let Some(reservation) = self.reserved.take() {
            locks[self.lock_index].0.release(reservation);
        }
    }
}

fn policy_decision(set: &[ActivePolicy], policy_hit: &PolicyHit<'_>, request: &KeyRequest<'_>) -> PolicyDecision {
    let policy = Arc::clone(&set[policy_hit.policy].policy);
    PolicyDecision { hit: policy_hit.hit, policy, quota: request.quota, decision: request.decision }
}
