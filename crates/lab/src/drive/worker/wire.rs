//! What the poller says about connections, turned into bytes and ends: one read and one write for a request, where
//! the kernel has room. Refuses to know what the bytes mean.

use std::io;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::links::{Phase, READING};
use super::{Key, Worker};
use crate::drive::Failure;
use crate::drive::poller::Ready;
use crate::drive::socket;
use crate::drive::tls::Tls;
use crate::record::Trouble;

/// Reads from one connection before the next one's turn.
const READS_PER_TURN: usize = 8;

impl Worker {
    /// Handles what the poller said about a connection.
    pub(super) fn on_ready(&mut self, Ready { key, flags }: Ready) {
        let Some(link) = self.links.get(key) else { return };
        match link.phase {
            Phase::Connecting => self.on_connected(key),
            // Nothing that still comes matters; its end does.
            Phase::Lingering => self.close_link(key),
            Phase::Shaking | Phase::Asking | Phase::Open => {
                if flags.contains(EventFlags::OUT) {
                    self.send_rest(key);
                }
                if flags.intersects(READING | EventFlags::HUP | EventFlags::ERR) {
                    self.read(key, flags.contains(EventFlags::RDHUP));
                }
            }
        }
    }

    /// Has the poller tell when a connection is there.
    pub(super) fn await_connection(&mut self, key: Key) -> io::Result<()> {
        match self.links.get(key) {
            Some(link) => self.poller.add(&link.fd, key, EventFlags::OUT),
            None => Ok(()),
        }
    }

    fn on_connected(&mut self, key: Key) {
        let Some(link) = self.links.get_mut(key) else { return };
        link.writing = false;
        let told = socket::outcome(&link.fd).and_then(|()| self.poller.modify(&link.fd, key, READING));
        match told {
            Ok(()) => self.reached(key),
            Err(error) => self.refused(key, &error),
        }
    }

    /// A connection has reached its host.
    fn reached(&mut self, key: Key) {
        let Some(to) = self.links.get(key).map(|link| link.to) else { return };
        match self.routes.host(to).tls.as_ref().map(Tls::connection) {
            None => self.connected(key),
            Some(Ok(connection)) => self.begin_handshake(key, connection),
            Some(Err(error)) => self.lost(key, Failure::new(Trouble::Connect, format!("TLS: {error}")), true),
        }
    }

    /// Hands bytes to the kernel; what it has no room for follows when it has.
    pub(super) fn send(&mut self, key: Key, bytes: &[u8]) {
        let Some(link) = self.links.get_mut(key) else { return };
        if link.tls.is_some() {
            return self.send_wrapped(key, bytes);
        }
        if !link.unsent.is_empty() {
            // Behind what the kernel has had no room for.
            return link.unsent.extend_from_slice(bytes);
        }
        match socket::write(&link.fd, bytes) {
            Ok(count) => {
                self.note_sent(key, count);
                if count < bytes.len() {
                    let mut unsent = self.links.borrow();
                    unsent.extend_from_slice(&bytes[count..]);
                    if let Some(link) = self.links.get_mut(key) {
                        link.unsent = unsent;
                    }
                    self.await_room(key, true);
                }
            }
            Err(error) => self.lost(key, broken(error), true),
        }
    }

    fn send_rest(&mut self, key: Key) {
        let Some(link) = self.links.get_mut(key) else { return };
        if link.tls.is_some() {
            return self.send_records(key);
        }
        match socket::write(&link.fd, &link.unsent) {
            Ok(count) => {
                link.unsent.drain(..count);
                let all = link.unsent.is_empty();
                self.note_sent(key, count);
                if all {
                    self.await_room(key, false);
                }
            }
            Err(error) => self.lost(key, broken(error), true),
        }
    }

    pub(super) fn note_sent(&mut self, key: Key, count: usize) {
        self.book.sent(count);
        let flight = self.links.get(key).and_then(|link| link.flight);
        if let Some(flight) = flight.and_then(|flight| self.flights.get_mut(flight)) {
            flight.wrote |= count > 0;
        }
    }

    pub(super) fn await_room(&mut self, key: Key, wanted: bool) {
        let Some(link) = self.links.get_mut(key) else { return };
        if link.writing == wanted {
            return;
        }
        link.writing = wanted;
        let interest = if wanted { READING | EventFlags::OUT } else { READING };
        if let Err(error) = self.poller.modify(&link.fd, key, interest) {
            return self.lost(key, broken_off(&error), true);
        }
        if !wanted {
            self.all_sent(key);
        }
    }

    /// Takes what has come. The poller says again what was left.
    fn read(&mut self, key: Key, hung_up: bool) {
        let mut buffer = std::mem::take(&mut self.read);
        for _ in 0..READS_PER_TURN {
            let Some(link) = self.links.get(key) else { break };
            let (read, is_tls) = (socket::read(&link.fd, &mut buffer), link.tls.is_some());
            self.read_clock();
            match read {
                Ok(None) => break,
                Ok(Some(0)) if is_tls => {
                    self.cut_off(key);
                    break;
                }
                Ok(Some(0)) => {
                    self.ended(key);
                    break;
                }
                Ok(Some(count)) => {
                    self.book.received(count);
                    let last = hung_up && count < buffer.len();
                    if is_tls {
                        self.receive_wrapped(key, &buffer[..count], last);
                    } else {
                        self.receive(key, &buffer[..count], last);
                    }
                    // The end that the poller has told of is still to be read.
                    if count < buffer.len() && !hung_up {
                        break;
                    }
                }
                Err(error) => {
                    self.lost(key, broken(error), false);
                    break;
                }
            }
        }
        self.read = buffer;
    }
}

fn broken(error: Errno) -> Failure {
    broken_off(&error.into())
}

/// A connection that failed. Writing into one that the other side has closed in order is no more than that.
pub(super) fn broken_off(error: &io::Error) -> Failure {
    let trouble = if error.kind() == io::ErrorKind::BrokenPipe { Trouble::Closed } else { Trouble::Reset };
    Failure::new(trouble, error.to_string())
}
