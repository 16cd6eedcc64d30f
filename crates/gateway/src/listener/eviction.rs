//! Eviction by rank: anonymous connections are closed before those of guests, and those of accounts never. Among those of one rank,
//! the address with most connections loses the one that has been idle for longest.
//!
//! Pure: knows no sockets, and takes the time as an argument.

use super::idle_queue::{Evictable, IdleQueue, Rank, Standing};
use quotas::address_key::AddressKey;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Connections whose client sent something this many seconds ago, or less, are not evicted for an address that has as many: a client
/// has that time to begin.
const IDLE_MIN_S: u32 = 2;
/// Addresses that are looked at for one eviction.
const LOOKED_AT_MAX: usize = 1_024;

/// A new connection when no permit is free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Newcomer {
    pub(super) address: Option<AddressKey>,
    /// Connections of that address, this one included.
    pub(super) open: usize,
    pub(super) now_s: u32,
}

/// Connections that may be evicted.
pub(super) struct EvictionQueues<T> {
    anonymous: RankQueues<T>,
    guests: RankQueues<T>,
    /// What was looked at. To be dropped without the lock: the last owner of a connection removes it from here.
    looked_at: Vec<Arc<T>>,
}

struct RankQueues<T> {
    addresses: HashMap<Option<AddressKey>, AddressQueue<T>>,
    by_size: BTreeSet<(usize, Option<AddressKey>)>,
}

struct AddressQueue<T> {
    open: usize,
    idle_queue: IdleQueue<T>,
}

impl<T> Default for EvictionQueues<T> {
    fn default() -> Self {
        let new = || RankQueues { addresses: HashMap::new(), by_size: BTreeSet::new() };
        Self { anonymous: new(), guests: new(), looked_at: Vec::new() }
    }
}

impl<T: Evictable> EvictionQueues<T> {
    fn of(&mut self, rank: Rank) -> Option<&mut RankQueues<T>> {
        match rank {
            Rank::Anonymous => Some(&mut self.anonymous),
            Rank::Guest => Some(&mut self.guests),
            Rank::Account => None,
        }
    }

    /// Adds a connection with this standing.
    pub(super) fn insert(&mut self, one: &Arc<T>, standing: Standing) {
        let Some(queues) = self.of(standing.rank) else { return };
        queues.resize(standing, |open| open + 1);
        if let Some(queue) = queues.addresses.get_mut(&standing.address) {
            queue.idle_queue.push(one, queue.open);
        }
    }

    /// Removes a connection that had this standing.
    pub(super) fn remove(&mut self, standing: Standing) {
        if let Some(queues) = self.of(standing.rank) {
            queues.resize(standing, |open| open.saturating_sub(1));
        }
    }

    /// The connection to evict for a newcomer.
    pub(super) fn evict_for(&mut self, newcomer: Newcomer) -> Option<Arc<T>> {
        let Self { anonymous, guests, looked_at } = self;
        let found = anonymous.evict_for(newcomer, Rank::Anonymous, looked_at);
        found.or_else(|| guests.evict_for(newcomer, Rank::Guest, looked_at))
    }

    /// Takes what was looked at so far.
    pub(super) fn take_looked_at(&mut self) -> Vec<Arc<T>> {
        std::mem::take(&mut self.looked_at)
    }
}

impl<T: Evictable> RankQueues<T> {
    fn resize(&mut self, standing: Standing, size: impl FnOnce(usize) -> usize) {
        let address = standing.address;
        let queue = self
            .addresses
            .entry(address)
            .or_insert_with(|| AddressQueue { open: 0, idle_queue: IdleQueue::new(standing) });
        self.by_size.remove(&(weight(queue.open, address), address));
        queue.open = size(queue.open);
        match queue.open {
            0 => drop(self.addresses.remove(&address)),
            open => drop(self.by_size.insert((weight(open, address), address))),
        }
    }

