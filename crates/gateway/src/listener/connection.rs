//! The open connections of a listener: each with its socket, its permit and its standing in the order of eviction, behind one pointer, so
//! that it can be closed from outside, whichever task reads from it; and the permits, which are capped in all and by client address.
//!
//! Knows nothing of the protocol on a connection.

use super::eviction::{EvictionQueues, Newcomer};
use super::idle_queue::{Evictable, Rank, Standing};
use super::socket::Socket;
use metrics::Metrics;
use quotas::address_key::AddressKey;
use quotas::address_limit::AddressLimit;
use quotas::keyed_permits::KeyedPermits;
use quotas::socket_budget::SocketBudget;
use rustix::net::{Shutdown, shutdown};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout, timeout_at};

/// Longest time that a new connection waits for an evicted one to close, or for a bot to release its socket.
const PERMIT_WAIT_MAX: Duration = Duration::from_millis(250);
const CLOCK_TICK: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermitError {
    /// Its address has as many as allowed.
    Address { max: usize },
    /// All permits are in use, and no connection may be evicted.
    Full,
}

pub(crate) struct ConnectionPermits {
    slots: Semaphore,
    total: u32,
    /// The budget from which each connection takes its socket, if it is shared with other users.
    socket_budget: Option<Arc<SocketBudget>>,
    address_limit: Option<AddressLimit>,
    by_address: KeyedPermits<AddressKey>,
    idle_queue: Mutex<EvictionQueues<Connection>>,
    begun: Instant,
    /// Seconds since then, as [`ConnectionPermits::run_clock`] counts them.
    now_s: AtomicU32,
    metrics: Arc<Metrics>,
}

/// The right to one connection, as long as its socket is open.
pub(crate) struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    /// What is known of the principal, and the address that the connection counts for.
    standing: Mutex<Standing>,
}

/// A request that counts as a connection of the client behind a proxy.
pub(crate) struct ProxiedPermit {
    permits: Arc<ConnectionPermits>,
    key: AddressKey,
}

impl ConnectionPermits {
    pub(crate) fn new(
        max: usize,
        socket_budget: Option<Arc<SocketBudget>>,
        address_limit: Option<AddressLimit>,
        metrics: Arc<Metrics>,
    ) -> Arc<Self> {
        let total = u32::try_from(max.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Arc::new(Self {
            slots: Semaphore::new(total as usize),
            total,
            socket_budget,
            address_limit,
            by_address: KeyedPermits::default(),
            idle_queue: Mutex::default(),
            begun: Instant::now(),
            now_s: AtomicU32::new(0),
            metrics,
        })
    }

    /// Counts the seconds, without end.
    pub(super) async fn run_clock(&self) {
        let mut ticks = interval(CLOCK_TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            self.now_s.store(u32::try_from(self.begun.elapsed().as_secs()).unwrap_or(u32::MAX), Relaxed);
        }
    }

    /// The current second.
    pub(super) fn now_s(&self) -> u32 {
        self.now_s.load(Relaxed)
    }

    /// Acquires a permit for a connection of this peer. When none is free, the idlest connection that may be evicted is closed;
    /// `wait_until` bounds the waits when none may.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        peer: IpAddr,
        wait_until: &mut Option<Instant>,
    ) -> Result<ConnectionPermit, PermitError> {
        let key = self.address_limit.as_ref().and_then(|limit| limit.key(peer).map(|key| (key, limit.max)));
        if let Some((key, max)) = key
            && !self.by_address.try_acquire(key, max)
        {
            return Err(PermitError::Address { max });
        }
        if self.try_acquire() {
            *wait_until = None;
        } else if !self.acquire_after_eviction(key.map(|(key, _)| key), wait_until).await {
            if let Some((key, _)) = key {
                self.by_address.release(key);
            }
            return Err(PermitError::Full);
        }
        self.metrics.http_connection_opened();
        let standing = Standing { rank: Rank::Anonymous, address: key.map(|(key, _)| key) };
        Ok(ConnectionPermit { permits: self.clone(), standing: Mutex::new(standing) })
    }

    fn try_acquire(&self) -> bool {
        let Ok(permit) = self.slots.try_acquire() else { return false };
        let has_socket = self.socket_budget.as_ref().is_none_or(|sockets| sockets.try_acquire_for_client());
        if has_socket {
            permit.forget();
        }
        has_socket
    }

    async fn acquire_after_eviction(&self, newcomer: Option<AddressKey>, wait_until: &mut Option<Instant>) -> bool {
        // The bots hold the sockets, and were asked to release the unused ones: one deadline for a burst of connections, not one for each.
        let bots_hold_sockets = self.slots.available_permits() > 0;
        if bots_hold_sockets
            && timeout_at(*wait_until.get_or_insert_with(|| Instant::now() + PERMIT_WAIT_MAX), self.wait_for_slot())
                .await
                .is_ok()
        {
            return true;
        }
        self.evict_for(newcomer) && timeout(PERMIT_WAIT_MAX, self.wait_for_slot()).await.is_ok()
    }

    async fn wait_for_slot(&self) {
        let permit = self.slots.acquire().await;
        if let Some(sockets) = &self.socket_budget {
            sockets.acquire_for_client().await;
        }
        // The semaphore is never closed.
        if let Ok(permit) = permit {
            permit.forget();
        }
    }

