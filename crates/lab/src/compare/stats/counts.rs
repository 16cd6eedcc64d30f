//! Events of one run per side: the exact conditional test of two rates. Given the total number of events, their split
//! between the two sides is binomial if the rates are the same. Does not know when they happened: events that come in
//! bursts belong to `resampling`.

use statrs::distribution::{Beta, Binomial, ContinuousCDF as _, DiscreteCDF as _};

use super::{ComparisonScale, EffectSize, UndecidedReason};

/// Events, and their exposure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EventCount {
    pub(crate) events: u64,
    /// The number of opportunities for an event; or a length of time.
    pub(crate) exposure: f64,
}

/// The probability of such an uneven split, or one as unlikely on the other side, if the rates are the same.
pub(super) fn p_value(before: EventCount, after: EventCount) -> Result<f64, UndecidedReason> {
    let (all, share) = (before.events + after.events, expected_share(before, after)?);
    let binomial = Binomial::new(share, all).map_err(|_| UndecidedReason::Missing)?;
    let below = binomial.cdf(after.events);
    let above = if after.events == 0 { 1.0 } else { binomial.sf(after.events - 1) };
    Ok((2.0 * below.min(above)).min(1.0))
}

/// The minimum probability that any split of the events could have. If that is not significant, nothing is tested.
pub(super) fn min_p_value(before: EventCount, after: EventCount) -> Result<f64, UndecidedReason> {
    let (all, share) = ((before.events + after.events) as f64, expected_share(before, after)?);
    Ok((2.0 * share.powf(all).min((1.0 - share).powf(all))).min(1.0))
}

/// The ratio of the rates, with the interval of Clopper & Pearson (1934).
pub(super) fn rate_change(before: EventCount, after: EventCount, level: f64) -> Option<EffectSize> {
    let share = expected_share(before, after).ok()?;
    let ratio = |of_all: f64| of_all / (1.0 - of_all) * (1.0 - share) / share;
    let (a, b) = (after.events as f64, before.events as f64);
    let bound = |a: f64, b: f64, p: f64| Some(Beta::new(a, b).ok()?.inverse_cdf(p));
    let low = if a > 0.0 { bound(a, b + 1.0, level / 2.0)? } else { 0.0 };
    let high = if b > 0.0 { bound(a + 1.0, b, 1.0 - level / 2.0)? } else { 1.0 };
    Some(EffectSize { scale: ComparisonScale::Ratio, point: ratio(a / (a + b)), low: ratio(low), high: ratio(high) })
}

/// The second side's share of the events if the rates are the same.
fn expected_share(before: EventCount, after: EventCount) -> Result<f64, UndecidedReason> {
    let share = after.exposure / (before.exposure + after.exposure);
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(UndecidedReason::Missing) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: (u64, f64), after: (u64, f64), expected_p: f64, expected_least: f64) {
        let count = |(events, of)| EventCount { events, exposure: of };
        let (before, after) = (count(before), count(after));
        let (found, least) = (p_value(before, after).unwrap(), min_p_value(before, after).unwrap());
        assert!((found - expected_p).abs() < 1e-4 * expected_p.max(1e-4), "{found}");
        assert!((least - expected_least).abs() < 1e-9, "{least}");
        assert!(found >= least - 1e-12);
    }

    #[test]
    fn splits() {
        check((0, 100.0), (0, 100.0), 1.0, 1.0);
        check((0, 100.0), (6, 100.0), 0.031_25, 0.031_25);
        check((0, 100.0), (10, 100.0), 2.0 / 1024.0, 2.0 / 1024.0);
        check((10, 100.0), (0, 100.0), 2.0 / 1024.0, 2.0 / 1024.0);
        check((5, 100.0), (5, 100.0), 1.0, 2.0 / 1024.0);
        // One of three events on the side with a quarter of the exposure: P(at least 1) = 1 - 27/64.
        check((2, 300.0), (1, 100.0), 1.0, 2.0 / 64.0);
        check((0, 300.0), (3, 100.0), 2.0 / 64.0, 2.0 / 64.0);
    }

    #[test]
    fn without_exposure_there_is_no_result() {
        let (none, some) = (EventCount { events: 0, exposure: 0.0 }, EventCount { events: 3, exposure: 10.0 });
        assert_eq!(p_value(none, some), Err(UndecidedReason::Missing));
        assert_eq!(p_value(some, none), Err(UndecidedReason::Missing));
    }

    #[test]
    fn intervals_leave_equality_out_exactly_where_the_test_does() {
        for (before, after) in [(0u64, 12u64), (3, 14), (14, 3), (5, 9), (40, 70), (7, 7), (9, 0)] {
            let (before, after) =
                (EventCount { events: before, exposure: 50.0 }, EventCount { events: after, exposure: 50.0 });
            for level in [0.05, 0.01, 0.002] {
                let change = rate_change(before, after, level).unwrap();
                let excludes = change.low > 1.0 || change.high < 1.0;
                assert_eq!(
                    excludes,
                    p_value(before, after).unwrap() < level,
                    "{before:?} {after:?} {level} {change:?}"
                );
            }
        }
    }

    #[test]
    fn bounds_may_be_infinite() {
        let change =
            rate_change(EventCount { events: 0, exposure: 9.0 }, EventCount { events: 12, exposure: 9.0 }, 0.05)
                .unwrap();
        assert!(change.point.is_infinite() && change.high.is_infinite() && change.low > 1.0, "{change:?}");
    }
}
