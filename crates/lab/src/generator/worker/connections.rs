//! Connections of a worker. An idle one costs a descriptor and a few numbers: buffers are borrowed while a message is
//! incomplete and then returned. Does not know what is sent over them.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::epoll::EventFlags;
use rustls::ClientConnection;

use crate::generator::framing::{Codec, UpgradeRequest};
use crate::generator::slab::{Slab, SlabKey};
use crate::generator::tls::Tls;
use crate::limits::{SPARE_BUFFER_BYTES_MAX, SPARE_BUFFERS_MAX};

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) fd: OwnedFd,
    pub(super) state: ConnectionState,
    pub(super) codec: Codec,
    pub(super) tls: Option<Box<ClientConnection>>,
    /// The running journey that it serves.
    pub(super) running_journey: Option<SlabKey>,
    /// For a held connection: the index of its load, and its index among that load's connections.
    pub(super) held: Option<(usize, u32)>,
    pub(super) endpoint: EndpointAddress,
    /// Numbered messages sent over it.
    pub(super) message_count: u32,
    /// Whether a response has been received over it before.
    pub(super) has_responded: bool,
    /// The beginning of an incomplete message.
    pub(super) partial: Vec<u8>,
    /// The rest of a request for which the kernel had no room.
    pub(super) unsent: Vec<u8>,
    /// Whether the peer closed it in order.
    pub(super) peer_closed: bool,
    /// Whether the poller reports when it is writable.
    pub(super) awaits_writable: bool,
    /// Its index among the idle connections.
    idle_index: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Connecting,
    TlsHandshake,
    /// The upgrade to a WebSocket is in progress.
    Upgrading,
    /// Carries requests.
    Open,
    /// Retired: it waits for the peer to close first.
    Lingering,
}

/// The readiness that is always polled for.
pub(super) const READ_INTEREST: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

const NOT_IDLE: u32 = u32::MAX;

