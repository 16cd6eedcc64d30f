//! Whose the tables in this process's memory are: so that nobody fills it alone. A place is taken before a table is opened, or when
//! it is loaded, and given back when it leaves memory, in whatever way. An opening of which nobody knows whether it was saved is
//! nobody's, and counted apart.

use super::{Settings, TableError, Whose};
use crate::address_key::AddressKey;
use crate::metrics::Metrics;
use crate::quotas::Kind;
use crate::shares::{Share, Shares};
use engine::ids::PlayerId;
use engine::limits::TABLE_UNKNOWN_OPENINGS_MAX;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::StoreError;

/// The tables of each player, and of each address from which somebody opened them.
#[derive(Debug)]
pub(super) struct Openers {
    max: usize,
    players: Shares<PlayerId>,
    per_address_max: usize,
    addresses: Arc<Shares<AddressKey>>,
    metrics: Arc<Metrics>,
    /// Openings that may have been saved, or not.
    unsure: AtomicUsize,
}

/// A table of this player's, until it is dropped.
#[derive(Debug)]
pub(super) struct Opener {
    openers: Arc<Openers>,
    player: PlayerId,
    /// Of a table that was opened here. Who loads one does not know from where it was opened.
    _address: Option<Share<AddressKey>>,
}

/// An opening that may have been saved, or not, until it is dropped.
#[derive(Debug)]
pub(super) struct Unsure(Arc<Openers>);

impl Openers {
    pub(super) fn new(settings: &Settings, metrics: Arc<Metrics>) -> Self {
        Self {
            max: settings.tables_per_player_max,
            players: Shares::default(),
            per_address_max: settings.tables_per_address_max,
            addresses: Arc::default(),
            metrics,
            unsure: AtomicUsize::new(0),
        }
    }

    /// Counts an opening of which nobody knows whether it was saved.
    pub(super) fn unsure(self: &Arc<Self>) -> Unsure {
        self.unsure.fetch_add(1, Ordering::Relaxed);
        Unsure(self.clone())
    }

    /// Counts a table that is to be opened, if he may have one more, and his address, too.
    pub(super) fn open(self: &Arc<Self>, player: PlayerId, address: Option<AddressKey>) -> Result<Opener, TableError> {
        if self.unsure.load(Ordering::Relaxed) >= TABLE_UNKNOWN_OPENINGS_MAX {
            let why =
                format!("of {TABLE_UNKNOWN_OPENINGS_MAX} openings of tables nobody knows whether they were saved");
            return Err(TableError::Store(StoreError::Unavailable { why }));
        }
        let max = self.per_address_max;
        let address = address.map(|address| Share::take(&self.addresses, address, max).ok_or(())).transpose();
        let address = address.map_err(|()| {
            self.metrics.quota_exceeded(Kind::Tables);
            TableError::TooManyTables { max, whose: Whose::Address }
        })?;
        if !self.players.take(player, self.max) {
            return Err(TableError::TooManyTables { max: self.max, whose: Whose::Player });
        }
        Ok(Opener { openers: self.clone(), player, _address: address })
    }

    /// Counts a table that is there already, be they too many or not.
    pub(super) fn load(self: &Arc<Self>, player: PlayerId) -> Opener {
        self.players.count(player);
        Opener { openers: self.clone(), player, _address: None }
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        self.openers.players.give_back(self.player);
    }
}

impl Drop for Unsure {
    fn drop(&mut self) {
        self.0.unsure.fetch_sub(1, Ordering::Relaxed);
    }
}
