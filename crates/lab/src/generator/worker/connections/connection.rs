//! One connection: its socket, encrypted or not, and its memory between two reads. One read and one write for a request,
//! if the kernel has room. A TLS handshake is part of opening a connection, and its time part of the latency of the
//! request that waits for it. Does not know other connections, and what the bytes mean.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use rustls::ClientConnection;

use crate::generator::Failure;
use crate::generator::framing::Codec;
use crate::generator::keys::JourneyKey;
use crate::generator::socket;
use crate::measurement::{Awaited, ErrorKind};

pub(super) const NOT_IDLE: u32 = u32::MAX;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) fd: OwnedFd,
    pub(super) state: ConnectionState,
    pub(crate) codec: Codec,
    pub(super) tls: Option<Box<ClientConnection>>,
    /// Its user: the key that it was opened for, or whose request it carries.
    pub(crate) user: Option<JourneyKey>,
    /// For a held connection: the index of its load, and its index among that load's connections.
    pub(crate) held: Option<(usize, u32)>,
    pub(super) endpoint_index: u16,
    pub(super) address_index: u16,
    /// Numbered messages sent over it.
    pub(crate) message_count: u32,
    /// Whether a response has been received over it before.
    pub(crate) has_responded: bool,
    /// Whether any byte of its user's request was handed to the kernel.
    pub(crate) has_written: bool,
    /// The beginning of an incomplete message.
    pub(crate) partial: Vec<u8>,
    /// The rest of a request for which the kernel had no room.
    pub(super) unsent: Vec<u8>,
    /// Bytes handed to the kernel that the pool has not counted yet.
    pub(super) uncounted_bytes: u64,
    /// Whether the peer closed it in order.
    pub(crate) peer_closed: bool,
    /// Whether the poller reports when it is writable.
    pub(super) awaits_writable: bool,
    /// Its index among the idle connections.
    pub(super) idle_index: u32,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Nothing,
    Bytes(usize),
    /// The handshake is over, and the connection is open.
    Opened,
    /// The peer has closed the connection in order.
    Closed,
}

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

/// A write to a connection that the peer has closed in order is reported as `Closed`.
pub(super) fn io_failure(error: &io::Error) -> Failure {
    let kind = if error.kind() == io::ErrorKind::BrokenPipe { ErrorKind::Closed } else { ErrorKind::Reset };
    Failure::new(kind, error.to_string())
}

impl Connection {
    pub(super) fn new(
        fd: OwnedFd,
        (endpoint_index, address_index): (usize, usize),
        codec: Codec,
        user: JourneyKey,
    ) -> Self {
        Self {
            fd,
            state: ConnectionState::Connecting,
            codec,
            tls: None,
            user: Some(user),
            held: None,
            endpoint_index: endpoint_index as u16,
            address_index: address_index as u16,
            message_count: 0,
            has_responded: false,
            has_written: false,
            partial: Vec::new(),
            unsent: Vec::new(),
            uncounted_bytes: 0,
            peer_closed: false,
            awaits_writable: true,
            idle_index: NOT_IDLE,
        }
    }

    /// Whether it carries requests, and the kernel has taken all of them.
    pub(crate) fn has_sent_all(&self) -> bool {
        self.state == ConnectionState::Open && !self.awaits_writable
    }

    /// Whether nothing waits behind what the kernel has taken.
    pub(crate) fn is_flushed(&self) -> bool {
        self.unsent.is_empty()
    }

    /// What its user still waits for; `has_head` says whether the head of a response was received.
    pub(crate) fn awaited(&self, has_head: bool) -> Awaited {
        match self.state {
            ConnectionState::Connecting | ConnectionState::Upgrading => Awaited::Connect,
            ConnectionState::TlsHandshake => Awaited::Tls,
            _ if has_head || self.codec.has_response_started() => Awaited::Body,
            ConnectionState::Open | ConnectionState::Lingering => Awaited::FirstByte,
        }
    }

