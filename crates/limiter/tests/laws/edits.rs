//! An edit keeps what was used: up, down, back again, for all keys and for one.

use limiter::{Counter, Decision, Gcra, Keyed, Log, Quota, State};
use proptest::prelude::*;

use crate::for_each_algorithm;
use crate::support::{Call, calls, keyed, later, lived, moments, quota, quotas, remaining};

fn used<S: State>(state: &S, now: limiter::Moment, quota: Quota) -> u64 {
    quota.limit() - remaining(state.clone().decide(now, quota, 0)).unwrap()
}

/// Another limit in the same window: the same units are used, or all there are where the limit is lower than that. GCRA rounds
/// fractions of a unit up, by a nanosecond at most.
fn used_units_stay<S: State>(old: Quota, limit: u64, calls: &[Call]) -> Result<(), TestCaseError> {
    let new = quota(limit, old.window_ns());
    let (mut state, now) = lived::<S>(old, calls);
    let before = used(&state, now, old);
    state.change_quota(now, old, new);
    let after = used(&state, now, new);
    prop_assert!(
        after >= before.min(limit) && after <= (before + 1).min(limit),
        "{before} used, then {after} of {limit}"
    );
    Ok(())
}

/// A key that has used more than a lower limit waits for one unit no longer than that limit's own past can reach: one
/// window, and two for a counter's two buckets.
fn check_lower_limit_locks_no_key_out<S: State>(old: Quota, limit: u64, calls: &[Call]) -> Result<(), TestCaseError> {
    let new = quota(limit.min(old.limit()), old.window_ns());
    let (mut state, now) = lived::<S>(old, calls);
    state.change_quota(now, old, new);
    if let Decision::NotUntil { at } = state.decide(now, new, 1) {
        prop_assert!(at.0 - now.0 <= 2 * new.window_ns(), "{} ns of windows of {} ns", at.0 - now.0, new.window_ns());
    }
    Ok(())
}

/// There and back at one moment gives nothing back, unless there was less than what is used.
fn there_and_back<S: State>(old: Quota, other: Quota, calls: &[Call]) -> Result<(), TestCaseError> {
    let (mut state, now) = lived::<S>(old, calls);
    let before = remaining(state.decide(now, old, 0)).unwrap();
    if other.limit() <= used(&state, now, old) {
        return Ok(());
    }
    state.change_quota(now, old, other);
    // Under a shorter window, timestamps of a log that have expired there are gone; there is no call between.
    state.change_quota(now, other, old);
    prop_assert!(remaining(state.decide(now, old, 0)).unwrap() <= before || other.window_ns() < old.window_ns());
    Ok(())
}

/// An edit to the same quota, however often, changes nothing: no key is kept from becoming whole.
fn the_same_is_no_edit<S: State>(quota: Quota, calls: &[Call]) -> Result<(), TestCaseError> {
    let (edited, plain) = (keyed::<S>(quota), keyed::<S>(quota));
    for (now, cost) in moments(calls) {
        edited.set_quota(quota, now);
        prop_assert_eq!(edited.check(b"key", cost, now), plain.check(b"key", cost, now));
    }
    Ok(())
}

/// A key of its own quota is as a key of a policy that has this quota for all, through every edit of both.
fn overrides_are_quotas<S: State>(quotas: &[Quota], calls: &[(Call, usize)]) -> Result<(), TestCaseError> {
    let (one, all) = (keyed::<S>(quotas[0]), keyed::<S>(quotas[0]));
    for ((now, cost), (_, edit)) in
        moments(&calls.iter().map(|(call, _)| *call).collect::<Vec<_>>()).into_iter().zip(calls)
    {
        match quotas.get(*edit) {
            Some(quota) if *edit > 0 => {
                one.set_override(b"key", *quota, now).unwrap();
                all.set_quota(*quota, now);
            }
            Some(_) => {
                one.remove_override(b"key", now);
                all.set_quota(quotas[0], now);
            }
            None => {}
        }
        prop_assert_eq!(one.quota_of(b"key"), all.quota_of(b"key"));
        prop_assert_eq!(one.quota_of(b"other"), quotas[0]);
        prop_assert_eq!(one.check(b"key", cost, now), all.check(b"key", cost, now));
    }
    Ok(())
}

/// What happens to the quota of all is nothing to a key that has its own.
fn overrides_are_left_alone<S: State>(quotas: &[Quota], calls: &[(Call, usize)]) -> Result<(), TestCaseError> {
    let (own, plain) = (keyed::<S>(quotas[0]), keyed::<S>(quotas[1]));
    own.set_override(b"key", quotas[1], limiter::Moment::ZERO).unwrap();
    let only: Vec<Call> = calls.iter().map(|(call, _)| *call).collect();
    for ((now, cost), (_, edit)) in moments(&only).into_iter().zip(calls) {
        if let Some(quota) = quotas.get(*edit) {
            own.set_quota(*quota, now);
        }
        prop_assert_eq!(own.check(b"key", cost, now), plain.check(b"key", cost, now));
    }
    Ok(())
}

/// Units that were admitted while quotas changed: when, how many.
fn admitted<S: State>(quotas: &[Quota], calls: &[(Call, usize)]) -> Vec<(u64, u64)> {
    let keyed: Keyed<S> = keyed(quotas[0]);
    let only: Vec<Call> = calls.iter().map(|(call, _)| *call).collect();
    let mut admitted = Vec::new();
    for ((now, cost), (_, edit)) in moments(&only).into_iter().zip(calls) {
        if let Some(quota) = quotas.get(*edit) {
            keyed.set_quota(*quota, now);
        }
        if keyed.check(b"key", cost, now).is_allowed() {
            admitted.push((now.0, cost));
        }
    }
    admitted
}

