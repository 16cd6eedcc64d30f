//! One question to many policies: whom it concerns, what each says, and all or nothing. Refuses to know how a set changes.
//!
//! Locks are taken in one order (policies as they stand in the set, shards by number), each once, and held until all are
//! charged or none: two questions never wait for each other in a circle.

use std::sync::Arc;

use crate::clock::Reading;
use crate::counted::{Counted, Held};
use crate::home::Need;
use crate::key::Probe;
use crate::limits::ROOM_KEYS_MAX;
use crate::seed::Spread;
use crate::{Decision, Hit, Moment, Outcome, Part, Quota, Ruling};

/// A hit that a policy is for.
struct Ask<'a> {
    hit: usize,
    policy: usize,
    shard: usize,
    probe: Probe<'a>,
    cost: u64,
    /// The claim that answers for it.
    claim: usize,
}

/// A key of a policy that some of the hits use, and for how much in all.
struct Claim<'a> {
    policy: usize,
    probe: Probe<'a>,
    cost: u64,
    /// The lock that it stands behind.
    held: usize,
    quota: Quota,
    decision: Decision,
    /// What was taken of the room for its charge.
    room: Option<Need>,
}

/// Locked shards, each with its own time.
type Locks<'a> = Vec<(Held<'a>, Reading)>;

/// `brought` are the quotas that the hits have brought along, in the order of the hits; it may be shorter than they are.
pub(crate) fn check(
    set: &[Counted],
    spread: &Spread,
    hits: &[Hit<'_>],
    brought: &[Option<Quota>],
    now: Moment,
) -> Ruling {
    let mut asks = asks_of(set, spread, hits, brought);
    let (mut locks, mut claims) = look(set, &mut asks, now);
    if outcome(set, &claims) == Outcome::Allowed {
        find_room(&mut locks, &mut claims);
    }
    let outcome = outcome(set, &claims);
    take_or_leave(&mut locks, &mut claims, outcome);
    drop(locks);
    Ruling { outcome, parts: asks.iter().map(|ask| part(set, ask, &claims[ask.claim])).collect() }
}

/// Every pair of a hit and a policy that is for it.
fn asks_of<'a>(set: &[Counted], spread: &Spread, hits: &[Hit<'a>], brought: &[Option<Quota>]) -> Vec<Ask<'a>> {
    let mut asks = Vec::new();
    for (hit, Hit { class, key, cost }) in hits.iter().enumerate() {
        let probe = Probe { brought: brought.get(hit).copied().flatten(), ..Probe::new(spread, key) };
        for (policy, Counted { policy: rule, keys }) in set.iter().enumerate() {
            if rule.class.matches(class.as_bytes()) && rule.key.matches(key) {
                let shard = keys.shard_of(probe.hash);
                asks.push(Ask { hit, policy, shard, probe, cost: *cost, claim: 0 });
            }
        }
    }
    asks
}

/// Locks what the hits need, in the one order, and asks each key once for all that is wanted of it.
fn look<'s, 'a>(set: &'s [Counted], asks: &mut [Ask<'a>], now: Moment) -> (Locks<'s>, Vec<Claim<'a>>) {
    let mut order: Vec<usize> = (0..asks.len()).collect();
    order.sort_unstable_by_key(|ask| {
        let Ask { policy, shard, probe, hit, .. } = asks[*ask];
        (policy, shard, probe.hash, probe.key, hit)
    });
    let (mut locks, mut claims): (Locks<'_>, Vec<Claim<'_>>) = (Vec::new(), Vec::with_capacity(asks.len()));
    let mut locked = None;
    for ask in order {
        let ask = &mut asks[ask];
        if locked.replace((ask.policy, ask.shard)) != Some((ask.policy, ask.shard)) {
            let mut held = set[ask.policy].keys.lock(ask.shard);
            let reading = held.read_clock(now);
            locks.push((held, reading));
        }
        let held = locks.len() - 1;
        match claims.last_mut() {
            Some(claim) if claim.held == held && claim.probe.key == ask.probe.key => {
                claim.cost = claim.cost.saturating_add(ask.cost);
            }
            _ => claims.push(Claim::new(ask, held, locks[held].0.quota_of(ask.probe))),
        }
        ask.claim = claims.len() - 1;
    }
    for claim in &mut claims {
        let (held, reading) = &mut locks[claim.held];
        claim.decision = held.look(claim.probe, claim.cost, reading.now).earlier(reading.ahead_ns);
    }
    (locks, claims)
}

