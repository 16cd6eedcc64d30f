//! Many policies as one: which match a hit, and all of them or none. Does not know its callers.

use std::sync::{Arc, PoisonError};

use crate::check::check;
use crate::key_hasher::KeyHasher;
use crate::keyed::shards_for;
use crate::limits::POLICIES_MAX;
use crate::policy_keys::{ActivePolicy, PolicyKeys, PolicyStats};
use crate::sync::{AtomicUsize, Mutex, Ordering, RwLock, lock};
use crate::{Budget, Capacity, CheckResult, Hit, Moment, Override, Policy, Quota, Seed, TooManyOverrides};

/// A set of policies and their counts.
#[derive(Debug)]
pub struct Limiter {
    budget: Arc<Budget>,
    hasher: KeyHasher,
    /// Replaced as a whole. A check holds it for reading, so that all its parts are of one set.
    policies: RwLock<Arc<[ActivePolicy]>>,
    /// Held while policies or overrides change, so that no change is lost in another.
    changes: Mutex<()>,
    /// The shard that is swept next, of all policies' in a row.
    next_sweep: AtomicUsize,
}

/// Why a set of policies was not taken. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoliciesError {
    /// Two policies have one name.
    #[error("two policies are named {name:?}; expected every name once")]
    Duplicate {
        /// The name.
        name: Box<str>,
    },
    /// More than [`POLICIES_MAX`].
    #[error("there are {have} policies; expected at most {POLICIES_MAX}")]
    TooMany {
        /// How many there were.
        have: usize,
    },
}

/// Why an override was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// No such policy.
    #[error("there is no policy named {name:?}; expected one that is in force")]
    UnknownPolicy {
        /// The requested name.
        name: Box<str>,
    },
    /// No room for another.
    #[error(transparent)]
    TooMany(#[from] TooManyOverrides),
}

impl Limiter {
    /// No policies: everything is allowed.
    #[must_use]
    pub fn new(capacity: Capacity, seed: Seed) -> Self {
        Self {
            budget: Arc::new(Budget::new(capacity)),
            hasher: KeyHasher::new(seed),
            policies: RwLock::new(Arc::new([])),
            changes: Mutex::new(()),
            next_sweep: AtomicUsize::new(0),
        }
    }

    /// Replaces the set. Policies of the same name and algorithm keep what was used; those of the same name and another
    /// algorithm begin empty, and keep the overrides; others begin empty; what is not in the new set is forgotten.
    ///
    /// # Errors
    /// A name that occurs twice, or more than [`POLICIES_MAX`] policies: nothing is changed.
    pub fn set_policies(&self, policies: Vec<Policy>, now: Moment) -> Result<(), PoliciesError> {
        validate_policies(&policies)?;
        let _changing = lock(&self.changes);
        let old = self.active_policies();
        let shards = shards_for(self.budget.capacity().keys_max, policies.len());
        let set = policies.into_iter().map(|policy| self.carry_over(&old, policy, shards, now)).collect();
        *self.policies.write().unwrap_or_else(PoisonError::into_inner) = set;
        Ok(())
    }

    /// A policy with the counts that it had, if it had any.
    fn carry_over(&self, old: &[ActivePolicy], policy: Policy, shards: usize, now: Moment) -> ActivePolicy {
        let before = old.iter().find(|one| one.policy.name == policy.name);
        let keys = match before {
            Some(before) if before.policy.algorithm == policy.algorithm => {
                before.keys.update_policy(&policy, now);
                Arc::clone(&before.keys)
            }
            before => {
                let keys = PolicyKeys::new(&policy, shards, Arc::clone(&self.budget), self.hasher.clone());
                before.inspect(|before| keys.inherit(&before.keys));
                Arc::new(keys)
            }
        };
        ActivePolicy { policy: Arc::new(policy), keys }
    }

    /// The policies in force, in their order.
    #[must_use]
    pub fn policies(&self) -> Vec<Arc<Policy>> {
        self.active_policies().iter().map(|one| Arc::clone(&one.policy)).collect()
    }