    fn evict_for(&mut self, newcomer: Newcomer, rank: Rank, looked_at: &mut Vec<Arc<T>>) -> Option<Arc<T>> {
        let idle_until_s = newcomer.now_s.checked_sub(IDLE_MIN_S).filter(|_| rank == Rank::Anonymous);
        for (size, address) in self.by_size.iter().rev().take(LOOKED_AT_MAX) {
            let has_more = address.is_some() && *address != newcomer.address && *size > newcomer.open;
            let Some(until_s) = (if has_more { Some(newcomer.now_s) } else { idle_until_s }) else { continue };
            let Some(queue) = self.addresses.get_mut(address) else { continue };
            let found = queue.idle_queue.pop_idlest(until_s, looked_at);
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Connections that do not count for an address may belong to any number of clients.
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

    /// `(rank, address (0: not counted), idle since)` of the open connections; the order in which they are evicted for newcomers at
    /// second 10 from address 9, which has one connection, by their indices.
    #[track_caller]
    fn check(open: &[(Rank, u8, u32)], want: &[usize]) {
        let mut queues = EvictionQueues::default();
        let all: Vec<_> = open
            .iter()
            .map(|(rank, last, since_s)| {
                let standing = Standing { rank: *rank, address: address(*last).filter(|_| *last > 0) };
                let one = Arc::new(One { standing: standing.into(), since_s: *since_s });
                queues.insert(&one, standing);
                one
            })
            .collect();
        let newcomer = Newcomer { address: address(9), open: 1, now_s: 10 };
        let mut have = Vec::new();
        while let Some(closed) = queues.evict_for(newcomer) {
            have.push(all.iter().position(|one| Arc::ptr_eq(one, &closed)).unwrap());
            queues.remove(*closed.standing.lock().unwrap());
        }
        assert_eq!(have, want, "{open:?}");
    }

    #[test]
    fn evicts_the_lowest_rank_of_the_largest_address_first() {
        use Rank::{Account, Anonymous, Guest};
        check(&[], &[]);
        check(&[(Anonymous, 0, 5), (Anonymous, 0, 3), (Anonymous, 0, 9)], &[1, 0]);
        // The larger address first, its idlest connection first; where addresses have as many, only idle ones.
        check(&[(Anonymous, 1, 0), (Anonymous, 2, 10), (Anonymous, 2, 9)], &[2, 0]);
        check(&[(Anonymous, 1, 9), (Anonymous, 2, 9)], &[]);
        check(&[(Anonymous, 9, 9), (Anonymous, 9, 10)], &[]);
        // Guests are evicted for addresses that have fewer, and keep their last one.
        check(&[(Guest, 1, 0), (Guest, 1, 10), (Guest, 2, 0)], &[0]);
        check(&[(Guest, 0, 0), (Guest, 0, 0)], &[]);
        check(&[(Guest, 1, 0), (Guest, 1, 1), (Anonymous, 2, 8)], &[2, 0]);
        check(&[(Account, 1, 0), (Account, 1, 0), (Account, 0, 0)], &[]);
    }

    #[test]
    fn a_raised_connection_is_not_evicted_by_its_old_rank() {
        let mut queues = EvictionQueues::default();
        let (anonymous, guest) = (Standing::default(), Standing { rank: Rank::Guest, ..Standing::default() });
        let one = Arc::new(One { standing: anonymous.into(), since_s: 0 });
        queues.insert(&one, anonymous);
        let another = Arc::new(One { standing: anonymous.into(), since_s: 5 });
        queues.insert(&another, anonymous);
        queues.remove(anonymous);
        *one.standing.lock().unwrap() = guest;
        queues.insert(&one, guest);
        let newcomer = Newcomer { address: None, open: 1, now_s: 10 };
        assert!(queues.evict_for(newcomer).is_some_and(|closed| Arc::ptr_eq(&closed, &another)));
        assert!(queues.evict_for(newcomer).is_none());
        assert_eq!(queues.take_looked_at().len(), 1);
        queues.remove(anonymous);
        queues.remove(guest);
        assert!(queues.anonymous.addresses.is_empty() && queues.guests.by_size.is_empty());
    }
}
