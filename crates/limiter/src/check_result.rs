//! The types of a check of many policies and of its result. Does not know how they are encoded for a client.

use std::sync::Arc;

use crate::{Decision, Moment, Policy, Quota};

/// One use that is to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit<'a> {
    /// What kind of use it is; policies choose by it.
    pub class: &'a str,
    /// Who uses; counts are kept for each.
    pub key: &'a [u8],
    /// How many units.
    pub cost: u64,
}

/// The decision of one policy about one hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// Which of the hits.
    pub hit: usize,
    /// Which policy.
    pub policy: Arc<Policy>,
    /// The quota in force for the key: its own, or the policy's.
    pub quota: Quota,
    /// The policy's own decision. Where the outcome is a denial, nothing was taken, and an `Allow` contains what could
    /// be taken now.
    pub decision: Decision,
}

/// The outcome of all policies together; those in shadow do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every policy allowed every hit, and all were charged.
    Allowed,
    /// Denied strictly before this moment, allowed exactly at it if nothing else is taken meanwhile.
    NotUntil(Moment),
    /// A hit costs more than a limit.
    Never,
    /// A hit cannot be counted.
    Full,
}

/// The answer to a set of hits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// Over all parts but those of policies in shadow.
    pub outcome: Outcome,
    /// The decision of each policy about each hit that it matches, in the order of the hits, then of the policies.
    pub decisions: Vec<PolicyDecision>,
}

impl Outcome {
    /// The sterner of this and one more decision: what no waiting helps against, then what no moment is known for, then the
    /// latest moment.
    #[must_use]
    pub(crate) fn combine(self, decision: Decision) -> Self {
        match (self, decision) {
            (outcome, Decision::Allow { .. }) => outcome,
            (Self::Never, _) | (_, Decision::Never) => Self::Never,
            (Self::Full, _) | (_, Decision::Full) => Self::Full,
            (Self::NotUntil(one), Decision::NotUntil { at }) => Self::NotUntil(one.max(at)),
            (Self::Allowed, Decision::NotUntil { at }) => Self::NotUntil(at),
        }
    }
}
