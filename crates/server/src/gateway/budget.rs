//! A budget for bytes that clients keep in memory, whole and for each client address. When all of it is used, an address that has
//! less than another finds room all the same: what the address with most has kept for longest gives way, and its connection is closed.
//!
//! Knows neither what is kept nor how it travels.

use super::admission::ClientAddress;
use super::listener::ConnectionHandle;
use crate::address_key::AddressKey;
use crate::metrics::{BudgetFigures, Metrics};
use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is under way, and how much may be.
pub struct Budget {
    bytes_max: usize,
    per_address_max: usize,
    held: Mutex<Held>,
    metrics: Arc<Metrics>,
    figures: fn(&Metrics) -> BudgetFigures<'_>,
}

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The address has its share.
    Address,
    /// All is taken, by addresses that have no more than this one would.
    All,
}

/// Whom bytes are kept for: the address that they are counted for, and the connection that is closed when they give way.
#[derive(Clone, Default)]
pub(crate) struct Account {
    pub(in crate::gateway) address: Option<AddressKey>,
    /// Without one they never give way.
    pub(in crate::gateway) connection: Option<ConnectionHandle>,
}

/// A part of the budget, until it is dropped.
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    address: Option<AddressKey>,
    id: u64,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    /// How many reservations there were.
    begun: u64,
    /// An address that has nothing is not remembered.
    by_address: HashMap<Option<AddressKey>, OfAddress>,
}

#[derive(Default)]
struct OfAddress {
    bytes: usize,
    /// In the order in which they began.
    reserved: BTreeMap<u64, Reserved>,
}

struct Reserved {
    bytes: usize,
    connection: Option<ConnectionHandle>,
}

impl Budget {
    /// So many bytes, and so many of them for one address.
    pub(crate) fn new(
        bytes_max: usize,
        per_address_max: usize,
        metrics: &Arc<Metrics>,
        figures: fn(&Metrics) -> BudgetFigures<'_>,
    ) -> Arc<Self> {
        Arc::new(Self { bytes_max, per_address_max, held: Mutex::default(), metrics: metrics.clone(), figures })
    }

    /// Room for so many bytes. What is larger than the whole share of its address finds room while that has nothing else.
    ///
    /// # Errors
    /// When the address has its share, or when all is taken.
    pub(crate) fn reserve(self: &Arc<Self>, account: &Account, bytes: usize) -> Result<Reservation, NoRoom> {
        let reservation = self.count(account, 0);
        reservation.grow(bytes)?;
        Ok(reservation)
    }

    /// The same for what must be kept whatever there is.
    pub(crate) fn count(self: &Arc<Self>, account: &Account, bytes: usize) -> Reservation {
        let Account { address, connection } = account.clone();
        let mut held = self.held();
        held.begun += 1;
        let id = held.begun;
        let reserved = Reserved { bytes: 0, connection };
        held.by_address.entry(address).or_default().reserved.insert(id, reserved);
        held.add(address, id, bytes);
        self.figures().bytes.add(bytes as u64);
        Reservation { budget: self.clone(), address, id }
    }

    fn grow(&self, address: Option<AddressKey>, id: u64, bytes: usize) -> Result<(), NoRoom> {
        let mut held = self.held();
        let Some(own) = held.bytes_of(address, id) else {
            // It gave way, and its connection is about to end.
            return Err(NoRoom::All);
        };
        let more = bytes.saturating_sub(own);
        let of_address = held.by_address.get(&address).map_or(0, |of| of.bytes);
        let has_room = |held: usize, max: usize| held == own || held.saturating_add(more) <= max;
        let mut result = Ok(());
        let mut closed = Vec::new();
        if !has_room(of_address, self.per_address_max) {
            result = Err(NoRoom::Address);
        }
        while result.is_ok() && !has_room(held.bytes, self.bytes_max) {
            match held.give_way(of_address.saturating_add(more)) {
                Some(gone) => closed.push(gone),
                None => result = Err(NoRoom::All),
            }
        }
        if result.is_ok() {
            held.add(address, id, more);
        }
        drop(held);
        let figures = self.figures();
        for Reserved { bytes, connection } in closed {
            figures.bytes.sub(bytes);
            figures.evicted.inc();
            connection.iter().for_each(ConnectionHandle::end);
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

    /// Whole even if a holder of the lock panicked: nothing between two updates can.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(crate) fn addresses(&self) -> usize {
        self.held().by_address.len()
    }
}

impl Held {
    fn bytes_of(&self, address: Option<AddressKey>, id: u64) -> Option<usize> {
        Some(self.by_address.get(&address)?.reserved.get(&id)?.bytes)
    }