impl<'a> Claim<'a> {
    fn new(ask: &Ask<'a>, held: usize, quota: Quota) -> Self {
        let Ask { policy, probe, cost, .. } = *ask;
        Self { policy, probe, cost, held, quota, decision: Decision::Never, room: None }
    }
}

/// What the policies that are not in shadow say.
fn outcome(set: &[Counted], claims: &[Claim<'_>]) -> Outcome {
    let loud = claims.iter().filter(|claim| !set[claim.policy].policy.is_shadow);
    loud.fold(Outcome::Allowed, |outcome, claim| outcome.and(claim.decision))
}

/// Whether a policy allows all that is asked of it: one in shadow that does not is charged nothing, as if it were in force.
fn allows_all(claims: &[Claim<'_>]) -> bool {
    claims.iter().all(|claim| claim.decision.is_allowed())
}

fn by_policy<'c, 'a>(claims: &'c mut [Claim<'a>]) -> impl Iterator<Item = &'c mut [Claim<'a>]> {
    claims.chunk_by_mut(|one, next| one.policy == next.policy)
}

/// Takes room for all that will be charged, before anything is. Where there is too little, the idle keys of the locked shards
/// make some; what has none then is denied or admitted as its policy says.
fn find_room(locks: &mut Locks<'_>, claims: &mut [Claim<'_>]) {
    if reserve(locks, claims) {
        return;
    }
    // What is taken is given back first: a key that is charged must not be forgotten between the two.
    claims.iter_mut().for_each(|claim| claim.give_back(locks));
    make_room(locks);
    reserve(locks, claims);
    for claim in claims.iter_mut().filter(|claim| claim.lacks_room()) {
        if !locks[claim.held].0.admits_uncounted() {
            claim.decision = Decision::Full;
        }
    }
}

/// Forgets idle keys of the locked shards. A question to many policies has many of them locked, and everybody waits meanwhile:
/// it does not look through them all.
fn make_room(locks: &mut Locks<'_>) {
    let mut looked_at = 0;
    for (held, reading) in locks {
        if looked_at >= ROOM_KEYS_MAX {
            return;
        }
        looked_at += held.make_room(reading.now);
    }
}

/// Whether all that need room have it.
fn reserve(locks: &Locks<'_>, claims: &mut [Claim<'_>]) -> bool {
    for claims in by_policy(claims).filter(|claims| allows_all(claims)) {
        for claim in claims.iter_mut().filter(|claim| claim.lacks_room()) {
            claim.room = locks[claim.held].0.reserve(claim.probe, claim.cost);
        }
    }
    by_policy(claims).filter(|claims| allows_all(claims)).flatten().all(|claim| !claim.lacks_room())
}

fn take_or_leave(locks: &mut Locks<'_>, claims: &mut [Claim<'_>], outcome: Outcome) {
    for claims in by_policy(claims) {
        let takes = outcome == Outcome::Allowed && allows_all(claims);
        for claim in claims {
            if takes {
                claim.take(locks);
            } else {
                claim.leave(locks);
            }
        }
    }
}

impl Claim<'_> {
    fn lacks_room(&self) -> bool {
        self.cost > 0 && self.room.is_none() && self.decision.is_allowed()
    }

    fn take(&self, locks: &mut Locks<'_>) {
        let (held, reading) = &mut locks[self.held];
        if let Some(room) = self.room {
            held.charge(self.probe, self.cost, reading.now, room);
        }
    }

    /// Takes nothing; what would have been allowed says what could be taken now.
    fn leave(&mut self, locks: &mut Locks<'_>) {
        self.give_back(locks);
        if self.decision.is_allowed() {
            let (held, reading) = &mut locks[self.held];
            self.decision = held.look(self.probe, 0, reading.now).earlier(reading.ahead_ns);
        }
    }

    fn give_back(&mut self, locks: &Locks<'_>) {
        if let Some(room) = self.room.take() {
            locks[self.held].0.give_back(room);
        }
    }
}

fn part(set: &[Counted], ask: &Ask<'_>, claim: &Claim<'_>) -> Part {
    let policy = Arc::clone(&set[ask.policy].policy);
    Part { hit: ask.hit, policy, quota: claim.quota, decision: claim.decision }
}
