//! Whose the tables in this process's memory are: so that nobody fills it alone. A place is taken before a table is opened, or when
//! it is loaded, and given back when it leaves memory, in whatever way. An opening of which nobody knows whether it was saved is
//! nobody's, and counted apart.

use super::{LimitScope, TableError, TablesConfig};
use crate::address_key::AddressKey;
use crate::keyed_permits::{KeyedPermit, KeyedPermits};
use crate::metrics::Metrics;
use crate::quotas::QuotaKind;
use engine::ids::PlayerId;
use engine::limits::TABLE_UNKNOWN_OPENINGS_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::StoreError;

/// The tables of each player, and of each address from which somebody opened them.
#[derive(Debug)]
pub(super) struct TablePermits {
    per_player_max: usize,
    players: KeyedPermits<PlayerId>,
    per_address_max: usize,
    addresses: Arc<KeyedPermits<AddressKey>>,
    metrics: Arc<Metrics>,
    /// Openings that may have been saved, or not.
    unknown_openings: AtomicUsize,
}

/// A table of this player's, until it is dropped.
#[derive(Debug)]
pub(super) struct TablePermit {
    permits: Arc<TablePermits>,
    player: PlayerId,
    /// Of a table that was opened here. Who loads one does not know from where it was opened.
    _address_permit: Option<KeyedPermit<AddressKey>>,
}

/// An opening that may have been saved, or not, until it is dropped.
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

    /// Counts an opening of which nobody knows whether it was saved.
    pub(super) fn count_unknown(self: &Arc<Self>) -> UnknownOpening {
        self.unknown_openings.fetch_add(1, Ordering::Relaxed);
        UnknownOpening(self.clone())
    }

    /// Counts a table that is to be opened, if he may have one more, and his address, too.
    pub(super) fn try_acquire(
        self: &Arc<Self>,
        player: PlayerId,
        address: Option<AddressKey>,
    ) -> Result<TablePermit, TableError> {
        if self.unknown_openings.load(Ordering::Relaxed) >= TABLE_UNKNOWN_OPENINGS_MAX {
            let why =
                format!("of {TABLE_UNKNOWN_OPENINGS_MAX} openings of tables nobody knows whether they were saved");
            return Err(TableError::Store(StoreError::Unavailable { why }));
        }
        let max = self.per_address_max;
        let address =
            address.map(|address| KeyedPermit::try_acquire(&self.addresses, address, max).ok_or(())).transpose();
        let address = address.map_err(|()| {
            self.metrics.quota_exceeded(QuotaKind::Tables);
            TableError::TooManyTables { max, whose: LimitScope::Address }
        })?;
        if !self.players.try_acquire(player, self.per_player_max) {
            return Err(TableError::TooManyTables { max: self.per_player_max, whose: LimitScope::Player });
        }
        Ok(TablePermit { permits: self.clone(), player, _address_permit: address })
    }

    /// Counts a table that is there already, be they too many or not.
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
