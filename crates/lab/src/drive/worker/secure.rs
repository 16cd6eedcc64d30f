//! Connections that speak TLS: the same bytes, wrapped. The handshake is part of opening a connection, and its time
//! part of the latency of whoever waits for it. Refuses to know what is said inside.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustls::ClientConnection;

use super::links::Phase;
use super::wire::broken_off;
use super::{Key, Worker};
use crate::drive::Failure;
use crate::drive::socket;
use crate::limits::READ_BYTES;
use crate::record::Trouble;

/// A socket that TLS writes its records to.
struct Records<'a>(&'a OwnedFd);

impl io::Write for Records<'_> {
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

/// What the wrapped bytes held.
enum Unwrapped {
    /// So many plain bytes.
    Plain(usize),
    /// Nothing more at the moment.
    Nothing,
    /// The other side has said that nothing more will come.
    End,
    Broken(Failure),
}

impl Worker {
    /// A connection has reached the host: the handshake begins.
    pub(super) fn begin_handshake(&mut self, key: Key, connection: ClientConnection) {
        if let Some(link) = self.links.get_mut(key) {
            link.phase = Phase::Shaking;
            link.tls = Some(Box::new(connection));
        }
        self.send_records(key);
    }

    /// Wraps bytes and hands them to the kernel.
    pub(super) fn send_wrapped(&mut self, key: Key, bytes: &[u8]) {
        let Some(tls) = self.links.get_mut(key).and_then(|link| link.tls.as_mut()) else { return };
        match tls.writer().write_all(bytes) {
            Ok(()) => self.send_records(key),
            Err(error) => self.lost(key, broken_off(&error), true),
        }
    }

    /// Hands to the kernel what TLS has to say; what it has no room for follows when it has.
    pub(super) fn send_records(&mut self, key: Key) {
        loop {
            let Some(link) = self.links.get_mut(key) else { return };
            let Some(tls) = link.tls.as_mut().filter(|tls| tls.wants_write()) else { break };
            match tls.write_tls(&mut Records(&link.fd)) {
                Ok(count) => self.note_sent(key, count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return self.await_room(key, true),
                Err(error) => return self.lost(key, broken_off(&error), true),
            }
        }
        self.await_room(key, false);
    }

    /// Takes wrapped bytes that have come.
    pub(super) fn receive_wrapped(&mut self, key: Key, mut bytes: &[u8], hung_up: bool) {
        let mut plain = std::mem::take(&mut self.plain);
        plain.resize(READ_BYTES, 0);
        loop {
            match self.unwrap(key, &mut bytes, &mut plain) {
                Unwrapped::Plain(count) => self.receive(key, &plain[..count], hung_up && bytes.is_empty()),
                Unwrapped::Nothing if bytes.is_empty() => break,
                Unwrapped::Nothing => {}
                Unwrapped::End => {
                    self.ended(key);
                    break;
                }
                Unwrapped::Broken(failure) => {
                    // The other side is told why; it may be gone already.
                    self.say_last_words(key);
                    self.lost(key, failure, false);
                    break;
                }
            }
        }
        self.plain = plain;
        self.send_records(key);
    }

    /// Takes some of the bytes, and gives plain ones where any are complete.
    fn unwrap(&mut self, key: Key, bytes: &mut &[u8], plain: &mut [u8]) -> Unwrapped {
        let link = self.links.get_mut(key);
        let Some((tls, phase)) = link.and_then(|link| Some((link.tls.as_mut()?, link.phase))) else {
            *bytes = &[];
            return Unwrapped::Nothing;
        };
        match tls.reader().read(plain) {
            Ok(0) => return Unwrapped::End,
            Ok(count) => return Unwrapped::Plain(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Unwrapped::Broken(broken_off(&error)),
        }
        if bytes.is_empty() {
            return Unwrapped::Nothing;
        }
        let shaking = phase == Phase::Shaking;
        let trouble = if shaking { Trouble::Connect } else { Trouble::Reset };
        let broken = |message: String| Unwrapped::Broken(Failure::new(trouble, format!("TLS: {message}")));
        if let Err(error) = tls.read_tls(bytes) {
            return broken(error.to_string());
        }
        match tls.process_new_packets() {
            Err(error) => broken(error.to_string()),
            Ok(_) => {
                if shaking && !tls.is_handshaking() {
                    self.connected(key);
                }
                // Looked at again: there may be plain bytes now.
                self.unwrap(key, bytes, plain)
            }
        }
    }

    /// Sends what TLS still has to say, without waiting for room.
    pub(super) fn say_last_words(&mut self, key: Key) {
        if let Some(link) = self.links.get_mut(key)
            && let Some(tls) = &mut link.tls
        {
            let _ = tls.write_tls(&mut Records(&link.fd));
        }
    }

    /// Tells the other side that nothing more will be said.
    pub(super) fn say_goodbye(&mut self, key: Key) {
        self.say_close(key);
        let open = self.links.get_mut(key).filter(|link| link.phase == Phase::Open);
        if let Some(tls) = open.and_then(|link| link.tls.as_mut()) {
            tls.send_close_notify();
            self.say_last_words(key);
        }
    }
}
