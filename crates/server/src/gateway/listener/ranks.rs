//! Which connection is closed when there is no room, by who is known on it: nobody before guests, and accounts never. Among those of one
//! rank, the address with most of them gives way first, with the one that has been silent for longest.
//!
//! Pure: knows no sockets, and is told the time.

use super::eviction::{Evictable, IdleQueue};
use crate::address_key::AddressKey;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Connections whose client said something this many seconds ago, or less, do not give way to an address that has as many: a client
/// has that time to begin.
const SILENT_MIN_S: u32 = 2;
/// Addresses that are looked at for one connection to close.
const LOOKED_AT_MAX: usize = 1_024;

/// Who is known on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::gateway) enum Rank {
    /// It is not known who it is.
    #[default]
    Nobody,
    /// A guest: anybody can become one.
    Guest,
    /// An account, or a node of ours. Such a connection never gives way.
    Account,
}

/// What is given way by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) rank: Rank,
    /// The address that the connection is counted for, if it is.
    pub(super) address: Option<AddressKey>,
}

/// Whoever comes when there is no room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newcomer {
    pub(super) address: Option<AddressKey>,
    /// Connections of that address, this one included.
    pub(super) has: usize,
    pub(super) now_s: u32,
}

/// Connections that may give way.
pub(super) struct Ranks<T> {
    nobodies: OfRank<T>,
    guests: OfRank<T>,
    /// What was looked at. To be dropped where no lock is held: the last owner of a connection takes it out of here.
    looked_at: Vec<Arc<T>>,
}

struct OfRank<T> {
    addresses: HashMap<Option<AddressKey>, OfAddress<T>>,
    by_size: BTreeSet<(usize, Option<AddressKey>)>,
}

struct OfAddress<T> {
    open: usize,
    order: IdleQueue<T>,
}

impl<T> Default for Ranks<T> {
    fn default() -> Self {
        let of_rank = || OfRank { addresses: HashMap::new(), by_size: BTreeSet::new() };
        Self { nobodies: of_rank(), guests: of_rank(), looked_at: Vec::new() }
    }
}

impl<T: Evictable> Ranks<T> {
    fn of(&mut self, rank: Rank) -> Option<&mut OfRank<T>> {
        match rank {
            Rank::Nobody => Some(&mut self.nobodies),
            Rank::Guest => Some(&mut self.guests),
            Rank::Account => None,
        }
    }

    /// One more that stands so.
    pub(super) fn put(&mut self, one: &Arc<T>, standing: Standing) {
        let Some(of_rank) = self.of(standing.rank) else { return };
        of_rank.resize(standing, |open| open + 1);
        if let Some(of_address) = of_rank.addresses.get_mut(&standing.address) {
            of_address.order.push(one, of_address.open);
        }
    }

    /// One that stood so does not any more.
    pub(super) fn take_out(&mut self, standing: Standing) {
        if let Some(of_rank) = self.of(standing.rank) {
            of_rank.resize(standing, |open| open.saturating_sub(1));
        }
    }

    /// The one that gives way to a newcomer.
    pub(super) fn give_way(&mut self, newcomer: Newcomer) -> Option<Arc<T>> {
        let Self { nobodies, guests, looked_at } = self;
        let found = nobodies.give_way(newcomer, Rank::Nobody, looked_at);
        found.or_else(|| guests.give_way(newcomer, Rank::Guest, looked_at))
    }

    /// What was looked at so far.
    pub(super) fn looked_at(&mut self) -> Vec<Arc<T>> {
        std::mem::take(&mut self.looked_at)
    }
}

impl<T: Evictable> OfRank<T> {
    fn resize(&mut self, standing: Standing, size: impl FnOnce(usize) -> usize) {
        let address = standing.address;
        let of_address =
            self.addresses.entry(address).or_insert_with(|| OfAddress { open: 0, order: IdleQueue::new(standing) });
        self.by_size.remove(&(weight(of_address.open, address), address));
        of_address.open = size(of_address.open);
        match of_address.open {
            0 => drop(self.addresses.remove(&address)),
            open => drop(self.by_size.insert((weight(open, address), address))),
        }
    }

