//! A policy as an operator defines it: which hits, counted how, how many. Does not know where it is stored.

use crate::{Pattern, Quota};

/// How use is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// A stamp for each unit: exact. See [`Log`](crate::Log).
    Log,
    /// One number a key, units come back evenly. See [`Gcra`](crate::Gcra).
    Gcra,
    /// Two counts a key, near the exact one. See [`Counter`](crate::Counter).
    Counter,
}

/// What happens to a hit that cannot be counted, because the budget of keys or timestamps is used up and none is idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WhenFull {
    /// [`Decision::Full`](crate::Decision::Full).
    #[default]
    Deny,
    /// Admission without being counted.
    Admit,
}

/// How much may be held, by all policies of a limiter together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Keys in use.
    pub keys_max: usize,
    /// Timestamps of logs, of 8 bytes each.
    pub timestamps_max: usize,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Unique in its set.
    pub name: Box<str>,
    /// Which classes of hits it is for.
    pub class: Pattern,
    /// Which keys it is for; each key counts for itself.
    pub key: Pattern,
    /// How use is counted.
    pub algorithm: Algorithm,
    /// How much a key may use that has no quota of its own.
    pub quota: Quota,
    /// Decides and counts, and denies no hit.
    pub is_shadow: bool,
    /// What a hit gets that cannot be counted.
    pub when_full: WhenFull,
}

/// A key with a quota of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The key.
    pub key: Box<[u8]>,
    /// How much it may use, instead of the policy's quota.
    pub quota: Quota,
}
