//! How many checks of bots may be requested: in a minute by account, by the client's address and by the host that is called, and at once in this
//! process. Counts are soft, in this process's memory.

use crate::client_address::limiter_key;
use crate::problem::{ApiError, ApiResult};
use axum::http::Uri;
use engine::ids::AccountId;
use engine::limits::{
    HEALTH_CHECKS_AT_ONCE, HEALTH_CHECKS_PER_ACCOUNT_PER_MIN, HEALTH_CHECKS_PER_ADDRESS_PER_MIN,
    HEALTH_CHECKS_PER_HOST_PER_MIN, QUOTA_ADDRESSES_MAX,
};
use limiter::{Budget, Capacity, Decision, Gcra, Keyed, Moment, Quota, Seed, WhenFull};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const MINUTE: Duration = Duration::from_secs(60);
/// When to try again while as many checks run as may: a check ends within some seconds.
const RETRY_AFTER_S: u64 = 5;

/// The checks of one process.
pub struct CheckQuotas {
    by_account: Keyed<Gcra>,
    by_address: Keyed<Gcra>,
    by_host: Keyed<Gcra>,
    running: Arc<Semaphore>,
}

impl CheckQuotas {
    /// Quotas without usage. The seed spreads keys.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        let per_minute = |max: u32| {
            let quota = Quota::new(u64::from(max), MINUTE).expect("no limit is zero");
            let budget = Arc::new(Budget::new(Capacity { keys_max: QUOTA_ADDRESSES_MAX, timestamps_max: 0 }));
            // A check that cannot be counted is refused: each makes this server call a host.
            Keyed::new(quota, budget, WhenFull::Deny, Seed::new(seed))
        };
        Self {
            by_account: per_minute(HEALTH_CHECKS_PER_ACCOUNT_PER_MIN),
            by_address: per_minute(HEALTH_CHECKS_PER_ADDRESS_PER_MIN),
            by_host: per_minute(HEALTH_CHECKS_PER_HOST_PER_MIN),
            running: Arc::new(Semaphore::new(HEALTH_CHECKS_AT_ONCE)),
        }
    }

    /// Counts a check; the permit lasts as long as it runs.
    ///
    /// # Errors
    /// [`ApiError::TooManyChecks`]. What was counted before the refusal stays counted.
    pub(super) fn charge(
        &self,
        account: AccountId,
        address: Option<IpAddr>,
        url: &str,
        at: Moment,
    ) -> ApiResult<OwnedSemaphorePermit> {
        check(&self.by_account, &account.to_bytes(), at)?;
        if let Some(address) = address {
            check(&self.by_address, limiter_key(address).as_bytes(), at)?;
        }
        let host = url.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_ascii_lowercase)).unwrap_or_default();
        check(&self.by_host, host.as_bytes(), at)?;
        let permit = self.running.clone().try_acquire_owned();
        permit.map_err(|_| ApiError::TooManyChecks { retry_after_s: RETRY_AFTER_S })
    }

    /// Evicts keys that were not used for a minute.
    pub fn sweep(&self, at: Moment) {
        for keyed in [&self.by_account, &self.by_address, &self.by_host] {
            keyed.sweep(keyed.shards(), at);
        }
    }
}

fn check(quota: &Keyed<Gcra>, key: &[u8], at: Moment) -> ApiResult<()> {
    match quota.check(key, 1, at) {
        Decision::Allow { .. } => Ok(()),
        Decision::NotUntil { at: again_at } => {
            Err(ApiError::TooManyChecks { retry_after_s: again_at.since(at).as_secs().max(1) })
        }
        Decision::Never | Decision::Full => Err(ApiError::TooManyChecks { retry_after_s: RETRY_AFTER_S }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks in one moment until one is refused.
    #[track_caller]
    fn check(want: u32, of: impl Fn(u32) -> (u128, &'static str, String)) {
        let quotas = CheckQuotas::new([1; 32]);
        let allowed = (0..1_000).take_while(|&n| {
            let (account, address, url) = of(n);
            let address = Some(address.parse().unwrap());
            quotas.charge(AccountId(account), address, &url, Moment::default()).is_ok()
        });
        assert_eq!(allowed.count() as u32, want);
    }

    #[test]
    fn each_key_has_its_limit() {
        let addresses = |n: u32| ["192.0.2.1", "198.51.100.1", "203.0.113.1", "192.0.2.77"][n as usize % 4];
        check(HEALTH_CHECKS_PER_ACCOUNT_PER_MIN, |n| (1, addresses(n), format!("http://{n}.example/")));
        check(HEALTH_CHECKS_PER_ADDRESS_PER_MIN, |n| (n.into(), "192.0.2.1", format!("http://{n}.example/")));
        // The same host, whatever the port, the path and the letters' case.
        let host = |n: u32| format!("http://{}:{}/{n}", ["victim.example", "VICTIM.example"][n as usize % 2], 1 + n);
        check(HEALTH_CHECKS_PER_HOST_PER_MIN, |n| (n.into(), addresses(n), host(n)));
    }

    #[test]
    fn so_many_run_at_once() {
        let quotas = CheckQuotas::new([1; 32]);
        let charge =
            |n: usize| quotas.charge(AccountId(n as u128), None, &format!("http://{n}.example"), Moment::default());
        let running: Vec<_> = (0..HEALTH_CHECKS_AT_ONCE).map(|n| charge(n).unwrap()).collect();
        assert!(charge(1_000).is_err());
        drop(running);
        assert!(charge(1_001).is_ok());
    }
}
