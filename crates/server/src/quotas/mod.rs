//! Quotas by client address: how much of what costs something the clients of one address may have at once, and may make in an
//! hour. Guests cost nothing, so that limits by account alone bound nobody.
//!
//! Counts are soft: they live in this process's memory, and begin anew with it. Card tables, tickets and worlds in memory are counted
//! where they are kept (`tables`, `hunts`, `worlds`), each by a `crate::shares::Share`; here are the rules, what is made in an
//! hour, and the hunts that are not over. Who calls from loopback is not counted, unless `quotas.loopback` says so.

mod live_hunts;

pub use live_hunts::LiveHunt;

use crate::address_key::AddressKey;
use crate::config::Config;
use crate::metrics::Metrics;
use engine::ids::WorldId;
use engine::limits::QUOTA_ADDRESSES_MAX;
use engine::time::UnixMs;
use limiter::{Budget, Capacity, Decision, Gcra, Keyed, Moment, Quota, Seed, WhenFull};
use live_hunts::LiveHunts;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// In which makings are counted.
const HOUR: Duration = Duration::from_secs(3_600);
/// When somebody may come again who has as many of something as he may have: it takes no request to find out.
const RETRY_AFTER_S: u64 = 10;

/// Things of which an address may have so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaKind {
    /// Guests, made in an hour.
    Guests,
    /// Card tables, in memory or made in an hour.
    Tables,
    /// Hunts that are not over, or made in an hour.
    Hunts,
    /// Cells of hunts that are not over.
    Cells,
    /// Tickets that wait, or whose hunt is not over.
    Tickets,
    /// Worlds that were brought into memory.
    Worlds,
}

impl QuotaKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Guests, Self::Tables, Self::Hunts, Self::Cells, Self::Tickets, Self::Worlds];

    /// Its name in figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Guests => "guests",
            Self::Tables => "tables",
            Self::Hunts => "hunts",
            Self::Cells => "cells",
            Self::Tickets => "tickets",
            Self::Worlds => "worlds",
        }
    }
}

/// The clients of an address have as much as one address may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct QuotaExceeded {
    /// Of what.
    pub kind: QuotaKind,
    /// How much an address may have.
    pub max: usize,
    /// Whether that is what it may make in an hour, and not what it may have at once.
    pub is_hourly: bool,
    /// When to come again, in seconds.
    pub retry_after_s: u64,
}

impl QuotaExceeded {
    /// Too many at once.
    #[must_use]
    pub fn at_once(kind: QuotaKind, max: usize) -> Self {
        Self { kind, max, is_hourly: false, retry_after_s: RETRY_AFTER_S }
    }
}

impl fmt::Display for QuotaExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, max, is_hourly, retry_after_s } = self;
        if *is_hourly {
            let what = kind.name();
            return write!(
                f,
                "clients of your address have made as many {what} as one address may make in an hour ({max}): try again in {retry_after_s} s"
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
                "make a smaller one, end one with DELETE /api/hunts/{name}, or wait until one is over",
            ),
            QuotaKind::Tickets => (
                "tickets that wait or whose hunt is not over",
                "take one back with DELETE /api/hunts/tickets/{id}, or wait until a hunt is over",
            ),
            QuotaKind::Worlds => ("worlds in this server's memory", "leave one of them, or come in a minute later"),
        };
        write!(f, "clients of your address have as many {what} as one address may have ({max}): {remedy}")
    }
}

/// What an address may have.
#[derive(Clone, Copy, Debug)]
struct QuotaLimits {
    guests_per_hour: usize,
    tables_per_hour: usize,
    hunts_per_hour: usize,
    hunts: usize,
    cells: usize,
}

/// What was made in the last hour.
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
    live_hunts: Mutex<LiveHunts>,
    metrics: Arc<Metrics>,
}

