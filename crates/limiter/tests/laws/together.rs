//! Many policies together, compared with a slow and plain model: a map of states for each policy.

use std::collections::BTreeMap;
use std::time::Duration;

use limiter::{
    Algorithm, Capacity, Counter, Decision, Gcra, Hit, Limiter, Log, Moment, Outcome, Pattern, Policy, Quota, Seed,
    State, WhenFull,
};
use proptest::prelude::*;

const CLASSES: [&str; 3] = ["read", "write", "watch"];
const KEYS: [&[u8]; 4] = [b"a", b"b", b"user:with-a-name-longer-than-a-slot", b""];

/// One policy's states, whichever they are.
#[derive(Clone)]
enum States {
    Log(BTreeMap<Vec<u8>, Log>),
    Gcra(BTreeMap<Vec<u8>, Gcra>),
    Counter(BTreeMap<Vec<u8>, Counter>),
}

impl States {
    fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Log => Self::Log(BTreeMap::new()),
            Algorithm::Gcra => Self::Gcra(BTreeMap::new()),
            Algorithm::Counter => Self::Counter(BTreeMap::new()),
        }
    }

    fn decide(&mut self, key: &[u8], now: Moment, quota: Quota, cost: u64) -> Decision {
        fn one<S: State>(
            states: &mut BTreeMap<Vec<u8>, S>,
            key: &[u8],
            now: Moment,
            quota: Quota,
            cost: u64,
        ) -> Decision {
            limiter::decide(states.entry(key.to_vec()).or_default(), now, quota, cost)
        }
        match self {
            Self::Log(states) => one(states, key, now, quota, cost),
            Self::Gcra(states) => one(states, key, now, quota, cost),
            Self::Counter(states) => one(states, key, now, quota, cost),
        }
    }
}

/// The model: every policy takes what it can on a copy, and the copy is kept if none denied.
struct Model {
    policies: Vec<(Policy, States)>,
}

type Expected = (Outcome, Vec<(usize, Box<str>, Decision)>);

impl Model {
    fn check(&mut self, hits: &[Hit<'_>], now: Moment) -> Expected {
        let mut taken: Vec<States> = self.policies.iter().map(|(_, states)| states.clone()).collect();
        let (mut outcome, mut allows, mut decisions) = (Outcome::Allowed, Vec::new(), Vec::new());
        for ((policy, _), taken) in self.policies.iter().zip(&mut taken) {
            let mut sums: BTreeMap<&[u8], u64> = BTreeMap::new();
            for hit in hits.iter().filter(|hit| concerns(policy, hit)) {
                *sums.entry(hit.key).or_default() += hit.cost;
            }
            let decision: BTreeMap<&[u8], Decision> =
                sums.into_iter().map(|(key, cost)| (key, taken.decide(key, now, policy.quota, cost))).collect();
            if !policy.is_shadow {
                outcome = decision.values().fold(outcome, |outcome, decision| sterner(outcome, *decision));
            }
            allows.push(decision.values().all(Decision::is_allowed));
            decisions.push(decision);
        }
        let mut parts = Vec::new();
        for (policy, (rule, states)) in self.policies.iter_mut().enumerate() {
            let takes = outcome == Outcome::Allowed && allows[policy];
            for (number, hit) in hits.iter().enumerate().filter(|(_, hit)| concerns(rule, hit)) {
                let decision = decisions[policy][hit.key];
                let decision =
                    if takes || !decision.is_allowed() { decision } else { states.decide(hit.key, now, rule.quota, 0) };
                parts.push((number, policy, rule.name.clone(), decision));
            }
            if takes {
                *states = taken[policy].clone();
            }
        }
        parts.sort_by_key(|(hit, policy, ..)| (*hit, *policy));
        (outcome, parts.into_iter().map(|(hit, _, name, decision)| (hit, name, decision)).collect())
    }
}

fn concerns(policy: &Policy, hit: &Hit<'_>) -> bool {
    policy.class.matches(hit.class.as_bytes()) && policy.key.matches(hit.key)
}

fn sterner(outcome: Outcome, decision: Decision) -> Outcome {
    match (outcome, decision) {
        (Outcome::Never, _) | (_, Decision::Never) => Outcome::Never,
        (Outcome::NotUntil(one), Decision::NotUntil { at }) => Outcome::NotUntil(one.max(at)),
        (Outcome::Allowed, Decision::NotUntil { at }) => Outcome::NotUntil(at),
        (outcome, _) => outcome,
    }
}

fn policies() -> impl Strategy<Value = Vec<Policy>> {
    let algorithm = prop_oneof![Just(Algorithm::Log), Just(Algorithm::Gcra), Just(Algorithm::Counter)];
    let patterns =
        (prop_oneof![Just("*"), Just("w*"), Just("read")], prop_oneof![Just("*"), Just("a"), Just("user:*")]);
    let one = (algorithm, patterns, 1_u64..6, 1_u64..100, prop::bool::weighted(0.3));
    prop::collection::vec(one, 0..5).prop_map(|all| {
        let policy =
            |(number, (algorithm, (class, key), limit, window_ns, is_shadow)): (usize, (_, (&str, &str), _, _, _))| {
                Policy {
                    name: number.to_string().into(),
                    class: Pattern::new(class).unwrap(),
                    key: Pattern::new(key).unwrap(),
                    algorithm,
                    quota: Quota::new(limit, Duration::from_nanos(window_ns)).unwrap(),
                    is_shadow,
                    when_full: WhenFull::Deny,
                }
            };
        all.into_iter().enumerate().map(policy).collect()
    })
}

/// A check: so much later, these hits.
type Check = (u64, Vec<(usize, usize, u64)>);

fn checks() -> impl Strategy<Value = Vec<Check>> {
    let hit = (0..CLASSES.len(), 0..KEYS.len(), 0_u64..4);
    prop::collection::vec((0_u64..40, prop::collection::vec(hit, 0..5)), 1..40)
}

fn hits(question: &[(usize, usize, u64)]) -> Vec<Hit<'static>> {
    question.iter().map(|(class, key, cost)| Hit { class: CLASSES[*class], key: KEYS[*key], cost: *cost }).collect()
}