    fn add(&mut self, address: Option<AddressKey>, id: u64, bytes: usize) {
        let Some(of_address) = self.by_address.get_mut(&address) else { return };
        let Some(reserved) = of_address.reserved.get_mut(&id) else { return };
        reserved.bytes += bytes;
        of_address.bytes += bytes;
        self.bytes += bytes;
    }

    fn remove(&mut self, address: Option<AddressKey>, id: u64) -> Option<Reserved> {
        let of_address = self.by_address.get_mut(&address)?;
        let reserved = of_address.reserved.remove(&id)?;
        of_address.bytes -= reserved.bytes;
        self.bytes -= reserved.bytes;
        if of_address.reserved.is_empty() {
            self.by_address.remove(&address);
        }
        Some(reserved)
    }

    /// Takes out what the address with most has kept for longest, if that address has more than so many bytes.
    fn give_way(&mut self, than: usize) -> Option<Reserved> {
        let oldest = |of: &OfAddress| {
            let may_go = |reserved: &Reserved| reserved.bytes > 0 && reserved.connection.is_some();
            of.reserved.iter().find(|(_, reserved)| may_go(reserved)).map(|(id, _)| *id)
        };
        let larger = self.by_address.iter().filter(|(_, of)| of.bytes > than);
        let found = larger.filter_map(|(address, of)| Some((of.bytes, *address, oldest(of)?)));
        let (_, address, id) = found.max_by_key(|(bytes, ..)| *bytes)?;
        self.remove(address, id)
    }
}

impl Reservation {
    /// Makes it so many bytes; it never shrinks.
    ///
    /// # Errors
    /// As for a new one; it stays as it was.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), NoRoom> {
        self.budget.grow(self.address, self.id, bytes)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let removed = self.budget.held().remove(self.address, self.id);
        if let Some(removed) = removed {
            self.budget.figures().bytes.sub(removed.bytes);
        }
    }
}

impl Account {
    /// The address that it is counted for.
    pub(crate) fn address(&self) -> Option<AddressKey> {
        self.address
    }

    /// Whom a request is from that was let in.
    pub(in crate::gateway) fn of(request: &Extensions) -> Self {
        let address = request.get::<ClientAddress>().and_then(|client| client.address_key());
        Self { address, connection: request.get::<ConnectionHandle>().cloned() }
    }
}

impl<S: Sync> FromRequestParts<S> for Account {
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
    use crate::gateway::listener::{Connection, ConnectionPermits};
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt;
    use tokio::net::{TcpListener, TcpStream};

    fn budget(bytes_max: usize, per_address_max: usize) -> Arc<Budget> {
        Budget::new(bytes_max, per_address_max, &Arc::default(), Metrics::body_budget)
    }

    fn address(last: u8) -> Option<AddressKey> {
        Some(AddressKey::of([192, 0, 2, last].into()))
    }

    /// Somebody at this address whose connection cannot be closed.
    fn firm(last: u8) -> Account {
        Account { address: address(last), connection: None }
    }

    /// A connection of somebody at this address, and their end of it.
    async fn connected(last: u8) -> (Arc<Connection>, Account, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (stream, peer) = listener.accept().await.unwrap();
        let permit =
            ConnectionPermits::new(1, None, None, Arc::default()).acquire(peer.ip(), &mut None).await.ok().unwrap();
        let connection = Connection::new(stream, permit);
        let account = Account { address: address(last), connection: Some(connection.handle()) };
        (connection, account, client)
    }

    #[track_caller]
    fn check(result: Result<Reservation, NoRoom>, want: Result<(), NoRoom>) -> Option<Reservation> {
        assert_eq!(result.as_ref().map(|_| ()).map_err(|why| *why), want);
        result.ok()
    }

