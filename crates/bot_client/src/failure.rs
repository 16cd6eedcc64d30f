//! Why a call failed, and whose doing it was.
//!
//! Only what a bot cannot bring about is the server's fault: otherwise the owner of a losing bot could make a match void. So a name that
//! does not resolve, an address without a route and a refused packet count as the bot's, although our resolver or network may be down; a
//! lack of files, memory or local ports is ours.

use engine::health::CallFault;
use engine::matches::entry::AnswerClass;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Longest detail that is kept, in bytes.
const DETAIL_BYTES_MAX: usize = 200;

/// A call without a usable answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    pub fault: CallFault,
    /// More about it, where there is more: what TLS said.
    pub detail: Option<Box<str>>,
}

impl CallFailure {
    pub(super) fn class(&self) -> AnswerClass {
        self.fault.class()
    }

    /// Whether the call ended without an answer because its time was up.
    pub(super) fn is_timeout(&self) -> bool {
        matches!(self.fault, CallFault::TooLate)
    }

    pub(super) fn with_detail(fault: CallFault, detail: &str) -> Self {
        let detail = &detail[..detail.floor_char_boundary(DETAIL_BYTES_MAX)];
        Self { fault, detail: Some(detail.into()) }
    }
}

impl From<CallFault> for CallFailure {
    fn from(fault: CallFault) -> Self {
        Self { fault, detail: None }
    }
}

/// Why this address could not be connected to.
pub(super) fn connect_fault(error: &io::Error, address: SocketAddr) -> CallFault {
    if is_shortage(error) || is_out_of_ports(error, address) {
        return CallFault::ServerFault;
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => CallFault::ConnectionRefused,
        _ => CallFault::NotConnected,
    }
}

/// Why a connection broke.
pub(super) fn broken_fault(error: &io::Error) -> CallFault {
    if is_shortage(error) { CallFault::ServerFault } else { CallFault::Closed }
}

/// Whether no socket can be opened now: what fails for that does not always say so.
pub(super) fn is_out_of_files() -> bool {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).is_err_and(|error| is_shortage(&error))
}

/// Whether this process or machine was out of files, buffers or memory.
fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// Whether no local port was left for a connection to this address. The system says the same of an address of a family that this machine
/// does not have: then a datagram socket, which needs no port of its own there, cannot be connected to it either.
fn is_out_of_ports(error: &io::Error, address: SocketAddr) -> bool {
    if error.raw_os_error() != Some(libc::EADDRNOTAVAIL) {
        return false;
    }
    let local: SocketAddr = match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    match UdpSocket::bind(local).and_then(|socket| socket.connect(address)) {
        Ok(()) => true,
        Err(error) => is_shortage(&error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: i32, address: &str, want: CallFault) {
        let error = io::Error::from_raw_os_error(code);
        assert_eq!(connect_fault(&error, address.parse().unwrap()), want, "{error}");
    }

    #[test]
    fn only_what_a_bot_cannot_bring_about_is_the_servers_fault() {
        let local = "127.0.0.1:9";
        for code in [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM, libc::EADDRNOTAVAIL] {
            check(code, local, CallFault::ServerFault);
        }
        check(libc::ECONNREFUSED, local, CallFault::ConnectionRefused);
        for code in
            [libc::ENETUNREACH, libc::EHOSTUNREACH, libc::ETIMEDOUT, libc::EPERM, libc::EACCES, libc::ECONNRESET]
        {
            check(code, local, CallFault::NotConnected);
        }
        // No datagram reaches such an address either: it is no lack of ports.
        check(libc::EADDRNOTAVAIL, "[3fff::1]:9", family_fault());
        assert_eq!(broken_fault(&io::Error::from_raw_os_error(libc::ENOBUFS)), CallFault::ServerFault);
        assert_eq!(broken_fault(&io::Error::from_raw_os_error(libc::ECONNRESET)), CallFault::Closed);
    }

    /// What a machine without a route for IPv6 must say, and one with a route cannot.
    fn family_fault() -> CallFault {
        let has_route = UdpSocket::bind("[::]:0").and_then(|socket| socket.connect("[3fff::1]:9")).is_ok();
        if has_route { CallFault::ServerFault } else { CallFault::NotConnected }
    }
}
