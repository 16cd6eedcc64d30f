//! The generic cell rate algorithm (ITU-T I.371, annex A): one number a key, units come back evenly.

use std::hint::select_unpredictable;

use crate::{Decision, Moment, Quota, State};

/// The theoretical arrival time: when everything used will have come back.
///
/// With T = ceil(W / L), `cost` units are allowed when max(tat, now) + cost * T - now <= L * T. In any span d that admits at
/// most L + d / T <= L + L * d / W units. T is a whole number of nanoseconds, so that units come back slower than L / W by
/// less than one part in T.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gcra {
    tat: Moment,
}

impl State for Gcra {
    #[inline]
    fn decide(&mut self, now: Moment, quota: Quota, cost: u64) -> Decision {
        if cost > quota.limit() {
            return Decision::Never;
        }
        let (interval_ns, burst_ns) = (quota.interval_ns(), quota.burst_ns());
        let wanted_ns = self.tat.ns_since(now).saturating_add(cost * interval_ns);
        if wanted_ns > burst_ns && cost > 0 {
            return Decision::NotUntil { at: now.plus_ns(wanted_ns - burst_ns) };
        }
        let remaining = burst_ns.saturating_sub(wanted_ns) / interval_ns;
        Decision::Allow { remaining, whole_at: now.plus_ns(wanted_ns) }
    }

    #[inline]
    fn charge(&mut self, now: Moment, quota: Quota, cost: u64) {
        self.tat = self.tat.max(now).plus_ns(cost * quota.interval_ns());
    }

    /// Without a branch on the decision: half the calls may go either way, and a mispredicted branch waits for the
    /// memory that the next call could be fetching meanwhile.
    #[inline]
    fn decide_and_charge(&mut self, now: Moment, quota: Quota, cost: u64) -> Option<Decision> {
        if cost == 0 || cost > quota.limit() {
            return Some(self.decide(now, quota, cost));
        }
        let (interval_ns, burst_ns) = (quota.interval_ns(), quota.burst_ns());
        let wanted_ns = self.tat.ns_since(now).saturating_add(cost * interval_ns);
        let is_allowed = wanted_ns <= burst_ns;
        let whole_at = now.plus_ns(wanted_ns);
        self.tat = select_unpredictable(is_allowed, whole_at, self.tat);
        // Divided on both ways, and chosen at the end: what is left is nothing where it is denied.
        let remaining = burst_ns.saturating_sub(wanted_ns) / interval_ns;
        let at = whole_at.minus_ns(burst_ns);
        Some(if is_allowed { Decision::Allow { remaining, whole_at } } else { Decision::NotUntil { at } })
    }

    /// Used units are (tat - now) / T, fractions included; they are the same ones at the new T, rounded up by less than
    /// 1 ns, or the whole new limit: units beyond it would take windows to come back that were never granted.
    fn change_quota(&mut self, now: Moment, old: Quota, new: Quota) {
        let used_ns = u128::from(self.tat.ns_since(now));
        let used_ns = (used_ns * u128::from(new.interval_ns())).div_ceil(u128::from(old.interval_ns()));
        self.tat = now.plus_ns(u64::try_from(used_ns).unwrap_or(u64::MAX).min(new.burst_ns()));
    }

    #[inline]
    fn reset_at(&self, _: Quota) -> Moment {
        self.tat
    }
}
