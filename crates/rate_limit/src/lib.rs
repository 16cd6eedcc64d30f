//! The rate limiter of this process: one limiter with its rules, clock and metrics, for the gateway, the check routes, the gRPC service,
//! and the reference API.
//!
//! A decision needs no task, no channel and no store: it is made in the caller's thread. Counts are this process's own; several
//! nodes share the rules (by their database), not the counts. Knows no HTTP but the names of its headers.

mod clock;
pub mod headers;
mod reference;
pub mod rules;
#[cfg(test)]
mod tests;
mod token;

pub use clock::LimitClock;
pub use reference::{ReferenceDecision, ReferenceLimiter};
pub use token::ServiceToken;

use engine::rows::AuditEntry;
use limiter::limits::LIMIT_MAX;
use limiter::{Capacity, CheckResult, Decision, Hit, Limiter, Moment, Policy, PolicyDecision, Quota, Seed};
use metrics::{DecisionOutcome, FamilyKind, Metrics, OWN_CLASS_PREFIX, Page};
use rules::{Change, ChangeError, LimitRuleSet, PendingChange, REFERENCE, RuleOwnerMessage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep};
use wire::api::LimitQuota;

/// The scope of a count.
pub const SCOPE: &str = "process";
/// Time in which every idle key is found and evicted, with or without traffic.
pub const SWEEP_ROUND: Duration = Duration::from_secs(10);
/// One part of a round per interval, so that no request waits long for it.
const SWEEP_INTERVAL: Duration = Duration::from_millis(20);
/// The interval at which an empty limiter checks for new keys. Their eviction is late by no more than that.
const EMPTY_POLL_INTERVAL: Duration = Duration::from_secs(1);
const SWEEPS_PER_ROUND: u128 = SWEEP_ROUND.as_millis() / SWEEP_INTERVAL.as_millis();

/// Limits of a process's rate limiter.
#[derive(Clone, Copy, Debug)]
pub struct RateLimitConfig {
    /// Of the gateway's policies, of all others, and of the reference limiter: each may hold so much.
    pub capacity: Capacity,
    /// Whether it decides and counts, and refuses nothing.
    pub is_shadow: bool,
    /// A seed for each of them: spreads the keys, so that no client can choose where its keys lie.
    pub new_seed: fn() -> Seed,
}

/// The rate limiter of one process.
pub struct RateLimiter {
    clock: LimitClock,
    /// Policies whose class begins with [`OWN_CLASS_PREFIX`], and their counts. Separate from the others, so that external callers
    /// cannot use up the gateway's counts, or the capacity for them.
    gateway: Limiter,
    /// All other policies.
    external: Limiter,
    reference: ReferenceLimiter,
    /// Decides and counts, and refuses nothing.
    is_shadow: bool,
    /// The rules in force.
    rules: RwLock<LimitRuleSet>,
    to_owner: mpsc::Sender<RuleOwnerMessage>,
    inbox: Mutex<Option<mpsc::Receiver<RuleOwnerMessage>>>,
    metrics: Arc<Metrics>,
}

impl RateLimiter {
    /// A limiter without rules: it limits nothing until [`rules::RuleOwner`] has started.
    #[must_use]
    pub fn new(config: RateLimitConfig, metrics: Arc<Metrics>) -> Self {
        Self::with_clock(config, metrics, LimitClock::default())
    }

    /// The same, with the caller's clock.
    #[must_use]
    pub fn with_clock(config: RateLimitConfig, metrics: Arc<Metrics>, clock: LimitClock) -> Self {
        let RateLimitConfig { capacity, is_shadow, .. } = config;
        let limiter = || Limiter::new(capacity, (config.new_seed)());
        let reference = ReferenceLimiter::new(config, &metrics);
        let (to_owner, inbox) = mpsc::channel(rules::INBOX_CAPACITY);
        Self {
            clock,
            gateway: limiter(),
            external: limiter(),
            reference,
            is_shadow,
            rules: RwLock::default(),
            to_owner,
            inbox: Mutex::new(Some(inbox)),
            metrics,
        }
    }