impl Quotas {
    /// Nothing was made yet. The seed spreads addresses.
    #[must_use]
    pub fn new(config: &Config, metrics: Arc<Metrics>, seed: [u8; 32]) -> Self {
        let limits = QuotaLimits {
            guests_per_hour: config.quotas_guests_per_hour,
            tables_per_hour: config.quotas_tables_per_hour,
            hunts_per_hour: config.quotas_hunts_per_hour,
            hunts: config.quotas_hunts_per_address_max,
            cells: config.quotas_cells_per_address_max,
        };
        let made = |kind, max| HourlyQuota::new(kind, max, seed);
        Self {
            limits,
            counts_loopback: config.quotas_loopback,
            guests: made(QuotaKind::Guests, limits.guests_per_hour),
            tables: made(QuotaKind::Tables, limits.tables_per_hour),
            hunts: made(QuotaKind::Hunts, limits.hunts_per_hour),
            live_hunts: Mutex::default(),
            metrics,
        }
    }

    /// What a client's address is counted as; `None` where it is not counted.
    #[must_use]
    pub fn subject_key(&self, address: Option<IpAddr>) -> Option<AddressKey> {
        let is_counted = |address: &IpAddr| self.counts_loopback || !address.to_canonical().is_loopback();
        address.filter(is_counted).map(AddressKey::of)
    }

    /// A guest is made.
    ///
    /// # Errors
    /// [`QuotaExceeded`], and nothing was counted.
    pub fn charge_guest(&self, address: Option<AddressKey>, at: Moment) -> Result<(), QuotaExceeded> {
        self.charge_hourly(&self.guests, address, at)
    }

    /// A card table is made.
    ///
    /// # Errors
    /// [`QuotaExceeded`], and nothing was counted.
    pub fn charge_table(&self, address: Option<AddressKey>, at: Moment) -> Result<(), QuotaExceeded> {
        self.charge_hourly(&self.tables, address, at)
    }

    /// A hunt is made. It counts until its end, or until it is [forgotten](Self::release_hunt). What there is too much of at once is for
    /// the caller to [note](Self::record_exceeded): some may have ended early.
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

    /// A hunt is over, or was not made after all.
    pub fn release_hunt(&self, id: WorldId) {
        self.lock_live_hunts().remove(id);
    }

    /// Somebody was refused.
    pub fn record_exceeded(&self, kind: QuotaKind) {
        self.metrics.quota_exceeded(kind);
    }

    fn charge_hourly(&self, made: &HourlyQuota, address: Option<AddressKey>, at: Moment) -> Result<(), QuotaExceeded> {
        let Some(address) = address else { return Ok(()) };
        made.charge(address, at).inspect_err(|exceeded| self.record_exceeded(exceeded.kind))
    }

    /// No update leaves it broken for another, even if a holder of the lock panicked.
    fn lock_live_hunts(&self) -> std::sync::MutexGuard<'_, LiveHunts> {
        self.live_hunts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets addresses that have made nothing in the last hour.
    pub fn sweep(&self, at: Moment) {
        for made in [&self.guests, &self.tables, &self.hunts] {
            made.by_address.sweep(made.by_address.shards(), at);
        }
    }
}

impl HourlyQuota {
    fn new(kind: QuotaKind, max: usize, seed: [u8; 32]) -> Self {
        let room = Arc::new(Budget::new(Capacity { keys_max: QUOTA_ADDRESSES_MAX, timestamps_max: 0 }));
        let quota = Quota::new(max as u64, HOUR).expect("the table of settings allows no limit of zero");
        // Further addresses are let in uncounted: what they make is bounded for all together elsewhere.
        Self { kind, max, by_address: Keyed::new(quota, room, WhenFull::Admit, Seed::new(seed)) }
    }

    fn charge(&self, address: AddressKey, at: Moment) -> Result<(), QuotaExceeded> {
        match self.by_address.check(address.to_string().as_bytes(), 1, at) {
            Decision::NotUntil { at: again_at } => {
                let retry_after_s = again_at.since(at).as_secs().max(1);
                Err(QuotaExceeded { kind: self.kind, max: self.max, is_hourly: true, retry_after_s })
            }
            // One is never more than the limit, and whoever cannot be counted is let in.
            Decision::Allow { .. } | Decision::Never | Decision::Full => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
