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
const PERMIT_WAIT_MAX: Duration = Duration::from_millis(250);
const CLOCK_TICK: Duration = Duration::from_secs(1);

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
pub(in crate::gateway) enum PermitError {
    /// Its address has as many as one may have.
    Address { max: usize },
    /// There is no room for anybody.
    Full,
}

/// All permits of one listener.
pub(in crate::gateway) struct ConnectionPermits {
    slots: Semaphore,
    total: u32,
    /// Where each takes its socket from, if others do so, too.
    socket_budget: Option<Arc<SocketBudget>>,
    address_limit: Option<AddressLimit>,
    by_address: KeyedPermits<AddressKey>,
    idle_queue: Mutex<Ranks<Connection>>,
    begun: Instant,
    /// Seconds since then, as [`ConnectionPermits::run_clock`] counts them.
    now_s: AtomicU32,
    metrics: Arc<Metrics>,
}

/// The right to one connection, as long as its socket is open.
pub(in crate::gateway) struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    /// Whose share of an address it takes.
    address: Mutex<Option<AddressKey>>,
}

/// A request that counts as a connection of the client behind a proxy.
pub(in crate::gateway) struct ProxiedPermit {
    permits: Arc<ConnectionPermits>,
    key: AddressKey,
}

impl ConnectionPermits {
    pub(in crate::gateway) fn new(
        max: usize,
        sockets: Option<Arc<SocketBudget>>,
        limit: Option<AddressLimit>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let all = u32::try_from(max.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Arc::new(Self {
            slots: Semaphore::new(all as usize),
            total: all,
            socket_budget: sockets,
            address_limit: limit,
            by_address: KeyedPermits::default(),
            idle_queue: Mutex::default(),
            begun: Instant::now(),
            now_s: AtomicU32::new(0),
            metrics,
        })
    }

    /// Counts the seconds, without an end.
    pub(super) async fn run_clock(&self) {
        let mut ticks = interval(CLOCK_TICK);
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
    pub(in crate::gateway) async fn acquire(
        self: &Arc<Self>,
        peer: IpAddr,
        patience: &mut Option<Instant>,
    ) -> Result<ConnectionPermit, PermitError> {
        let key = self.address_limit.as_ref().and_then(|limit| limit.key(peer).map(|key| (key, limit.max)));
        if let Some((key, max)) = key
            && !self.by_address.try_acquire(key, max)
        {
            return Err(PermitError::Address { max });
        }
        if self.try_acquire() {
            *patience = None;
        } else if !self.acquire_after_eviction(key.map(|(key, _)| key), patience).await {
            if let Some((key, _)) = key {
                self.by_address.release(key);
            }
            return Err(PermitError::Full);
        }
        self.metrics.http_connection_opened();
        Ok(ConnectionPermit { permits: self.clone(), address: Mutex::new(key.map(|(key, _)| key)) })
    }

    fn try_acquire(&self) -> bool {
        let Ok(permit) = self.slots.try_acquire() else { return false };
        let has_socket = self.socket_budget.as_ref().is_none_or(|sockets| sockets.try_acquire_for_client());
        if has_socket {
            permit.forget();
        }
        has_socket
    }

    async fn acquire_after_eviction(&self, newcomer: Option<AddressKey>, patience: &mut Option<Instant>) -> bool {
        // Bots have the sockets, and were asked for those that they do not use: once for a crowd, not for each of it.
        let bots_have_them = self.slots.available_permits() > 0;
        if bots_have_them
            && timeout_at(*patience.get_or_insert_with(|| Instant::now() + PERMIT_WAIT_MAX), self.wait_for_slot())
                .await
                .is_ok()
        {
            return true;
        }
        self.close_another(newcomer) && timeout(PERMIT_WAIT_MAX, self.wait_for_slot()).await.is_ok()
    }

    async fn wait_for_slot(&self) {
        let permit = self.slots.acquire().await;
        if let Some(sockets) = &self.socket_budget {
            sockets.acquire_for_client().await;
        }
        // Nobody ever closes the semaphore.
        if let Ok(permit) = permit {
            permit.forget();
        }
    }

    /// Ends the connection that gives way to a newcomer from this address. Its permit comes back as soon as its task has seen the end.
    fn close_another(&self, address: Option<AddressKey>) -> bool {
        let has = address.map_or(1, |address| self.by_address.has(address));
        let newcomer = Newcomer { address, has, now_s: self.now_s() };
        let (found, looked_at) = {
            let mut order = self.lock_idle_queue();
            (order.give_way(newcomer), order.looked_at())
        };
        drop(looked_at);
        if let Some(connection) = &found {
            connection.shut_down();
            self.metrics.http_connection_evicted();
        }
        found.is_some()
    }

    /// From now on this connection may be closed to make room.
    pub(super) fn track(&self, connection: &Arc<Connection>) {
        self.lock_idle_queue().put(connection, connection.standing());
    }

    /// This connection stands so from now on.
    pub(super) fn stand(&self, connection: &Arc<Connection>, standing: Standing) {
        let mut order = self.lock_idle_queue();
        let before = std::mem::replace(&mut *connection.standing_mut(), standing);
        order.take_out(before);
        order.put(connection, standing);
    }

    /// A connection that stood so is gone.
    pub(super) fn forget(&self, standing: Standing) {
        self.lock_idle_queue().take_out(standing);
    }

    /// Whole even if a holder of the lock panicked: entries go in and out in one step.
    fn lock_idle_queue(&self) -> MutexGuard<'_, Ranks<Connection>> {
        self.idle_queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request for the client behind a proxy: it holds a connection, and that is not the proxy's.
    pub(in crate::gateway) fn acquire_proxied(
        self: &Arc<Self>,
        client: IpAddr,
    ) -> Result<Option<ProxiedPermit>, PermitError> {
        let Some(limit) = &self.address_limit else { return Ok(None) };
        let Some(key) = limit.key(client) else { return Ok(None) };
        if !self.by_address.try_acquire(key, limit.max) {
            let refused = PermitError::Address { max: limit.max };
            self.metrics.http_connection_refused(refused.is_full());
            return Err(refused);
        }
        Ok(Some(ProxiedPermit { permits: self.clone(), key }))
    }

    /// Waits until there is no connection.
    pub(super) async fn wait_until_empty(&self) {
        let _ = self.slots.acquire_many(self.total).await;
    }

    /// How many connections there are.
    pub(super) fn in_use(&self) -> usize {
        self.total as usize - self.slots.available_permits()
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}

impl PermitError {
    /// Whether it is refused whoever comes.
    pub(super) fn is_full(self) -> bool {
        self == Self::Full
    }
}

impl ConnectionPermit {
    pub(super) fn permits(&self) -> &Arc<ConnectionPermits> {
        &self.permits
    }

    /// The address that it is counted for.
    pub(super) fn counted_for(&self) -> Option<AddressKey> {
        *self.address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what a request counts as: the connection does from now on.
    pub(super) fn adopt_proxied(&self, share: &ProxiedPermit) {
        self.permits.by_address.acquire_unchecked(share.key);
        self.set_address(Some(share.key));
    }

    /// The peer is a node of ours, and speaks for others.
    pub(super) fn mark_as_node(&self) {
        self.set_address(None);
    }

    /// What is counted as of now instead of what was before.
    fn set_address(&self, key: Option<AddressKey>) {
        let before = std::mem::replace(&mut *self.address.lock().unwrap_or_else(PoisonError::into_inner), key);
        if let Some(before) = before {
            self.permits.by_address.release(before);
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.set_address(None);
        self.permits.metrics.http_connection_closed();
        if let Some(sockets) = &self.permits.socket_budget {
            sockets.release_client();
        }
        self.permits.slots.add_permits(1);
    }
}

impl Drop for ProxiedPermit {
    fn drop(&mut self) {
        self.permits.by_address.release(self.key);
    }
}
