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
pub enum Kind {
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

impl Kind {
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
pub struct Exceeded {
    /// Of what.
    pub kind: Kind,
    /// How much an address may have.
    pub max: usize,
    /// Whether that is what it may make in an hour, and not what it may have at once.
    pub is_hourly: bool,
    /// When to come again, in seconds.
    pub retry_after_s: u64,
}

impl Exceeded {
    /// Too many at once.
    #[must_use]
    pub fn at_once(kind: Kind, max: usize) -> Self {
        Self { kind, max, is_hourly: false, retry_after_s: RETRY_AFTER_S }
    }
}

impl fmt::Display for Exceeded {
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
            Kind::Guests => ("guests", "use one of them"),
            Kind::Tables => ("card tables", "end a game, or leave its table"),
            Kind::Hunts => {
                ("hunts that are not over", "end one with DELETE /api/hunts/{name}, or wait until one is over")
            }
            Kind::Cells => (
                "cells in hunts that are not over",
                "make a smaller one, end one with DELETE /api/hunts/{name}, or wait until one is over",
            ),
            Kind::Tickets => (
                "tickets that wait or whose hunt is not over",
                "take one back with DELETE /api/hunts/tickets/{id}, or wait until a hunt is over",
            ),
            Kind::Worlds => ("worlds in this server's memory", "leave one of them, or come in a minute later"),
        };
        write!(f, "clients of your address have as many {what} as one address may have ({max}): {remedy}")
    }
}

/// What an address may have.
#[derive(Clone, Copy, Debug)]
struct Limits {
    guests_per_hour: usize,
    tables_per_hour: usize,
    hunts_per_hour: usize,
    hunts: usize,
    cells: usize,
}

/// What was made in the last hour.
struct Made {
    kind: Kind,
    max: usize,
    by_address: Keyed<Gcra>,
}

/// The counts of one process.
pub struct Quotas {
    limits: Limits,
    /// Whether clients on loopback are counted.
    counts_loopback: bool,
    guests: Made,
    tables: Made,
    hunts: Made,
    live: Mutex<LiveHunts>,
    metrics: Arc<Metrics>,
}

impl Quotas {
    /// Nothing was made yet. The seed spreads addresses.
    #[must_use]
    pub fn new(config: &Config, metrics: Arc<Metrics>, seed: [u8; 32]) -> Self {
        let limits = Limits {
            guests_per_hour: config.quotas_guests_per_hour,
            tables_per_hour: config.quotas_tables_per_hour,
            hunts_per_hour: config.quotas_hunts_per_hour,
            hunts: config.quotas_hunts_per_address_max,
            cells: config.quotas_cells_per_address_max,
        };
        let made = |kind, max| Made::new(kind, max, seed);
        Self {
            limits,
            counts_loopback: config.quotas_loopback,
            guests: made(Kind::Guests, limits.guests_per_hour),
            tables: made(Kind::Tables, limits.tables_per_hour),
            hunts: made(Kind::Hunts, limits.hunts_per_hour),
            live: Mutex::default(),
            metrics,
        }
    }

    /// What a client's address is counted as; `None` where it is not counted.
    #[must_use]
    pub fn counted(&self, address: Option<IpAddr>) -> Option<AddressKey> {
        let is_counted = |address: &IpAddr| self.counts_loopback || !address.to_canonical().is_loopback();
        address.filter(is_counted).map(AddressKey::of)
    }

    /// A guest is made.
    ///
    /// # Errors
    /// [`Exceeded`], and nothing was counted.
    pub fn make_guest(&self, address: Option<AddressKey>, at: Moment) -> Result<(), Exceeded> {
        self.make(&self.guests, address, at)
    }

    /// A card table is made.
    ///
    /// # Errors
    /// [`Exceeded`], and nothing was counted.
    pub fn make_table(&self, address: Option<AddressKey>, at: Moment) -> Result<(), Exceeded> {
        self.make(&self.tables, address, at)
    }

    /// A hunt is made. It counts until its end, or until it is [forgotten](Self::forget_hunt). What there is too much of at once is for
    /// the caller to [note](Self::note): some may have ended early.
    ///
    /// # Errors
    /// [`Exceeded`], and nothing was counted.
    pub fn make_hunt(
        &self,
        address: Option<AddressKey>,
        hunt: LiveHunt,
        now: UnixMs,
        at: Moment,
    ) -> Result<(), Exceeded> {
        let Some(key) = address else { return Ok(()) };
        let id = hunt.id;
        let Limits { hunts, cells, .. } = self.limits;
        self.live().add(key, hunt, now, hunts, cells)?;
        self.make(&self.hunts, address, at).inspect_err(|_| self.forget_hunt(id))
    }

    /// Hunts of an address that count as not over: some may have ended early.
    #[must_use]
    pub fn hunts_of(&self, address: AddressKey) -> Vec<WorldId> {
        self.live().of(address)
    }

    /// A hunt is over, or was not made after all.
    pub fn forget_hunt(&self, id: WorldId) {
        self.live().forget(id);
    }

    /// Somebody was refused.
    pub fn note(&self, kind: Kind) {
        self.metrics.quota_exceeded(kind);
    }

    fn make(&self, made: &Made, address: Option<AddressKey>, at: Moment) -> Result<(), Exceeded> {
        let Some(address) = address else { return Ok(()) };
        made.add(address, at).inspect_err(|exceeded| self.note(exceeded.kind))
    }

    /// No update leaves it broken for another, even if a holder of the lock panicked.
    fn live(&self) -> std::sync::MutexGuard<'_, LiveHunts> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets addresses that have made nothing in the last hour.
    pub fn sweep(&self, at: Moment) {
        for made in [&self.guests, &self.tables, &self.hunts] {
            made.by_address.sweep(made.by_address.shards(), at);
        }
    }
}

impl Made {
    fn new(kind: Kind, max: usize, seed: [u8; 32]) -> Self {
        let room = Arc::new(Budget::new(Capacity { keys_max: QUOTA_ADDRESSES_MAX, timestamps_max: 0 }));
        let quota = Quota::new(max as u64, HOUR).expect("the table of settings allows no limit of zero");
        // Further addresses are let in uncounted: what they make is bounded for all together elsewhere.
        Self { kind, max, by_address: Keyed::new(quota, room, WhenFull::Admit, Seed::new(seed)) }
    }

    fn add(&self, address: AddressKey, at: Moment) -> Result<(), Exceeded> {
        match self.by_address.check(address.to_string().as_bytes(), 1, at) {
            Decision::NotUntil { at: again_at } => {
                let retry_after_s = again_at.since(at).as_secs().max(1);
                Err(Exceeded { kind: self.kind, max: self.max, is_hourly: true, retry_after_s })
            }
            // One is never more than the limit, and whoever cannot be counted is let in.
            Decision::Allow { .. } | Decision::Never | Decision::Full => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
