//! A budget for bytes that clients keep in memory, in all and for each client address. When all of it is used, an address that has
//! less than another still gets its share: the oldest reservation of the address with most is evicted, and its connection closed.
//!
//! Knows neither what the bytes are nor how they are sent.

use super::client_address::ClientAddress;
use super::listener::Connection;
use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use metrics::{BudgetFigures, Metrics};
use quotas::address_key::AddressKey;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The bytes in use, and their limits.
pub struct Budget {
    bytes_max: usize,
    per_address_max: usize,
    usage: Mutex<Usage>,
    metrics: Arc<Metrics>,
    figures: fn(&Metrics) -> BudgetFigures<'_>,
}

/// Why a reservation is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BudgetExceeded {
    /// The address has its share.
    Address,
    /// All is used, by addresses that have no more than this one would.
    All,
}

/// The owner of reserved bytes: the address that they count for, and the connection that is closed on eviction.
#[derive(Clone, Default)]
pub(crate) struct BudgetOwner {
    pub(crate) address: Option<AddressKey>,
    /// Without one they are never evicted.
    pub(crate) connection: Option<Weak<Connection>>,
}

/// A part of the budget, until it is dropped.
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    address: Option<AddressKey>,
    id: u64,
}

#[derive(Default)]
struct Usage {
    bytes: usize,
    /// The number of reservations so far.
    begun: u64,
    /// An address without reservations has no entry.
    by_address: HashMap<Option<AddressKey>, AddressUsage>,
}

#[derive(Default)]
struct AddressUsage {
    bytes: usize,
    /// In the order in which they began.
    reserved: BTreeMap<u64, Reserved>,
}

struct Reserved {
    bytes: usize,
    connection: Option<Weak<Connection>>,
}

impl Budget {
    /// A budget of so many bytes, and so many of them for one address.
    pub fn new(
        bytes_max: usize,
        per_address_max: usize,
        metrics: &Arc<Metrics>,
        figures: fn(&Metrics) -> BudgetFigures<'_>,
    ) -> Arc<Self> {
        Arc::new(Self { bytes_max, per_address_max, usage: Mutex::default(), metrics: metrics.clone(), figures })
    }

    /// Reserves so many bytes. A reservation larger than the whole share of its address succeeds while the address has no other.
    ///
    /// # Errors
    /// When the address has its share, or when all is used.
    pub(crate) fn reserve(self: &Arc<Self>, owner: &BudgetOwner, bytes: usize) -> Result<Reservation, BudgetExceeded> {
        let reservation = self.count(owner, 0);
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// Counts bytes that must be kept even beyond the budget.
    pub(crate) fn count(self: &Arc<Self>, owner: &BudgetOwner, bytes: usize) -> Reservation {
        let BudgetOwner { address, connection } = owner.clone();
        let mut usage = self.usage();
        usage.begun += 1;
        let id = usage.begun;
        let reserved = Reserved { bytes: 0, connection };
        usage.by_address.entry(address).or_default().reserved.insert(id, reserved);
        usage.add(address, id, bytes);
        self.figures().bytes.add(bytes as u64);
        Reservation { budget: self.clone(), address, id }
    }

    fn grow(&self, address: Option<AddressKey>, id: u64, bytes: usize) -> Result<(), BudgetExceeded> {
        let mut usage = self.usage();
        let Some(own) = usage.bytes_of(address, id) else {
            // It was evicted, and its connection is about to end.
            return Err(BudgetExceeded::All);
        };
        let more = bytes.saturating_sub(own);
        let address_bytes = usage.by_address.get(&address).map_or(0, |of| of.bytes);
        let has_room = |used: usize, max: usize| used == own || used.saturating_add(more) <= max;
        let mut result = Ok(());
        let mut evicted = Vec::new();
        if !has_room(address_bytes, self.per_address_max) {
            result = Err(BudgetExceeded::Address);
        }
        while result.is_ok() && !has_room(usage.bytes, self.bytes_max) {
            match usage.evict(address_bytes.saturating_add(more)) {
                Some(reserved) => evicted.push(reserved),
                None => result = Err(BudgetExceeded::All),
            }
        }
        if result.is_ok() {
            usage.add(address, id, more);
        }
        drop(usage);
        let figures = self.figures();
        for Reserved { bytes, connection } in evicted {
            figures.bytes.sub(bytes);
            figures.evicted.inc();
            connection.iter().filter_map(Weak::upgrade).for_each(|connection| connection.shut_down());
        }
        match result {
            Ok(()) => figures.bytes.add(more as u64),
            Err(_) => figures.refused.inc(),
        }
        result
    }

    fn figures(&self) -> BudgetFigures<'_> {
        (self.figures)(&self.metrics)
    }

