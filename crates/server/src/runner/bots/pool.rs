//! Connections to bots, pooled by host with a hard cap: a slot is the right to one connection, and comes with an idle one
//! when there is one.

use super::connection::Connection;
use super::target::{HostKey, Target};
use crate::metrics::Metrics;
use crate::sockets::{Socket, Sockets};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// How long a connection may lie idle: shorter than the usual keep-alive of servers, so that we close first.
const IDLE_MAX: Duration = Duration::from_secs(20);

pub(super) struct Pool {
    connections_per_host: usize,
    pub(super) is_private_allowed: bool,
    hosts: Mutex<HashMap<HostKey, Arc<Host>>>,
    metrics: Arc<Metrics>,
    sockets: Arc<Sockets>,
}

struct Host {
    slots: Arc<Semaphore>,
    idle: Mutex<Vec<Idle>>,
}

/// A connection that lies ready.
struct Idle {
    since: Instant,
    connection: Connection,
    socket: Socket,
}

/// The right to one connection to a host. Dropped, the right goes back; the connection only by [`Slot::keep`].
pub(super) struct Slot {
    host: Arc<Host>,
    pub(super) is_private_allowed: bool,
    idle: Option<Connection>,
    /// What a connection of this slot lives on; gone only when it has become somebody else's.
    socket: Option<Socket>,
    sockets: Arc<Sockets>,
    metrics: Arc<Metrics>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(super) fn new(
        connections_per_host: usize,
        is_private_allowed: bool,
        metrics: Arc<Metrics>,
        sockets: Arc<Sockets>,
    ) -> Self {
        Self { connections_per_host, is_private_allowed, hosts: Mutex::default(), metrics, sockets }
    }

    /// Waits for a slot of the target's host, and for a socket if no connection lies ready.
    pub(super) async fn slot(&self, target: &Target) -> Slot {
        let host = self.host(target);
        let permit = host.slots.clone().acquire_owned().await.expect("the semaphore of a host is never closed");
        let ready = lock(&host.idle).pop();
        let (idle, socket) = match ready {
            Some(Idle { connection, socket, .. }) => (Some(connection), socket),
            None => (None, self.sockets.bot().await),
        };
        Slot {
            idle,
            is_private_allowed: self.is_private_allowed,
            socket: Some(socket),
            sockets: self.sockets.clone(),
            metrics: self.metrics.clone(),
            host,
            _permit: permit,
        }
    }

    /// Closes whatever lies idle: somebody needs its socket.
    pub(super) fn make_room(&self) {
        lock(&self.hosts).values().for_each(|host| {
            let idle = std::mem::take(&mut *lock(&host.idle));
            self.metrics.bot_connections_closed(idle.len());
        });
    }

    /// Closes what lies idle for too long; forgets hosts that nobody uses.
    pub(super) fn sweep(&self) {
        let now = Instant::now();
        lock(&self.hosts).retain(|_, host| {
            let mut idle = lock(&host.idle);
            let before = idle.len();
            idle.retain(|idle| now - idle.since < IDLE_MAX);
            idle.shrink_to_fit();
            self.metrics.bot_connections_closed(before - idle.len());
            !idle.is_empty() || Arc::strong_count(host) > 1
        });
    }

    /// Whether an idle connection lies ready that its peer has not closed.
    #[cfg(test)]
    pub(super) fn has_quiet_idle(&self) -> bool {
        lock(&self.hosts).values().any(|host| lock(&host.idle).iter().any(|idle| idle.connection.is_quiet()))
    }

    fn host(&self, target: &Target) -> Arc<Host> {
        let mut hosts = lock(&self.hosts);
        let new = || Host { slots: Arc::new(Semaphore::new(self.connections_per_host)), idle: Mutex::default() };
        hosts.entry(target.key()).or_insert_with(|| Arc::new(new())).clone()
    }
}

impl Slot {
    /// The idle connection that came with the slot, if it did.
    pub(super) fn take_idle(&mut self) -> Option<Connection> {
        self.idle.take()
    }

    /// A connection was opened in this slot.
    pub(super) fn opened(&self) {
        self.metrics.bot_connection_opened();
    }

    /// A connection of this slot is gone.
    pub(super) fn closed(&self) {
        self.metrics.bot_connections_closed(1);
    }

    /// Gives the connection back for the next call, unless somebody waits for its socket.
    pub(super) fn keep(mut self, connection: Connection) {
        self.lay_down(connection);
    }

    fn lay_down(&mut self, connection: Connection) {
        match self.socket.take() {
            Some(socket) if !self.sockets.is_short() => {
                lock(&self.host.idle).push(Idle { since: Instant::now(), connection, socket });
            }
            _ => self.closed(),
        }
    }
}

impl Drop for Slot {
    /// A slot given up with its idle connection untouched returns it.
    fn drop(&mut self) {
        if let Some(connection) = self.idle.take() {
            self.lay_down(connection);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
