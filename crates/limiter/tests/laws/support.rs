//! Histories, and helpers of the properties.

use std::sync::Arc;
use std::time::Duration;

use limiter::{Budget, Capacity, Decision, Keyed, Moment, Quota, Seed, State, WhenFull};
use proptest::prelude::*;

/// A call: so much later than the one before, for so many units.
pub(crate) type Call = (u64, u64);

pub(crate) fn quota(limit: u64, window_ns: u64) -> Quota {
    Quota::new(limit, Duration::from_nanos(window_ns)).unwrap()
}

/// Limits and windows of a size at which edges are met often; windows that are no multiple of the limit.
pub(crate) fn quotas() -> impl Strategy<Value = Quota> {
    (1_u64..=12, 1_u64..=200).prop_map(|(limit, window_ns)| quota(limit, window_ns))
}

/// Calls in bursts, with pauses of up to more than two windows of [`quotas`].
pub(crate) fn calls() -> impl Strategy<Value = Vec<Call>> {
    let gap = prop_oneof![4 => Just(0), 8 => 0_u64..20, 2 => 0_u64..450];
    prop::collection::vec((gap, 0_u64..=13), 1..80)
}

/// The moments of calls, beginning at 1 s.
pub(crate) fn moments(calls: &[Call]) -> Vec<(Moment, u64)> {
    let mut now = 1_000_000_000;
    calls
        .iter()
        .map(|(gap, cost)| {
            now += gap;
            (Moment(now), *cost)
        })
        .collect()
}

/// A state with a past, and the moment of its last call.
pub(crate) fn lived<S: State>(quota: Quota, calls: &[Call]) -> (S, Moment) {
    let mut state = S::default();
    let mut last = Moment::ZERO;
    for (now, cost) in moments(calls) {
        limiter::decide(&mut state, now, quota, cost);
        last = now;
    }
    (state, last)
}

pub(crate) fn later(moment: Moment, ns: u64) -> Moment {
    Moment(moment.0 + ns)
}

pub(crate) fn earlier(moment: Moment, ns: u64) -> Moment {
    Moment(moment.0 - ns)
}

pub(crate) fn remaining(decision: Decision) -> Option<u64> {
    match decision {
        Decision::Allow { remaining, .. } => Some(remaining),
        _ => None,
    }
}

/// Many keys with room for all of them.
pub(crate) fn keyed<S: State>(quota: Quota) -> Keyed<S> {
    let room = Arc::new(Budget::new(Capacity { keys_max: 1_000_000, timestamps_max: 10_000_000 }));
    keyed_in(quota, room, WhenFull::Deny)
}

pub(crate) fn keyed_in<S: State>(quota: Quota, room: Arc<Budget>, when_full: WhenFull) -> Keyed<S> {
    Keyed::new(quota, room, when_full, Seed::new(*b"a seed that is the same each run"))
}

/// States the law for each algorithm.
#[macro_export]
macro_rules! for_each_algorithm {
    ($law:ident($($argument:expr),*)) => {
        $law::<limiter::Log>($($argument),*)?;
        $law::<limiter::Gcra>($($argument),*)?;
        $law::<limiter::Counter>($($argument),*)?;
    };
}
