//! Connections to bots, pooled by host with a hard limit: a permit is the right to one connection, and comes with an idle one when there is
//! one.

use super::connection::BotConnection;
use super::target::{HostKey, Target};
use quotas::socket_budget::{SocketBudget, SocketPermit};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// How long a connection may be idle: shorter than the usual keep-alive of servers, so that this side closes first.
const IDLE_MAX: Duration = Duration::from_secs(20);

pub(super) struct Pool {
    connections_per_host: usize,
    hosts: Mutex<HashMap<HostKey, Arc<Host>>>,
    sockets: Arc<SocketBudget>,
}

struct Host {
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<IdleConnection>>,
}

struct IdleConnection {
    since: Instant,
    connection: BotConnection,
    socket: SocketPermit,
}

/// The right to one connection to a host. Dropping it releases the right; the connection is pooled again only by
/// [`BotConnectionPermit::release`].
pub(super) struct BotConnectionPermit {
    host: Arc<Host>,
    idle: Option<BotConnection>,
    /// The socket permit of this permit's connection, until that is returned to the pool.
    socket: Option<SocketPermit>,
    sockets: Arc<SocketBudget>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(connections_per_host: usize, sockets: Arc<SocketBudget>) -> Self {
        Self { connections_per_host, hosts: Mutex::default(), sockets }
    }

    /// The address that an idle connection of the target leads to, if there is one.
    pub(super) fn idle_address(&self, target: &Target) -> Option<IpAddr> {
        let host = lock(&self.hosts).get(&target.key)?.clone();
        let idle = lock(&host.idle);
        idle.last().map(|idle| idle.connection.address())
    }

    /// Waits for a permit of the target's host, and for a socket if there is no idle connection to this address.
    pub(super) async fn acquire(&self, target: &Target, address: IpAddr) -> BotConnectionPermit {
        let host = self.host(target);
        let permit = host.permits.clone().acquire_owned().await.expect("the semaphore of a host is never closed");
        let ready = {
            let mut idle = lock(&host.idle);
            let at = idle.iter().rposition(|idle| idle.connection.address() == address);
            let ready = at.map(|at| idle.remove(at));
            if ready.is_none() {
                // One that leads elsewhere makes room for the new one.
                idle.pop();
            }
            ready
        };
        let (idle, socket) = match ready {
            Some(IdleConnection { connection, socket, .. }) => (Some(connection), socket),
            None => (None, self.sockets.acquire_for_bot().await),
        };
        BotConnectionPermit { idle, socket: Some(socket), sockets: self.sockets.clone(), host, _permit: permit }
    }

    /// Closes all idle connections: their sockets are needed.
    pub(super) fn close_idle(&self) {
        lock(&self.hosts).values().for_each(|host| lock(&host.idle).clear());
    }

    /// Closes idle connections to this address, whatever its name.
    pub(super) fn close_idle_at(&self, address: IpAddr) {
        lock(&self.hosts)
            .values()
            .for_each(|host| lock(&host.idle).retain(|idle| idle.connection.address() != address));
    }

    /// Closes connections that were idle for too long; drops unused hosts.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        lock(&self.hosts).retain(|_, host| {
            let mut idle = lock(&host.idle);
            idle.retain(|idle| now - idle.since < IDLE_MAX);
            idle.shrink_to_fit();
            !idle.is_empty() || Arc::strong_count(host) > 1
        });
    }

    /// Whether there is an idle connection that its peer has not closed.
    #[cfg(test)]
    pub(super) fn has_reusable_idle(&self) -> bool {
        lock(&self.hosts).values().any(|host| lock(&host.idle).iter().any(|idle| idle.connection.is_reusable()))
    }

    fn host(&self, target: &Target) -> Arc<Host> {
        let mut hosts = lock(&self.hosts);
        if let Some(host) = hosts.get(&target.key) {
            return host.clone();
        }
        let new = || Host { permits: Arc::new(Semaphore::new(self.connections_per_host)), idle: Mutex::default() };
        hosts.entry(target.key.clone()).or_insert_with(|| Arc::new(new())).clone()
    }
}

impl BotConnectionPermit {
    /// The idle connection that came with the permit, if any.
    pub(super) fn take_idle(&mut self) -> Option<BotConnection> {
        self.idle.take()
    }

    /// Returns the connection to the pool, unless its socket is needed elsewhere.
    pub(super) fn release(mut self, connection: BotConnection) {
        self.idle = Some(connection);
    }
}

impl Drop for BotConnectionPermit {
    /// A permit dropped with a connection that can be used again returns it to the pool.
    fn drop(&mut self) {
        if let (Some(connection), Some(socket)) = (self.idle.take(), self.socket.take())
            && !self.sockets.is_exhausted_for_bots()
        {
            lock(&self.host.idle).push(IdleConnection { since: Instant::now(), connection, socket });
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