    /// The limiter's current time.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// The limiter for classes, or class patterns, such as this one.
    fn limiter_of_class(&self, class: &str) -> &Limiter {
        if class.starts_with(OWN_CLASS_PREFIX) { &self.gateway } else { &self.external }
    }

    fn limiters(&self) -> [&Limiter; 2] {
        [&self.gateway, &self.external]
    }

    /// Decides these hits together, all or nothing, under every policy that they match, and counts the decisions. The hits of
    /// one check are all the gateway's own, or all external: by the first one's class.
    pub fn check(&self, hits: &[Hit<'_>]) -> CheckResult {
        self.check_with(hits, &[])
    }

    /// The same for hits with their own quotas, in their order: see [`Limiter::check_with`].
    pub fn check_with(&self, hits: &[Hit<'_>], quotas: &[Option<Quota>]) -> CheckResult {
        let began = Instant::now();
        let limiter = self.limiter_of_class(hits.first().map_or("", |hit| hit.class));
        let result = limiter.check_with(hits, quotas, self.clock.at(began));
        if !result.decisions.is_empty() {
            let outcomes = result
                .decisions
                .iter()
                .map(|decision| (&*decision.policy.name, hits[decision.hit].class, Self::decision_outcome(decision)));
            self.metrics.process.limiter_decisions.count(outcomes);
            self.metrics.process.limiter_decision.0.observe(began.elapsed());
        }
        result
    }

    fn decision_outcome(decision: &PolicyDecision) -> DecisionOutcome {
        match decision.decision {
            Decision::Allow { .. } => DecisionOutcome::Allowed,
            _ if decision.policy.is_shadow => DecisionOutcome::Shadow,
            Decision::NotUntil { .. } => DecisionOutcome::Denied,
            Decision::Never => DecisionOutcome::Exceeds,
            Decision::Full => DecisionOutcome::Full,
        }
    }

    /// Checks one request of a client of the reference API.
    pub fn check_reference(&self, client: &[u8]) -> ReferenceDecision {
        let began = Instant::now();
        let decision = self.reference.check(client, self.clock.at(began));
        self.metrics.process.limiter_decision.0.observe(began.elapsed());
        match decision {
            // The limiter counts up to its own bound; the reference has none.
            ReferenceDecision::Allowed { remaining } if remaining > LIMIT_MAX / 2 => {
                let beyond = self.reference_quota(client).limit.saturating_sub(LIMIT_MAX);
                ReferenceDecision::Allowed { remaining: remaining + beyond }
            }
            decision => decision,
        }
    }

    /// The quota of a client of the reference API: its own, or the default.
    #[must_use]
    pub fn reference_quota(&self, client: &[u8]) -> LimitQuota {
        let override_key: rules::OverrideKey = (REFERENCE.into(), client.into());
        let stored = self
            .with_rules(|rules| rules.stored.overrides.get(&override_key).or(rules.stored.reference.as_ref()).cloned());
        stored.unwrap_or_else(reference::default_limit_quota)
    }

    /// Timestamps that the exact logs of policies may keep together.
    #[must_use]
    pub fn timestamps_max(&self) -> usize {
        self.external.budget().capacity().timestamps_max
    }

    /// Whether the whole limiter is in shadow mode.
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        self.is_shadow
    }

    /// Reads the rules. `read` must not block.
    pub fn with_rules<T>(&self, read: impl FnOnce(&LimitRuleSet) -> T) -> T {
        read(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of keys counted now, by policy.
    #[must_use]
    pub fn keys_by_policy(&self) -> BTreeMap<Box<str>, u64> {
        let stats = self.limiters().into_iter().flat_map(Limiter::stats);
        stats.map(|stats| (stats.policy, stats.keys as u64)).collect()
    }

    /// Changes a rule: durable and in force here when this returns, and on other nodes within a second.
    ///
    /// # Errors
    /// Why it was not changed.
    pub async fn change(&self, change: Change) -> Result<(), ChangeError> {
        self.change_with(change, None).await
    }

    /// The same, with an entry of the audit log in the commit of the change, if it is made.
    ///
    /// # Errors
    /// Why it was not changed.
    pub async fn change_with(&self, change: Change, entry: Option<AuditEntry>) -> Result<(), ChangeError> {
        let gone = || ChangeError::Internal("the owner of the rate limiter's rules has stopped".to_owned());
        let (reply, done) = oneshot::channel();
        let pending = Box::new(PendingChange::new(change, entry, reply));
        self.to_owner.send(RuleOwnerMessage::Change(pending)).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())?
    }

    /// Reads the file of policies again: as a whole, or not at all. Returns the number of its policies.
    ///
    /// # Errors
    /// What is wrong with the file; it has been logged.
    pub async fn reload(&self) -> Result<usize, String> {
        let gone = || "the owner of the rate limiter's rules has stopped".to_owned();
        let (reply, done) = oneshot::channel();
        self.to_owner.send(RuleOwnerMessage::Reload(reply)).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())?
    }

    /// The messages for the rules' owner; only the first caller gets them.
    pub fn take_inbox(&self) -> Option<mpsc::Receiver<RuleOwnerMessage>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts rules into force as a whole, or not at all. Usage counts are kept.
    ///
    /// # Errors
    /// Why they cannot be in force.
    pub fn replace_rules(&self, rule_set: LimitRuleSet) -> Result<(), String> {
        rule_set.log_unreadable_overrides();
        let overrides = rule_set.overrides();
        if overrides.len() > limiter::limits::OVERRIDES_MAX {
            let (have, max) = (overrides.len(), limiter::limits::OVERRIDES_MAX);
            return Err(format!("{have} keys with their own quota: expected at most {max}"));
        }
        let now = self.now();
        // Only the owner of the rules replaces them: no other caller changes these meanwhile.
        let old = self.with_rules(LimitRuleSet::overrides);
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let new = self.set_policies(&rule_set, now)?;
        self.reference.set_default(rule_set.stored.reference.as_ref(), now);
        for override_key in old.keys().filter(|override_key| !overrides.contains_key(*override_key)) {
            self.set_override(override_key, None, now);
        }
        let changed = overrides
            .iter()
            .filter(|(override_key, quota)| new.contains(&override_key.0) || old.get(*override_key) != Some(*quota));
        changed.for_each(|(override_key, quota)| self.set_override(override_key, Some(*quota), now));
        *rules = rule_set;
        Ok(())
    }

    /// Sets the policies of the limiters; returns the names of new ones.
    fn set_policies(&self, rule_set: &LimitRuleSet, now: Moment) -> Result<BTreeSet<Box<str>>, String> {
        let mut new = BTreeSet::new();
        let is_own = |policy: &Policy| policy.class.as_str().starts_with(OWN_CLASS_PREFIX);
        let (gateway, external): (Vec<_>, Vec<_>) = rule_set.policies().into_iter().partition(is_own);
        for (limiter, mut policies) in [(&self.gateway, gateway), (&self.external, external)] {
            // A limiter in shadow mode is one whose policies are all in shadow mode.
            policies.iter_mut().for_each(|policy| policy.is_shadow |= self.is_shadow);
            let known: BTreeMap<_, _> =
                limiter.policies().into_iter().map(|policy| (policy.name.clone(), policy.algorithm)).collect();
            let is_new = |policy: &&Policy| known.get(&policy.name) != Some(&policy.algorithm);
            new.extend(policies.iter().filter(is_new).map(|policy| policy.name.clone()));
            limiter.set_policies(policies, now).map_err(|error| error.to_string())?;
        }
        Ok(new)
    }

    /// Puts one saved change into force.
    pub(crate) fn apply_change(&self, change: &Change) {
        let override_key = match change {
            Change::PutOverride(override_key, _) | Change::DeleteOverride(override_key) => override_key,
            Change::PutPolicy(_) | Change::DeletePolicy(_) | Change::PutReference(_) => {
                let mut rule_set = self.with_rules(Clone::clone);
                rule_set.apply(change);
                if let Err(reason) = self.replace_rules(rule_set) {
                    tracing::error!(
                        reason,
                        "a saved change of the rate limiter's rules is not in force until the next start"
                    );
                }
                return;
            }
        };
        let now = self.now();
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.apply(change);
        self.set_override(override_key, rules.override_quota(override_key), now);
    }

    fn set_override(&self, override_key: &rules::OverrideKey, quota: Option<Quota>, now: Moment) {
        let (policy, key) = (&*override_key.0, &*override_key.1);
        let failed = match quota {
            _ if policy == REFERENCE => {
                self.reference.set_override(key, quota, now).err().map(|error| error.to_string())
            }
            Some(quota) => self
                .limiter_of_policy(policy)
                .set_override(policy, key, quota, now)
                .err()
                .map(|error| error.to_string()),
            // A deleted policy took its keys' quotas along.
            None => {
                let _ = self.limiter_of_policy(policy).remove_override(policy, key, now);
                None
            }
        };
        if let Some(reason) = failed {
            tracing::error!(policy, reason, "a key's own quota could not be put into force");
        }
    }

    /// The limiter that has the policy of this name in force.
    fn limiter_of_policy(&self, policy: &str) -> &Limiter {
        let is_own = self.gateway.policies().iter().any(|known| *known.name == *policy);
        if is_own { &self.gateway } else { &self.external }
    }

    /// Evicts idle keys for as long as it is polled.
    pub async fn sweep(&self) {
        let mut ticks = interval(SWEEP_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.sweep_part();
            while self.key_count() == 0 {
                sleep(EMPTY_POLL_INTERVAL).await;
            }
        }
    }

    /// The number of keys in all limiters together.
    fn key_count(&self) -> usize {
        self.limiters().iter().map(|limiter| limiter.budget().keys()).sum::<usize>() + self.reference.key_count()
    }

    /// A whole round at once: for tests.
    pub fn sweep_all(&self) {
        (0..SWEEPS_PER_ROUND).for_each(|_| self.sweep_part());
    }

    /// One part of a round.
    fn sweep_part(&self) {
        let share = |shards: usize| shards.div_ceil(SWEEPS_PER_ROUND as usize);
        let now = self.now();
        for limiter in self.limiters() {
            limiter.sweep(share(limiter.shards()), now);
        }
        self.reference.sweep(share(self.reference.shard_count()), now);
    }

    /// Writes the metrics of the limiter.
    pub fn write_metrics(&self, page: &mut Page) {
        let mut stats: Vec<_> = self.limiters().into_iter().flat_map(Limiter::stats).collect();
        stats.push(self.reference.stats());
        let mut family = |name: &str, help: &str, kind: FamilyKind, of: &dyn Fn(&limiter::PolicyStats) -> u64| {
            page.head(name, help, kind);
            stats.iter().for_each(|stats| page.sample(&[("policy", &*stats.policy)], of(stats)));
        };
        family("gauntlet_limiter_keys", "Keys that a policy counts.", FamilyKind::Gauge, &|stats| stats.keys as u64);
        family("gauntlet_limiter_timestamps", "Timestamps in a policy's exact logs.", FamilyKind::Gauge, &|stats| {
            stats.timestamps as u64
        });
        let help = "Idle keys that were forgotten.";
        family("gauntlet_limiter_forgotten_total", help, FamilyKind::Counter, &|stats| stats.forgotten);
        page.head(
            "gauntlet_limiter_full_total",
            "Hits for which there was no room for another key or timestamp.",
            FamilyKind::Counter,
        );
        for stats in &stats {
            for (outcome, count) in [("denied", stats.full_denied), ("admitted", stats.full_admitted)] {
                let labels = [("policy", &*stats.policy), ("outcome", outcome)];
                page.sample(&labels, count);
            }
        }
    }
}
