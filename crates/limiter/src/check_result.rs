//! The words of a question to many policies and of its answer. Refuses to know how they are told to a client.

use std::sync::Arc;

use crate::{Decision, Moment, Policy, Quota};

/// One use that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit<'a> {
    /// What kind of use it is; policies choose by it.
    pub class: &'a str,
    /// Who uses; counts are kept for each.
    pub key: &'a [u8],
    /// How many units.
    pub cost: u64,
}

/// What one policy says to one hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyDecision {
    /// Which of the hits.
    pub hit: usize,
    /// Which policy.
    pub policy: Arc<Policy>,
    /// The quota in force for the key: its own, or the policy's.
    pub quota: Quota,
    /// The policy's own answer. Where the ruling denies, nothing was taken, and an `Allow` tells what could be taken now.
    pub decision: Decision,
}

/// What all policies say together; those in shadow have no voice.
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
    /// What each policy said to each hit that it is for, in the order of the hits, then of the policies.
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
