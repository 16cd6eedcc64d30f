//! The rule set: three sources, one result. A policy set over the API overrides the policy of the same name in the file, that one a
//! built-in policy, and a quota the quota of the same key. Pure: callers read the file and the store, and put the result into force.

use super::definition::{self, REFERENCE};
use super::file::FileRules;
use engine::rows::LimitRules;
use limiter::{Policy, Quota};
use std::collections::{BTreeMap, BTreeSet};
use wire::api::{LimitPolicyDefinition, LimitQuota};

/// The source of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleSource {
    /// This program: it is one of the built-in policies.
    BuiltIn,
    /// The file of policies.
    File,
    /// The API: it is saved in the store.
    Api,
}

impl RuleSource {
    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BuiltIn => "built_in",
            Self::File => "file",
            Self::Api => "api",
        }
    }
}

/// A policy's name and a key.
pub type OverrideKey = (Box<str>, Box<[u8]>);

/// The rules set over the API, as stored.
#[derive(Clone, Debug, Default)]
pub struct StoredRules {
    /// Policies by name.
    pub policies: BTreeMap<Box<str>, Policy>,
    /// Quotas of single keys. Those of [`REFERENCE`] are the reference API's clients.
    pub overrides: BTreeMap<OverrideKey, LimitQuota>,
    /// The default quota of the reference API, if it was configured.
    pub reference: Option<LimitQuota>,
}

impl StoredRules {
    /// The rules of these rows. A row that cannot be read (a newer version wrote it) is skipped and logged.
    #[must_use]
    pub fn from_rows(rules: LimitRules) -> Self {
        let mut stored = Self::default();
        for row in rules.policies {
            if row.name == REFERENCE {
                stored.reference =
                    serde_json::from_str(&row.definition).map_err(|error| log_skipped(REFERENCE, &error)).ok();
                continue;
            }
            match read_definition(&row.name, &row.definition) {
                Ok(policy) => {
                    stored.policies.insert(row.name.into(), policy);
                }
                Err(error) => log_skipped(&row.name, &error),
            }
        }
        for row in rules.overrides {
            let quota = LimitQuota { limit: row.limit, window_ms: row.window_ms };
            stored.overrides.insert((row.policy.into(), row.key.into()), quota);
        }
        stored
    }
}

fn read_definition(name: &str, text: &str) -> Result<Policy, String> {
    let read: LimitPolicyDefinition = serde_json::from_str(text).map_err(|error| error.to_string())?;
    definition::parse_policy(name, &read).map_err(join_reasons)
}

fn join_reasons(invalid: Vec<definition::InvalidMember>) -> String {
    invalid.into_iter().map(|invalid| invalid.reason).collect::<Vec<_>>().join("; ")
}

fn log_skipped(policy: &str, reason: &dyn std::fmt::Display) {
    tracing::error!(policy, %reason, "a stored policy of the rate limiter cannot be read and is not in force; set it again");
}

/// Both sources.
#[derive(Clone, Debug, Default)]
pub struct LimitRuleSet {
    /// The file's rules, and the built-in ones.
    pub file: FileRules,
    /// The API's.
    pub stored: StoredRules,
}

impl LimitRuleSet {
    /// The policies in force: built-in ones, those of the file in its order, then those of the API alone, by name.
    #[must_use]
    pub fn policies(&self) -> Vec<Policy> {
        let named: BTreeSet<&str> = self.file.policies.iter().map(|policy| &*policy.name).collect();
        let of_file = self.file.policies.iter().map(|policy| self.stored.policies.get(&policy.name).unwrap_or(policy));
        let alone = self.stored.policies.values().filter(|policy| !named.contains(&*policy.name));
        of_file.chain(alone).cloned().collect()
    }

    /// The policy of this name that is in force.
    #[must_use]
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        let of_file = || self.file.policies.iter().find(|policy| &*policy.name == name);
        self.stored.policies.get(name).or_else(of_file)
    }

    /// The source of the policy of this name, if there is one.
    #[must_use]
    pub fn source(&self, name: &str) -> Option<RuleSource> {
        if self.stored.policies.contains_key(name) {
            return Some(RuleSource::Api);
        }
        if self.file.built_in.contains(name) {
            return Some(RuleSource::BuiltIn);
        }
        self.file.policies.iter().any(|policy| &*policy.name == name).then_some(RuleSource::File)
    }

    /// The quotas of single keys that are in force, of existing policies and of the reference API.
    #[must_use]
    pub fn overrides(&self) -> BTreeMap<OverrideKey, Quota> {
        let names: BTreeSet<Box<str>> = self.policies().into_iter().map(|policy| policy.name).collect();
        let is_live = |place: &OverrideKey| &*place.0 == REFERENCE || names.contains(&place.0);
        let mut all = self.file.overrides.clone();
        let stored = self.stored.overrides.iter();
        all.extend(stored.filter_map(|(place, own)| Some((place.clone(), parse_stored_quota(place, own).ok()?))));
        all.retain(|place, _| is_live(place));
        all
    }

    /// Logs every stored override that cannot be in force, and why.
    pub(crate) fn log_unreadable_overrides(&self) {
        for (override_key, quota) in &self.stored.overrides {
            let _ = stored_quota(override_key, quota);
        }
    }

    /// How many keys have a quota of their own under a policy.
    #[must_use]
    pub fn override_count(&self, policy: &str) -> usize {
        let of_file =
            keys_of_policy(&self.file.overrides, policy).filter(|place| !self.stored.overrides.contains_key(*place));
        of_file.count() + keys_of_policy(&self.stored.overrides, policy).count()
    }

    /// A key's own quota, and where it comes from.
    #[must_use]
    pub fn override_with_source(&self, place: &OverrideKey) -> Option<(LimitQuota, RuleSource)> {
        if let Some(own) = self.stored.overrides.get(place) {
            return Some((own.clone(), RuleSource::Api));
        }
        let quota = self.file.overrides.get(place)?;
        let own = LimitQuota { limit: quota.limit(), window_ms: definition::window_ms(*quota) };
        Some((own, RuleSource::File))
    }
}

/// The keys under one policy, which are adjacent.
fn keys_of_policy<'a, T>(all: &'a BTreeMap<OverrideKey, T>, policy: &'a str) -> impl Iterator<Item = &'a OverrideKey> {
    let from: OverrideKey = (policy.into(), Box::default());
    all.range(from..).map(|(override_key, _)| override_key).take_while(move |(name, _)| &**name == policy)
}

/// The quota of a stored row; logs why it has none.
pub(crate) fn stored_quota(override_key: &OverrideKey, quota: &LimitQuota) -> Option<Quota> {
    parse_stored_quota(override_key, quota).map_err(|reasons| log_skipped(&override_key.0, &reasons)).ok()
}

/// The reference API has no bound on windows: one longer than the limiter's longest is reduced to that.
fn parse_stored_quota(override_key: &OverrideKey, quota: &LimitQuota) -> Result<Quota, String> {
    let is_reference = &*override_key.0 == REFERENCE;
    let bounded = LimitQuota { limit: quota.limit, window_ms: quota.window_ms.min(definition::WINDOW_MS_MAX) };
    definition::parse_quota(if is_reference { &bounded } else { quota }).map_err(join_reasons)
}
