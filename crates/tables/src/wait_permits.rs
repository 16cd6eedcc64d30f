//! Limits on waits: at all tables of this process, by player and by address. A permit is taken before the table gets the request, and
//! released when the wait ends, in whatever way.

use super::{LimitScope, TableError, Waiter};
use engine::ids::PlayerId;
use quotas::address_key::AddressKey;
use quotas::keyed_permits::KeyedPermits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitLimits {
    pub(super) all: usize,
    pub(super) per_player: usize,
    pub(super) per_address: usize,
}

/// The permits of one process.
#[derive(Debug)]
pub(super) struct WaitPermits {
    limits: WaitLimits,
    in_use: AtomicUsize,
    players: KeyedPermits<PlayerId>,
    addresses: KeyedPermits<AddressKey>,
}

/// A permit for one wait, released on drop, unless the holder takes over its release.
#[derive(Debug)]
pub(super) struct WaitPermit {
    permits: Arc<WaitPermits>,
    waiter: Waiter,
    is_disarmed: bool,
}

impl WaitPermits {
    pub(super) fn new(limits: WaitLimits) -> Self {
        Self {
            limits,
            in_use: AtomicUsize::new(0),
            players: KeyedPermits::default(),
            addresses: KeyedPermits::default(),
        }
    }

    /// Takes a permit. Visitors share their address's limit.
    pub(super) fn acquire(self: &Arc<Self>, waiter: Waiter) -> Result<WaitPermit, TableError> {
        let WaitLimits { all, per_player, per_address } = self.limits;
        let refusal = |scope, max| Err(TableError::TooManyWaiters { max, scope });
        if self.in_use.fetch_add(1, Ordering::Relaxed) >= all {
            self.in_use.fetch_sub(1, Ordering::Relaxed);
            return refusal(LimitScope::All, all);
        }
        if waiter.player.is_some_and(|player| !self.players.try_acquire(player, per_player)) {
            self.in_use.fetch_sub(1, Ordering::Relaxed);
            return refusal(LimitScope::Player, per_player);
        }
        if waiter.address.is_some_and(|address| !self.addresses.try_acquire(address, per_address)) {
            self.release(Waiter { address: None, ..waiter });
            return refusal(LimitScope::Address, per_address);
        }
        Ok(WaitPermit { permits: self.clone(), waiter, is_disarmed: false })
    }

    /// Releases a permit that was [turned into its waiter](WaitPermit::into_waiter).
    pub(super) fn release(&self, waiter: Waiter) {
        self.in_use.fetch_sub(1, Ordering::Relaxed);
        if let Some(player) = waiter.player {
            self.players.release(player);
        }
        if let Some(address) = waiter.address {
            self.addresses.release(address);
        }
    }

    pub(super) fn in_use(&self) -> usize {
        self.in_use.load(Ordering::Relaxed)
    }
}

impl WaitPermit {
    pub(super) fn waiter(&self) -> Waiter {
        self.waiter
    }

    /// Leaves the release to the caller.
    pub(super) fn into_waiter(mut self) -> Waiter {
        self.is_disarmed = true;
        self.waiter
    }
}

impl Drop for WaitPermit {
    fn drop(&mut self) {
        if !self.is_disarmed {
            self.permits.release(self.waiter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_addresses_and_the_process_have_limits() {
        let permits = Arc::new(WaitPermits::new(WaitLimits { all: 5, per_player: 2, per_address: 3 }));
        let waiter = |player: Option<u128>, host: Option<u8>| Waiter {
            player: player.map(PlayerId),
            address: host.map(|host| AddressKey::of([192, 0, 2, host].into())),
        };
        let take = |player, host| permits.acquire(waiter(player, host));
        let scope = |taken: Result<WaitPermit, TableError>| match taken {
            Err(TableError::TooManyWaiters { max, scope }) => (max, scope),
            other => panic!("{other:?}"),
        };
        let (first, second) = (take(Some(1), Some(1)).unwrap(), take(Some(1), Some(1)).unwrap());
        assert_eq!(scope(take(Some(1), Some(2))), (2, LimitScope::Player), "from any address");
        let visitor = take(None, Some(1)).unwrap();
        assert_eq!(scope(take(None, Some(1))), (3, LimitScope::Address));
        assert_eq!(scope(take(Some(17), Some(1))), (3, LimitScope::Address), "for any player");
        let others = [take(Some(17), Some(2)).unwrap(), take(None, None).unwrap()];
        assert_eq!(scope(take(None, Some(2))), (5, LimitScope::All));
        assert_eq!(permits.in_use(), 5, "a refusal takes nothing");
        drop(first);
        assert_eq!(second.into_waiter(), waiter(Some(1), Some(1)));
        assert_eq!(permits.in_use(), 4);
        drop(take(Some(1), Some(1)).unwrap());
        permits.release(waiter(Some(1), Some(1)));
        drop((visitor, others));
        assert_eq!(permits.in_use(), 0);
        assert_eq!((permits.players.key_count(), permits.addresses.key_count()), (0, 0), "no key is kept");
    }
}
