//! TLS connections: the same bytes, encrypted. The handshake is part of opening a connection, and its time part of the
//! latency of the request that waits for it. Does not know what is sent inside.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustls::ClientConnection;

use super::connections::ConnectionState;
use super::socket_io::io_failure;
use super::{SlabKey, Worker};
use crate::generator::Failure;
use crate::generator::socket;
use crate::limits::READ_BYTES;
use crate::measurement::ErrorKind;

/// The socket that TLS writes its records to.
struct RecordSink<'a>(&'a OwnedFd);

impl io::Write for RecordSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match socket::write(self.0, bytes)? {
            0 => Err(io::ErrorKind::WouldBlock.into()),
            count => Ok(count),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

enum TlsRead {
    Plain(usize),
    Nothing,
    /// The peer has sent close_notify.
    Closed,
    Failed(Failure),
}

impl Worker {
    pub(super) fn start_tls_handshake(&mut self, key: SlabKey, session: ClientConnection) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.state = ConnectionState::TlsHandshake;
            connection.tls = Some(Box::new(session));
        }
        self.flush_tls_records(key);
    }

    pub(super) fn send_encrypted(&mut self, key: SlabKey, bytes: &[u8]) {
        let Some(tls) = self.connections.get_mut(key).and_then(|connection| connection.tls.as_mut()) else { return };
        match tls.writer().write_all(bytes) {
            Ok(()) => self.flush_tls_records(key),
            Err(error) => self.on_connection_lost(key, io_failure(&error), true),
        }
    }

    /// Writes pending TLS records; the rest follows when the kernel has room.
    pub(super) fn flush_tls_records(&mut self, key: SlabKey) {
        loop {
            let Some(connection) = self.connections.get_mut(key) else { return };
            let Some(tls) = connection.tls.as_mut().filter(|tls| tls.wants_write()) else { break };
            match tls.write_tls(&mut RecordSink(&connection.fd)) {
                Ok(count) => self.record_sent(key, count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.set_write_interest(key, true),
                Err(error) => return self.on_connection_lost(key, io_failure(&error), true),
            }
        }
        self.set_write_interest(key, false);
    }

    pub(super) fn receive_encrypted(&mut self, key: SlabKey, mut bytes: &[u8], hung_up: bool) {
        let mut plain = std::mem::take(&mut self.plaintext_buffer);
        plain.resize(READ_BYTES, 0);
        loop {
            match self.read_plaintext(key, &mut bytes, &mut plain) {
                TlsRead::Plain(count) => self.receive(key, &plain[..count], hung_up && bytes.is_empty()),
                TlsRead::Nothing if bytes.is_empty() => break,
                TlsRead::Nothing => {}
                TlsRead::Closed => {
                    self.on_peer_closed(key);
                    break;
                }
                TlsRead::Failed(failure) => {
                    // Sends the alert; the peer may be gone already.
                    self.try_flush_tls(key);
                    self.on_connection_lost(key, failure, false);
                    break;
                }
            }
        }
        self.plaintext_buffer = plain;
        self.flush_tls_records(key);
    }

    /// Feeds some of the bytes to TLS, and returns decrypted ones if any are complete.
    fn read_plaintext(&mut self, key: SlabKey, bytes: &mut &[u8], plain: &mut [u8]) -> TlsRead {
        let connection = self.connections.get_mut(key);
        let Some((tls, phase)) = connection.and_then(|connection| Some((connection.tls.as_mut()?, connection.state)))
        else {
            *bytes = &[];
            return TlsRead::Nothing;
        };
        match tls.reader().read(plain) {
            Ok(0) => return TlsRead::Closed,
            Ok(count) => return TlsRead::Plain(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return TlsRead::Failed(io_failure(&error)),
        }
        if bytes.is_empty() {
            return TlsRead::Nothing;
        }
        let shaking = phase == ConnectionState::TlsHandshake;
        let kind = if shaking { ErrorKind::Connect } else { ErrorKind::Reset };
        let broken = |message: String| TlsRead::Failed(Failure::new(kind, format!("TLS: {message}")));
        if let Err(error) = tls.read_tls(bytes) {
            return broken(error.to_string());
        }
        match tls.process_new_packets() {
            Err(error) => broken(error.to_string()),
            Ok(_) => {
                if shaking && !tls.is_handshaking() {
                    self.on_transport_ready(key);
                }
                // There may be plaintext now.
                self.read_plaintext(key, bytes, plain)
            }
        }
    }

    /// Sends pending TLS records without waiting for room.
    pub(super) fn try_flush_tls(&mut self, key: SlabKey) {
        if let Some(connection) = self.connections.get_mut(key)
            && let Some(tls) = &mut connection.tls
        {
            let _ = tls.write_tls(&mut RecordSink(&connection.fd));
        }
    }

    /// Sends the close frame and close_notify.
    pub(super) fn send_close(&mut self, key: SlabKey) {
        self.send_close_frame(key);
        let open = self.connections.get_mut(key).filter(|connection| connection.state == ConnectionState::Open);
        if let Some(tls) = open.and_then(|connection| connection.tls.as_mut()) {
            tls.send_close_notify();
            self.try_flush_tls(key);
        }
    }
}