    /// Gives a key a quota of its own under one policy; what it has used stays used.
    ///
    /// # Errors
    /// No such policy, or no room for another override.
    pub fn set_override(&self, policy: &str, key: &[u8], quota: Quota, now: Moment) -> Result<(), OverrideError> {
        let _changing = lock(&self.changes);
        Ok(self.keys_of(policy)?.set_override(key, quota, now)?)
    }

    /// Takes a key's own quota back; whether it had one.
    ///
    /// # Errors
    /// No such policy.
    pub fn remove_override(&self, policy: &str, key: &[u8], now: Moment) -> Result<bool, OverrideError> {
        let _changing = lock(&self.changes);
        Ok(self.keys_of(policy)?.remove_override(key, now))
    }

    /// Every key that has a quota of its own under one policy.
    ///
    /// # Errors
    /// No such policy.
    pub fn overrides(&self, policy: &str) -> Result<Vec<Override>, OverrideError> {
        Ok(self.keys_of(policy)?.overrides())
    }

    /// All hits together, all or nothing: a denial by one policy that is not in shadow charges none. Every policy whose
    /// class and key patterns match a hit takes part; one key of one policy in several hits is decided for the sum.
    #[must_use]
    pub fn check(&self, hits: &[Hit<'_>], now: Moment) -> CheckResult {
        self.check_with(hits, &[], now)
    }

    /// The same for hits with supplied quotas, in their order; `supplied` may be shorter than they are. Such a quota
    /// applies to its key, under every policy that matches the hit, in place of the policy's own; an override of the
    /// key takes precedence. The first hit of a key decides for the others of the same check. When such a hit is
    /// charged, what the key has used stays used, and its quota is kept until a hit comes without one or with another,
    /// or the key is idle.
    #[must_use]
    pub fn check_with(&self, hits: &[Hit<'_>], supplied: &[Option<Quota>], now: Moment) -> CheckResult {
        let set = self.policies.read().unwrap_or_else(PoisonError::into_inner);
        check(&set, &self.hasher, hits, supplied, now)
    }

    /// Forgets the idle keys of the next `shards` shards, policy after policy; returns the number of keys. Call it
    /// steadily: [`shards`](Self::shards) is the number of all shards.
    pub fn sweep(&self, shards: usize, now: Moment) -> usize {
        let set = self.active_policies();
        let all: usize = set.iter().map(|one| one.keys.shards()).sum();
        let shards = shards.min(all);
        let first = self.next_sweep.fetch_add(shards, Ordering::Relaxed);
        (0..shards).map(|n| sweep_shard(&set, first.wrapping_add(n) % all, now)).sum()
    }

    /// How many shards all policies have.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.active_policies().iter().map(|one| one.keys.shards()).sum()
    }

    /// The room that all policies share.
    #[must_use]
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// What each policy holds and has done, in their order.
    #[must_use]
    pub fn stats(&self) -> Vec<PolicyStats> {
        self.active_policies().iter().map(|one| one.keys.stats(&one.policy)).collect()
    }

    fn active_policies(&self) -> Arc<[ActivePolicy]> {
        Arc::clone(&self.policies.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn keys_of(&self, policy: &str) -> Result<Arc<PolicyKeys>, OverrideError> {
        let set = self.active_policies();
        let found = set.iter().find(|one| *one.policy.name == *policy);
        found.map(|one| Arc::clone(&one.keys)).ok_or_else(|| OverrideError::UnknownPolicy { name: policy.into() })
    }
}

/// Sweeps one of the shards of all policies in a row.
fn sweep_shard(set: &[ActivePolicy], mut shard: usize, now: Moment) -> usize {
    for ActivePolicy { keys, .. } in set {
        match shard.checked_sub(keys.shards()) {
            Some(beyond) => shard = beyond,
            None => return keys.sweep_shard(shard, now),
        }
    }
    0
}

fn validate_policies(policies: &[Policy]) -> Result<(), PoliciesError> {
    if policies.len() > POLICIES_MAX {
        return Err(PoliciesError::TooMany { have: policies.len() });
    }
    let mut names: Vec<&str> = policies.iter().map(|policy| &*policy.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(PoliciesError::Duplicate { name: pair[0].into() }),
        None => Ok(()),
    }
}
