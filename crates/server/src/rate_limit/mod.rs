//! The rate limiter of this process: one limiter, its rules, its clock and its figures, for whoever must ask before they act:
//! the gateway, the check routes, the gRPC service, and the reference API.
//!
//! A decision takes no task, no channel and no store: it is made where it is asked for. Counts are this process's own; several
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

use crate::clock::random_bytes;
use crate::config::Config;
use crate::metrics::{DecisionOutcome, Metrics, OWN_CLASS_PREFIX, Page};
use limiter::limits::LIMIT_MAX;
use limiter::{Capacity, CheckResult, Decision, Hit, Limiter, Moment, Policy, PolicyDecision, Quota, Seed};
use rules::{Change, ChangeError, LimitRuleSet, REFERENCE, RuleOwnerMessage};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, sleep};
use wire::api::LimitQuota;

/// How far a count reaches.
pub const SCOPE: &str = "process";
/// Time in which every idle key is found and forgotten, with or without traffic.
pub const SWEEP_ROUND: Duration = Duration::from_secs(10);
/// A part of a round at a time, so that no request waits long behind it.
const SWEEP_INTERVAL: Duration = Duration::from_millis(20);
/// With no key held there is nothing to forget: then this often somebody looks whether one has come. Its forgetting is late by
/// no more than that.
const EMPTY_POLL_INTERVAL: Duration = Duration::from_secs(1);
const SWEEPS_PER_ROUND: u128 = SWEEP_ROUND.as_millis() / SWEEP_INTERVAL.as_millis();

/// The rate limiter of one process.
pub struct RateLimiter {
    clock: LimitClock,
    /// Policies whose class begins with [`OWN_CLASS_PREFIX`], and their counts. Apart from the others, so that nobody who asks
    /// from outside can use up what the gateway counts, or the room in which it counts.
    gateway: Limiter,
    /// All other policies.
    external: Limiter,
    reference: ReferenceLimiter,
    /// Decides and counts, and refuses nobody.
    is_shadow: bool,
    rules: RwLock<ActiveRules>,
    to_owner: mpsc::Sender<RuleOwnerMessage>,
    inbox: Mutex<Option<mpsc::Receiver<RuleOwnerMessage>>>,
    metrics: Arc<Metrics>,
}

/// What was written down, and what the limiter was told of it.
#[derive(Default)]
struct ActiveRules {
    rule_set: LimitRuleSet,
    overrides: BTreeMap<rules::OverrideKey, Quota>,
}

impl RateLimiter {
    /// A limiter without rules: it limits nothing until [`rules::Keeper`] has begun.
    #[must_use]
    pub fn new(config: &Config, metrics: Arc<Metrics>) -> Self {
        Self::with_clock(config, metrics, LimitClock::default())
    }

    /// The same, on a clock of the caller's.
    #[must_use]
    pub fn with_clock(config: &Config, metrics: Arc<Metrics>, clock: LimitClock) -> Self {
        let capacity = Capacity { keys_max: config.limiter_keys_max, timestamps_max: config.limiter_timestamps_max };
        let limiter = || Limiter::new(capacity, Seed::new(random_bytes()));
        let reference = ReferenceLimiter::new(capacity, &metrics, config.limiter_shadow);
        let (to_keeper, inbox) = mpsc::channel(rules::INBOX_CAPACITY);
        Self {
            clock,
            gateway: limiter(),
            external: limiter(),
            reference,
            is_shadow: config.limiter_shadow,
            rules: RwLock::default(),
            to_owner: to_keeper,
            inbox: Mutex::new(Some(inbox)),
            metrics,
        }
    }

    /// The time by which the limiter decides.
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