    /// Closes the connection that is evicted for a newcomer from this address. Its permit returns once its task has seen the end.
    fn evict_for(&self, address: Option<AddressKey>) -> bool {
        let open = address.map_or(1, |address| self.by_address.has(address));
        let newcomer = Newcomer { address, open, now_s: self.now_s() };
        let (evicted, looked_at) = {
            let mut queues = self.lock_idle_queue();
            (queues.evict_for(newcomer), queues.take_looked_at())
        };
        drop(looked_at);
        if let Some(connection) = &evicted {
            connection.shut_down();
            self.metrics.process.http_evicted.inc();
        }
        evicted.is_some()
    }

    /// Consistent even if a holder of the lock panicked: entries go in and out in one step.
    fn lock_idle_queue(&self) -> MutexGuard<'_, EvictionQueues<Connection>> {
        self.idle_queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request for the client behind a proxy: it occupies a connection, which is not the proxy's own.
    pub(crate) fn acquire_proxied(self: &Arc<Self>, client: IpAddr) -> Result<Option<ProxiedPermit>, PermitError> {
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

    /// The number of connections.
    pub(super) fn in_use(&self) -> usize {
        self.total as usize - self.slots.available_permits()
    }
}

impl PermitError {
    /// Whether new connections of every client are refused.
    pub(super) fn is_full(self) -> bool {
        self == Self::Full
    }
}

impl ConnectionPermit {
    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let address = self.standing().address;
        address.into_iter().for_each(|address| self.permits.by_address.release(address));
        self.permits.metrics.process.http_connections.dec();
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

/// An open connection. Requests refer to it weakly: it ends although they do not.
pub struct Connection {
    stream: Socket,
    /// Dropped after the socket: it is released once the socket is closed.
    permit: ConnectionPermit,
    /// When the client last sent something.
    last_read_s: AtomicU32,
}

impl Connection {
    /// The connection with this permit, which is a candidate for eviction from now on.
    pub(crate) fn new(stream: impl Into<Socket>, permit: ConnectionPermit) -> Arc<Self> {
        let last_read_s = AtomicU32::new(permit.permits.now_s());
        let connection = Arc::new(Self { stream: stream.into(), permit, last_read_s });
        connection.permit.permits.lock_idle_queue().insert(&connection, connection.standing());
        connection
    }

    pub(crate) fn stream(&self) -> &Socket {
        &self.stream
    }

    /// The metrics of the process.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.permit.permits.metrics
    }

    /// Raises the rank of the connection to this one. It never falls.
    pub(crate) fn raise_rank(self: &Arc<Self>, rank: Rank) {
        if rank > self.standing().rank {
            self.replace_standing(|standing| Standing { rank: rank.max(standing.rank), ..standing });
        }
    }

    fn standing(&self) -> Standing {
        *self.permit.standing()
    }

    /// Replaces the standing under its lock, and returns the one before.
    fn replace_standing(self: &Arc<Self>, next: impl FnOnce(Standing) -> Standing) -> Standing {
        let mut queues = self.permit.permits.lock_idle_queue();
        let (before, standing) = {
            let mut standing = self.permit.standing();
            let before = *standing;
            *standing = next(before);
            (before, *standing)
        };
        queues.remove(before);
        queues.insert(self, standing);
        before
    }

    /// Counts the connection for the next standing's address, whose permit was taken, and no longer for the one before.
    fn count_for(self: &Arc<Self>, next: impl FnOnce(Standing) -> Standing) {
        let before = self.replace_standing(next);
        before.address.into_iter().for_each(|address| self.permit.permits.by_address.release(address));
    }

    /// Records that the client sent something.
    pub(super) fn record_read(&self) {
        self.last_read_s.store(self.permit.permits.now_s(), Relaxed);
    }

    /// Closes the connection: its reader sees the end of the stream.
    pub(crate) fn shut_down(&self) {
        // It can only fail where the connection has ended already.
        let _ = shutdown(&self.stream, Shutdown::Both);
    }

    /// The request of this permit was upgraded and took over the connection: the connection now counts for the request's client.
    pub(super) fn adopt_permit(self: &Arc<Self>, permit: &ProxiedPermit) {
        self.permit.permits.by_address.acquire_unchecked(permit.key);
        self.count_for(|standing| Standing { address: Some(permit.key), ..standing });
    }

    /// The peer is another node, and forwards requests of other clients: such connections are not counted by address, and are never evicted.
    pub(crate) fn mark_as_node(self: &Arc<Self>) {
        let of_node = Standing { rank: Rank::Account, address: None };
        if self.standing() != of_node {
            self.count_for(|_| of_node);
        }
    }

    /// Counts a request for the client behind a proxy, as long as the permit lives.
    pub(crate) fn acquire_proxied_permit(&self, client: IpAddr) -> Result<Option<Arc<ProxiedPermit>>, PermitError> {
        Ok(self.permit.permits.acquire_proxied(client)?.map(Arc::new))
    }
}

impl Evictable for Connection {
    fn idle_since_s(&self, standing: Standing) -> Option<u32> {
        (self.standing() == standing).then(|| self.last_read_s.load(Relaxed))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.permit.permits.lock_idle_queue().remove(self.standing());
    }
}
