//! Many policies, hit by hit: what each decides, and all or nothing.
#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

use std::time::Duration;

use limiter::limits::OVERRIDES_MAX;
use limiter::{
    Algorithm, Capacity, Decision, Hit, Limiter, Moment, Outcome, Override, OverrideError, Pattern, PoliciesError,
    Policy, Quota, Seed, TooManyOverrides, WhenFull,
};

/// When, what, the outcome, and the remaining units of parts that allow.
type Call<'a> = (u64, &'a [Hit<'a>], Outcome, &'a [Option<u64>]);

const CAPACITY: Capacity = Capacity { keys_max: 1_000, timestamps_max: 1_000 };

fn ms(ms: u64) -> Moment {
    Moment::after(Duration::from_millis(ms))
}

fn quota(limit: u64, window_ms: u64) -> Quota {
    Quota::new(limit, Duration::from_millis(window_ms)).unwrap()
}

fn policy(name: &str, algorithm: Algorithm, quota: Quota) -> Policy {
    Policy {
        name: name.into(),
        class: Pattern::everything(),
        key: Pattern::everything(),
        algorithm,
        quota,
        is_shadow: false,
        when_full: WhenFull::Deny,
    }
}

fn limiter(policies: &[Policy]) -> Limiter {
    let limiter = Limiter::new(CAPACITY, Seed::new([3; 32]));
    limiter.set_policies(policies.to_vec(), Moment::ZERO).unwrap();
    limiter
}

fn burst_and_daily() -> [Policy; 2] {
    [policy("burst", Algorithm::Gcra, quota(2, 1_000)), policy("daily", Algorithm::Log, quota(3, 86_400_000))]
}

fn hit(key: &str) -> Hit<'_> {
    Hit { class: "read", key: key.as_bytes(), cost: 1 }
}