    /// Consistent even if a holder of the lock panicked: nothing between two updates can.
    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn addresses(&self) -> usize {
        self.usage().by_address.len()
    }
}

impl Usage {
    fn bytes_of(&self, address: Option<AddressKey>, id: u64) -> Option<usize> {
        Some(self.by_address.get(&address)?.reserved.get(&id)?.bytes)
    }

    fn add(&mut self, address: Option<AddressKey>, id: u64, bytes: usize) {
        let Some(address_usage) = self.by_address.get_mut(&address) else { return };
        let Some(reserved) = address_usage.reserved.get_mut(&id) else { return };
        reserved.bytes += bytes;
        address_usage.bytes += bytes;
        self.bytes += bytes;
    }

    fn remove(&mut self, address: Option<AddressKey>, id: u64) -> Option<Reserved> {
        let address_usage = self.by_address.get_mut(&address)?;
        let reserved = address_usage.reserved.remove(&id)?;
        address_usage.bytes -= reserved.bytes;
        self.bytes -= reserved.bytes;
        if address_usage.reserved.is_empty() {
            self.by_address.remove(&address);
        }
        Some(reserved)
    }

    /// Evicts the oldest reservation of the address with most bytes, if that address has more than so many.
    fn evict(&mut self, than: usize) -> Option<Reserved> {
        let oldest = |of: &AddressUsage| {
            let is_evictable = |reserved: &Reserved| reserved.bytes > 0 && reserved.connection.is_some();
            of.reserved.iter().find(|(_, reserved)| is_evictable(reserved)).map(|(id, _)| *id)
        };
        let larger = self.by_address.iter().filter(|(_, of)| of.bytes > than);
        let found = larger.filter_map(|(address, of)| Some((of.bytes, *address, oldest(of)?)));
        let (_, address, id) = found.max_by_key(|(bytes, ..)| *bytes)?;
        self.remove(address, id)
    }
}

impl Reservation {
    /// Grows to so many bytes; it never shrinks.
    ///
    /// # Errors
    /// As for a new reservation; it stays as it was.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        self.budget.grow(self.address, self.id, bytes)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let removed = self.budget.usage().remove(self.address, self.id);
        if let Some(removed) = removed {
            self.budget.figures().bytes.sub(removed.bytes);
        }
    }
}

impl BudgetOwner {
    /// The owner of an admitted request.
    pub(crate) fn of(request: &Extensions) -> Self {
        let address = request.get::<ClientAddress>().and_then(|client| client.address_key());
        Self { address, connection: request.get::<Weak<Connection>>().cloned() }
    }
}

impl<S: Sync> FromRequestParts<S> for BudgetOwner {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget").field("bytes_max", &self.bytes_max).finish_non_exhaustive()
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::ConnectionPermits;
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    fn budget(bytes_max: usize, per_address_max: usize) -> Arc<Budget> {
        Budget::new(bytes_max, per_address_max, &Arc::default(), Metrics::body_budget)
    }

    fn address(last: u8) -> Option<AddressKey> {
        Some(AddressKey::of([192, 0, 2, last].into()))
    }

    /// An owner at this address whose connection cannot be closed.
    fn without_connection(last: u8) -> BudgetOwner {
        BudgetOwner { address: address(last), connection: None }
    }

    /// An owner with a connection from this address, and the client's end of it.
    async fn connected(last: u8) -> (Arc<Connection>, BudgetOwner, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let permit =
            ConnectionPermits::new(1, None, None, Arc::default()).acquire(peer.ip(), &mut None).await.ok().unwrap();
        let connection = Connection::new(stream, permit);
        let owner = BudgetOwner { address: address(last), connection: Some(Arc::downgrade(&connection)) };
        (connection, owner, client)
    }

    #[track_caller]
    fn check(result: Result<Reservation, BudgetExceeded>, want: Result<(), BudgetExceeded>) -> Option<Reservation> {
        assert_eq!(result.as_ref().map(|_| ()).map_err(|error| *error), want);
        result.ok()
    }

