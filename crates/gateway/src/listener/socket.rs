//! The socket of a connection, with TLS or without. Like a socket it is used by shared reference and never blocks, so that each holder of
//! the connection may read and write: hyper, a parked request, the sender of a world.
//!
//! Knows nothing of certificates.

use rustix::net::{Shutdown, shutdown};
use rustls::{ServerConfig, ServerConnection};
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// Most bytes of text that are encrypted before the socket takes them: one record.
const RECORD_BYTES: usize = 16 * 1024;

/// A socket.
pub struct Socket {
    tcp: TcpStream,
    tls: Option<Box<TlsSession>>,
    /// Whether the client has TLS to a proxy, which passes on what it decrypts.
    pub(super) is_behind_tls: bool,
}

struct TlsSession {
    state: Mutex<TlsState>,
    /// Decrypted bytes may wait to be read, which the kernel knows nothing of.
    has_text: AtomicBool,
}

struct TlsState {
    tls: ServerConnection,
    /// Whether the last byte that was encrypted has not been reported as written: what is encrypted waits for the socket, and only a writer
    /// that has bytes left waits for it.
    owes_byte: bool,
}

impl From<TcpStream> for Socket {
    fn from(tcp: TcpStream) -> Self {
        Self { tcp, tls: None, is_behind_tls: false }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tcp.as_fd()
    }
}

impl Socket {
    /// A socket whose client begins with a handshake.
    ///
    /// # Errors
    /// The library's, if it rejects its own configuration.
    pub(super) fn with_tls(tcp: TcpStream, config: Arc<ServerConfig>) -> io::Result<Self> {
        let tls = ServerConnection::new(config).map_err(io::Error::other)?;
        let state = Mutex::new(TlsState { tls, owes_byte: false });
        let session = TlsSession { state, has_text: AtomicBool::new(false) };
        Ok(Self { tcp, tls: Some(Box::new(session)), is_behind_tls: false })
    }

    pub(super) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether what the client sends is encrypted on its way to this server, or to the proxy in front of it.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.has_tls() || self.is_behind_tls
    }

    /// The socket alone, of a connection without TLS.
    pub(crate) fn plain(&self) -> Option<&TcpStream> {
        self.tls.is_none().then_some(&self.tcp)
    }

    /// The socket below TLS.
    pub(super) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Makes the handshake. A failed one is reported to the client.
    pub(super) async fn handshake(&self) -> io::Result<()> {
        let Some(session) = &self.tls else { return Ok(()) };
        loop {
            let wants_write = {
                let mut state = session.lock();
                match state.advance(&self.tcp) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
                if !state.tls.is_handshaking() && !state.tls.wants_write() {
                    // The client's first bytes may have come with the end of it.
                    session.has_text.store(true, Relaxed);
                    return Ok(());
                }
                state.tls.wants_write()
            };
            if wants_write {
                self.tcp.writable().await?;
            } else {
                self.tcp.readable().await?;
            }
        }
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        poll_fn(|context| self.poll_read_ready(context)).await
    }

    pub(crate) fn poll_read_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.tls.as_ref().is_some_and(|session| session.has_text.load(Relaxed)) {
            return Poll::Ready(Ok(()));
        }
        self.tcp.poll_read_ready(context)
    }

    pub(crate) fn poll_write_ready(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp.poll_write_ready(context)
    }

    pub(crate) fn try_read(&self, bytes: &mut [u8]) -> io::Result<usize> {
        let Some(session) = &self.tls else { return self.tcp.try_read(bytes) };
        let mut state = session.lock();
        loop {
            match state.tls.reader().read(bytes) {
                Ok(read) => {
                    session.has_text.store(read == bytes.len(), Relaxed);
                    return Ok(read);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The client closed the socket without a last word.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(0),
                Err(error) => return Err(error),
            }
            session.has_text.store(false, Relaxed);
            state.receive(&self.tcp)?;
        }
    }

    /// Writes as much as the socket accepts. A byte of what was encrypted and not accepted yet is left to be written again, so that its writer
    /// waits for the socket.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        let Some(session) = &self.tls else { return self.tcp.try_write(bytes) };
        let mut state = session.lock();
        state.flush(&self.tcp)?;
        let owed = usize::from(std::mem::take(&mut state.owes_byte)).min(bytes.len());
        let new = &bytes[owed..bytes.len().min(owed + RECORD_BYTES)];
        let taken = owed + state.tls.writer().write(new)?;
        match state.flush(&self.tcp) {
            Ok(()) => Ok(taken),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                state.owes_byte = taken > 0;
                if taken > 1 { Ok(taken - 1) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    /// Ends the output.
    pub(crate) fn shutdown_output(&self) -> io::Result<()> {
        if let Some(session) = &self.tls {
            let mut state = session.lock();
            state.tls.send_close_notify();
            // A client that takes no more bytes sees the end of the socket alone.
            let _ = state.flush(&self.tcp);
        }
        Ok(shutdown(&self.tcp, Shutdown::Write)?)
    }
}

impl TlsSession {
    /// Consistent even if a holder of the lock panicked: the library's own state is what it is.
    fn lock(&self) -> MutexGuard<'_, TlsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TlsState {
    /// Sends and receives, as far as the handshake needs it and the socket allows.
    fn advance(&mut self, tcp: &TcpStream) -> io::Result<()> {
        self.flush(tcp)?;
        while self.tls.is_handshaking() {
            self.receive(tcp)?;
        }
        Ok(())
    }

    /// Reads once from the socket, and sends what the protocol answers.
    fn receive(&mut self, tcp: &TcpStream) -> io::Result<()> {
        if self.tls.read_tls(&mut Unblocking(tcp))? == 0 && self.tls.is_handshaking() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let processed = self.tls.process_new_packets();
        // Also the alert that says what was wrong.
        let sent = self.flush(tcp);
        if let Err(error) = processed {
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        match sent {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(()),
        }
    }

    /// Sends what is encrypted; `WouldBlock` where the socket does not take all of it.
    fn flush(&mut self, tcp: &TcpStream) -> io::Result<()> {
        while self.tls.wants_write() {
            self.tls.write_tls(&mut Unblocking(tcp))?;
        }
        Ok(())
    }
}

/// The socket as the library reads and writes it.
struct Unblocking<'a>(&'a TcpStream);

impl Read for Unblocking<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(bytes)
    }
}

impl Write for Unblocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
