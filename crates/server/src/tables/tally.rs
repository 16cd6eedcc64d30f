//! Who may wait: how many wait at all tables of this process, and how many waits each player and each address has. A place is
//! taken before the table is asked, and given back when the wait ends, in whatever way.

use super::{TableError, Waiter, Whose};
use crate::address_key::AddressKey;
use crate::shares::Shares;
use engine::ids::PlayerId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps {
    pub(super) all: usize,
    pub(super) per_player: usize,
    pub(super) per_address: usize,
}

/// The places of one process.
#[derive(Debug)]
pub(super) struct Tally {
    caps: Caps,
    taken: AtomicUsize,
    players: Shares<PlayerId>,
    addresses: Shares<AddressKey>,
}

/// A place that is taken until this is dropped, or kept by somebody who gives it back himself.
#[derive(Debug)]
pub(super) struct Place {
    tally: Arc<Tally>,
    waiter: Waiter,
    is_kept: bool,
}

impl Tally {
    pub(super) fn new(caps: Caps) -> Self {
        Self { caps, taken: AtomicUsize::new(0), players: Shares::default(), addresses: Shares::default() }
    }

    /// Takes a place. Those who do not say who they are share what their address has.
    pub(super) fn take(self: &Arc<Self>, waiter: Waiter) -> Result<Place, TableError> {
        let Caps { all, per_player, per_address } = self.caps;
        let refusal = |whose, max| Err(TableError::TooManyWaiters { max, whose });
        if self.taken.fetch_add(1, Ordering::Relaxed) >= all {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return refusal(Whose::All, all);
        }
        if waiter.player.is_some_and(|player| !self.players.take(player, per_player)) {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            return refusal(Whose::Player, per_player);
        }
        if waiter.address.is_some_and(|address| !self.addresses.take(address, per_address)) {
            self.give_back(Waiter { address: None, ..waiter });
            return refusal(Whose::Address, per_address);
        }
        Ok(Place { tally: self.clone(), waiter, is_kept: false })
    }

    /// Gives a place back that was [kept](Place::keep).
    pub(super) fn give_back(&self, waiter: Waiter) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        if let Some(player) = waiter.player {
            self.players.give_back(player);
        }
        if let Some(address) = waiter.address {
            self.addresses.give_back(address);
        }
    }

    /// Places that are taken now.
    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }
}

impl Place {
    /// Whose it is.
    pub(super) fn waiter(&self) -> Waiter {
        self.waiter
    }

    /// Leaves it to the caller to give the place back.
    pub(super) fn keep(mut self) -> Waiter {
        self.is_kept = true;
        self.waiter
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_kept {
            self.tally.give_back(self.waiter);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_player_an_address_and_all_together_have_their_caps() {
        let tally = Arc::new(Tally::new(Caps { all: 5, per_player: 2, per_address: 3 }));
        let waiter = |player: Option<u128>, host: Option<u8>| Waiter {
            player: player.map(PlayerId),
            address: host.map(|host| AddressKey::of([192, 0, 2, host].into())),
        };
        let take = |player, host| tally.take(waiter(player, host));
        let whose = |taken: Result<Place, TableError>| match taken {
            Err(TableError::TooManyWaiters { max, whose }) => (max, whose),
            other => panic!("{other:?}"),
        };
        let (first, second) = (take(Some(1), Some(1)).unwrap(), take(Some(1), Some(1)).unwrap());
        assert_eq!(whose(take(Some(1), Some(2))), (2, Whose::Player), "wherever he comes from");
        let visitor = take(None, Some(1)).unwrap();
        assert_eq!(whose(take(None, Some(1))), (3, Whose::Address));
        assert_eq!(whose(take(Some(17), Some(1))), (3, Whose::Address), "whoever he is");
        let others = [take(Some(17), Some(2)).unwrap(), take(None, None).unwrap()];
        assert_eq!(whose(take(None, Some(2))), (5, Whose::All));
        assert_eq!(tally.taken(), 5, "a refusal takes nothing");
        drop(first);
        assert_eq!(second.keep(), waiter(Some(1), Some(1)));
        assert_eq!(tally.taken(), 4);
        drop(take(Some(1), Some(1)).unwrap());
        tally.give_back(waiter(Some(1), Some(1)));
        drop((visitor, others));
        assert_eq!(tally.taken(), 0);
        assert_eq!((tally.players.remembered(), tally.addresses.remembered()), (0, 0), "nobody is remembered");
    }
}