impl Connection {
    /// A connection that is being opened for a running journey.
    pub(super) fn new(fd: OwnedFd, to: EndpointAddress, codec: Codec, running: Option<SlabKey>) -> Self {
        Self {
            fd,
            state: ConnectionState::Connecting,
            codec,
            tls: None,
            running_journey: running,
            held: None,
            endpoint: to,
            message_count: 0,
            has_responded: false,
            partial: Vec::new(),
            unsent: Vec::new(),
            peer_closed: false,
            awaits_writable: true,
            idle_index: NOT_IDLE,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct ConnectionPool {
    slab: Slab<Connection>,
    /// Idle connections; the last one was used last.
    idle: Vec<SlabKey>,
    buffers: Vec<Vec<u8>>,
}

impl ConnectionPool {
    pub(super) fn add(&mut self, connection: Connection) -> SlabKey {
        self.slab.insert(connection)
    }

    pub(super) fn get_mut(&mut self, key: SlabKey) -> Option<&mut Connection> {
        self.slab.get_mut(key)
    }

    pub(super) fn get(&self, key: SlabKey) -> Option<&Connection> {
        self.slab.get(key)
    }

    /// Memory of all connections, buffers included; without that of TLS.
    #[cfg(test)]
    pub(super) fn own_bytes(&self) -> usize {
        let buffers = |connection: &Connection| connection.partial.capacity() + connection.unsent.capacity();
        let connections = self.slab.keys().into_iter().filter_map(|key| self.slab.get(key));
        connections.map(|connection| size_of::<(u32, Option<Connection>)>() + buffers(connection)).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Removes a connection; dropping it closes it.
    pub(super) fn remove(&mut self, key: SlabKey) -> Option<Connection> {
        self.remove_idle(key);
        let mut connection = self.slab.remove(key)?;
        self.return_buffer(std::mem::take(&mut connection.partial));
        self.return_buffer(std::mem::take(&mut connection.unsent));
        Some(connection)
    }

    pub(super) fn put_idle(&mut self, key: SlabKey) {
        if let Some(connection) = self.slab.get_mut(key) {
            connection.running_journey = None;
            connection.idle_index = self.idle.len() as u32;
            self.idle.push(key);
        }
    }

    /// The connection that became idle last.
    pub(super) fn take_idle(&mut self) -> Option<SlabKey> {
        let key = self.idle.pop()?;
        if let Some(connection) = self.slab.get_mut(key) {
            connection.idle_index = NOT_IDLE;
        }
        Some(key)
    }

    /// Removes a connection from the idle list; the last entry takes its index.
    fn remove_idle(&mut self, key: SlabKey) {
        let Some(connection) = self.slab.get_mut(key).filter(|connection| connection.idle_index != NOT_IDLE) else {
            return;
        };
        let at = std::mem::replace(&mut connection.idle_index, NOT_IDLE);
        self.idle.swap_remove(at as usize);
        if let Some(moved) = self.idle.get(at as usize).and_then(|key| self.slab.get_mut(*key)) {
            moved.idle_index = at;
        }
    }

    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    pub(super) fn return_buffer(&mut self, mut buffer: Vec<u8>) {
        let usual = (1..=SPARE_BUFFER_BYTES_MAX).contains(&buffer.capacity());
        if usual && self.buffers.len() < SPARE_BUFFERS_MAX {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}

/// The addresses that connections lead to and come from.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) endpoints: Vec<Endpoint>,
    sources: Vec<std::net::IpAddr>,
    next_source_index: usize,
}

/// Where connections lead to: the target's HTTP address, or a message endpoint.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) addresses: Vec<SocketAddr>,
    /// The address that accepted a connection last.
    pub(super) preferred_index: usize,
    pub(super) tls: Option<Tls>,
    pub(super) protocol: EndpointProtocol,
}

#[derive(Clone, Debug)]
pub(super) enum EndpointProtocol {
    Http1,
    /// Length-delimited frames.
    LengthDelimited,
    /// WebSocket frames, after this upgrade request.
    WebSocket(Arc<UpgradeRequest>),
}

/// An address of an endpoint, by their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndpointAddress {
    pub(super) endpoint_index: u16,
    pub(super) address_index: u16,
}

impl Endpoint {
    pub(super) fn new(addresses: Vec<SocketAddr>, tls: Option<Tls>, protocol: EndpointProtocol) -> Self {
        Self { addresses, preferred_index: 0, tls, protocol }
    }

    /// The address to try after one that failed.
    pub(super) fn next_address(&self, address: usize) -> usize {
        (address + 1) % self.addresses.len().max(1)
    }
}

impl Connector {
    /// Each worker starts with another source, so that all sources are used from the beginning.
    pub(super) fn new(endpoints: Vec<Endpoint>, sources: Vec<std::net::IpAddr>, worker: u32) -> Self {
        let next_source = worker as usize % sources.len().max(1);
        Self { endpoints, sources, next_source_index: next_source }
    }

    /// The endpoint for an arrival: message endpoints round-robin, the target's own address for requests.
    pub(super) fn endpoint_for(&self, uses_messages: bool, index: u64) -> usize {
        let endpoints = self.endpoints.len() as u64 - 1;
        if uses_messages && endpoints > 0 { 1 + (index % endpoints) as usize } else { 0 }
    }

    pub(super) fn endpoint(&self, to: EndpointAddress) -> &Endpoint {
        &self.endpoints[usize::from(to.endpoint_index)]
    }

    pub(super) fn address(&self, to: EndpointAddress) -> SocketAddr {
        self.endpoint(to).addresses[usize::from(to.address_index)]
    }

    /// Starts to connect, from the next source that can reach the address.
    pub(super) fn start_connect(&mut self, to: EndpointAddress) -> std::io::Result<OwnedFd> {
        let to = self.address(to);
        for _ in 0..self.sources.len() {
            let source = self.sources[self.next_source_index];
            self.next_source_index = (self.next_source_index + 1) % self.sources.len();
            if source.is_ipv4() == to.is_ipv4() {
                return crate::generator::socket::start_connect(to, Some(source));
            }
        }
        crate::generator::socket::start_connect(to, None)
    }
}
