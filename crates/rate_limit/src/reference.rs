//! The only policy of the reference API: an exact log for each client, 100 requests in 60 seconds unless configured otherwise, for all
//! clients or for one. It has no patterns and no classes, so it is separate from the other policies and checked alone.

use super::RateLimitConfig;
use super::headers::{RETRY_WHEN_FULL_S, seconds_until};
use super::rules::{self, REFERENCE};
use limiter::{Budget, Decision, Keyed, Log, Moment, PolicyStats, Quota, TooManyOverrides, WhenFull};
use metrics::{DecisionCounters, DecisionOutcome, Metrics};
use std::sync::Arc;
use std::time::Duration;
use wire::api::LimitQuota;

/// The default limit of the reference.
const LIMIT_DEFAULT: u64 = 100;
/// See [`LIMIT_DEFAULT`].
const WINDOW_DEFAULT: Duration = Duration::from_secs(60);
/// The class under which these decisions are counted.
const CLASS: &str = "api.v1";

/// The decision for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceDecision {
    /// Allowed.
    Allowed {
        /// Requests that are left in the window.
        remaining: u64,
    },
    /// Refused.
    Denied {
        /// Whole seconds, rounded up, at least 1.
        retry_after_s: u64,
    },
}

/// The clients of the reference API.
pub struct ReferenceLimiter {
    clients: Keyed<Log>,
    decisions: Arc<DecisionCounters>,
    is_shadow: bool,
}

impl ReferenceLimiter {
    /// A limiter without usage. Its capacity is separate, so that clients cannot use up that of the policies.
    pub(super) fn new(config: RateLimitConfig, metrics: &Metrics) -> Self {
        let budget = Arc::new(Budget::new(config.capacity));
        let clients = Keyed::new(default_quota(), budget, WhenFull::Deny, (config.new_seed)());
        Self {
            clients,
            decisions: metrics.process.limiter_decisions.counters(REFERENCE, CLASS),
            is_shadow: config.is_shadow,
        }
    }

    pub(super) fn check(&self, client: &[u8], now: Moment) -> ReferenceDecision {
        let decision = self.clients.check(client, 1, now);
        let retry_after_s = match decision {
            Decision::Allow { remaining, .. } => {
                self.decisions.inc(DecisionOutcome::Allowed);
                return ReferenceDecision::Allowed { remaining };
            }
            Decision::NotUntil { at } => seconds_until(at, now).max(1),
            // Every limit is at least the one unit that a request takes, so only `Full` can occur.
            Decision::Never | Decision::Full => RETRY_WHEN_FULL_S,
        };
        if self.is_shadow {
            self.decisions.inc(DecisionOutcome::Shadow);
            return ReferenceDecision::Allowed { remaining: 0 };
        }
        self.decisions.inc(if matches!(decision, Decision::Full) {
            DecisionOutcome::Full
        } else {
            DecisionOutcome::Denied
        });
        ReferenceDecision::Denied { retry_after_s }
    }

    pub(super) fn set_default(&self, default: Option<&LimitQuota>, now: Moment) {
        let override_key = (REFERENCE.into(), Box::default());
        let quota = default.and_then(|quota| rules::stored_quota(&override_key, quota)).unwrap_or_else(default_quota);
        self.clients.set_quota(quota, now);
    }

    pub(super) fn set_override(&self, key: &[u8], quota: Option<Quota>, now: Moment) -> Result<(), TooManyOverrides> {
        match quota {
            Some(quota) => self.clients.set_override(key, quota, now),
            None => {
                self.clients.remove_override(key, now);
                Ok(())
            }
        }
    }

    pub(super) fn key_count(&self) -> usize {
        self.clients.keys()
    }

    pub(super) fn shard_count(&self) -> usize {
        self.clients.shards()
    }

    pub(super) fn sweep(&self, shards: usize, now: Moment) -> usize {
        self.clients.sweep(shards, now)
    }

    pub(super) fn stats(&self) -> PolicyStats {
        self.clients.stats(REFERENCE)
    }
}

/// The quota of a client where nothing is configured.
#[must_use]
pub(super) fn default_limit_quota() -> LimitQuota {
    LimitQuota { limit: LIMIT_DEFAULT, window_ms: WINDOW_DEFAULT.as_millis() as u64 }
}

fn default_quota() -> Quota {
    Quota::new(LIMIT_DEFAULT, WINDOW_DEFAULT).expect("neither is zero")
}
