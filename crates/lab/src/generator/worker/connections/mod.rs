//! The connections of a worker: opened, kept alive, reused, closed. An idle one costs a descriptor and a few numbers:
//! buffers are borrowed while a message is incomplete and then returned. Knows its users as keys; does not know journeys,
//! and neither what is sent over a connection nor when.

mod connection;
mod endpoint;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use slotmap::SlotMap;

pub(super) use self::connection::{Connection, Received};
use self::connection::{ConnectionState, NOT_IDLE};
pub(super) use self::endpoint::{Endpoint, resolve_endpoints};
use crate::generator::Failure;
use crate::generator::framing::{Codec, Opcode};
use crate::generator::keys::{ConnectionKey, JourneyKey};
use crate::generator::poller::{Poller, Ready};
use crate::generator::socket;
use crate::generator::tls::Tls;
use crate::limits::{LINGERING_MAX, SPARE_BUFFER_BYTES_MAX, SPARE_BUFFERS_MAX};
use crate::measurement::ErrorKind;
use crate::scenario::mix;

/// The readiness that is always polled for.
const READ_INTEREST: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

/// The seed of nonces: they need not be unpredictable, but no two connections share one.
const NONCE_SEED: u64 = 0x006d_6173_6b73;

/// What a connection's user has to do after the poller has reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Nothing,
    /// It carries requests from here on.
    Opened,
    /// With `flushed` the kernel has taken what it had no room for before, with `readable` there is something to read.
    Ready {
        flushed: bool,
        readable: bool,
    },
}

/// Bytes and connections that were not counted yet.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) connects: u64,
}

pub(super) struct ConnectionPool {
    pub(super) poller: Poller,
    connections: SlotMap<ConnectionKey, Connection>,
    endpoints: Vec<Endpoint>,
    /// The addresses that connections come from, in turn; the system chooses if there are none.
    sources: Vec<IpAddr>,
    next_source_index: usize,
    /// Idle connections; the last one was used last.
    idle: Vec<ConnectionKey>,
    /// Connections that wait for the peer to close them, the oldest first.
    lingering: VecDeque<(Duration, ConnectionKey)>,
    buffers: Vec<Vec<u8>>,
    /// Buffer for one frame.
    frame: Vec<u8>,
    nonce_seed: u64,
    /// Nonces (WebSocket keys and masks) drawn so far.
    nonce_count: u64,
    pub(super) traffic: Traffic,
}

impl Traffic {
    pub(crate) fn is_empty(&self) -> bool {
        self.sent_bytes == 0 && self.received_bytes == 0 && self.connects == 0
    }
}

