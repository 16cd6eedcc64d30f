//! Permits for spectators: limited in total, and for each client address.

use quotas::address_key::AddressKey;
use quotas::keyed_permits::{KeyedPermit, KeyedPermits};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All permits of one process.
#[derive(Clone)]
pub struct SpectatorPermits {
    total: Arc<Semaphore>,
    by_address: Arc<KeyedPermits<Option<AddressKey>>>,
    per_address_max: usize,
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooManySpectators {
    InAll,
    /// From this address.
    AtAddress,
}

/// The right to watch, until it is dropped.
pub struct SpectatorPermit {
    _total: OwnedSemaphorePermit,
    _at_address: KeyedPermit<Option<AddressKey>>,
}

impl SpectatorPermits {
    /// `max` in total, and `per_address_max` for clients of one address.
    pub fn new(max: usize, per_address_max: usize) -> Self {
        Self { total: Arc::new(Semaphore::new(max)), by_address: Arc::default(), per_address_max }
    }

    /// A permit for a spectator at this address.
    ///
    /// # Errors
    /// [`TooManySpectators::AtAddress`] when the address has reached its limit, [`TooManySpectators::InAll`] when all are taken.
    pub fn acquire(&self, address: Option<AddressKey>) -> Result<SpectatorPermit, TooManySpectators> {
        let total = self.total.clone().try_acquire_owned().map_err(|_| TooManySpectators::InAll)?;
        let at_address = KeyedPermit::try_acquire(&self.by_address, address, self.per_address_max);
        let at_address = at_address.ok_or(TooManySpectators::AtAddress)?;
        Ok(SpectatorPermit { _total: total, _at_address: at_address })
    }
}