    #[test]
    fn each_address_has_its_share_and_nobody_is_refused_what_goes_alone() {
        let budget = budget(100, 60);
        let _first = check(budget.reserve(&firm(1), 40), Ok(()));
        check(budget.reserve(&firm(1), 40), Err(NoRoom::Address));
        let second = check(budget.reserve(&firm(2), 40), Ok(())).unwrap();
        check(budget.reserve(&firm(3), 40), Err(NoRoom::All));
        assert_eq!(second.grow(61), Err(NoRoom::All), "it cannot grow beyond what there is");
        assert_eq!((second.grow(60), second.grow(1)), (Ok(()), Ok(())));
        drop(second);
        drop(_first);
        let alone = check(budget.reserve(&firm(1), 200), Ok(()));
        check(budget.reserve(&firm(1), 1), Err(NoRoom::Address));
        check(budget.reserve(&firm(2), 1), Err(NoRoom::All));
        drop(alone);
        check(budget.reserve(&firm(1), 1), Ok(()));
        let figures = budget.figures();
        assert_eq!((figures.bytes.get(), figures.refused.get(), budget.addresses()), (0, 5, 0));
    }

    #[tokio::test]
    async fn whoever_has_most_gives_way_to_whoever_has_less() {
        let budget = budget(100, 60);
        let (_a, ann, mut anns) = connected(1).await;
        let (_b, bob, mut bobs) = connected(2).await;
        let oldest = budget.reserve(&ann, 30).unwrap();
        let newer = budget.reserve(&firm(1), 30).unwrap();
        let of_bob = budget.reserve(&bob, 40).unwrap();
        // Ann has more than Carl would have; of what she has, what can give way and is oldest.
        let of_carl = check(budget.reserve(&firm(3), 30), Ok(())).unwrap();
        assert_eq!(anns.read(&mut [0; 1]).await.unwrap(), 0, "the connection is closed");
        assert_eq!(oldest.grow(31), Err(NoRoom::All), "what gave way does not come back");
        assert_eq!(budget.figures().bytes.get(), 100);
        assert_eq!(of_carl.grow(40), Err(NoRoom::All), "Bob has no more than Carl would have");
        assert_eq!(of_carl.grow(39), Ok(()));
        assert_eq!(bobs.read(&mut [0; 1]).await.unwrap(), 0);
        drop((oldest, newer, of_bob, of_carl));
        let figures = budget.figures();
        assert_eq!((figures.bytes.get(), figures.evicted.get(), budget.addresses()), (0, 2, 0));
    }

    proptest! {
        /// Whatever others do, an address finds room as long as it has no more than all divided by those who have anything.
        #[test]
        fn an_equal_share_is_never_refused(steps in prop::collection::vec((0_u8..6, 1_usize..400, any::<bool>()), 1..80)) {
            const MAX: usize = 1_000;
            let budget = budget(MAX, MAX);
            let mut reserved = Vec::new();
            for (who, bytes, ends) in steps {
                let account = Account { address: address(who), connection: Some(ConnectionHandle::of_none()) };
                let (has, others) = {
                    let held = budget.held();
                    let of = |of: &OfAddress| of.bytes;
                    let others = held.by_address.keys().filter(|key| **key != account.address).count();
                    (held.by_address.get(&account.address).map_or(0, of), others)
                };
                let outcome = budget.reserve(&account, bytes);
                if has + bytes <= MAX / (others + 1) {
                    prop_assert!(outcome.is_ok(), "{has} + {bytes} beside {others}");
                }
                reserved.extend(outcome.ok());
                if ends && !reserved.is_empty() {
                    reserved.remove(0);
                }
                let held = budget.held();
                let sum: usize = held.by_address.values().flat_map(|of| of.reserved.values()).map(|one| one.bytes).sum();
                prop_assert_eq!(sum, held.bytes);
                prop_assert!(sum <= MAX);
                prop_assert_eq!(budget.figures().bytes.get(), sum as i64);
            }
            reserved.clear();
            prop_assert_eq!(budget.addresses(), 0);
        }
    }
}
