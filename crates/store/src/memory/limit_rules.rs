//! Rules of the rate limiter that were set while the server ran.

use super::data::MemoryData;
use engine::commands::Outcome;
use engine::limits::{LIMIT_OVERRIDES_MAX, LIMIT_POLICY_ROWS_MAX};
use engine::rows::{LimitOverride, LimitPolicy, LimitRules};

impl MemoryData {
    pub(super) fn put_limit_policy(&mut self, policy: &LimitPolicy) -> Outcome {
        let is_new = !self.limit_policies.contains_key(&policy.name);
        if is_new && self.limit_policies.len() >= LIMIT_POLICY_ROWS_MAX {
            return Outcome::LimitReached;
        }
        self.limit_policies.insert(policy.name.clone(), policy.clone());
        self.limit_rules_changed()
    }

    pub(super) fn delete_limit_policy(&mut self, name: &str) -> Outcome {
        let before = self.limit_policies.len() + self.limit_overrides.len();
        self.limit_policies.remove(name);
        self.limit_overrides.retain(|(policy, _), _| policy != name);
        if self.limit_policies.len() + self.limit_overrides.len() == before {
            return Outcome::NotFound;
        }
        self.limit_rules_changed()
    }

    pub(super) fn put_limit_override(&mut self, quota: &LimitOverride) -> Outcome {
        let key = (quota.policy.clone(), quota.key.clone());
        let is_new = !self.limit_overrides.contains_key(&key);
        if is_new && self.limit_overrides.len() >= LIMIT_OVERRIDES_MAX {
            return Outcome::LimitReached;
        }
        self.limit_overrides.insert(key, quota.clone());
        self.limit_rules_changed()
    }

    pub(super) fn delete_limit_override(&mut self, policy: &str, key: &[u8]) -> Outcome {
        if self.limit_overrides.remove(&(policy.to_owned(), key.to_owned())).is_none() {
            return Outcome::NotFound;
        }
        self.limit_rules_changed()
    }

    fn limit_rules_changed(&mut self) -> Outcome {
        self.limit_rules_version += 1;
        Outcome::Done
    }

    pub(super) fn limit_rules(&self) -> LimitRules {
        LimitRules {
            version: self.limit_rules_version,
            policies: self.limit_policies.values().cloned().collect(),
            overrides: self.limit_overrides.values().cloned().collect(),
        }
    }
}