fn edited_calls() -> impl Strategy<Value = Vec<(Call, usize)>> {
    prop::collection::vec(((0_u64..30, 0_u64..=13), 0_usize..9), 1..80)
}

proptest! {
    #[test]
    fn units_stay_used(old in quotas(), limit in 1_u64..=12, calls in calls()) {
        for_each_algorithm!(used_units_stay(old, limit, &calls));
    }

    #[test]
    fn back_again_gives_nothing(old in quotas(), other in quotas(), calls in calls()) {
        for_each_algorithm!(there_and_back(old, other, &calls));
    }

    #[test]
    fn lowering_locks_no_key_out(old in quotas(), limit in 1_u64..=12, calls in calls()) {
        for_each_algorithm!(check_lower_limit_locks_no_key_out(old, limit, &calls));
    }

    #[test]
    fn no_edit_changes_nothing(quota in quotas(), calls in calls()) {
        for_each_algorithm!(the_same_is_no_edit(quota, &calls));
    }

    #[test]
    fn an_override_is_a_quota(quotas in prop::collection::vec(quotas(), 3), calls in edited_calls()) {
        for_each_algorithm!(overrides_are_quotas(&quotas, &calls));
    }

    #[test]
    fn an_override_is_left_alone(quotas in prop::collection::vec(quotas(), 3), calls in edited_calls()) {
        for_each_algorithm!(overrides_are_left_alone(&quotas, &calls));
    }

    /// No sequence of edits admits more than the largest burst and the fastest rate of all quotas that were in force, and what
    /// was beyond a limit when it was lowered.
    #[test]
    fn gcra_stays_within_the_largest_of_its_quotas(quotas in prop::collection::vec(quotas(), 3), calls in edited_calls()) {
        let burst = quotas.iter().map(Quota::limit).max().unwrap();
        let interval_ns = quotas.iter().map(|quota| quota.window_ns().div_ceil(quota.limit())).min().unwrap();
        // What a lowering forgets is less than a burst.
        let edits: Vec<u64> = calls.iter().filter_map(|(_, edit)| quotas.get(*edit)).map(Quota::limit).collect();
        let lowerings = std::iter::once(&quotas[0].limit()).chain(&edits).zip(&edits).filter(|(from, to)| to < from).count();
        let burst = burst * (1 + lowerings as u64);
        let admitted = admitted::<Gcra>(&quotas, &calls);
        for first in 0..admitted.len() {
            let mut units = 0;
            for (at, cost) in &admitted[first..] {
                units += cost;
                prop_assert!(units * interval_ns <= burst * interval_ns + (at - admitted[first].0));
            }
        }
    }

    /// No sequence of edits admits more than the largest limit in any window of the shortest.
    #[test]
    fn log_stays_within_the_largest_of_its_quotas(quotas in prop::collection::vec(quotas(), 3), calls in edited_calls()) {
        let limit = quotas.iter().map(Quota::limit).max().unwrap();
        let window_ns = quotas.iter().map(Quota::window_ns).min().unwrap();
        let admitted = admitted::<Log>(&quotas, &calls);
        for (end, _) in &admitted {
            let inside = admitted.iter().filter(|(at, _)| at + window_ns > *end && at <= end);
            prop_assert!(inside.map(|(_, cost)| cost).sum::<u64>() <= limit);
        }
    }

    /// With limits that change in one window, never more than twice the largest.
    #[test]
    fn counter_stays_within_twice_the_largest(limits in prop::collection::vec(1_u64..=12, 3), calls in edited_calls()) {
        let quotas: Vec<Quota> = limits.iter().map(|limit| quota(*limit, 50)).collect();
        let admitted = admitted::<Counter>(&quotas, &calls);
        for (end, _) in &admitted {
            let inside = admitted.iter().filter(|(at, _)| at + 50 > *end && at <= end);
            prop_assert!(inside.map(|(_, cost)| cost).sum::<u64>() <= 2 * limits.iter().max().unwrap());
        }
    }
}

/// A lowered limit below what is used: the moment in the decision is exact.
#[test]
fn a_lowered_limit_gives_exact_moments() {
    fn check<S: State>(expected_ns: u64) {
        let keyed = keyed::<S>(quota(10, 1_000));
        let now = later(limiter::Moment::ZERO, 10_000);
        for call in 0..10 {
            assert!(keyed.check(b"key", 1, later(now, call)).is_allowed());
        }
        let now = later(now, 10);
        keyed.set_quota(quota(3, 1_000), now);
        let Decision::NotUntil { at } = keyed.check(b"key", 1, now) else { panic!("all is used") };
        assert_eq!(at, limiter::Moment(expected_ns));
        assert!(!keyed.check(b"key", 1, limiter::Moment(at.0 - 1)).is_allowed());
        assert!(keyed.check(b"key", 1, at).is_allowed());
    }
    // The eighth of the ten timestamps must have expired, not the first.
    check::<Log>(11_007);
    // 9.9 units are used: all 3 that there are now, and they come back every 334 ns.
    check::<Gcra>(10_344);
    // 10 units of the bucket before must weigh 2: after 800 ns of the next bucket.
    check::<Counter>(11_800);
}