fn limiter(policies: &[Policy]) -> Limiter {
    let limiter = Limiter::new(Capacity { keys_max: 100_000, timestamps_max: 100_000 }, Seed::new([9; 32]));
    limiter.set_policies(policies.to_vec(), Moment::ZERO).unwrap();
    limiter
}

/// The limiter after the checks, and the moment of the last.
fn play(policies: &[Policy], checks: &[Check]) -> (Limiter, Moment) {
    let (limiter, mut now) = (limiter(policies), Moment(1_000));
    for (gap, question) in checks {
        now = Moment(now.0 + gap);
        let _ = limiter.check(&hits(question), now);
    }
    (limiter, now)
}

proptest! {
    #[test]
    fn rulings_are_those_of_the_model(policies in policies(), checks in checks()) {
        let limiter = limiter(&policies);
        let states = policies.iter().map(|policy| States::new(policy.algorithm));
        let mut model = Model { policies: policies.iter().cloned().zip(states).collect() };
        let mut now = Moment(1_000);
        for (gap, question) in &checks {
            now = Moment(now.0 + gap);
            let hits = hits(question);
            let result = limiter.check(&hits, now);
            let decision = result.decisions.iter().map(|part| (part.hit, part.policy.name.clone(), part.decision)).collect();
            prop_assert_eq!((result.outcome, decision), model.check(&hits, now), "{:?} at {:?}", hits, now);
            if gap % 5 == 0 {
                limiter.sweep(7, now);
            }
        }
    }

    /// Over all policies: denied strictly before, allowed exactly at.
    #[test]
    fn all_policies_together_give_the_exact_moment(policies in policies(), checks in checks(), last in checks()) {
        let last = hits(&last[0].1);
        let (first, now) = play(&policies, &checks);
        if let Outcome::NotUntil(at) = first.check(&last, now).outcome {
            prop_assert!(at > now);
            let before = play(&policies, &checks).0.check(&last, Moment(at.0 - 1)).outcome;
            prop_assert_eq!(before, Outcome::NotUntil(at));
            prop_assert_eq!(play(&policies, &checks).0.check(&last, at).outcome, Outcome::Allowed);
            // The denial before it cost nothing.
            prop_assert_eq!(first.check(&last, at).outcome, Outcome::Allowed);
        }
    }
}
