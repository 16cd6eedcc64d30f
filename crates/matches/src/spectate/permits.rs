//! Permits for spectators: limited in total, and for each client address.

use quotas::address_key::AddressKey;
use quotas::keyed_permits::KeyedPermits;
use settings::Config;
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
    by_address: Arc<KeyedPermits<Option<AddressKey>>>,
    address: Option<AddressKey>,
}

impl SpectatorPermits {
    pub fn new(config: &Config) -> Self {
        let all = Arc::new(Semaphore::new(config.spectators_max));
        Self { total: all, by_address: Arc::default(), per_address_max: config.spectators_per_address_max }
    }

    /// A permit for a spectator at this address.
    ///
    /// # Errors
    /// [`TooManySpectators::AtAddress`] when the address has reached its limit, [`TooManySpectators::InAll`] when all are taken.
    pub fn acquire(&self, address: Option<AddressKey>) -> Result<SpectatorPermit, TooManySpectators> {
        let one = self.total.clone().try_acquire_owned().map_err(|_| TooManySpectators::InAll)?;
        if !self.by_address.try_acquire(address, self.per_address_max) {
            return Err(TooManySpectators::AtAddress);
        }
        Ok(SpectatorPermit { _total: one, by_address: self.by_address.clone(), address })
    }
}

impl Drop for SpectatorPermit {
    fn drop(&mut self) {
        self.by_address.release(self.address);
    }
}