    #[test]
    fn each_address_has_its_share_and_a_single_reservation_is_never_refused() {
        let budget = budget(100, 60);
        let _first = check(budget.reserve(&without_connection(1), 40), Ok(()));
        check(budget.reserve(&without_connection(1), 40), Err(BudgetExceeded::Address));
        let second = check(budget.reserve(&without_connection(2), 40), Ok(())).unwrap();
        check(budget.reserve(&without_connection(3), 40), Err(BudgetExceeded::All));
        assert_eq!(second.grow(61), Err(BudgetExceeded::All), "it cannot grow beyond the budget");
        assert_eq!((second.grow(60), second.grow(1)), (Ok(()), Ok(())));
        drop(second);
        drop(_first);
        let alone = check(budget.reserve(&without_connection(1), 200), Ok(()));
        check(budget.reserve(&without_connection(1), 1), Err(BudgetExceeded::Address));
        check(budget.reserve(&without_connection(2), 1), Err(BudgetExceeded::All));
        drop(alone);
        check(budget.reserve(&without_connection(1), 1), Ok(()));
        let figures = budget.figures();
        assert_eq!((figures.bytes.get(), figures.refused.get(), budget.addresses()), (0, 5, 0));
    }

    #[tokio::test]
    async fn the_address_with_most_is_evicted_for_one_with_less() {
        let budget = budget(100, 60);
        let (_a, ann, mut anns) = connected(1).await;
        let (_b, bob, mut bobs) = connected(2).await;
        let oldest = budget.reserve(&ann, 30).unwrap();
        let newer = budget.reserve(&without_connection(1), 30).unwrap();
        let of_bob = budget.reserve(&bob, 40).unwrap();
        // Ann has more than Carl would have; her oldest reservation with a connection is evicted.
        let of_carl = check(budget.reserve(&without_connection(3), 30), Ok(())).unwrap();
        assert_eq!(anns.read(&mut [0; 1]).await.unwrap(), 0, "the connection is closed");
        assert_eq!(oldest.grow(31), Err(BudgetExceeded::All), "an evicted reservation does not come back");
        assert_eq!(budget.figures().bytes.get(), 100);
        assert_eq!(of_carl.grow(40), Err(BudgetExceeded::All), "Bob has no more than Carl would have");
        assert_eq!(of_carl.grow(39), Ok(()));
        assert_eq!(bobs.read(&mut [0; 1]).await.unwrap(), 0);
        drop((oldest, newer, of_bob, of_carl));
        let figures = budget.figures();
        assert_eq!((figures.bytes.get(), figures.evicted.get(), budget.addresses()), (0, 2, 0));
    }

    proptest! {
        /// Whatever others do, an address gets its reservation as long as it has no more than all divided by the addresses in use.
        #[test]
        fn an_equal_share_is_never_refused(steps in prop::collection::vec((0_u8..6, 1_usize..400, any::<bool>()), 1..80)) {
            const MAX: usize = 1_000;
            let budget = budget(MAX, MAX);
            let mut reserved = Vec::new();
            for (who, bytes, ends) in steps {
                let owner = BudgetOwner { address: address(who), connection: Some(Weak::new()) };
                let (has, others) = {
                    let usage = budget.usage();
                    let of = |of: &AddressUsage| of.bytes;
                    let others = usage.by_address.keys().filter(|key| **key != owner.address).count();
                    (usage.by_address.get(&owner.address).map_or(0, of), others)
                };
                let outcome = budget.reserve(&owner, bytes);
                if has + bytes <= MAX / (others + 1) {
                    prop_assert!(outcome.is_ok(), "{has} + {bytes} beside {others}");
                }
                reserved.extend(outcome.ok());
                if ends && !reserved.is_empty() {
                    reserved.remove(0);
                }
                let usage = budget.usage();
                let sum: usize = usage.by_address.values().flat_map(|of| of.reserved.values()).map(|one| one.bytes).sum();
                prop_assert_eq!(sum, usage.bytes);
                prop_assert!(sum <= MAX);
                prop_assert_eq!(budget.figures().bytes.get(), sum as i64);
            }
            reserved.clear();
            prop_assert_eq!(budget.addresses(), 0);
        }
    }
}
