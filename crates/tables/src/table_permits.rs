//! Limits on tables in this process's memory by player and by address: so that none fills it alone. A permit is taken before a table is
//! opened, or when it is loaded, and released when it leaves memory, in whatever way. Openings with an unknown outcome are counted
//! separately, against no player.

use super::{LimitScope, TableError, TablesConfig};
use engine::ids::PlayerId;
use engine::limits::TABLE_UNKNOWN_OPENINGS_MAX;
use metrics::Metrics;
use quotas::QuotaKind;
use quotas::address_key::AddressKey;
use quotas::keyed_permits::{KeyedPermit, KeyedPermits};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::StoreError;

/// Tables by player, and by the address that opened them.
#[derive(Debug)]
pub(super) struct TablePermits {
    per_player_max: usize,
    players: KeyedPermits<PlayerId>,
    per_address_max: usize,
    addresses: Arc<KeyedPermits<AddressKey>>,
    metrics: Arc<Metrics>,
    /// Openings with an unknown outcome.
    unknown_openings: AtomicUsize,
}

/// One table that counts against a player, until this is dropped.
#[derive(Debug)]
pub(super) struct TablePermit {
    permits: Arc<TablePermits>,
    player: PlayerId,
    /// Of a table that was opened here: the address of a loaded one's opener is not known.
    _address_permit: Option<KeyedPermit<AddressKey>>,
}

/// An opening with an unknown outcome, until this is dropped.
#[derive(Debug)]
pub(super) struct UnknownOpening(Arc<TablePermits>);

impl TablePermits {
    pub(super) fn new(settings: &TablesConfig, metrics: Arc<Metrics>) -> Self {
        Self {
            per_player_max: settings.tables_per_player_max,
            players: KeyedPermits::default(),
            per_address_max: settings.tables_per_address_max,
            addresses: Arc::default(),
            metrics,
            unknown_openings: AtomicUsize::new(0),
        }
    }

    /// Counts an opening with an unknown outcome.
    pub(super) fn count_unknown(self: &Arc<Self>) -> UnknownOpening {
        self.unknown_openings.fetch_add(1, Ordering::Relaxed);
        UnknownOpening(self.clone())
    }

    /// Counts a table to be opened, if its player and address are below their limits.
    pub(super) fn try_acquire(
        self: &Arc<Self>,
        player: PlayerId,
        address: Option<AddressKey>,
    ) -> Result<TablePermit, TableError> {
        if self.unknown_openings.load(Ordering::Relaxed) >= TABLE_UNKNOWN_OPENINGS_MAX {
            let why = format!("it is unknown whether {TABLE_UNKNOWN_OPENINGS_MAX} openings of tables were saved");
            return Err(TableError::Store(StoreError::Unavailable { why }));
        }
        let max = self.per_address_max;
        let address =
            address.map(|address| KeyedPermit::try_acquire(&self.addresses, address, max).ok_or(())).transpose();
        let address = address.map_err(|()| {
            self.metrics.process.quota_exceeded.inc(QuotaKind::Tables);
            TableError::TooManyTables { max, scope: LimitScope::Address }
        })?;
        if !self.players.try_acquire(player, self.per_player_max) {
            return Err(TableError::TooManyTables { max: self.per_player_max, scope: LimitScope::Player });
        }
        Ok(TablePermit { permits: self.clone(), player, _address_permit: address })
    }

    /// Counts a table that exists already, regardless of the limits.
    pub(super) fn acquire_unchecked(self: &Arc<Self>, player: PlayerId) -> TablePermit {
        self.players.acquire_unchecked(player);
        TablePermit { permits: self.clone(), player, _address_permit: None }
    }
}

impl Drop for TablePermit {
    fn drop(&mut self) {
        self.permits.players.release(self.player);
    }
}

impl Drop for UnknownOpening {
    fn drop(&mut self) {
        self.0.unknown_openings.fetch_sub(1, Ordering::Relaxed);
    }
}