    /// Writes bytes; what the kernel has no room for is kept, in a spare buffer if there is one.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub(super) fn write(&mut self, bytes: &[u8], spare: &mut Vec<Vec<u8>>) -> Result<(), Failure> {
        if let Some(tls) = &mut self.tls {
            tls.writer().write_all(bytes).map_err(|error| io_failure(&error))?;
            return self.flush();
        }
        if self.unsent.is_empty() {
            let count = socket::write(&self.fd, bytes).map_err(|error| io_failure(&error.into()))?;
            self.count_written(count);
            if count < bytes.len() {
                self.unsent = spare.pop().unwrap_or_default();
                self.unsent.extend_from_slice(&bytes[count..]);
            }
        } else {
            // Behind bytes for which the kernel had no room.
            self.unsent.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Writes what waits to be written, as far as the kernel has room.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        while let Some(tls) = self.tls.as_mut().filter(|tls| tls.wants_write()) {
            match tls.write_tls(&mut RecordSink(&self.fd)) {
                Ok(count) => self.count_written(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(io_failure(&error)),
            }
        }
        if !self.unsent.is_empty() {
            let count = socket::write(&self.fd, &self.unsent).map_err(|error| io_failure(&error.into()))?;
            self.count_written(count);
            self.unsent.drain(..count);
        }
        Ok(())
    }

    fn count_written(&mut self, count: usize) {
        self.uncounted_bytes += count as u64;
        self.has_written |= count > 0;
    }

    /// Whether something waits until the kernel has room.
    pub(super) fn wants_write(&self) -> bool {
        !self.unsent.is_empty() || self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Sends TLS's close_notify, if the connection was open; it is closed in any case.
    pub(super) fn send_close_notify(&mut self) {
        if let (Some(tls), ConnectionState::Open) = (&mut self.tls, self.state) {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut RecordSink(&self.fd));
        }
    }

    /// Reads once. The poller reports again what is left. The bytes of an encrypted connection are then decrypted.
    ///
    /// # Errors
    /// The connection is lost; a close without TLS's close_notify counts as such, because the last bytes may be missing.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Received, Failure> {
        match socket::read(&self.fd, buffer).map_err(|error| io_failure(&error.into()))? {
            None => Ok(Received::Nothing),
            Some(0) if self.tls.is_none() => Ok(Received::Closed),
            Some(0) if self.state == ConnectionState::TlsHandshake => {
                Err(Failure::new(ErrorKind::Connect, "TLS: the connection was closed in the handshake"))
            }
            Some(0) => {
                let cut = "the connection was closed without TLS's close_notify";
                Err(self.codec.decode_eof().err().unwrap_or_else(|| Failure::new(ErrorKind::Truncated, cut)))
            }
            Some(count) => Ok(Received::Bytes(count)),
        }
    }

    /// Takes some of the bytes that were read, and returns decrypted ones if any are complete. `Nothing` once all bytes
    /// are taken.
    ///
    /// # Errors
    /// They are not valid, or the handshake has failed.
    pub(super) fn decrypt(&mut self, bytes: &mut &[u8], plain: &mut [u8]) -> Result<Received, Failure> {
        let is_handshake = self.state == ConnectionState::TlsHandshake;
        let Some(tls) = &mut self.tls else { return Ok(Received::Nothing) };
        loop {
            match tls.reader().read(plain) {
                Ok(0) => return Ok(Received::Closed),
                Ok(count) => return Ok(Received::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(io_failure(&error)),
            }
            if bytes.is_empty() {
                return Ok(Received::Nothing);
            }
            let taken = tls.read_tls(bytes).and_then(|_| tls.process_new_packets().map_err(io::Error::other));
            if let Err(error) = taken {
                // Sends the alert; the peer may be gone already.
                let _ = tls.write_tls(&mut RecordSink(&self.fd));
                let kind = if is_handshake { ErrorKind::Connect } else { ErrorKind::Reset };
                return Err(Failure::new(kind, format!("TLS: {error}")));
            }
            if is_handshake && !tls.is_handshaking() {
                return Ok(Received::Opened);
            }
        }
    }
}
