//! One connection of a client: its socket, its permit, and its standing in the order of eviction. Behind one pointer, so that
//! it can be closed from outside, whichever task reads from it.
//!
//! Knows nothing of the protocol.

use super::idle_queue::{Evictable, Rank, Standing};
use super::permits::{ConnectionPermit, PermitError, ProxiedPermit};
use metrics::Metrics;
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use tokio::io::{Interest, ReadBuf};
use tokio::net::TcpStream;

/// An open connection.
pub struct Connection {
    stream: TcpStream,
    /// Dropped after the socket: it is released once the socket is closed.
    permit: ConnectionPermit,
    /// When the client last sent something.
    last_read_s: AtomicU32,
    /// The principal's rank and the address it counts for. Changed only by [`ConnectionPermits`], which orders connections by it.
    standing: Mutex<Standing>,
}

/// A request's reference to its connection, which may be gone.
#[derive(Clone)]
pub(crate) struct ConnectionHandle(Weak<Connection>);

impl Connection {
    pub(crate) fn new(stream: TcpStream, permit: ConnectionPermit) -> Arc<Self> {
        let last_read_s = AtomicU32::new(permit.permits().now_s());
        let standing = Mutex::new(Standing { rank: Rank::Anonymous, address: permit.counted_for() });
        let connection = Arc::new(Self { stream, permit, last_read_s, standing });
        connection.permit.permits().track(&connection);
        connection
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The metrics of the process.
    pub(crate) fn metrics(&self) -> &Metrics {
        self.permit.permits().metrics()
    }

    /// Raises the rank of the connection to this one. It never falls.
    pub(crate) fn raise_rank(self: &Arc<Self>, rank: Rank) {
        let standing = self.standing();
        if rank > standing.rank {
            self.permit.permits().set_standing(self, Standing { rank, ..standing });
        }
    }

    pub(super) fn standing(&self) -> Standing {
        *self.standing_mut()
    }

    /// For [`ConnectionPermits`].
    pub(super) fn standing_mut(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the client sent something.
    pub(super) fn record_read(&self) {
        self.last_read_s.store(self.permit.permits().now_s(), Relaxed);
    }

    /// Closes the connection: its reader sees the end of the stream.
    pub(super) fn shut_down(&self) {
        // It can only fail where the connection has ended already.
        let _ = shutdown(&self.stream, Shutdown::Both);
    }

    /// The request of this permit was upgraded and took over the connection: the connection now counts for the request's client.
    pub(super) fn adopt_permit(self: &Arc<Self>, permit: &ProxiedPermit) {
        self.permit.adopt_proxied(permit);
        self.permit.permits().set_standing(self, Standing { address: self.permit.counted_for(), ..self.standing() });
    }

    pub(crate) fn handle(self: &Arc<Self>) -> ConnectionHandle {
        ConnectionHandle(Arc::downgrade(self))
    }

    /// Reads once. A socket that returned less than there was room for is empty: reading again would cost a system call for every
    /// request. Edge-triggered polling allows that (epoll(7)); later bytes are a new edge.
    pub(super) fn try_read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<usize> {
        let (room, mut read) = (buffer.remaining(), None);
        let result = self.stream.try_io(Interest::READABLE, || {
            let bytes = self.stream.try_read_buf(buffer)?;
            read = Some(bytes);
            if bytes > 0 && bytes < room { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match read {
            Some(bytes) => Ok(bytes),
            None => result.map(|()| 0),
        }
    }
}

impl Connection {
    /// Writes what the socket accepts of these bytes.
    pub(super) fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    /// Shuts down the writing side.
    pub(super) fn shut_down_writing(&self) -> io::Result<()> {
        Ok(shutdown(&self.stream, Shutdown::Write)?)
    }
}

impl Evictable for Connection {
    fn idle_since_s(&self, standing: Standing) -> Option<u32> {
        (self.standing() == standing).then(|| self.last_read_s.load(Relaxed))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.permit.permits().forget(self.standing());
    }
}

impl ConnectionHandle {
    /// A connection that is gone.
    #[cfg(test)]
    pub(crate) fn of_none() -> Self {
        Self(Weak::new())
    }

    /// See [`Connection::raise_rank`].
    pub(crate) fn raise_rank(&self, rank: Rank) {
        if let Some(connection) = self.0.upgrade() {
            connection.raise_rank(rank);
        }
    }

    /// See [`Connection::shut_down`].
    pub(crate) fn end(&self) {
        if let Some(connection) = self.0.upgrade() {
            connection.shut_down();
        }
    }

    /// The request comes from another node: connections of nodes are not counted by address, and are never evicted.
    pub(crate) fn mark_as_node(&self) {
        if let Some(connection) = self.0.upgrade() {
            connection.raise_rank(Rank::Account);
            connection.permit.mark_as_node();
        }
    }

    /// Counts the request for the client behind a proxy, as long as the permit lives.
    pub(crate) fn acquire_proxied_permit(&self, client: IpAddr) -> Result<Option<Arc<ProxiedPermit>>, PermitError> {
        let Some(connection) = self.0.upgrade() else { return Ok(None) };
        Ok(connection.permit.permits().acquire_proxied(client)?.map(Arc::new))
    }
}
