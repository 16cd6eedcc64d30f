//! When to end: at a signal, and, for a process of a group, when its parent closes its standard input. Both are files
//! that become readable. Does not know what ends.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::fd::AsFd;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Becomes readable at the first SIGTERM or SIGINT, which no longer end the process themselves.
pub(crate) fn signals() -> io::Result<OwnedFd> {
    let (read, write) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT] {
        signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
    }
    Ok(read.into())
}

/// Becomes readable when the other end of standard input is closed.
pub(crate) fn stdin_closed() -> io::Result<OwnedFd> {
    io::stdin().as_fd().try_clone_to_owned()
}
