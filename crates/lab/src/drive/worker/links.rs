//! Connections of a worker. An idle one is a descriptor and a few numbers: buffers are borrowed while a message is
//! incomplete and given back. Refuses to know what is said over them.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::epoll::EventFlags;
use rustls::ClientConnection;

use crate::drive::slab::{Key, Slab};
use crate::drive::speech::{Codec, Opening};
use crate::drive::tls::Tls;
use crate::limits::{SPARE_BUFFER_BYTES_MAX, SPARE_BUFFERS_MAX};

/// One connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) fd: OwnedFd,
    pub(super) phase: Phase,
    pub(super) codec: Codec,
    /// Where it speaks TLS.
    pub(super) tls: Option<Box<ClientConnection>>,
    /// The flight that it serves.
    pub(super) flight: Option<Key>,
    /// The held connection that it is: the leg, and which of its connections.
    pub(super) held: Option<(usize, u32)>,
    /// Where it leads to.
    pub(super) to: To,
    /// Messages that were sent over it, of those that are counted.
    pub(super) said: u32,
    /// Whether an answer has come over it before.
    pub(super) used: bool,
    /// The beginning of a message whose rest has not come.
    pub(super) partial: Vec<u8>,
    /// The rest of a request that the kernel had no room for.
    pub(super) unsent: Vec<u8>,
    /// Whether the other side has ended it in order.
    pub(super) ended: bool,
    /// Whether the poller tells when it can be written to.
    pub(super) writing: bool,
    /// Its place among those that nobody uses.
    idle_at: u32,
}

/// What a connection is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not yet there.
    Connecting,
    /// Both sides agree on keys.
    Shaking,
    /// Both sides agree to speak in frames.
    Asking,
    /// Carries requests.
    Open,
    /// Given up: it waits for the other side to close it first.
    Lingering,
}

/// What the poller tells about a connection in any case.
pub(super) const READING: EventFlags = EventFlags::IN.union(EventFlags::RDHUP);

const NOT_IDLE: u32 = u32::MAX;

impl Link {
    /// A connection that is being opened for a flight.
    pub(super) fn new(fd: OwnedFd, to: To, codec: Codec, flight: Option<Key>) -> Self {
        Self {
            fd,
            phase: Phase::Connecting,
            codec,
            tls: None,
            flight,
            held: None,
            to,
            said: 0,
            used: false,
            partial: Vec::new(),
            unsent: Vec::new(),
            ended: false,
            writing: true,
            idle_at: NOT_IDLE,
        }
    }
}

/// All connections of a worker.
#[derive(Debug, Default)]
pub(super) struct Links {
    slab: Slab<Link>,
    /// Those that nobody uses; the last one was used last.
    idle: Vec<Key>,
    buffers: Vec<Vec<u8>>,
}