    /// Judges these hits together, all or nothing, under every policy that they match, and counts what was decided. The hits of
    /// one question are all the gateway's own, or all from outside: the first one's class says which.
    pub fn check(&self, hits: &[Hit<'_>]) -> CheckResult {
        self.check_with(hits, &[])
    }

    /// The same for hits that bring quotas along, in their order: see [`Limiter::check_with`].
    pub fn check_with(&self, hits: &[Hit<'_>], brought: &[Option<Quota>]) -> CheckResult {
        let began = Instant::now();
        let limiter = self.limiter_of_class(hits.first().map_or("", |hit| hit.class));
        let ruling = limiter.check_with(hits, brought, self.clock.at(began));
        if !ruling.decisions.is_empty() {
            let said = ruling
                .decisions
                .iter()
                .map(|part| (&*part.policy.name, hits[part.hit].class, Self::decision_outcome(part)));
            self.metrics.decisions().count(said);
            self.metrics.limiter_decided(began.elapsed());
        }
        ruling
    }

    fn decision_outcome(part: &PolicyDecision) -> DecisionOutcome {
        match part.decision {
            Decision::Allow { .. } => DecisionOutcome::Allowed,
            _ if part.policy.is_shadow => DecisionOutcome::Shadow,
            Decision::NotUntil { .. } => DecisionOutcome::Denied,
            Decision::Never => DecisionOutcome::Exceeds,
            Decision::Full => DecisionOutcome::Full,
        }
    }

    /// Judges one request of the reference API's client.
    pub fn check_reference(&self, client: &[u8]) -> ReferenceDecision {
        let began = Instant::now();
        let verdict = self.reference.check(client, self.clock.at(began));
        self.metrics.limiter_decided(began.elapsed());
        match verdict {
            // The limiter counts no further than to its own bound; the reference has none.
            ReferenceDecision::Allowed { remaining } if remaining > LIMIT_MAX / 2 => {
                let beyond = self.reference_quota(client).limit.saturating_sub(LIMIT_MAX);
                ReferenceDecision::Allowed { remaining: remaining + beyond }
            }
            verdict => verdict,
        }
    }

    /// What holds for a client of the reference API: its own settings, or those for all.
    #[must_use]
    pub fn reference_quota(&self, client: &[u8]) -> LimitQuota {
        let place: rules::OverrideKey = (REFERENCE.into(), client.into());
        let stored =
            self.with_rules(|book| book.stored.overrides.get(&place).or(book.stored.reference.as_ref()).cloned());
        stored.unwrap_or_else(reference::default_limit_quota)
    }

    /// Time stamps that the exact logs of policies may keep together.
    #[must_use]
    pub fn timestamps_max(&self) -> usize {
        self.external.budget().capacity().timestamps_max
    }

    /// Whether the whole limiter only decides and counts.
    #[must_use]
    pub fn is_shadow(&self) -> bool {
        self.is_shadow
    }

    /// Looks into the rules. Nothing may wait in `look`.
    pub fn with_rules<T>(&self, look: impl FnOnce(&LimitRuleSet) -> T) -> T {
        look(&self.rules.read().unwrap_or_else(PoisonError::into_inner).rule_set)
    }

    /// Keys counted now, by policy.
    #[must_use]
    pub fn keys_by_policy(&self) -> BTreeMap<Box<str>, u64> {
        let census = self.limiters().into_iter().flat_map(Limiter::stats);
        census.map(|census| (census.policy, census.keys as u64)).collect()
    }

    /// Changes a rule: durable and in force here when this returns, within a second on other nodes.
    ///
    /// # Errors
    /// Why it was not changed.
    pub async fn change(&self, change: Change) -> Result<(), ChangeError> {
        let gone = || ChangeError::Internal("nobody keeps the rate limiter's rules".to_owned());
        let (reply, done) = oneshot::channel();
        self.to_owner.send(RuleOwnerMessage::Change(change, reply)).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())?
    }

    /// Reads the file of policies again: as a whole, or not at all. The number of its policies.
    ///
    /// # Errors
    /// What is wrong with it; the log has heard of it.
    pub async fn reload(&self) -> Result<usize, String> {
        let gone = || "nobody keeps the rate limiter's rules".to_owned();
        let (reply, done) = oneshot::channel();
        self.to_owner.send(RuleOwnerMessage::Reload(reply)).await.map_err(|_| gone())?;
        done.await.map_err(|_| gone())?
    }

    /// What the keeper is asked; the first caller becomes the keeper.
    pub fn take_inbox(&self) -> Option<mpsc::Receiver<RuleOwnerMessage>> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts a book into force as a whole, or not at all. What was used stays used.
    ///
    /// # Errors
    /// Why it cannot be in force.
    pub(crate) fn replace_rules(&self, book: LimitRuleSet) -> Result<(), String> {
        let wanted = book.overrides();
        if wanted.len() > limiter::limits::OVERRIDES_MAX {
            let (have, max) = (wanted.len(), limiter::limits::OVERRIDES_MAX);
            return Err(format!("{have} keys with a quota of their own: expected at most {max}"));
        }
        let now = self.now();
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        let new = self.set_policies(&book, now)?;
        self.reference.set_default(book.stored.reference.as_ref(), now);
        for place in rules.overrides.keys().filter(|place| !wanted.contains_key(*place)) {
            self.set_override(place, None, now);
        }
        let changed = wanted
            .iter()
            .filter(|(place, quota)| new.contains(&place.0) || rules.overrides.get(*place) != Some(*quota));
        changed.for_each(|(place, quota)| self.set_override(place, Some(*quota), now));
        *rules = ActiveRules { rule_set: book, overrides: wanted };
        Ok(())
    }

    /// Hands the policies to the limiter; the names of those that it knew nothing of before.
    fn set_policies(&self, book: &LimitRuleSet, now: Moment) -> Result<BTreeSet<Box<str>>, String> {
        let mut new = BTreeSet::new();
        let is_the_gateways = |policy: &Policy| policy.class.as_str().starts_with(OWN_CLASS_PREFIX);
        let (gateway, outside): (Vec<_>, Vec<_>) = book.policies().into_iter().partition(is_the_gateways);
        for (limiter, mut policies) in [(&self.gateway, gateway), (&self.external, outside)] {
            // A limiter that refuses nobody is one whose policies are all in shadow.
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
        let place = match change {
            Change::PutOverride(place, _) | Change::DeleteOverride(place) => place,
            Change::PutPolicy(_) | Change::DeletePolicy(_) | Change::PutReference(_) => {
                let mut book = self.with_rules(Clone::clone);
                book.apply(change);
                if let Err(why) = self.replace_rules(book) {
                    tracing::error!(
                        why,
                        "a saved change of the rate limiter's rules is not in force until the next start"
                    );
                }
                return;
            }
        };
        let now = self.now();
        let mut rules = self.rules.write().unwrap_or_else(PoisonError::into_inner);
        rules.rule_set.apply(change);
        let quota = rules.rule_set.override_quota(place);
        match quota {
            Some(quota) => rules.overrides.insert(place.clone(), quota),
            None => rules.overrides.remove(place),
        };
        self.set_override(place, quota, now);
    }

    fn set_override(&self, place: &rules::OverrideKey, quota: Option<Quota>, now: Moment) {
        let (policy, key) = (&*place.0, &*place.1);
        let failed = match quota {
            _ if policy == REFERENCE => {
                self.reference.set_override(key, quota, now).err().map(|error| error.to_string())
            }
            Some(quota) => self
                .limiter_of_policy(policy)
                .set_override(policy, key, quota, now)
                .err()
                .map(|error| error.to_string()),
            // A policy that is gone took its keys' quotas along.
            None => {
                let _ = self.limiter_of_policy(policy).remove_override(policy, key, now);
                None
            }
        };
        if let Some(why) = failed {
            tracing::error!(policy, why, "a key's own quota could not be put into force");
        }
    }

    /// The limiter that has the policy of this name in force.
    fn limiter_of_policy(&self, policy: &str) -> &Limiter {
        let is_gateways = self.gateway.policies().iter().any(|known| *known.name == *policy);
        if is_gateways { &self.gateway } else { &self.external }
    }

    /// Forgets idle keys for as long as it is polled.
    pub async fn sweep(&self) {
        let mut turns = interval(SWEEP_INTERVAL);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            turns.tick().await;
            self.sweep_part();
            while self.key_count() == 0 {
                sleep(EMPTY_POLL_INTERVAL).await;
            }
        }
    }

    /// Keys held by all limiters together.
    fn key_count(&self) -> usize {
        self.limiters().iter().map(|limiter| limiter.budget().keys()).sum::<usize>() + self.reference.key_count()
    }

    /// A whole round at once: for tests and for whoever has the time.
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

    /// Writes the figures that only the limiter knows.
    pub fn write_metrics(&self, page: &mut Page) {
        let mut census: Vec<_> = self.limiters().into_iter().flat_map(Limiter::stats).collect();
        census.push(self.reference.census());
        let mut family = |name: &str, help: &str, kind: &str, of: &dyn Fn(&limiter::PolicyStats) -> u64| {
            page.head(name, help, kind);
            census.iter().for_each(|census| page.sample(name, &[("policy", &*census.policy)], of(census)));
        };
        family("gauntlet_limiter_keys", "Keys that a policy counts.", "gauge", &|census| census.keys as u64);
        family("gauntlet_limiter_timestamps", "Timestamps in a policy's exact logs.", "gauge", &|census| {
            census.timestamps as u64
        });
        let help = "Idle keys that were forgotten.";
        family("gauntlet_limiter_forgotten_total", help, "counter", &|census| census.forgotten);
        page.head(
            "gauntlet_limiter_full_total",
            "Hits for which there was no room for another key or timestamp.",
            "counter",
        );
        for census in &census {
            for (outcome, count) in [("denied", census.full_denied), ("admitted", census.full_admitted)] {
                let labels = [("policy", &*census.policy), ("outcome", outcome)];
                page.sample("gauntlet_limiter_full_total", &labels, count);
            }
        }
    }
}
