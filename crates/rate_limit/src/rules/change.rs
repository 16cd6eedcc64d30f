//! Changes of the rules as values: the command that saves a change, and its effect on the rule set. Pure.

use super::definition::{REFERENCE, definition};
use super::rule_set::{LimitRuleSet, OverrideKey, RuleSource, stored_quota};
use engine::commands::Command;
use engine::rows::{LimitOverride, LimitPolicy};
use limiter::{Policy, Quota};
use store::StoreError;
use wire::api::LimitQuota;

/// A change, validated by its caller.
#[derive(Clone, Debug)]
pub enum Change {
    /// Set a policy, new or changed.
    PutPolicy(Policy),
    /// Delete the API's version of a policy, with its keys' quotas: the file's is in force again.
    DeletePolicy(Box<str>),
    /// Set a key's own quota.
    PutOverride(OverrideKey, LimitQuota),
    /// Delete a key's own quota, if the API set it.
    DeleteOverride(OverrideKey),
    /// Set the default quota of the reference API.
    PutReference(LimitQuota),
}

/// Why a change was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    #[error("there is no such policy")]
    NoSuchPolicy,
    /// The API has set nothing of this kind, though the file may have.
    #[error("the API has set nothing of this kind")]
    NotSet(Option<RuleSource>),
    /// The maximum is reached.
    #[error("there are as many as allowed")]
    TooMany,
    /// It could not be saved.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store had an unexpected outcome, or the rules' owner has stopped.
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
    /// The numbers of policies and of quotas of single keys in force.
    pub(super) fn policy_and_override_counts(&self) -> (usize, usize) {
        let policies = self.file.policies.iter().filter(|policy| !self.stored.policies.contains_key(&policy.name));
        let overrides =
            self.file.overrides.keys().filter(|override_key| !self.stored.overrides.contains_key(*override_key));
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
            Change::DeleteOverride(override_key) if !self.has_policy(&override_key.0) => ChangeError::NoSuchPolicy,
            Change::DeleteOverride(override_key) => {
                ChangeError::NotSet(self.override_with_source(override_key).map(|(_, origin)| origin))
            }
            Change::PutPolicy(_) | Change::PutOverride(..) | Change::PutReference(_) => {
                ChangeError::Internal("a rule that was to be set was missing".to_owned())
            }
        }
    }

    /// Applies a saved change.
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
            Change::PutOverride(override_key, quota) => {
                stored.overrides.insert(override_key.clone(), quota.clone());
            }
            Change::DeleteOverride(override_key) => {
                stored.overrides.remove(override_key);
            }
            Change::PutReference(quota) => stored.reference = Some(quota.clone()),
        }
    }

    /// The quota of one key that is in force, if it has its own.
    pub(crate) fn override_quota(&self, override_key: &OverrideKey) -> Option<Quota> {
        let stored = self.stored.overrides.get(override_key).and_then(|quota| stored_quota(override_key, quota));
        stored.or_else(|| self.file.overrides.get(override_key).copied())
    }
}