    fn give_way(&mut self, newcomer: Newcomer, rank: Rank, looked_at: &mut Vec<Arc<T>>) -> Option<Arc<T>> {
        let silent_s = newcomer.now_s.checked_sub(SILENT_MIN_S).filter(|_| rank == Rank::Nobody);
        for (size, address) in self.by_size.iter().rev().take(LOOKED_AT_MAX) {
            let has_more = address.is_some() && *address != newcomer.address && *size > newcomer.has;
            let Some(until_s) = (if has_more { Some(newcomer.now_s) } else { silent_s }) else { continue };
            let Some(of_address) = self.addresses.get_mut(address) else { continue };
            let found = of_address.order.pop_idlest(until_s, looked_at);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Connections that are not counted for an address may be of any number of clients.
fn weight(open: usize, address: Option<AddressKey>) -> usize {
    if address.is_some() { open } else { open.min(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    struct One {
        standing: Mutex<Standing>,
        since_s: u32,
    }

    impl Evictable for One {
        fn idle_since_s(&self, standing: Standing) -> Option<u32> {
            (*self.standing.lock().unwrap() == standing).then_some(self.since_s)
        }
    }

    fn address(last: u8) -> Option<AddressKey> {
        Some(AddressKey::of([192, 0, 2, last].into()))
    }

    /// `(rank, address (0: not counted), silent since)` of the connections there are; the order in which they give way to newcomers at
    /// second 10 from address 9, which has one connection, by their places.
    #[track_caller]
    fn check(open: &[(Rank, u8, u32)], want: &[usize]) {
        let mut ranks = Ranks::default();
        let all: Vec<_> = open
            .iter()
            .map(|(rank, last, since_s)| {
                let standing = Standing { rank: *rank, address: address(*last).filter(|_| *last > 0) };
                let one = Arc::new(One { standing: standing.into(), since_s: *since_s });
                ranks.put(&one, standing);
                one
            })
            .collect();
        let newcomer = Newcomer { address: address(9), has: 1, now_s: 10 };
        let mut have = Vec::new();
        while let Some(closed) = ranks.give_way(newcomer) {
            have.push(all.iter().position(|one| Arc::ptr_eq(one, &closed)).unwrap());
            ranks.take_out(*closed.standing.lock().unwrap());
        }
        assert_eq!(have, want, "{open:?}");
    }

    #[test]
    fn the_lowest_rank_of_the_largest_address_gives_way_first() {
        use Rank::{Account, Guest, Nobody};
        check(&[], &[]);
        check(&[(Nobody, 0, 5), (Nobody, 0, 3), (Nobody, 0, 9)], &[1, 0]);
        // The larger address first, the idlest of it first; where addresses have as much, only who is silent.
        check(&[(Nobody, 1, 0), (Nobody, 2, 10), (Nobody, 2, 9)], &[2, 0]);
        check(&[(Nobody, 1, 9), (Nobody, 2, 9)], &[]);
        check(&[(Nobody, 9, 9), (Nobody, 9, 10)], &[]);
        // Guests give way to whoever has less, and keep the last one each.
        check(&[(Guest, 1, 0), (Guest, 1, 10), (Guest, 2, 0)], &[0]);
        check(&[(Guest, 0, 0), (Guest, 0, 0)], &[]);
        check(&[(Guest, 1, 0), (Guest, 1, 1), (Nobody, 2, 8)], &[2, 0]);
        check(&[(Account, 1, 0), (Account, 1, 0), (Account, 0, 0)], &[]);
    }

    #[test]
    fn whoever_rises_is_not_closed_as_what_it_was() {
        let mut ranks = Ranks::default();
        let (nobody, guest) = (Standing::default(), Standing { rank: Rank::Guest, ..Standing::default() });
        let one = Arc::new(One { standing: nobody.into(), since_s: 0 });
        ranks.put(&one, nobody);
        let another = Arc::new(One { standing: nobody.into(), since_s: 5 });
        ranks.put(&another, nobody);
        ranks.take_out(nobody);
        *one.standing.lock().unwrap() = guest;
        ranks.put(&one, guest);
        let newcomer = Newcomer { address: None, has: 1, now_s: 10 };
        assert!(ranks.give_way(newcomer).is_some_and(|closed| Arc::ptr_eq(&closed, &another)));
        assert!(ranks.give_way(newcomer).is_none());
        assert_eq!(ranks.looked_at().len(), 1);
        ranks.take_out(nobody);
        ranks.take_out(guest);
        assert!(ranks.nobodies.addresses.is_empty() && ranks.guests.by_size.is_empty());
    }
}
