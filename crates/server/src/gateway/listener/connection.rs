//! One connection of a client: its socket, its permit, and what decides whether it may be closed to make room. Behind one
//! pointer, so that it can be ended from outside, whoever reads from it at the moment.
//!
//! Knows nothing of what is said.

use super::eviction::Evictable;
use super::permits::{ConnectionPermit, PermitError, ProxiedPermit};
use super::ranks::{Rank, Standing};
use crate::metrics::Metrics;
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
    /// Behind the socket: it is given back once that is closed.
    permit: ConnectionPermit,
    /// When the client was last heard of.
    last_read_s: AtomicU32,
    /// Who is known on it, and whose it is. Changed only by [`ConnectionPermits`], which orders connections by it.
    standing: Mutex<Standing>,
}

/// A request's way to the connection that it came on, which may be gone.
#[derive(Clone)]
pub(in crate::gateway) struct ConnectionHandle(Weak<Connection>);

impl Connection {
    pub(in crate::gateway) fn new(stream: TcpStream, permit: ConnectionPermit) -> Arc<Self> {
        let heard_s = AtomicU32::new(permit.permits().now_s());
        let standing = Mutex::new(Standing { rank: Rank::Nobody, address: permit.counted_for() });
        let connection = Arc::new(Self { stream, permit, last_read_s: heard_s, standing });
        connection.permit.permits().track(&connection);
        connection
    }

    pub(in crate::gateway) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// The figures of the process.
    pub(in crate::gateway) fn metrics(&self) -> &Metrics {
        self.permit.permits().metrics()
    }

    /// Somebody of this rank is known here. It never falls.
    pub(in crate::gateway) fn raise(self: &Arc<Self>, rank: Rank) {
        let standing = self.standing();
        if rank > standing.rank {
            self.permit.permits().stand(self, Standing { rank, ..standing });
        }
    }

    /// How it stands.
    pub(super) fn standing(&self) -> Standing {
        *self.standing_mut()
    }

    /// For whoever orders connections by it.
    pub(super) fn standing_mut(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something came from the client.
    pub(super) fn record_read(&self) {
        self.last_read_s.store(self.permit.permits().now_s(), Relaxed);
    }

    /// Ends the connection: whoever reads from it sees its end.
    pub(super) fn shut_down(&self) {
        // It can only fail where the connection has ended already.
        let _ = shutdown(&self.stream, Shutdown::Both);
    }

    /// The request that this share was for became what the connection is for.
    pub(super) fn adopt_permit(self: &Arc<Self>, share: &ProxiedPermit) {
        self.permit.adopt_proxied(share);
        self.permit.permits().stand(self, Standing { address: self.permit.counted_for(), ..self.standing() });
    }

    pub(in crate::gateway) fn handle(self: &Arc<Self>) -> ConnectionHandle {
        ConnectionHandle(Arc::downgrade(self))
    }

    /// Reads once. A socket that gave less than there was room for is empty: asking it again would cost a call for every
    /// request. Edge-triggered polling allows that (epoll(7)); whatever comes later is a new edge.
    pub(super) fn try_read(&self, buffer: &mut ReadBuf<'_>) -> io::Result<usize> {
        let (room, mut read) = (buffer.remaining(), None);
        let tried = self.stream.try_io(Interest::READABLE, || {
            let bytes = self.stream.try_read_buf(buffer)?;
            read = Some(bytes);
            if bytes > 0 && bytes < room { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
        });
        match read {
            Some(bytes) => Ok(bytes),
            None => tried.map(|()| 0),
        }
    }
}

impl Connection {
    /// Writes what the socket takes of this.
    pub(super) fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match self.stream.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                wrote => return Poll::Ready(wrote),
            }
        }
    }

    /// Nothing more is written.
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
    pub(in crate::gateway) fn of_none() -> Self {
        Self(Weak::new())
    }

    /// See [`Connection::raise`].
    pub(in crate::gateway) fn raise(&self, rank: Rank) {
        if let Some(connection) = self.0.upgrade() {
            connection.raise(rank);
        }
    }

    /// See [`Connection::shut_down`].
    pub(in crate::gateway) fn end(&self) {
        if let Some(connection) = self.0.upgrade() {
            connection.shut_down();
        }
    }

    /// The request comes from a node of ours: connections of nodes are not counted by address, and stay.
    pub(in crate::gateway) fn mark_as_node(&self) {
        if let Some(connection) = self.0.upgrade() {
            connection.raise(Rank::Account);
            connection.permit.mark_as_node();
        }
    }

    /// Counts the request for the client for whom a proxy asks, as long as the share is there.
    pub(in crate::gateway) fn acquire_proxied_permit(
        &self,
        client: IpAddr,
    ) -> Result<Option<Arc<ProxiedPermit>>, PermitError> {
        let Some(connection) = self.0.upgrade() else { return Ok(None) };
        Ok(connection.permit.permits().acquire_proxied(client)?.map(Arc::new))
    }
}
