//! A clock that goes back neither delays nor favours any caller.

use limiter::{Decision, Gcra, Keyed, Log, Moment, State};
use proptest::prelude::*;

use crate::for_each_algorithm;
use crate::support::{keyed, later, quota, quotas};

const SECOND_NS: u64 = 1_000_000_000;

/// Threads that were slow between reading the clock and calling, however slow: as if they had come with the latest
/// moment of any call.
fn stragglers_are_now<S: State>(quota: limiter::Quota, calls: &[(u64, u64, Option<u64>)]) -> Result<(), TestCaseError> {
    let (straggling, punctual) = (keyed::<S>(quota), keyed::<S>(quota));
    let (mut now, mut latest) = (Moment(1_000_000_000_000), Moment::ZERO);
    let mut was_late = false;
    for (gap, cost, late) in calls {
        now = later(now, *gap);
        // One after another only: two in a row that far behind are what a clock that was set back looks like.
        let behind = late.filter(|_| !was_late).unwrap_or(0);
        was_late = behind > 0;
        let read = Moment(now.0 - behind);
        latest = latest.max(read);
        let decision = straggling.check(b"key", *cost, read);
        let expected = punctual.check(b"key", *cost, latest);
        prop_assert_eq!(decision.is_allowed(), expected.is_allowed());
        if read == latest {
            prop_assert_eq!(decision, expected);
        }
    }
    Ok(())
}

/// Whatever the clock does, a wait is never longer than it would be if the clock had stood still.
fn waits_stay_bounded<S: State>(quota: limiter::Quota, nows: &[(u64, u64)]) -> Result<(), TestCaseError> {
    let keyed = keyed::<S>(quota);
    for (now, cost) in nows {
        if let Decision::NotUntil { at } = keyed.check(b"key", *cost, Moment(*now)) {
            // Late by up to a second, and then a window (two for the counter, whose buckets are weighed for so long).
            prop_assert!(at.0 <= now + SECOND_NS + 2 * quota.window_ns(), "{now}: {at:?}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_slow_call_counts_as_now(
        quota in quotas(),
        calls in prop::collection::vec((0_u64..100, 0_u64..5, prop::option::weighted(0.3, 1_u64..100 * SECOND_NS)), 1..60),
    ) {
        for_each_algorithm!(stragglers_are_now(quota, &calls));
    }

    #[test]
    fn no_clock_makes_callers_wait(
        quota in quotas(),
        nows in prop::collection::vec((0_u64..20 * SECOND_NS, 1_u64..5), 1..60),
    ) {
        for_each_algorithm!(waits_stay_bounded(quota, &nows));
    }
}

/// A clock that is set back by an hour: the wait that is left is the wait that was left.
#[test]
fn a_clock_that_was_set_back_goes_on_from_where_it_stood() {
    fn check<S: State>(keyed: &Keyed<S>) {
        let hour = 3_600 * SECOND_NS;
        let began = Moment(2 * hour);
        assert!(keyed.check(b"key", 1, began).is_allowed());
        let wait_at = |now: Moment| match keyed.check(b"key", 1, now) {
            Decision::NotUntil { at } => Some(at.0 - now.0),
            _ => None,
        };
        // 7 s of 10 are left when the clock is set back by an hour.
        assert_eq!(wait_at(later(began, 3 * SECOND_NS)), Some(7 * SECOND_NS));
        let back = Moment(began.0 + 3 * SECOND_NS - hour);
        assert_eq!(wait_at(back), Some(7 * SECOND_NS), "the first call may be a straggler");
        assert_eq!(wait_at(later(back, 2 * SECOND_NS)), Some(5 * SECOND_NS), "now it is certain");
        assert_eq!(wait_at(later(back, 7 * SECOND_NS - 1)), Some(1));
        assert_eq!(wait_at(later(back, 7 * SECOND_NS)), None);
    }
    check(&keyed::<Log>(quota(1, 10 * SECOND_NS)));
    check(&keyed::<Gcra>(quota(1, 10 * SECOND_NS)));
}

/// A process that was stopped for a minute: a call with a clock reading from before does not move the clock.
#[test]
fn one_that_slept_does_not_open_the_gate() {
    let keyed = keyed::<Log>(quota(2, 10 * SECOND_NS));
    let at = |s: u64| Moment(s * SECOND_NS);
    assert!(keyed.check(b"key", 1, at(160)).is_allowed());
    assert!(keyed.check(b"key", 1, at(100)).is_allowed());
    assert_eq!(keyed.check(b"key", 1, at(161)), Decision::NotUntil { at: at(170) });
    assert!(!keyed.check(b"key", 1, at(100)).is_allowed());
    assert_eq!(keyed.check(b"key", 1, at(169)), Decision::NotUntil { at: at(170) });
    assert!(keyed.check(b"key", 2, at(170)).is_allowed());
}
