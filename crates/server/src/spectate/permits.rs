//! Permits for spectators: so many in all, and so many from one client address.

use crate::address_key::AddressKey;
use crate::config::Config;
use crate::gateway::problem::ApiError;
use crate::shares::Shares;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// All permits of one process.
#[derive(Clone)]
pub struct Spectators {
    all: Arc<Semaphore>,
    by_address: Arc<Shares<Option<AddressKey>>>,
    per_address_max: usize,
}

/// The right to watch, until it is dropped.
pub(super) struct Permit {
    _one: OwnedSemaphorePermit,
    by_address: Arc<Shares<Option<AddressKey>>>,
    address: Option<AddressKey>,
}

impl Spectators {
    pub(crate) fn new(config: &Config) -> Self {
        let all = Arc::new(Semaphore::new(config.spectators_max));
        Self { all, by_address: Arc::default(), per_address_max: config.spectators_per_address_max }
    }

    /// A permit for somebody at this address.
    ///
    /// # Errors
    /// [`ApiError::TooManySpectatorsHere`] when the address has its share, [`ApiError::TooManySpectators`] when all are taken.
    pub(super) fn acquire(&self, address: Option<AddressKey>) -> Result<Permit, ApiError> {
        let one = self.all.clone().try_acquire_owned().map_err(|_| ApiError::TooManySpectators)?;
        if !self.by_address.take(address, self.per_address_max) {
            return Err(ApiError::TooManySpectatorsHere);
        }
        Ok(Permit { _one: one, by_address: self.by_address.clone(), address })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.by_address.give_back(self.address);
    }
}
