//! The operations of every algorithm on one key, and the decision made from them. Does not know which key, or how many.

use crate::{Moment, Quota};

/// The decision for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The units were taken.
    Allow {
        /// Units that could be taken right after this.
        remaining: u64,
        /// When nothing will be used any more, if nothing else is taken.
        whole_at: Moment,
    },
    /// Nothing was taken. Denied strictly before `at`, allowed exactly at `at` if nothing else is taken meanwhile.
    NotUntil {
        /// The first moment at which so much may be taken.
        at: Moment,
    },
    /// More than the limit at once: no waiting helps.
    Never,
    /// No room to count, and the policy does not admit what it cannot count.
    Full,
}

impl Decision {
    /// Whether the units were (or could be) taken.
    #[must_use]
    pub const fn is_allowed(&self) -> bool {
        matches!(self, Self::Allow { .. })
    }

    /// The same decision on a clock that shows less by `by_ns`.
    #[inline]
    pub(crate) const fn shifted_back(self, by_ns: u64) -> Self {
        if by_ns == 0 {
            return self;
        }
        match self {
            Self::Allow { remaining, whole_at } => Self::Allow { remaining, whole_at: whole_at.minus_ns(by_ns) },
            Self::NotUntil { at } => Self::NotUntil { at: at.minus_ns(by_ns) },
            Self::Never => Self::Never,
            Self::Full => Self::Full,
        }
    }
}

/// One algorithm's memory of one key. `Default` is a key that has used nothing.
///
/// The moments of the calls on one state never fall; [`Keyed`](crate::Keyed) sees to it for clocks that do.
pub trait State: Clone + Default + Send {
    /// The decision about `cost` units now. Changes nothing that a later call could see. A cost of 0 only looks: it is
    /// always allowed.
    fn decide(&mut self, now: Moment, quota: Quota, cost: u64) -> Decision;

    /// Takes `cost` units, after `decide` has allowed them at the same moment.
    fn charge(&mut self, now: Moment, quota: Quota, cost: u64);

    /// Both at once: looks, and takes what is allowed. None, and nothing taken, if that needs further memory.
    fn decide_and_charge(&mut self, now: Moment, quota: Quota, cost: u64) -> Option<Decision> {
        let decision = self.decide(now, quota, cost);
        if cost > 0 && decision.is_allowed() {
            if self.timestamps_needed(quota, cost) > 0 {
                return None;
            }
            self.charge(now, quota, cost);
        }
        Some(decision)
    }

    /// The quota is another from now on; what was used stays used.
    fn change_quota(&mut self, now: Moment, old: Quota, new: Quota);

    /// When nothing will be used any more, if nothing else is taken.
    fn reset_at(&self, quota: Quota) -> Moment;

    /// Whether the state is as good as new, so that forgetting it admits nothing more.
    fn is_idle(&self, now: Moment, quota: Quota) -> bool {
        self.reset_at(quota) <= now
    }

    /// Timestamps (of 8 bytes) for which memory is held in addition to the state itself.
    fn timestamps_held(&self) -> usize {
        0
    }

    /// Timestamps for which `charge` would need further memory.
    fn timestamps_needed(&self, quota: Quota, cost: u64) -> usize {
        let _ = (quota, cost);
        0
    }
}

/// The single decision: looks, and takes what is allowed.
pub fn decide<S: State>(state: &mut S, now: Moment, quota: Quota, cost: u64) -> Decision {
    let decision = state.decide(now, quota, cost);
    if cost > 0 && decision.is_allowed() {
        state.charge(now, quota, cost);
    }
    decision
}
