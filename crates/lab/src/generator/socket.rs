//! Sockets of the load: opened without blocking, from all source addresses, and never more than one system call for a
//! read or a write. Does not know what is sent over them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use nix::sys::socket::{setsockopt, sockopt::IpBindAddressNoPort};
use rustix::io::Errno;
use rustix::net::{SendFlags, send, sockopt::socket_error};
use socket2::{Domain, Protocol, Socket, Type};

/// Starts to connect. The socket becomes writable once it is connected or has failed; [`connect_result`] tells which.
///
/// # Errors
/// No descriptor or no port is left, or the network is unreachable.
pub(crate) fn start_connect(address: SocketAddr, source: Option<IpAddr>) -> io::Result<OwnedFd> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    if let Some(source) = source {
        // The port is chosen when it connects, so that one port can serve several destinations. A kernel that does
        // not know the option reserves a port of its own, which is right as well.
        let _ = setsockopt(&socket, IpBindAddressNoPort, &true);
        socket.bind(&SocketAddr::new(source, 0).into())?;
    }
    match socket.connect(&address.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(Errno::INPROGRESS.raw_os_error()) => {}
        Err(error) => return Err(error),
    }
    Ok(socket.into())
}

/// The result of connecting.
///
/// # Errors
/// It failed.
pub(crate) fn connect_result(fd: impl AsFd) -> io::Result<()> {
    Ok(socket_error(fd)??)
}

/// Writes what fits; a connection that the peer has closed is an error, never a signal.
pub(crate) fn write(fd: impl AsFd, bytes: &[u8]) -> Result<usize, Errno> {
    loop {
        match send(&fd, bytes, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(0),
            other => return other,
        }
    }
}

/// Reads what was received: none yet, the end (0 bytes), or so many bytes.
pub(crate) fn read(fd: impl AsFd, bytes: &mut [u8]) -> Result<Option<usize>, Errno> {
    loop {
        match rustix::io::read(&fd, &mut *bytes) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(None),
            other => return other.map(Some),
        }
    }
}