/// Checks in their order.
#[track_caller]
fn check(limiter: &Limiter, calls: &[Call<'_>]) {
    for (now_ms, hits, outcome, expected) in calls {
        let ruling = limiter.check(hits, ms(*now_ms));
        let remaining = ruling.decisions.iter().map(|part| match part.decision {
            Decision::Allow { remaining, .. } => Some(remaining),
            _ => None,
        });
        assert_eq!((ruling.outcome, remaining.collect::<Vec<_>>().as_slice()), (*outcome, *expected), "at {now_ms} ms");
    }
}

#[test]
fn no_policy_allows_everything() {
    check(&limiter(&[]), &[(0, &[hit("a"), hit("b")], Outcome::Allowed, &[])]);
}

#[test]
fn a_question_to_a_full_limiter_does_not_look_through_it_all() {
    const SHARD_KEYS: u64 = 8_192;
    let keys = 16 * SHARD_KEYS;
    let limiter = Limiter::new(Capacity { keys_max: keys as usize, timestamps_max: 0 }, Seed::new([3; 32]));
    limiter.set_policies(vec![policy("burst", Algorithm::Gcra, quota(1, 1_000))], Moment::ZERO).unwrap();
    assert_eq!(limiter.shards(), 16);
    let check_keys =
        |names: &[String], now| limiter.check(&names.iter().map(|name| hit(name)).collect::<Vec<_>>(), now).outcome;
    for key in 0..keys {
        assert_eq!(check_keys(&[format!("old-{key}")], ms(0)), Outcome::Allowed);
    }
    assert_eq!(check_keys(&["one more".to_owned()], ms(500)), Outcome::Full);
    // All are idle. Sixteen keys in about ten shards need as many places: one shard or two make more than that.
    let names: Vec<String> = (0..16).map(|key| format!("new-{key}")).collect();
    assert_eq!(check_keys(&names, ms(2_000)), Outcome::Allowed);
    let forgotten = limiter.stats()[0].forgotten;
    assert!((16..5 * SHARD_KEYS / 2).contains(&forgotten), "{forgotten}");
}

#[test]
fn one_denial_charges_none() {
    check(
        &limiter(&burst_and_daily()),
        &[
            (0, &[hit("a")], Outcome::Allowed, &[Some(1), Some(2)]),
            (0, &[hit("a")], Outcome::Allowed, &[Some(0), Some(1)]),
            // A denial by one leaves the other as it was, and reports what that has left.
            (0, &[hit("a")], Outcome::NotUntil(ms(500)), &[None, Some(1)]),
            (500, &[hit("a")], Outcome::Allowed, &[Some(0), Some(0)]),
            (900, &[hit("a")], Outcome::NotUntil(ms(86_400_000)), &[None, None]),
            (1_000, &[hit("a")], Outcome::NotUntil(ms(86_400_000)), &[Some(1), None]),
            (1_000, &[hit("b")], Outcome::Allowed, &[Some(1), Some(2)]),
        ],
    );
}

#[test]
fn hits_are_taken_together() {
    let twice = [hit("a"), hit("b"), hit("a")];
    check(
        &limiter(&burst_and_daily()),
        &[
            (0, &[hit("b")], Outcome::Allowed, &[Some(1), Some(2)]),
            (0, &twice, Outcome::Allowed, &[Some(0), Some(1), Some(0), Some(1), Some(0), Some(1)]),
            (500, &twice, Outcome::NotUntil(ms(86_400_000)), &[None, None, Some(1), Some(1), None, None]),
            (500, &[hit("b")], Outcome::Allowed, &[Some(0), Some(0)]),
        ],
    );
}

#[test]
fn the_sum_of_a_key_may_be_too_much() {
    let thrice = [hit("a"), hit("a"), hit("a")];
    check(
        &limiter(&burst_and_daily()),
        &[(0, &thrice, Outcome::Never, &[None, Some(3), None, Some(3), None, Some(3)])],
    );
}

#[test]
fn a_shadow_policy_decides_and_denies_no_hit() {
    let [mut burst, daily] = burst_and_daily();
    burst.is_shadow = true;
    check(
        &limiter(&[burst, daily]),
        &[
            (0, &[hit("a")], Outcome::Allowed, &[Some(1), Some(2)]),
            (0, &[hit("a")], Outcome::Allowed, &[Some(0), Some(1)]),
            (0, &[hit("a")], Outcome::Allowed, &[None, Some(0)]),
            (0, &[hit("a")], Outcome::NotUntil(ms(86_400_000)), &[None, None]),
        ],
    );
}

#[test]
fn policies_choose_by_class_and_key() {
    let mut writes = policy("writes", Algorithm::Counter, quota(5, 1_000));
    writes.class = Pattern::new("write.*").unwrap();
    writes.key = Pattern::new("user:*").unwrap();
    let question = |class, key: &'static str| Hit { class, key: key.as_bytes(), cost: 1 };
    check(
        &limiter(&[writes]),
        &[
            (0, &[question("write.game", "user:1")], Outcome::Allowed, &[Some(4)]),
            (0, &[question("write.", "user:")], Outcome::Allowed, &[Some(4)]),
            (0, &[question("read", "user:1")], Outcome::Allowed, &[]),
            (0, &[question("write.game", "host:1")], Outcome::Allowed, &[]),
        ],
    );
}

#[test]
fn a_new_set_keeps_what_was_used() {
    for algorithm in [Algorithm::Log, Algorithm::Gcra, Algorithm::Counter] {
        let limiter = limiter(&[policy("one", algorithm, quota(3, 60_000))]);
        let used: &[Call<'_>] = &[
            (0, &[hit("a")], Outcome::Allowed, &[Some(2)]),
            (0, &[hit("a")], Outcome::Allowed, &[Some(1)]),
            (0, &[hit("a")], Outcome::Allowed, &[Some(0)]),
        ];
        check(&limiter, used);
        limiter.set_policies(vec![policy("one", algorithm, quota(5, 60_000))], Moment::ZERO).unwrap();
        check(&limiter, &[(0, &[hit("a")], Outcome::Allowed, &[Some(1)])]);
        limiter.set_override("one", b"a", quota(10, 60_000), Moment::ZERO).unwrap();
        check(&limiter, &[(0, &[hit("a")], Outcome::Allowed, &[Some(5)])]);
        assert_eq!(limiter.remove_override("one", b"a", Moment::ZERO), Ok(true));
        assert_eq!(limiter.remove_override("one", b"a", Moment::ZERO), Ok(false));
        let ruling = limiter.check(&[hit("a")], Moment::ZERO);
        assert!(matches!(ruling.outcome, Outcome::NotUntil(at) if at > Moment::ZERO), "{ruling:?}");
    }
}

#[test]
fn sets_with_mistakes_change_nothing() {
    let limiter = limiter(&burst_and_daily());
    let one = policy("one", Algorithm::Gcra, quota(1, 1));
    let twice = vec![one.clone(), one.clone()];
    assert_eq!(limiter.set_policies(twice, Moment::ZERO), Err(PoliciesError::Duplicate { name: "one".into() }));
    let many = (0..1_001).map(|n| Policy { name: n.to_string().into(), ..one.clone() }).collect();
    assert_eq!(limiter.set_policies(many, Moment::ZERO), Err(PoliciesError::TooMany { have: 1_001 }));
    assert_eq!(limiter.policies().len(), 2);
    let unknown = limiter.set_override("three", b"a", quota(1, 1), Moment::ZERO);
    assert_eq!(unknown, Err(OverrideError::UnknownPolicy { name: "three".into() }));
}

#[test]
fn room_is_counted_and_comes_back() {
    let limiter = Limiter::new(Capacity { keys_max: 2, timestamps_max: 100 }, Seed::new([3; 32]));
    let [burst, _] = burst_and_daily();
    limiter.set_policies(vec![burst.clone()], Moment::ZERO).unwrap();
    check(
        &limiter,
        &[
            (0, &[hit("a")], Outcome::Allowed, &[Some(1)]),
            (0, &[hit("b")], Outcome::Allowed, &[Some(1)]),
            (0, &[hit("c")], Outcome::Full, &[None]),
        ],
    );
    assert_eq!(limiter.sweep(limiter.shards(), ms(499)), 0);
    assert_eq!(limiter.sweep(limiter.shards(), ms(500)), 2);
    check(&limiter, &[(500, &[hit("c")], Outcome::Allowed, &[Some(1)])]);
    assert_eq!((limiter.budget().keys(), limiter.stats()[0].full_denied), (1, 1));
    limiter.set_policies(vec![], ms(500)).unwrap();
    assert_eq!(limiter.budget().keys(), 0);
}

#[test]
fn room_is_not_made_of_what_the_same_question_needs() {
    let [burst, _] = burst_and_daily();
    // Among so many keys some share a shard with the first.
    for other in (0..100).map(|number| format!("b{number}")) {
        let limiter = Limiter::new(Capacity { keys_max: 1, timestamps_max: 0 }, Seed::new([3; 32]));
        limiter.set_policies(vec![burst.clone()], Moment::ZERO).unwrap();
        check(&limiter, &[(0, &[hit("a")], Outcome::Allowed, &[Some(1)])]);
        let ruling = limiter.check(&[hit("a"), hit(&other)], ms(500));
        assert_eq!((ruling.outcome, limiter.budget().keys()), (Outcome::Full, 0), "{other}");
        check(&limiter, &[(500, &[hit(&other)], Outcome::Allowed, &[Some(1)])]);
        limiter.sweep(limiter.shards(), ms(2_000));
        assert_eq!((limiter.budget().keys(), limiter.stats()[0].keys), (0, 0), "{other}");
    }
}

#[test]
fn a_hit_may_bring_its_quota() {
    for algorithm in [Algorithm::Log, Algorithm::Gcra, Algorithm::Counter] {
        let limiter = limiter(&[policy("one", algorithm, quota(3, 60_000))]);
        let check_supplied = |supplied: Option<u64>| {
            let quotas = supplied.map(|limit| quota(limit, 60_000));
            let ruling = limiter.check_with(&[hit("a")], &[quotas], Moment::ZERO);
            match ruling.decisions[0].decision {
                Decision::Allow { remaining, .. } => Some((ruling.decisions[0].quota.limit(), remaining)),
                _ => None,
            }
        };
        let own = || limiter.stats()[0].supplied + limiter.stats()[0].overrides;
        // What was used stays used, whether the caller or the policy supplies the quota; a denial leaves no trace.
        assert_eq!((check_supplied(Some(5)), own()), (Some((5, 4)), 1));
        assert_eq!((check_supplied(Some(5)), own()), (Some((5, 3)), 1));
        assert_eq!((check_supplied(Some(2)), own()), (None, 1));
        assert_eq!((check_supplied(None), own()), (Some((3, 0)), 0));
        assert_eq!((check_supplied(Some(3)), own()), (None, 0));
        assert_eq!((check_supplied(Some(4)), own()), (Some((4, 0)), 1));
        assert_eq!(limiter.overrides("one"), Ok(vec![]));
        assert_eq!(limiter.remove_override("one", b"a", Moment::ZERO), Ok(false));
        // An override takes precedence.
        limiter.set_override("one", b"a", quota(10, 60_000), Moment::ZERO).unwrap();
        assert_eq!((check_supplied(Some(4)), own()), (Some((10, 5)), 1));
        assert_eq!(limiter.remove_override("one", b"a", Moment::ZERO), Ok(true));
        // GCRA forgot the two of five that were beyond the policy's three.
        let left = if algorithm == Algorithm::Gcra { 5 } else { 3 };
        assert_eq!((check_supplied(Some(9)), own()), (Some((9, left)), 1));
        assert_eq!(limiter.sweep(limiter.shards(), ms(1_000_000)), 1);
        assert_eq!((own(), limiter.budget().keys()), (0, 0), "{algorithm:?}");
    }
}

#[test]
fn a_longer_window_that_is_brought_is_not_swept_early() {
    for algorithm in [Algorithm::Log, Algorithm::Gcra, Algorithm::Counter] {
        let limiter = limiter(&[policy("one", algorithm, quota(3, 1_000))]);
        let week = |now_ms| limiter.check_with(&[hit("a")], &[Some(quota(1, 604_800_000))], ms(now_ms)).outcome;
        assert_eq!(week(0), Outcome::Allowed);
        assert_eq!(limiter.sweep(limiter.shards(), ms(90_000)), 0, "{algorithm:?}");
        assert!(matches!(week(90_001), Outcome::NotUntil(at) if at >= ms(604_800_000)), "{algorithm:?}");
    }
}

/// Supplied quotas have a budget of their own: as much as overrides, and neither can use up the other's.
#[test]
fn quotas_that_are_brought_need_room_too() {
    let limiter = Limiter::new(Capacity { keys_max: 2 * OVERRIDES_MAX, timestamps_max: 0 }, Seed::new([3; 32]));
    limiter.set_policies(vec![policy("one", Algorithm::Gcra, quota(3, 60_000))], Moment::ZERO).unwrap();
    let with = |key: &str, supplied| limiter.check_with(&[hit(key)], &[supplied], Moment::ZERO).outcome;
    let five = Some(quota(5, 60_000));
    for key in 0..OVERRIDES_MAX {
        assert_eq!(with(&key.to_string(), five), Outcome::Allowed);
    }
    assert_eq!(with("a", five), Outcome::Full);
    assert_eq!((limiter.budget().keys(), limiter.stats()[0].supplied), (OVERRIDES_MAX, OVERRIDES_MAX));
    assert_eq!(with("a", None), Outcome::Allowed);
    limiter.set_override("one", b"a", quota(9, 60_000), Moment::ZERO).unwrap();
    // One that is set in the place of one that was brought leaves its room to another.
    limiter.set_override("one", b"0", quota(9, 60_000), Moment::ZERO).unwrap();
    assert_eq!((limiter.stats()[0].supplied, limiter.stats()[0].overrides), (OVERRIDES_MAX - 1, 2));
    assert_eq!(with("b", five), Outcome::Allowed);
    assert_eq!(with("c", five), Outcome::Full);
    limiter.sweep(limiter.shards(), ms(1_000_000));
    assert_eq!((limiter.stats()[0].supplied, limiter.stats()[0].overrides), (0, 2));
}

/// A hit that finds no room takes nothing, also not for its neighbours, nor the room that they would have had.
#[test]
fn no_room_for_one_is_no_room_for_all() {
    let limiter = Limiter::new(Capacity { keys_max: 2, timestamps_max: 100 }, Seed::new([3; 32]));
    let [burst, _] = burst_and_daily();
    limiter.set_policies(vec![burst], Moment::ZERO).unwrap();
    check(
        &limiter,
        &[
            (0, &[hit("a")], Outcome::Allowed, &[Some(1)]),
            (400, &[hit("b")], Outcome::Allowed, &[Some(1)]),
            (400, &[hit("a"), hit("c")], Outcome::Full, &[Some(1), None]),
            (400, &[hit("c"), hit("d")], Outcome::Full, &[None, None]),
        ],
    );
    assert_eq!((limiter.budget().keys(), limiter.stats()[0].full_denied), (2, 3));
    // At 500 ms the first key is idle, and makes way for itself and another: there is room for one of the two.
    let ruling = limiter.check(&[hit("a"), hit("c")], ms(500));
    assert_eq!((ruling.outcome, limiter.budget().keys()), (Outcome::Full, 1));
    check(&limiter, &[(500, &[hit("a")], Outcome::Allowed, &[Some(1)])]);
    assert_eq!(limiter.budget().keys(), 2);
}

/// A policy that admits what it cannot count does so next to others that count.
#[test]
fn what_cannot_be_counted_is_admitted_if_the_policy_allows() {
    let limiter = Limiter::new(Capacity { keys_max: 100, timestamps_max: 2 }, Seed::new([3; 32]));
    let [burst, mut daily] = burst_and_daily();
    daily.when_full = WhenFull::Admit;
    limiter.set_policies(vec![burst, daily], Moment::ZERO).unwrap();
    check(
        &limiter,
        &[
            (0, &[hit("a")], Outcome::Allowed, &[Some(1), Some(2)]),
            (0, &[hit("a")], Outcome::Allowed, &[Some(0), Some(1)]),
            (0, &[hit("a")], Outcome::NotUntil(ms(500)), &[None, Some(2)]),
        ],
    );
    let [burst, daily] = &limiter.stats()[..] else { panic!("two policies") };
    // The first stamp lies with its key; the second needed room for the three that the limit can use.
    assert_eq!((burst.keys, burst.full_admitted, daily.keys, daily.full_admitted), (1, 0, 1, 1));
}

/// Timestamps that a log no longer needs are freed with its next unit.
#[test]
fn a_log_shrinks() {
    let limiter = limiter(&[policy("log", Algorithm::Log, quota(1_000, 1_000))]);
    let many = Hit { cost: 500, ..hit("a") };
    check(&limiter, &[(0, &[many], Outcome::Allowed, &[Some(500)])]);
    assert_eq!((limiter.budget().timestamps(), limiter.stats()[0].timestamps), (500, 500));
    check(&limiter, &[(1_000, &[hit("a")], Outcome::Allowed, &[Some(999)])]);
    assert!(limiter.budget().timestamps() <= 8, "{:?}", limiter.budget());
    assert_eq!(limiter.budget().timestamps(), limiter.stats()[0].timestamps);
}

/// As many overrides as may be; they move with their policy to another algorithm, and go with it.
#[test]
fn overrides_are_bounded() {
    let limiter =
        limiter(&[policy("one", Algorithm::Gcra, quota(3, 1_000)), policy("two", Algorithm::Log, quota(3, 1_000))]);
    let own = quota(9, 1_000);
    let set = |name: &str, key: usize| limiter.set_override(name, key.to_string().as_bytes(), own, Moment::ZERO);
    for key in 0..OVERRIDES_MAX {
        set("one", key).unwrap();
    }
    set("one", 0).unwrap();
    assert_eq!(set("two", 0), Err(OverrideError::TooMany(TooManyOverrides)));
    let counter = policy("one", Algorithm::Counter, quota(3, 1_000));
    limiter.set_policies(vec![counter, policy("two", Algorithm::Log, quota(3, 1_000))], Moment::ZERO).unwrap();
    assert_eq!(limiter.stats()[0].overrides, OVERRIDES_MAX);
    check(&limiter, &[(0, &[hit("77")], Outcome::Allowed, &[Some(8), Some(2)])]);
    assert_eq!(set("two", 0), Err(OverrideError::TooMany(TooManyOverrides)));
    assert_eq!(limiter.remove_override("one", b"5", Moment::ZERO), Ok(true));
    set("two", 0).unwrap();
    assert_eq!(limiter.overrides("two").unwrap(), [Override { key: (*b"0").into(), quota: own }]);
    limiter.set_policies(vec![policy("two", Algorithm::Log, quota(3, 1_000))], Moment::ZERO).unwrap();
    set("two", 1).unwrap();
}

/// The same set again, with another quota and another rule for what cannot be counted.
#[test]
fn a_set_may_change_what_happens_when_full() {
    let limiter = Limiter::new(Capacity { keys_max: 1, timestamps_max: 0 }, Seed::new([3; 32]));
    let mut one = policy("one", Algorithm::Gcra, quota(1, 1_000));
    limiter.set_policies(vec![one.clone()], Moment::ZERO).unwrap();
    check(&limiter, &[(0, &[hit("a")], Outcome::Allowed, &[Some(0)]), (0, &[hit("b")], Outcome::Full, &[None])]);
    one.when_full = WhenFull::Admit;
    limiter.set_policies(vec![one], Moment::ZERO).unwrap();
    check(
        &limiter,
        &[(0, &[hit("b")], Outcome::Allowed, &[Some(0)]), (0, &[hit("a")], Outcome::NotUntil(ms(1_000)), &[None])],
    );
}
