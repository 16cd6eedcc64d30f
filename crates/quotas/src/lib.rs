//! Quotas by client address: how many costly things the clients of one address may have at once, and may create in an hour. Guests cost
//! nothing, so limits by account alone would bound nothing.
//!
//! Counts are soft: they are in this process's memory, and begin anew with it. Card tables, tickets and worlds in memory are counted where
//! they are kept (`tables`, `hunts`, `worlds`), each by a `KeyedPermits`; here are the rules, the hourly quotas, and the hunts that are not over.
//! Connections, sockets and waits are bounded by the permits and budgets beside them. Knows neither requests nor what is done under a permit.
//! Clients on loopback are not counted, unless `quotas.loopback` says so.

pub mod address_key;
pub mod address_limit;
pub mod fair_semaphore;
pub mod keyed_permits;
mod live_hunts;
pub mod socket_budget;

pub use live_hunts::LiveHunt;

use crate::address_key::AddressKey;
use engine::ids::WorldId;
use engine::limits::QUOTA_ADDRESSES_MAX;
use engine::time::UnixMs;
use limiter::{Budget, Capacity, Decision, Gcra, Keyed, Moment, Quota, Seed, WhenFull};
use live_hunts::LiveHunts;
use metrics::Metrics;
pub use metrics::QuotaKind;
use settings::Config;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The period of hourly quotas.
const HOUR: Duration = Duration::from_secs(3_600);
/// When to try again after a limit on existing things: finding out takes no request.
const RETRY_AFTER_S: u64 = 10;

/// The clients of an address have reached its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct QuotaExceeded {
    pub kind: QuotaKind,
    /// The limit of an address.
    pub max: usize,
    /// Whether it is the hourly limit, and not the limit of existing things.
    pub is_hourly: bool,
    /// When to try again, in seconds.
    pub retry_after_s: u64,
}

impl QuotaExceeded {
    /// The limit of existing things is reached.
    #[must_use]
    pub fn at_once(kind: QuotaKind, max: usize) -> Self {
        Self { kind, max, is_hourly: false, retry_after_s: RETRY_AFTER_S }
    }
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, max, is_hourly, retry_after_s } = self;
        if *is_hourly {
            let done = match kind {
                QuotaKind::SignIns => "sent as many codes to sign in",
                kind => &format!("created as many {}", kind.name()),
            };
            return write!(
                f,
                "clients of your address have {done} as one address may in an hour ({max}): try again in {retry_after_s} s"
            );
        }
        let (what, remedy) = match kind {
            QuotaKind::Guests => ("guests", "use one of them"),
            QuotaKind::Tables => ("card tables", "end a game, or leave its table"),
            QuotaKind::Hunts => {
                ("hunts that are not over", "end one with DELETE /api/hunts/{name}, or wait until one is over")
            }
            QuotaKind::Cells => (
                "cells in hunts that are not over",
                "create a smaller one, end one with DELETE /api/hunts/{name}, or wait until one is over",
            ),
            QuotaKind::Tickets => (
                "tickets that wait or whose hunt is not over",
                "cancel one with DELETE /api/hunts/tickets/{id}, or wait until a hunt is over",
            ),
            QuotaKind::SignIns => ("attempts to sign in under way", "try again later"),
            QuotaKind::Worlds => ("worlds in this server's memory", "leave one of them, or try again a minute later"),
        };
        write!(f, "clients of your address have as many {what} as one address may have ({max}): {remedy}")
    }
}

/// The limits of an address.
#[derive(Clone, Copy, Debug)]
struct QuotaLimits {
    guests_per_hour: usize,
    tables_per_hour: usize,
    hunts_per_hour: usize,
    sign_ins_per_hour: usize,
    hunts: usize,
    cells: usize,
}

/// The number of things created in the last hour.
struct HourlyQuota {
    kind: QuotaKind,
    max: usize,
    by_address: Keyed<Gcra>,
}

/// The counts of one process.
pub struct Quotas {
    limits: QuotaLimits,
    /// Whether clients on loopback are counted.
    counts_loopback: bool,
    guests: HourlyQuota,
    tables: HourlyQuota,
    hunts: HourlyQuota,
    sign_ins: HourlyQuota,
    live_hunts: Mutex<LiveHunts>,
    metrics: Arc<Metrics>,
}

impl Quotas {
    /// Quotas without usage. The seed spreads addresses.
    #[must_use]
    pub fn new(config: &Config, metrics: Arc<Metrics>, seed: [u8; 32]) -> Self {
        let limits = QuotaLimits {
            guests_per_hour: config.quotas_guests_per_hour,
            tables_per_hour: config.quotas_tables_per_hour,
            hunts_per_hour: config.quotas_hunts_per_hour,
            sign_ins_per_hour: config.quotas_sign_ins_per_hour,
            hunts: config.quotas_hunts_per_address_max,
            cells: config.quotas_cells_per_address_max,
        };
        let hourly = |kind, max| HourlyQuota::new(kind, max, seed);
        Self {
            limits,
            counts_loopback: config.quotas_loopback,
            guests: hourly(QuotaKind::Guests, limits.guests_per_hour),
            tables: hourly(QuotaKind::Tables, limits.tables_per_hour),
            hunts: hourly(QuotaKind::Hunts, limits.hunts_per_hour),
            sign_ins: hourly(QuotaKind::SignIns, limits.sign_ins_per_hour),
            live_hunts: Mutex::default(),
            metrics,
        }
    }

