//! Turns the poller's readiness into bytes and closes: one read and one write for a request, if the kernel has room.
//! Does not know what the bytes mean.

use std::io;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::connections::{ConnectionState, READ_INTEREST};
use super::{SlabKey, Worker};
use crate::generator::Failure;
use crate::generator::poller::Ready;
use crate::generator::socket;
use crate::generator::tls::Tls;
use crate::measurement::ErrorKind;

/// Reads from one connection before the next connection's turn.
const READS_PER_TURN: usize = 8;

impl Worker {
    pub(super) fn on_ready(&mut self, Ready { key, flags }: Ready) {
        let Some(connection) = self.connections.get(key) else { return };
        match connection.state {
            ConnectionState::Connecting => self.on_connect_ready(key),
            // Nothing that is still received matters; the close does.
            ConnectionState::Lingering => self.close_connection(key),
            ConnectionState::TlsHandshake | ConnectionState::Upgrading | ConnectionState::Open => {
                if flags.contains(EventFlags::OUT) {
                    self.flush_unsent(key);
                }
                if flags.intersects(READ_INTEREST | EventFlags::HUP | EventFlags::ERR) {
                    self.read_ready(key, flags.contains(EventFlags::RDHUP));
                }
            }
        }
    }

    /// Registers a connection, to learn when it is connected.
    pub(super) fn register_connection(&mut self, key: SlabKey) -> io::Result<()> {
        match self.connections.get(key) {
            Some(connection) => self.poller.add(&connection.fd, key, EventFlags::OUT),
            None => Ok(()),
        }
    }

    fn on_connect_ready(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.awaits_writable = false;
        let connected = socket::connect_result(&connection.fd)
            .and_then(|()| self.poller.modify(&connection.fd, key, READ_INTEREST));
        match connected {
            Ok(()) => self.on_tcp_connected(key),
            Err(error) => self.on_connect_failed(key, &error),
        }
    }

    fn on_tcp_connected(&mut self, key: SlabKey) {
        let Some(to) = self.connections.get(key).map(|connection| connection.endpoint) else { return };
        match self.connector.endpoint(to).tls.as_ref().map(Tls::new_connection) {
            None => self.on_transport_ready(key),
            Some(Ok(session)) => self.start_tls_handshake(key, session),
            Some(Err(error)) => {
                self.on_connection_lost(key, Failure::new(ErrorKind::Connect, format!("TLS: {error}")), true);
            }
        }
    }

    /// Writes bytes; the rest follows when the kernel has room.
    pub(super) fn send(&mut self, key: SlabKey, bytes: &[u8]) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.tls.is_some() {
            return self.send_encrypted(key, bytes);
        }
        if !connection.unsent.is_empty() {
            // Behind bytes for which the kernel had no room.
            return connection.unsent.extend_from_slice(bytes);
        }
        match socket::write(&connection.fd, bytes) {
            Ok(count) => {
                self.record_sent(key, count);
                if count < bytes.len() {
                    let mut unsent = self.connections.take_buffer();
                    unsent.extend_from_slice(&bytes[count..]);
                    if let Some(connection) = self.connections.get_mut(key) {
                        connection.unsent = unsent;
                    }
                    self.set_write_interest(key, true);
                }
            }
            Err(error) => self.on_connection_lost(key, errno_failure(error), true),
        }
    }

    fn flush_unsent(&mut self, key: SlabKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.tls.is_some() {
            return self.flush_tls_records(key);
        }
        match socket::write(&connection.fd, &connection.unsent) {
            Ok(count) => {
                connection.unsent.drain(..count);
                let all = connection.unsent.is_empty();
                self.record_sent(key, count);
                if all {
                    self.set_write_interest(key, false);
                }
            }
            Err(error) => self.on_connection_lost(key, errno_failure(error), true),
        }
    }

    pub(super) fn record_sent(&mut self, key: SlabKey, count: usize) {
        self.accumulator.count_sent_bytes(count);
        let running = self.connections.get(key).and_then(|connection| connection.running_journey);
        if let Some(running) = running.and_then(|running| self.running.get_mut(running)) {
            running.has_written |= count > 0;
        }
    }

    pub(super) fn set_write_interest(&mut self, key: SlabKey, wanted: bool) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.awaits_writable == wanted {
            return;
        }
        connection.awaits_writable = wanted;
        let interest = if wanted { READ_INTEREST | EventFlags::OUT } else { READ_INTEREST };
        if let Err(error) = self.poller.modify(&connection.fd, key, interest) {
            return self.on_connection_lost(key, io_failure(&error), true);
        }
        if !wanted {
            self.on_flushed(key);
        }
    }

    /// Reads what was received. The poller reports again what is left.
    fn read_ready(&mut self, key: SlabKey, hung_up: bool) {
        let mut buffer = std::mem::take(&mut self.read_buffer);
        for _ in 0..READS_PER_TURN {
            let Some(connection) = self.connections.get(key) else { break };
            let (read, is_tls) = (socket::read(&connection.fd, &mut buffer), connection.tls.is_some());
            self.read_clock();
            match read {
                Ok(None) => break,
                Ok(Some(0)) if is_tls => {
                    self.on_truncated(key);
                    break;
                }
                Ok(Some(0)) => {
                    self.on_peer_closed(key);
                    break;
                }
                Ok(Some(count)) => {
                    self.accumulator.count_received_bytes(count);
                    let last = hung_up && count < buffer.len();
                    if is_tls {
                        self.receive_encrypted(key, &buffer[..count], last);
                    } else {
                        self.receive(key, &buffer[..count], last);
                    }
                    // The close that the poller has reported is still to be read.
                    if count < buffer.len() && !hung_up {
                        break;
                    }
                }
                Err(error) => {
                    self.on_connection_lost(key, errno_failure(error), false);
                    break;
                }
            }
        }
        self.read_buffer = buffer;
    }
}

fn errno_failure(error: Errno) -> Failure {
    io_failure(&error.into())
}

/// A write to a connection that the peer has closed in order is reported as `Closed`.
pub(super) fn io_failure(error: &io::Error) -> Failure {
    let kind = if error.kind() == io::ErrorKind::BrokenPipe { ErrorKind::Closed } else { ErrorKind::Reset };
    Failure::new(kind, error.to_string())
}
