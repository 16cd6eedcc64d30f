//! When: denied strictly before `at` and allowed exactly at it, what remains, and that a denial costs nothing.

use limiter::{Decision, Quota, State};
use proptest::prelude::*;

use crate::for_each_algorithm;
use crate::support::{Call, calls, earlier, later, lived, moments, quotas, remaining};

fn at_and_not_before<S: State>(quota: Quota, calls: &[Call], cost: u64) -> Result<(), TestCaseError> {
    let (state, now) = lived::<S>(quota, calls);
    let decide_at = |at| state.clone().decide(at, quota, cost);
    let Decision::NotUntil { at } = decide_at(now) else { return Ok(()) };
    prop_assert!(at > now);
    prop_assert!(decide_at(at).is_allowed(), "{:?}", decide_at(at));
    for after in [1, quota.window_ns(), 3 * quota.window_ns()] {
        prop_assert!(decide_at(later(at, after)).is_allowed());
    }
    for before in 1..=(at.0 - now.0) {
        prop_assert_eq!(decide_at(earlier(at, before)), Decision::NotUntil { at });
    }
    Ok(())
}

fn remaining_is_what_may_be_taken<S: State>(quota: Quota, calls: &[Call]) -> Result<(), TestCaseError> {
    let (mut state, now) = lived::<S>(quota, calls);
    let left = remaining(state.decide(now, quota, 0)).unwrap();
    prop_assert_eq!(remaining(state.clone().decide(now, quota, left)), Some(0));
    prop_assert!(!state.decide(now, quota, left + 1).is_allowed());
    Ok(())
}

fn whole_is_as_good_as_new<S: State>(quota: Quota, calls: &[Call]) -> Result<(), TestCaseError> {
    let (mut state, now) = lived::<S>(quota, calls);
    let Decision::Allow { whole_at, .. } = state.decide(now, quota, 0) else { panic!("a look is allowed") };
    prop_assert!(state.is_idle(whole_at, quota) && whole_at >= now);
    prop_assert_eq!(remaining(state.clone().decide(whole_at, quota, 0)), Some(quota.limit()));
    if whole_at > now {
        prop_assert!(!state.is_idle(earlier(whole_at, 1), quota));
        prop_assert!(remaining(state.decide(earlier(whole_at, 1), quota, 0)) < Some(quota.limit()));
    }
    Ok(())
}

/// Everything after them gets the same decisions, whether the denied calls and the looks were made or not.
fn denials_cost_nothing<S: State>(quota: Quota, calls: &[Call]) -> Result<(), TestCaseError> {
    let (mut all, mut allowed_only) = (S::default(), S::default());
    for (now, cost) in moments(calls) {
        let decision = limiter::decide(&mut all, now, quota, cost);
        if decision.is_allowed() && cost > 0 {
            prop_assert_eq!(limiter::decide(&mut allowed_only, now, quota, cost), decision);
        }
    }
    Ok(())
}

/// Taking in one step is looking and taking.
fn take_is_decide<S: State>(quota: Quota, calls: &[Call]) -> Result<(), TestCaseError> {
    let (mut one, mut other) = (S::default(), S::default());
    for (now, cost) in moments(calls) {
        let decision = limiter::decide(&mut one, now, quota, cost);
        match other.decide_and_charge(now, quota, cost) {
            Some(taken) => prop_assert_eq!(taken, decision),
            None => {
                prop_assert!(other.timestamps_needed(quota, cost) > 0);
                other.charge(now, quota, cost);
            }
        }
    }
    Ok(())
}

/// No more memory than was reserved beforehand; it grows by an eighth, or four timestamps, and never beyond the limit.
/// A single timestamp needs none: it moves with the first that joins it.
fn memory_is_as_said<S: State>(quota: Quota, calls: &[Call]) -> Result<(), TestCaseError> {
    let mut state = S::default();
    for (now, cost) in moments(calls) {
        if state.decide(now, quota, cost).is_allowed() && cost > 0 {
            let (before, wanted) = (state.timestamps_held(), state.timestamps_needed(quota, cost));
            state.charge(now, quota, cost);
            prop_assert!(state.timestamps_held() <= before + wanted);
            prop_assert!(wanted as u64 <= (cost + 1).max(4).max(before as u64 / 8), "{wanted} more than {before}");
            prop_assert!(state.timestamps_held() <= quota.limit() as usize, "{} timestamps", state.timestamps_held());
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn denied_before_and_allowed_at(quota in quotas(), calls in calls(), cost in 1_u64..=12) {
        for_each_algorithm!(at_and_not_before(quota, &calls, cost));
    }

    #[test]
    fn what_remains_may_be_taken(quota in quotas(), calls in calls()) {
        for_each_algorithm!(remaining_is_what_may_be_taken(quota, &calls));
    }

    #[test]
    fn whole_means_new(quota in quotas(), calls in calls()) {
        for_each_algorithm!(whole_is_as_good_as_new(quota, &calls));
    }

    #[test]
    fn a_denial_costs_nothing(quota in quotas(), calls in calls()) {
        for_each_algorithm!(denials_cost_nothing(quota, &calls));
    }

    #[test]
    fn both_ways_of_taking_agree(quota in quotas(), calls in calls()) {
        for_each_algorithm!(take_is_decide(quota, &calls));
    }

    #[test]
    fn memory_stays_within_the_limit(quota in quotas(), calls in calls()) {
        for_each_algorithm!(memory_is_as_said(quota, &calls));
    }
}
