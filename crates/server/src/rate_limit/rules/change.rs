//! What may be changed about the rules, as values: the command that makes a change last, and what it does to the book. Pure.

use super::definition::{REFERENCE, definition};
use super::rule_set::{LimitRuleSet, OverrideKey, RuleSource, stored_quota};
use engine::commands::Command;
use engine::rows::{LimitOverride, LimitPolicy};
use limiter::{Policy, Quota};
use store::StoreError;
use wire::api::LimitQuota;

/// Something to change, checked by whoever asks for it.
#[derive(Clone, Debug)]
pub enum Change {
    /// Set a policy, new or changed.
    PutPolicy(Policy),
    /// Forget what the API set about a policy, its keys' quotas included: the file's holds again.
    DeletePolicy(Box<str>),
    /// Give a key a quota of its own.
    PutOverride(OverrideKey, LimitQuota),
    /// Forget a key's own quota, as far as the API set it.
    DeleteOverride(OverrideKey),
    /// What the reference API gives a client that has nothing of its own.
    PutReference(LimitQuota),
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is no such policy.
    #[error("there is no such policy")]
    NoSuchPolicy,
    /// The API has set nothing of this kind, though the file may have.
    #[error("the API has set nothing of this kind")]
    NotSet(Option<RuleSource>),
    /// There are as many as there may be.
    #[error("there are as many as there may be")]
    TooMany,
    /// It could not be saved.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store said something that it should not be able to, or the keeper is gone.
    #[error("{0}")]
    Internal(String),
}

pub(super) fn command(change: &Change) -> Command {
    match change {
        Change::PutPolicy(policy) => Command::PutLimitPolicy(policy_row(&policy.name, &definition(policy))),
        Change::DeletePolicy(name) => Command::DeleteLimitPolicy { name: name.to_string() },
        Change::PutOverride((policy, key), own) => Command::PutLimitOverride(LimitOverride {
            policy: policy.to_string(),
            key: key.to_vec(),
            limit: own.limit,
            window_ms: own.window_ms,
        }),
        Change::DeleteOverride((policy, key)) => {
            Command::DeleteLimitOverride { policy: policy.to_string(), key: key.to_vec() }
        }
        Change::PutReference(quota) => Command::PutLimitPolicy(policy_row(REFERENCE, quota)),
    }
}

fn policy_row(name: &str, definition: &impl serde::Serialize) -> LimitPolicy {
    let definition = serde_json::to_string(definition).expect("a definition holds only text and numbers");
    LimitPolicy { name: name.to_owned(), definition }
}

impl LimitRuleSet {
    /// Policies and quotas of single keys in force.
    pub(super) fn policy_and_override_counts(&self) -> (usize, usize) {
        let policies = self.file.policies.iter().filter(|policy| !self.stored.policies.contains_key(&policy.name));
        let overrides = self.file.overrides.keys().filter(|place| !self.stored.overrides.contains_key(*place));
        (policies.count() + self.stored.policies.len(), overrides.count() + self.stored.overrides.len())
    }

    pub(super) fn has_policy(&self, policy: &str) -> bool {
        policy == REFERENCE || self.source(policy).is_some()
    }

    pub(super) fn missing_error(&self, change: &Change) -> ChangeError {
        match change {
            Change::DeletePolicy(name) => {
                self.source(name).map_or(ChangeError::NoSuchPolicy, |at| ChangeError::NotSet(Some(at)))
            }
            Change::DeleteOverride(place) if !self.has_policy(&place.0) => ChangeError::NoSuchPolicy,
            Change::DeleteOverride(place) => {
                ChangeError::NotSet(self.override_with_source(place).map(|(_, origin)| origin))
            }
            Change::PutPolicy(_) | Change::PutOverride(..) | Change::PutReference(_) => {
                ChangeError::Internal("a rule that was to be set was missing".to_owned())
            }
        }
    }

    /// Writes a saved change down.
    pub(crate) fn apply(&mut self, change: &Change) {
        let stored = &mut self.stored;
        match change {
            Change::PutPolicy(policy) => {
                stored.policies.insert(policy.name.clone(), policy.clone());
            }
            Change::DeletePolicy(name) => {
                stored.policies.remove(name);
                stored.overrides.retain(|(policy, _), _| policy != name);
            }
            Change::PutOverride(place, own) => {
                stored.overrides.insert(place.clone(), own.clone());
            }
            Change::DeleteOverride(place) => {
                stored.overrides.remove(place);
            }
            Change::PutReference(quota) => stored.reference = Some(quota.clone()),
        }
    }

    /// The quota of one key that is in force, if it has one of its own.
    pub(crate) fn override_quota(&self, place: &OverrideKey) -> Option<Quota> {
        let stored = self.stored.overrides.get(place).and_then(|own| stored_quota(place, own));
        stored.or_else(|| self.file.overrides.get(place).copied())
    }
}
