//! Permits for requests that are being forwarded: each takes a connection. Waits must not block actions, so they have permits of their
//! own; and of these no address has more than its share.

use crate::problem::ForwardError;
use engine::limits::{FORWARD_WAITS_SHARE, FORWARDS_MAX};
use quotas::address_key::AddressKey;
use quotas::keyed_permits::{KeyedPermit, KeyedPermits};
use quotas::socket_budget::{SocketBudget, SocketPermit};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits of one process.
#[derive(Debug)]
pub struct ForwardPermits {
    actions: Arc<Semaphore>,
    waits: Arc<Semaphore>,
    waits_by_address: Arc<KeyedPermits<AddressKey>>,
    per_address_max: usize,
}

/// A permit for one forwarded request.
#[derive(Debug)]
pub(super) struct ForwardPermit {
    _permit: OwnedSemaphorePermit,
    /// Of the address that it counts for.
    _of_address: Option<KeyedPermit<AddressKey>>,
    /// The socket that it uses.
    socket: Option<SocketPermit>,
}

impl ForwardPermits {
    /// Of the requests that may wait at this process, in total and of one address, a fraction may wait through it.
    #[must_use]
    pub fn new(waiters_max: usize, waiters_per_address_max: usize) -> Self {
        let share = |all: usize| (all / FORWARD_WAITS_SHARE).max(1);
        Self {
            actions: Arc::new(Semaphore::new(FORWARDS_MAX)),
            waits: Arc::new(Semaphore::new(share(waiters_max))),
            waits_by_address: Arc::default(),
            per_address_max: share(waiters_per_address_max),
        }
    }

    /// A permit for a request that is answered soon.
    pub(super) fn try_acquire_action(&self) -> Result<ForwardPermit, ForwardError> {
        let permit = self.actions.clone().try_acquire_owned().map_err(|_| ForwardError::TooMany)?;
        Ok(ForwardPermit { _permit: permit, _of_address: None, socket: None })
    }

    /// A permit for a request that waits, counted for this address.
    pub(super) fn try_acquire_wait(&self, address: Option<AddressKey>) -> Result<ForwardPermit, ForwardError> {
        let permit = self.waits.clone().try_acquire_owned().map_err(|_| ForwardError::TooMany)?;
        let max = self.per_address_max;
        let of_address = address.map(|address| {
            let permit = KeyedPermit::try_acquire(&self.waits_by_address, address, max);
            permit.ok_or(ForwardError::TooManyOfAddress { max })
        });
        Ok(ForwardPermit { _permit: permit, _of_address: of_address.transpose()?, socket: None })
    }
}

impl ForwardPermit {
    /// Adds a socket to the permit.
    pub(super) fn with_socket(mut self, sockets: &SocketBudget) -> Result<Self, ForwardError> {
        self.socket = Some(sockets.try_acquire_for_forward().ok_or(ForwardError::TooMany)?);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_takes_all_permits_and_waits_do_not_block_actions() {
        let permits = ForwardPermits::new(12, 8);
        let address = |host: u8| Some(AddressKey::of([192, 0, 2, host].into()));
        let first = [permits.try_acquire_wait(address(1)).unwrap(), permits.try_acquire_wait(address(1)).unwrap()];
        assert_eq!(permits.try_acquire_wait(address(1)).unwrap_err(), ForwardError::TooManyOfAddress { max: 2 });
        let other = permits.try_acquire_wait(address(2)).unwrap();
        assert_eq!(permits.try_acquire_wait(address(3)).unwrap_err(), ForwardError::TooMany);
        permits.try_acquire_action().unwrap();
        drop(first);
        let again = [permits.try_acquire_wait(address(1)).unwrap(), permits.try_acquire_wait(None).unwrap()];
        drop((other, again));
        assert_eq!((permits.waits.available_permits(), permits.waits_by_address.key_count()), (3, 0));
    }
}