impl ConnectionPool {
    /// Without connections. Each worker starts with another source, so that all are used from the beginning.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(super) fn new(endpoints: Vec<Endpoint>, sources: Vec<IpAddr>, worker: u32) -> io::Result<Self> {
        Ok(Self {
            poller: Poller::new()?,
            connections: SlotMap::default(),
            endpoints,
            next_source_index: worker as usize % sources.len().max(1),
            sources,
            idle: Vec::new(),
            lingering: VecDeque::new(),
            buffers: Vec::new(),
            frame: Vec::new(),
            nonce_seed: mix(NONCE_SEED, u64::from(worker)),
            nonce_count: 0,
            traffic: Traffic::default(),
        })
    }

    pub(super) fn get(&self, key: ConnectionKey) -> Option<&Connection> {
        self.connections.get(key)
    }

    pub(super) fn get_mut(&mut self, key: ConnectionKey) -> Option<&mut Connection> {
        self.connections.get_mut(key)
    }

    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    /// Memory of all connections, buffers included; without that of TLS.
    #[cfg(test)]
    pub(super) fn own_bytes(&self) -> usize {
        let buffers = |connection: &Connection| connection.partial.capacity() + connection.unsent.capacity();
        self.connections.values().map(|connection| size_of::<(u32, Connection)>() + buffers(connection)).sum()
    }

    /// Starts to open a connection to an endpoint, at the address that accepted one last.
    ///
    /// # Errors
    /// None of its addresses can be reached.
    pub(super) fn open(&mut self, endpoint_index: usize, user: JourneyKey) -> Result<ConnectionKey, Failure> {
        let (fd, address) = self.start_connect(endpoint_index, self.endpoints[endpoint_index].preferred_index)?;
        let codec = self.endpoints[endpoint_index].new_codec();
        let key = self.connections.insert(Connection::new(fd, (endpoint_index, address), codec, user));
        self.await_connected(key).inspect_err(|_| drop(self.connections.remove(key)))?;
        Ok(key)
    }

    /// The endpoint for an arrival: message endpoints round-robin, the target's own address for requests.
    pub(super) fn endpoint_for(&self, uses_messages: bool, index: u64) -> usize {
        let endpoints = self.endpoints.len() as u64 - 1;
        if uses_messages && endpoints > 0 { 1 + (index % endpoints) as usize } else { 0 }
    }

    /// Starts to connect to an endpoint, at the first of its addresses from index `first` on that does not fail at once;
    /// returns the index of that address. The search ends before the endpoint's preferred address.
    fn start_connect(&mut self, endpoint_index: usize, first: usize) -> Result<(OwnedFd, usize), Failure> {
        let count = self.endpoints[endpoint_index].addresses.len();
        let mut failure = Failure::new(ErrorKind::Connect, "the target has no address");
        for address_index in (0..count).map(|turn| (first + turn) % count) {
            let endpoint = &self.endpoints[endpoint_index];
            if address_index == endpoint.preferred_index && address_index != first {
                break;
            }
            let to = endpoint.addresses[address_index];
            match socket::start_connect(to, endpoint::next_source(&self.sources, &mut self.next_source_index, to)) {
                Ok(fd) => return Ok((fd, address_index)),
                Err(error) => failure = endpoint.connect_failure(address_index, &error),
            }
        }
        Err(failure)
    }

    fn await_connected(&mut self, key: ConnectionKey) -> Result<(), Failure> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(()) };
        connection.awaits_writable = true;
        self.poller
            .add(&connection.fd, key, EventFlags::OUT)
            .map_err(|error| Failure::new(ErrorKind::Connect, error.to_string()))
    }

    /// Takes one connection further after the poller has reported it.
    ///
    /// # Errors
    /// It could not be opened, or is of no use any more.
    pub(super) fn on_ready(&mut self, Ready { key, flags }: Ready) -> Result<Progress, Failure> {
        let Some(connection) = self.connections.get(key) else { return Ok(Progress::Nothing) };
        match connection.state {
            ConnectionState::Connecting => self.finish_connect(key),
            // Nothing that is still received matters; the close does.
            ConnectionState::Lingering => {
                self.remove(key);
                Ok(Progress::Nothing)
            }
            ConnectionState::TlsHandshake | ConnectionState::Upgrading | ConnectionState::Open => {
                let flushed = flags.contains(EventFlags::OUT) && self.flush(key)?;
                let readable = flags.intersects(READ_INTEREST | EventFlags::HUP | EventFlags::ERR);
                Ok(Progress::Ready { flushed, readable })
            }
        }
    }

    /// The socket is connected, or tries the endpoint's next address if there is one.
    fn finish_connect(&mut self, key: ConnectionKey) -> Result<Progress, Failure> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(Progress::Nothing) };
        connection.awaits_writable = false;
        let endpoint = &self.endpoints[usize::from(connection.endpoint_index)];
        let connected = socket::connect_result(&connection.fd)
            .and_then(|()| self.poller.modify(&connection.fd, key, READ_INTEREST));
        let Err(error) = connected else {
            let Some(tls) = endpoint.tls.as_ref().map(Tls::new_connection) else { return self.start_protocol(key) };
            let session = tls.map_err(|error| Failure::new(ErrorKind::Connect, format!("TLS: {error}")))?;
            (connection.state, connection.tls) = (ConnectionState::TlsHandshake, Some(Box::new(session)));
            return self.flush(key).map(|_| Progress::Nothing);
        };
        let (endpoint_index, address) = (usize::from(connection.endpoint_index), usize::from(connection.address_index));
        let next = (address + 1) % endpoint.addresses.len();
        if next == endpoint.preferred_index {
            return Err(endpoint.connect_failure(address, &error));
        }
        let (fd, address) = self.start_connect(endpoint_index, next)?;
        if let Some(connection) = self.connections.get_mut(key) {
            (connection.fd, connection.address_index) = (fd, address as u16);
        }
        self.await_connected(key).map(|()| Progress::Nothing)
    }

    /// The transport is connected: starts the upgrade, if the endpoint needs one.
    fn start_protocol(&mut self, key: ConnectionKey) -> Result<Progress, Failure> {
        self.traffic.connects += 1;
        let nonce = self.next_nonce();
        let Some(connection) = self.connections.get_mut(key) else { return Ok(Progress::Nothing) };
        let endpoint = &mut self.endpoints[usize::from(connection.endpoint_index)];
        endpoint.preferred_index = usize::from(connection.address_index);
        let Some(upgrade) = endpoint.upgrade() else { return Ok(self.set_open(key)) };
        let mut request = Vec::new();
        connection.codec = Codec::WebSocket(upgrade.write(nonce, &mut request));
        connection.state = ConnectionState::Upgrading;
        self.send(key, &request).map(|_| Progress::Nothing)
    }

    /// The connection carries requests or messages from here on.
    pub(super) fn set_open(&mut self, key: ConnectionKey) -> Progress {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.state = ConnectionState::Open;
        }
        Progress::Opened
    }

    /// Writes bytes; the rest follows when the kernel has room. Returns whether the kernel has taken what it had no room
    /// for before.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub(super) fn send(&mut self, key: ConnectionKey, bytes: &[u8]) -> Result<bool, Failure> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(false) };
        connection.write(bytes, &mut self.buffers)?;
        self.update_interest(key)
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// As for [`Self::send`].
    pub(super) fn send_frame(&mut self, key: ConnectionKey, opcode: Opcode, payload: &[u8]) -> Result<bool, Failure> {
        let mask = self.next_nonce() as u32;
        let Some(connection) = self.connections.get_mut(key) else { return Ok(false) };
        self.frame.clear();
        connection.codec.encode_frame(opcode, payload, mask.to_be_bytes(), &mut self.frame);
        connection.write(&self.frame, &mut self.buffers)?;
        self.update_interest(key)
    }

    /// Writes what waits to be written, as far as the kernel has room. Returns whether that was all, at last.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub(super) fn flush(&mut self, key: ConnectionKey) -> Result<bool, Failure> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(false) };
        connection.flush()?;
        self.update_interest(key)
    }

    /// Counts what was written, and has the poller report when there is room for the rest. Returns whether the connection
    /// waits for room no longer.
    fn update_interest(&mut self, key: ConnectionKey) -> Result<bool, Failure> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok(false) };
        self.traffic.sent_bytes += std::mem::take(&mut connection.uncounted_bytes);
        let wanted = connection.wants_write();
        if std::mem::replace(&mut connection.awaits_writable, wanted) == wanted {
            return Ok(false);
        }
        let interest = if wanted { READ_INTEREST | EventFlags::OUT } else { READ_INTEREST };
        self.poller.modify(&connection.fd, key, interest).map_err(|error| connection::io_failure(&error))?;
        Ok(!wanted)
    }

    /// Reads once; also returns whether the bytes are encrypted.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) fn read(&mut self, key: ConnectionKey, buffer: &mut [u8]) -> Result<(Received, bool), Failure> {
        let Some(connection) = self.connections.get_mut(key) else { return Ok((Received::Nothing, false)) };
        let received = connection.read(buffer)?;
        if let Received::Bytes(count) = received {
            self.traffic.received_bytes += count as u64;
        }
        Ok((received, connection.tls.is_some()))
    }

    /// Takes some of the bytes that were read, and returns decrypted ones if any are complete. `Nothing` once all bytes
    /// are taken.
    ///
    /// # Errors
    /// They are not valid, or the handshake has failed.
    pub(super) fn decrypt(
        &mut self,
        key: ConnectionKey,
        bytes: &mut &[u8],
        plain: &mut [u8],
    ) -> Result<Received, Failure> {
        while let Some(connection) = self.connections.get_mut(key) {
            let received = connection.decrypt(bytes, plain)?;
            if received != Received::Opened || self.start_protocol(key)? == Progress::Opened {
                return Ok(received);
            }
        }
        Ok(Received::Nothing)
    }

    /// Lets the peer close a connection first, and closes it at `until`.
    pub(super) fn linger(&mut self, key: ConnectionKey, until: Duration) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        (connection.state, connection.user) = (ConnectionState::Lingering, None);
        self.lingering.push_back((until, key));
        if self.lingering.len() > LINGERING_MAX
            && let Some((_, oldest)) = self.lingering.pop_front()
        {
            self.remove(oldest);
        }
    }

    /// When the next connection has lingered for long enough.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.lingering.front().map(|(until, _)| *until)
    }

    /// Closes the connections that have lingered for long enough.
    pub(super) fn close_lingering(&mut self, now: Duration) {
        while let Some((_, key)) = self.lingering.front().copied().filter(|(until, _)| *until <= now) {
            self.lingering.pop_front();
            self.remove(key);
        }
    }

    /// Closes a connection and removes it.
    pub(super) fn remove(&mut self, key: ConnectionKey) -> Option<Connection> {
        self.send_close_frame(key);
        self.remove_idle(key);
        let mut connection = self.connections.remove(key)?;
        connection.send_close_notify();
        self.traffic.sent_bytes += connection.uncounted_bytes;
        self.return_buffer(std::mem::take(&mut connection.partial));
        self.return_buffer(std::mem::take(&mut connection.unsent));
        Some(connection)
    }

    fn send_close_frame(&mut self, key: ConnectionKey) {
        let is_open =
            |connection: &Connection| connection.has_sent_all() && matches!(connection.codec, Codec::WebSocket(_));
        if self.connections.get(key).is_some_and(is_open) {
            // The connection is closed in any case.
            let _ = self.send_frame(key, Opcode::Close, &[]);
        }
    }

    /// Keeps a connection alive that has no user for now.
    pub(super) fn put_idle(&mut self, key: ConnectionKey) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.user = None;
            connection.idle_index = self.idle.len() as u32;
            self.idle.push(key);
        }
    }

    /// The connection that became idle last.
    pub(super) fn take_idle(&mut self) -> Option<ConnectionKey> {
        let key = self.idle.pop()?;
        if let Some(connection) = self.connections.get_mut(key) {
            connection.idle_index = NOT_IDLE;
        }
        Some(key)
    }

    /// Removes a connection from the idle list; the last entry takes its index.
    fn remove_idle(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key).filter(|connection| connection.idle_index != NOT_IDLE)
        else {
            return;
        };
        let at = std::mem::replace(&mut connection.idle_index, NOT_IDLE);
        self.idle.swap_remove(at as usize);
        if let Some(moved) = self.idle.get(at as usize).and_then(|key| self.connections.get_mut(*key)) {
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

    fn next_nonce(&mut self) -> u64 {
        self.nonce_count += 1;
        mix(self.nonce_seed, self.nonce_count)
    }
}
