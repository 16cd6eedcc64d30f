//! Connection permits: how many connections there may be in all, how many of one client address, and what happens when there is
//! no room.
//!
//! Knows nothing of what is said over a connection.

use super::connection::Connection;
use super::ranks::{Newcomer, Ranks, Standing};
use crate::address_key::AddressKey;
use crate::config::{Config, Networks};
use crate::keyed_permits::KeyedPermits;
use crate::metrics::Metrics;
use crate::socket_budget::SocketBudget;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};

/// Longest time that a new connection waits for another to end once it was told to, or for a bot to give its socket back.
const ROOM_WAIT: Duration = Duration::from_millis(250);
const TICK: Duration = Duration::from_secs(1);

/// How many connections one client address may have, and which addresses that is not for.
#[derive(Clone, Debug)]
pub struct AddressLimit {
    /// Connections of one address.
    pub max: usize,
    /// Whether loopback addresses are limited, too.
    pub includes_loopback: bool,
    /// Peers that speak for others.
    pub trusted_proxies: Networks,
}

impl AddressLimit {
    /// The limit in force.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        Self {
            max: config.http_connections_per_address_max,
            includes_loopback: config.http_limit_loopback,
            trusted_proxies: config.http_trusted_proxies.clone(),
        }
    }

    /// As what connections of this peer are counted; `None` if they are not.
    pub(crate) fn key(&self, peer: IpAddr) -> Option<AddressKey> {
        let is_limited = self.includes_loopback || !peer.to_canonical().is_loopback();
        (is_limited && !self.trusted_proxies.contains(peer)).then(|| AddressKey::of(peer))
    }
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) enum Refused {
    /// Its address has as many as one may have.
    Address { max: usize },
    /// There is no room for anybody.
    Full,
}

/// All permits of one listener.
pub(in crate::gateway) struct Permits {
    free: Semaphore,
    all: u32,
    /// Where each takes its socket from, if others do so, too.
    sockets: Option<Arc<SocketBudget>>,
    limit: Option<AddressLimit>,
    addresses: KeyedPermits<AddressKey>,
    order: Mutex<Ranks<Connection>>,
    begun: Instant,
    /// Seconds since then, as [`Permits::keep_time`] counts them.
    now_s: AtomicU32,
    metrics: Arc<Metrics>,
}

/// The right to one connection, as long as its socket is open.
pub(in crate::gateway) struct Permit {
    permits: Arc<Permits>,
    /// Whose share of an address it takes.
    counted: Mutex<Option<AddressKey>>,
}

/// A request that counts as a connection of the client behind a proxy.
pub(in crate::gateway) struct Share {
    permits: Arc<Permits>,
    key: AddressKey,
}