impl Links {
    pub(super) fn add(&mut self, link: Link) -> Key {
        self.slab.insert(link)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Link> {
        self.slab.get_mut(key)
    }

    pub(super) fn get(&self, key: Key) -> Option<&Link> {
        self.slab.get(key)
    }

    /// Memory that belongs to connections, buffers included; what TLS needs is its own.
    #[cfg(test)]
    pub(super) fn own_bytes(&self) -> usize {
        let buffers = |link: &Link| link.partial.capacity() + link.unsent.capacity();
        let links = self.slab.keys().into_iter().filter_map(|key| self.slab.get(key));
        links.map(|link| size_of::<(u32, Option<Link>)>() + buffers(link)).sum()
    }

    pub(super) fn len(&self) -> usize {
        self.slab.len()
    }

    /// Takes a connection out; dropping it closes it.
    pub(super) fn remove(&mut self, key: Key) -> Option<Link> {
        self.take_off(key);
        let mut link = self.slab.remove(key)?;
        self.give(std::mem::take(&mut link.partial));
        self.give(std::mem::take(&mut link.unsent));
        Some(link)
    }

    /// Lays a connection aside for whoever needs one.
    pub(super) fn lay_aside(&mut self, key: Key) {
        if let Some(link) = self.slab.get_mut(key) {
            link.flight = None;
            link.idle_at = self.idle.len() as u32;
            self.idle.push(key);
        }
    }

    /// The connection that was laid aside last.
    pub(super) fn pick_up(&mut self) -> Option<Key> {
        let key = self.idle.pop()?;
        if let Some(link) = self.slab.get_mut(key) {
            link.idle_at = NOT_IDLE;
        }
        Some(key)
    }

    /// Takes a connection off the pile of idle ones; another one takes its place there.
    fn take_off(&mut self, key: Key) {
        let Some(link) = self.slab.get_mut(key).filter(|link| link.idle_at != NOT_IDLE) else { return };
        let at = std::mem::replace(&mut link.idle_at, NOT_IDLE);
        self.idle.swap_remove(at as usize);
        if let Some(moved) = self.idle.get(at as usize).and_then(|key| self.slab.get_mut(*key)) {
            moved.idle_at = at;
        }
    }

    /// An empty buffer.
    pub(super) fn borrow(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Takes a buffer back.
    pub(super) fn give(&mut self, mut buffer: Vec<u8>) {
        let usual = (1..=SPARE_BUFFER_BYTES_MAX).contains(&buffer.capacity());
        if usual && self.buffers.len() < SPARE_BUFFERS_MAX {
            buffer.clear();
            self.buffers.push(buffer);
        }
    }
}

/// Where connections lead to and come from.
#[derive(Debug)]
pub(super) struct Routes {
    pub(super) hosts: Vec<Host>,
    sources: Vec<std::net::IpAddr>,
    next_source: usize,
}

/// A place that connections lead to: where the target answers requests, or a door for messages.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) addresses: Vec<SocketAddr>,
    /// The address that took a connection last.
    pub(super) preferred: usize,
    pub(super) tls: Option<Tls>,
    pub(super) speech: Speech,
}

/// What is spoken with a host.
#[derive(Clone, Debug)]
pub(super) enum Speech {
    /// Requests and answers.
    Requests,
    /// Frames with their length in front.
    Lengths,
    /// Frames, after this was asked for.
    WebSocket(Arc<Opening>),
}

/// An address of a host, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct To {
    pub(super) host: u16,
    pub(super) address: u16,
}

impl Host {
    pub(super) fn new(addresses: Vec<SocketAddr>, tls: Option<Tls>, speech: Speech) -> Self {
        Self { addresses, preferred: 0, tls, speech }
    }

    /// The address to try after one that did not answer.
    pub(super) fn next(&self, address: usize) -> usize {
        (address + 1) % self.addresses.len().max(1)
    }
}

impl Routes {
    /// `worker` begins with a source of its own, so that all are used from the beginning.
    pub(super) fn new(hosts: Vec<Host>, sources: Vec<std::net::IpAddr>, worker: u32) -> Self {
        let next_source = worker as usize % sources.len().max(1);
        Self { hosts, sources, next_source }
    }

    /// The host that an arrival turns to: with messages to one door after the other, with requests to the target.
    pub(super) fn host_of(&self, speaks: bool, index: u64) -> usize {
        let doors = self.hosts.len() as u64 - 1;
        if speaks && doors > 0 { 1 + (index % doors) as usize } else { 0 }
    }

    pub(super) fn host(&self, to: To) -> &Host {
        &self.hosts[usize::from(to.host)]
    }

    /// The address itself.
    pub(super) fn address(&self, to: To) -> SocketAddr {
        self.host(to).addresses[usize::from(to.address)]
    }

    /// Begins to connect to an address, from the next source that can reach it.
    pub(super) fn open(&mut self, to: To) -> std::io::Result<OwnedFd> {
        let to = self.address(to);
        for _ in 0..self.sources.len() {
            let source = self.sources[self.next_source];
            self.next_source = (self.next_source + 1) % self.sources.len();
            if source.is_ipv4() == to.is_ipv4() {
                return crate::drive::socket::open(to, Some(source));
            }
        }
        crate::drive::socket::open(to, None)
    }
}
