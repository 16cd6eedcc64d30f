//! One client: the parser state of its requests, and the bytes that are still to be sent to it. Does not know when it
//! is served.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::replies::Replies;
use crate::request_counter::RequestCounter;

/// A client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
    /// Distinguishes it from an earlier one with the same file number.
    pub(crate) serial: u64,
    /// Whether the kernel takes no more bytes for it: some are still to be sent, and it is not read from.
    pub(crate) is_blocked: bool,
    requests: RequestCounter,
    unsent_bytes: u64,
}

/// How an exchange with a client ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// All replies are sent.
    Complete,
    /// The kernel takes no more for now.
    Blocked,
    /// The client is gone.
    Gone,
}

impl Connection {
    pub(crate) fn new(socket: OwnedFd, serial: u64) -> Self {
        Self { socket, serial, is_blocked: false, requests: RequestCounter::default(), unsent_bytes: 0 }
    }

    /// How many requests came; none when the client is gone.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> Option<u64> {
        match rustix::io::read(&self.socket, &mut *buffer) {
            Ok(0) => None,
            Ok(length) => Some(self.requests.count(&buffer[..length])),
            Err(Errno::AGAIN | Errno::INTR) => Some(0),
            Err(_) => None,
        }
    }

    /// Adds so many replies to what is to be sent, and sends what the kernel takes.
    pub(crate) fn send_replies(&mut self, count: u64, replies: &Replies) -> SendOutcome {
        self.unsent_bytes += replies.bytes(count);
        while self.unsent_bytes > 0 {
            match send(&self.socket, replies.next_chunk(self.unsent_bytes), SendFlags::NOSIGNAL) {
                Ok(sent) => self.unsent_bytes -= sent as u64,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return SendOutcome::Blocked,
                Err(_) => return SendOutcome::Gone,
            }
        }
        SendOutcome::Complete
    }
}
