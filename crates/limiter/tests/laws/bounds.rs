//! Never more than the definition allows, compared with the whole history of what was admitted.

use limiter::{Counter, Decision, Gcra, Log, Moment, Quota, State};
use proptest::prelude::*;

use crate::support::{Call, calls, moments, quotas};

/// What was admitted: when, and how many units.
type Admitted = Vec<(Moment, u64)>;

/// Plays the calls; `expects` tells from the history alone whether a call is to be admitted.
fn play<S: State>(
    quota: Quota,
    calls: &[Call],
    expects: impl Fn(&Admitted, Moment, u64) -> bool,
) -> Result<Admitted, TestCaseError> {
    let (mut state, mut admitted) = (S::default(), Admitted::new());
    for (now, cost) in moments(calls) {
        let decision = limiter::decide(&mut state, now, quota, cost);
        let expected = cost == 0 || (cost <= quota.limit() && expects(&admitted, now, cost));
        prop_assert_eq!(decision.is_allowed(), expected, "{} at {:?}: {:?}", cost, now, decision);
        prop_assert_eq!(decision == Decision::Never, cost > quota.limit());
        if decision.is_allowed() && cost > 0 {
            admitted.push((now, cost));
        }
    }
    Ok(admitted)
}

/// Units in (t - W, t].
fn in_window(admitted: &Admitted, end: Moment, window_ns: u64) -> u64 {
    let begin = end.0.saturating_sub(window_ns);
    admitted.iter().filter(|(at, _)| at.0 > begin && *at <= end).map(|(_, cost)| cost).sum()
}

/// Every run of admitted calls: its units and the span from its first to its last.
fn runs(admitted: &Admitted) -> impl Iterator<Item = (u64, u64)> {
    (0..admitted.len()).flat_map(move |first| {
        let mut units = 0;
        admitted[first..].iter().map(move |(at, cost)| {
            units += cost;
            (units, at.0 - admitted[first].0.0)
        })
    })
}

/// The units that GCRA holds as used, times T: they drain one nanosecond a nanosecond.
fn level(admitted: &Admitted, now: Moment, interval_ns: u64) -> u64 {
    let drained = |(level, last): (u64, u64), at: Moment| level.saturating_sub(at.0 - last);
    let after = admitted.iter().fold((0, 0), |seen, (at, cost)| (drained(seen, *at) + cost * interval_ns, at.0));
    drained(after, now)
}

/// What the counter sees, from the history alone: when its bucket began, and the units of that one and the one before.
fn buckets(admitted: &Admitted, now: Moment, window_ns: u64) -> (u64, u64, u64) {
    let roll = |(began, previous, current): (u64, u64, u64), now: u64| match (now - began) / window_ns {
        0 => (began, previous, current),
        1 => (began + window_ns, current, 0),
        _ => (now, 0, 0),
    };
    // A bucket begins with the first unit that is taken where none is used.
    let anchored = |seen: (u64, u64, u64), now: u64| if seen.1 + seen.2 == 0 { (now, 0, 0) } else { seen };
    let fold = |seen, (at, cost): &(Moment, u64)| {
        let (began, previous, current) = anchored(roll(seen, at.0), at.0);
        (began, previous, current + cost)
    };
    anchored(roll(admitted.iter().fold((0, 0, 0), fold), now.0), now.0)
}

proptest! {
    #[test]
    fn log_admits_what_fits_into_the_window_and_nothing_else(quota in quotas(), calls in calls()) {
        let fits = |admitted: &Admitted, now, cost| in_window(admitted, now, quota.window_ns()) + cost <= quota.limit();
        let admitted = play::<Log>(quota, &calls, fits)?;
        for (end, _) in &admitted {
            prop_assert!(in_window(&admitted, *end, quota.window_ns()) <= quota.limit());
        }
    }

    #[test]
    fn gcra_admits_at_most_the_burst_and_the_rate(quota in quotas(), calls in calls()) {
        let interval_ns = quota.window_ns().div_ceil(quota.limit());
        let fits = |admitted: &Admitted, now, cost: u64| {
            level(admitted, now, interval_ns) + cost * interval_ns <= quota.limit() * interval_ns
        };
        let admitted = play::<Gcra>(quota, &calls, fits)?;
        for (units, span_ns) in runs(&admitted) {
            // units <= L + L * d / W
            prop_assert!(units * quota.window_ns() <= quota.limit() * (quota.window_ns() + span_ns));
        }
    }

    #[test]
    fn counter_admits_at_most_twice_the_limit(quota in quotas(), calls in calls()) {
        let window_ns = quota.window_ns();
        let fits = |admitted: &Admitted, now: Moment, cost: u64| {
            let (began, previous, current) = buckets(admitted, now, window_ns);
            previous * (window_ns - (now.0 - began)) + (current + cost) * window_ns <= quota.limit() * window_ns
        };
        let admitted = play::<Counter>(quota, &calls, fits)?;
        for (end, _) in &admitted {
            prop_assert!(in_window(&admitted, *end, window_ns) <= 2 * quota.limit());
        }
    }

    /// The largest and the smallest quotas that there are: sums do not wrap.
    #[test]
    fn sums_do_not_wrap(
        limit in prop_oneof![1..=3_u64, (u64::MAX / 4 - 2)..=u64::MAX],
        window_ns in prop_oneof![1..=3_u64, (u64::MAX / 4 - 2)..=u64::MAX],
        gaps in prop::collection::vec(prop_oneof![0..3_u64, 0..u64::MAX / 64], 1..20),
    ) {
        let quota = crate::support::quota(limit, window_ns);
        let calls: Vec<Call> = gaps.iter().map(|gap| (*gap, quota.limit())).collect();
        let spaced = |admitted: &Admitted, now: Moment, _| admitted.last().is_none_or(|(last, _)| {
            u128::from(now.0 - last.0) >= u128::from(quota.window_ns()).div_ceil(u128::from(quota.limit())) * u128::from(quota.limit())
        });
        play::<Gcra>(quota, &calls, spaced)?;
        let (mut state, mut admitted) = (Counter::default(), Admitted::new());
        for (now, cost) in moments(&calls) {
            if limiter::decide(&mut state, now, quota, cost).is_allowed() {
                admitted.push((now, cost));
            }
        }
        for pair in admitted.windows(3) {
            prop_assert!(pair[2].0.0 - pair[0].0.0 >= quota.window_ns());
        }
    }
}

/// The bound of the counter is no worse than it must be: this comes as near to 2 L as whole units allow.
#[test]
fn counter_comes_near_to_twice_the_limit() {
    let quota = crate::support::quota(100, 1_000);
    let mut state = Counter::default();
    let mut taken = 0;
    assert!(limiter::decide(&mut state, Moment(5_000), quota, 1).is_allowed());
    assert!(limiter::decide(&mut state, Moment(5_999), quota, 99).is_allowed());
    for now in 6_000..6_999 {
        taken += u64::from(limiter::decide(&mut state, Moment(now), quota, 1).is_allowed());
    }
    assert_eq!(99 + taken, 198, "units in (5998, 6998]");
}