    /// The key by which a client's address is counted; `None` if it is not counted.
    #[must_use]
    pub fn subject_key(&self, address: Option<IpAddr>) -> Option<AddressKey> {
        let is_counted = |address: &IpAddr| self.counts_loopback || !address.to_canonical().is_loopback();
        address.filter(is_counted).map(AddressKey::of)
    }

    /// Counts a created guest.
    ///
    /// # Errors
    /// [`QuotaExceeded`], and nothing was counted.
    pub fn charge_guest(&self, address: Option<AddressKey>, at: Moment) -> Result<(), QuotaExceeded> {
        self.charge_hourly(&self.guests, address, at)
    }

    /// Counts a created card table.
    ///
    /// # Errors
    /// [`QuotaExceeded`], and nothing was counted.
    pub fn charge_table(&self, address: Option<AddressKey>, at: Moment) -> Result<(), QuotaExceeded> {
        self.charge_hourly(&self.tables, address, at)
    }

    /// Counts a code that was sent to sign in, whatever comes of it.
    ///
    /// # Errors
    /// [`QuotaExceeded`], and nothing was counted.
    pub fn charge_sign_in(&self, address: Option<AddressKey>, at: Moment) -> Result<(), QuotaExceeded> {
        self.charge_hourly(&self.sign_ins, address, at)
    }

    /// Counts a created hunt, until its end or until it is [released](Self::release_hunt). The caller must
    /// [record](Self::record_exceeded) an exceeded limit of existing hunts: some may have ended early.
    ///
    /// # Errors
    /// [`QuotaExceeded`], and nothing was counted.
    pub fn charge_hunt(
        &self,
        address: Option<AddressKey>,
        hunt: LiveHunt,
        now: UnixMs,
        at: Moment,
    ) -> Result<(), QuotaExceeded> {
        let Some(key) = address else { return Ok(()) };
        let id = hunt.id;
        let QuotaLimits { hunts, cells, .. } = self.limits;
        self.lock_live_hunts().add(key, hunt, now, hunts, cells)?;
        self.charge_hourly(&self.hunts, address, at).inspect_err(|_| self.release_hunt(id))
    }

    /// Hunts of an address that count as not over: some may have ended early.
    #[must_use]
    pub fn hunts_of(&self, address: AddressKey) -> Vec<WorldId> {
        self.lock_live_hunts().ids_of(address)
    }

    /// Releases a hunt that is over, or was not created after all.
    pub fn release_hunt(&self, id: WorldId) {
        self.lock_live_hunts().remove(id);
    }

    /// Counts a refusal.
    pub fn record_exceeded(&self, kind: QuotaKind) {
        self.metrics.process.quota_exceeded.inc(kind);
    }

    fn charge_hourly(
        &self,
        hourly: &HourlyQuota,
        address: Option<AddressKey>,
        at: Moment,
    ) -> Result<(), QuotaExceeded> {
        let Some(address) = address else { return Ok(()) };
        hourly.charge(address, at).inspect_err(|exceeded| self.record_exceeded(exceeded.kind))
    }

    /// Consistent even if a holder of the lock panicked.
    fn lock_live_hunts(&self) -> std::sync::MutexGuard<'_, LiveHunts> {
        self.live_hunts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Evicts addresses that have created nothing in the last hour.
    pub fn sweep(&self, at: Moment) {
        for hourly in [&self.guests, &self.tables, &self.hunts, &self.sign_ins] {
            hourly.by_address.sweep(hourly.by_address.shards(), at);
        }
    }
}

impl HourlyQuota {
    fn new(kind: QuotaKind, max: usize, seed: [u8; 32]) -> Self {
        let budget = Arc::new(Budget::new(Capacity { keys_max: QUOTA_ADDRESSES_MAX, timestamps_max: 0 }));
        let quota = Quota::new(max as u64, HOUR).expect("the table of settings allows no limit of zero");
        // Further addresses are admitted uncounted: other limits bound what all of them create together.
        Self { kind, max, by_address: Keyed::new(quota, budget, WhenFull::Admit, Seed::new(seed)) }
    }

    fn charge(&self, address: AddressKey, at: Moment) -> Result<(), QuotaExceeded> {
        match self.by_address.check(address.to_string().as_bytes(), 1, at) {
            Decision::NotUntil { at: again_at } => {
                let retry_after_s = again_at.since(at).as_secs().max(1);
                Err(QuotaExceeded { kind: self.kind, max: self.max, is_hourly: true, retry_after_s })
            }
            // One is never more than the limit, and an address that cannot be counted is admitted.
            Decision::Allow { .. } | Decision::Never | Decision::Full => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