impl Permits {
    pub(in crate::gateway) fn new(
        max: usize,
        sockets: Option<Arc<SocketBudget>>,
        limit: Option<AddressLimit>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let all = u32::try_from(max.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Arc::new(Self {
            free: Semaphore::new(all as usize),
            all,
            sockets,
            limit,
            addresses: KeyedPermits::default(),
            order: Mutex::default(),
            begun: Instant::now(),
            now_s: AtomicU32::new(0),
            metrics,
        })
    }

    /// Counts the seconds, without an end.
    pub(super) async fn keep_time(&self) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            self.now_s.store(u32::try_from(self.begun.elapsed().as_secs()).unwrap_or(u32::MAX), Relaxed);
        }
    }

    /// The second it is.
    pub(super) fn now_s(&self) -> u32 {
        self.now_s.load(Relaxed)
    }

    /// A permit for a connection of this peer. Where there is no room it is made, by closing the idlest connection that may be
    /// closed; `patience` is until when to wait where none may.
    pub(in crate::gateway) async fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        patience: &mut Option<Instant>,
    ) -> Result<Permit, Refused> {
        let key = self.limit.as_ref().and_then(|limit| limit.key(peer).map(|key| (key, limit.max)));
        if let Some((key, max)) = key
            && !self.addresses.try_acquire(key, max)
        {
            return Err(Refused::Address { max });
        }
        if self.try_take() {
            *patience = None;
        } else if !self.take_after_making_room(key.map(|(key, _)| key), patience).await {
            if let Some((key, _)) = key {
                self.addresses.release(key);
            }
            return Err(Refused::Full);
        }
        self.metrics.http_connection_opened();
        Ok(Permit { permits: self.clone(), counted: Mutex::new(key.map(|(key, _)| key)) })
    }

    fn try_take(&self) -> bool {
        let Ok(permit) = self.free.try_acquire() else { return false };
        let has_socket = self.sockets.as_ref().is_none_or(|sockets| sockets.try_acquire_for_client());
        if has_socket {
            permit.forget();
        }
        has_socket
    }

    async fn take_after_making_room(&self, newcomer: Option<AddressKey>, patience: &mut Option<Instant>) -> bool {
        // Bots have the sockets, and were asked for those that they do not use: once for a crowd, not for each of it.
        let bots_have_them = self.free.available_permits() > 0;
        if bots_have_them
            && timeout_at(*patience.get_or_insert_with(|| Instant::now() + ROOM_WAIT), self.take()).await.is_ok()
        {
            return true;
        }
        self.close_another(newcomer) && timeout(ROOM_WAIT, self.take()).await.is_ok()
    }

    async fn take(&self) {
        let permit = self.free.acquire().await;
        if let Some(sockets) = &self.sockets {
            sockets.acquire_for_client().await;
        }
        // Nobody ever closes the semaphore.
        if let Ok(permit) = permit {
            permit.forget();
        }
    }

    /// Ends the connection that gives way to a newcomer from this address. Its permit comes back as soon as its task has seen the end.
    fn close_another(&self, address: Option<AddressKey>) -> bool {
        let has = address.map_or(1, |address| self.addresses.has(address));
        let newcomer = Newcomer { address, has, now_s: self.now_s() };
        let (found, looked_at) = {
            let mut order = self.order();
            (order.give_way(newcomer), order.looked_at())
        };
        drop(looked_at);
        if let Some(connection) = &found {
            connection.end();
            self.metrics.http_connection_closed_for_room();
        }
        found.is_some()
    }

    /// From now on this connection may be closed to make room.
    pub(super) fn watch(&self, connection: &Arc<Connection>) {
        self.order().put(connection, connection.standing());
    }

    /// This connection stands so from now on.
    pub(super) fn stand(&self, connection: &Arc<Connection>, standing: Standing) {
        let mut order = self.order();
        let before = std::mem::replace(&mut *connection.standing_mut(), standing);
        order.take_out(before);
        order.put(connection, standing);
    }

    /// A connection that stood so is gone.
    pub(super) fn forget(&self, standing: Standing) {
        self.order().take_out(standing);
    }

    /// Whole even if a holder of the lock panicked: entries go in and out in one step.
    fn order(&self) -> MutexGuard<'_, Ranks<Connection>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request for the client behind a proxy: it holds a connection, and that is not the proxy's.
    pub(in crate::gateway) fn share(self: &Arc<Self>, client: IpAddr) -> Result<Option<Share>, Refused> {
        let Some(limit) = &self.limit else { return Ok(None) };
        let Some(key) = limit.key(client) else { return Ok(None) };
        if !self.addresses.try_acquire(key, limit.max) {
            let refused = Refused::Address { max: limit.max };
            self.metrics.http_connection_refused(refused.is_full());
            return Err(refused);
        }
        Ok(Some(Share { permits: self.clone(), key }))
    }

    /// Waits until there is no connection.
    pub(super) async fn empty(&self) {
        let _ = self.free.acquire_many(self.all).await;
    }

    /// How many connections there are.
    pub(super) fn taken(&self) -> usize {
        self.all as usize - self.free.available_permits()
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl Refused {
    /// Whether it is refused whoever comes.
    pub(super) fn is_full(self) -> bool {
        self == Self::Full
    }
}

impl Permit {
    pub(super) fn permits(&self) -> &Arc<Permits> {
        &self.permits
    }

    /// The address that it is counted for.
    pub(super) fn counted_for(&self) -> Option<AddressKey> {
        *self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what a request counts as: the connection does from now on.
    pub(super) fn adopt(&self, share: &Share) {
        self.permits.addresses.acquire_unchecked(share.key);
        self.count(Some(share.key));
    }

    /// The peer is a node of ours, and speaks for others.
    pub(super) fn is_of_a_node(&self) {
        self.count(None);
    }

    /// What is counted as of now instead of what was before.
    fn count(&self, key: Option<AddressKey>) {
        let before = std::mem::replace(&mut *self.counted.lock().unwrap_or_else(PoisonError::into_inner), key);
        if let Some(before) = before {
            self.permits.addresses.release(before);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.count(None);
        self.permits.metrics.http_connection_closed();
        if let Some(sockets) = &self.permits.sockets {
            sockets.release_client();
        }
        self.permits.free.add_permits(1);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.permits.addresses.release(self.key);
    }
}
