//! One request and its response on one connection of a slot.

use super::connection::Connection;
use super::pool::Slot;
use super::response::{Incoming, Progress, Response};
use super::target::Target;
use std::io::Write;

/// Why there is no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// No connection, or it broke.
    Unreachable,
    /// Every address of the host is one that must not be called.
    Forbidden,
    /// More bytes than are read.
    Oversized,
    /// Not HTTP.
    Malformed,
}

/// A request, ready to be written.
pub(super) struct Request(Vec<u8>);

impl Request {
    pub(super) fn post(target: &Target, segment: &str, body: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(160 + target.base_path.len() + target.authority.len() + body.len());
        let (path, host, length) = (&target.base_path, &target.authority, body.len());
        let _ = write!(
            bytes,
            "POST {path}/{segment} HTTP/1.1\r\nhost: {host}\r\nuser-agent: gauntlet\r\ncontent-type: application/json\r\n\
             accept: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        bytes.extend_from_slice(body);
        Self(bytes)
    }

    pub(super) fn get(target: &Target) -> Self {
        let (path, host) = (&target.base_path, &target.authority);
        let request =
            format!("GET {path}/ HTTP/1.1\r\nhost: {host}\r\nuser-agent: gauntlet\r\naccept: application/json\r\n\r\n");
        Self(request.into_bytes())
    }
}

/// How one try on one connection failed.
struct Tried {
    failure: Failure,
    /// Whether the connection was an old one that broke before any byte of an answer: the peer may just have closed it.
    is_stale: bool,
}

/// Sends the request and hears its response. An idle connection that turns out to be stale is replaced by a fresh one, but
/// only when the request may be repeated: nobody knows whether it was heard.
pub(super) async fn run(
    mut slot: Slot,
    target: &Target,
    request: Request,
    is_repeatable: bool,
) -> Result<Response, Failure> {
    if let Some(idle) = slot.take_idle() {
        let open = Open::new(&slot, idle);
        if open.is_quiet() {
            match attempt(open, &request, true).await {
                Ok((response, connection)) => return Ok(done(slot, response, connection)),
                Err(Tried { is_stale: true, .. }) if is_repeatable => {}
                Err(tried) => return Err(tried.failure),
            }
        }
    }
    let connection = Connection::open(target, slot.is_private_allowed).await?;
    slot.opened();
    match attempt(Open::new(&slot, connection), &request, false).await {
        Ok((response, connection)) => Ok(done(slot, response, connection)),
        Err(tried) => Err(tried.failure),
    }
}

fn done(slot: Slot, response: Response, connection: Connection) -> Response {
    if response.is_reusable {
        slot.keep(connection);
    } else {
        slot.closed();
    }
    response
}

async fn attempt(mut open: Open<'_>, request: &Request, is_old: bool) -> Result<(Response, Connection), Tried> {
    let broke = |is_stale| Tried { failure: Failure::Unreachable, is_stale };
    let connection = open.connection();
    connection.write_all(&request.0).await.map_err(|_| broke(is_old))?;
    let mut incoming = Incoming::default();
    loop {
        let is_stale = is_old && incoming.is_empty();
        let count = connection.read_more(incoming.buffer()).await.map_err(|_| broke(is_stale))?;
        if count == 0 && incoming.is_empty() {
            return Err(broke(is_old));
        }
        match incoming.advance(count == 0) {
            Ok(Progress::Whole(response)) => return Ok((response, open.release())),
            Ok(Progress::Partial) => {}
            Err(failure) => return Err(Tried { failure, is_stale: false }),
        }
    }
}

/// An open connection in use: counted as closed when it is dropped, unless it is released.
struct Open<'a> {
    slot: &'a Slot,
    connection: Option<Connection>,
}

impl<'a> Open<'a> {
    fn new(slot: &'a Slot, connection: Connection) -> Self {
        Self { slot, connection: Some(connection) }
    }

    fn is_quiet(&self) -> bool {
        self.connection.as_ref().is_some_and(Connection::is_quiet)
    }

    fn connection(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a connection in use is there until it is released")
    }

    fn release(mut self) -> Connection {
        self.connection.take().expect("a connection in use is there until it is released")
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.connection.is_some() {
            self.slot.closed();
        }
    }
}
