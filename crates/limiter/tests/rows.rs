//! What each algorithm decides, call by call.

use std::time::Duration;

use limiter::Decision::{Allow, Never, NotUntil};
use limiter::{Counter, Decision, Gcra, Log, Moment, Quota, QuotaError, State, decide};

fn ms(ms: u64) -> Moment {
    Moment::after(Duration::from_millis(ms))
}

fn quota(limit: u64, window_ms: u64) -> Quota {
    Quota::new(limit, Duration::from_millis(window_ms)).expect("a limit and a window")
}

fn allow(remaining: u64, whole_at_ms: u64) -> Decision {
    Allow { remaining, whole_at: ms(whole_at_ms) }
}

fn not_until(at_ms: u64) -> Decision {
    NotUntil { at: ms(at_ms) }
}

/// Calls of one key, (moment in ms, cost, decision), under one quota.
#[track_caller]
fn check<S: State>(quota: Quota, calls: &[(u64, u64, Decision)]) {
    let mut state = S::default();
    for (now_ms, cost, expected) in calls {
        assert_eq!(decide(&mut state, ms(*now_ms), quota, *cost), *expected, "{cost} at {now_ms} ms");
    }
}

#[test]
fn log_is_exact() {
    check::<Log>(
        quota(3, 1_000),
        &[
            (5_000, 1, allow(2, 6_000)),
            (5_400, 1, allow(1, 6_400)),
            (5_400, 4, Never),
            (5_400, 2, not_until(6_000)),
            (5_400, 3, not_until(6_400)),
            (5_500, 1, allow(0, 6_500)),
            (5_999, 1, not_until(6_000)),
            (5_999, 0, allow(0, 6_500)),
            (6_000, 1, allow(0, 7_000)),
            (6_000, 1, not_until(6_400)),
            (7_000, 3, allow(0, 8_000)),
        ],
    );
}

#[test]
fn gcra_gives_units_back_evenly() {
    check::<Gcra>(
        quota(4, 1_000),
        &[
            (5_000, 3, allow(1, 5_750)),
            (5_000, 2, not_until(5_250)),
            (5_000, 1, allow(0, 6_000)),
            (5_249, 1, not_until(5_250)),
            (5_250, 1, allow(0, 6_250)),
            (5_250, 4, not_until(6_250)),
            (5_250, 5, Never),
            (5_500, 0, allow(1, 6_250)),
            (6_249, 4, not_until(6_250)),
            (6_250, 4, allow(0, 7_250)),
        ],
    );
}

#[test]
fn counter_weighs_the_bucket_before() {
    check::<Counter>(
        quota(4, 1_000),
        &[
            (5_000, 4, allow(0, 7_000)),
            (5_500, 1, not_until(6_250)),
            (5_500, 4, not_until(7_000)),
            (5_500, 5, Never),
            (6_249, 1, not_until(6_250)),
            (6_250, 1, allow(0, 8_000)),
            (6_500, 1, allow(0, 8_000)),
            (6_500, 3, not_until(7_500)),
            (6_750, 0, allow(1, 8_000)),
            (9_000, 4, allow(0, 11_000)),
        ],
    );
}

#[test]
fn empty_quotas_are_refused() {
    assert_eq!(Quota::new(0, Duration::from_secs(1)), Err(QuotaError::LimitIsZero));
    assert_eq!(Quota::new(1, Duration::ZERO), Err(QuotaError::WindowIsZero));
    assert_eq!(Quota::new(u64::MAX, Duration::MAX).unwrap().limit(), limiter::limits::LIMIT_MAX);
    assert_eq!(Quota::new(1, Duration::MAX).unwrap().window_ns(), limiter::limits::WINDOW_NS_MAX);
}
