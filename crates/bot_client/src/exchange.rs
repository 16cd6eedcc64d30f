//! One request and its response on one connection of a slot.

use super::connection::{BotConnection, ConnectTimes};
use super::failure::{self, CallFailure};
use super::pool::BotConnectionPermit;
use super::response::{Progress, Response, ResponseParser};
use super::signing::{CallSigner, SIGNATURE_HEADER};
use super::target::Target;
use engine::health::CallFault;
use std::io::Write;

/// A request, ready to be written.
pub(super) struct Request(Vec<u8>);

impl Request {
    pub(super) fn post(target: &Target, segment: &str, body: &[u8], signer: Option<&CallSigner>) -> Self {
        let mut bytes = Vec::with_capacity(160 + target.base_path.len() + target.authority.len() + body.len());
        let (path, host, length) = (&target.base_path, &target.authority, body.len());
        let _ = write!(
            bytes,
            "POST {path}/{segment} HTTP/1.1\r\nhost: {host}\r\nuser-agent: gauntlet\r\ncontent-type: application/json\r\n\
             accept: application/json\r\ncontent-length: {length}\r\n"
        );
        if let Some(signer) = signer {
            put_signature(&mut bytes, signer, &format!("{path}/{segment}"), body);
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        Self(bytes)
    }

    pub(super) fn get(target: &Target, signer: Option<&CallSigner>) -> Self {
        let (path, host) = (&target.base_path, &target.authority);
        let mut bytes =
            format!("GET {path}/ HTTP/1.1\r\nhost: {host}\r\nuser-agent: gauntlet\r\naccept: application/json\r\n")
                .into_bytes();
        if let Some(signer) = signer {
            put_signature(&mut bytes, signer, &format!("{path}/"), b"");
        }
        bytes.extend_from_slice(b"\r\n");
        Self(bytes)
    }
}

fn put_signature(head: &mut Vec<u8>, signer: &CallSigner, path: &str, body: &[u8]) {
    let _ = write!(head, "{SIGNATURE_HEADER}: {}\r\n", signer.keys.header_value(signer.at, path, body));
}

/// How one attempt on one connection failed.
struct AttemptError {
    failure: CallFailure,
    /// Whether a reused connection broke before any byte of the response: the peer may just have closed it.
    is_stale: bool,
}

/// Sends the request and reads its response. A stale idle connection is replaced by a new one, but only when the request may be repeated:
/// the bot may have received it.
///
/// # Errors
/// Why there is no response.
pub(super) async fn run(
    mut slot: BotConnectionPermit,
    target: &Target,
    request: Request,
    is_repeatable: bool,
) -> Result<Response, CallFailure> {
    if let Some(idle) = slot.take_idle()
        && idle.is_reusable()
    {
        match attempt(idle, &request, true).await {
            Ok((response, connection)) => return Ok(finish(slot, response, connection)),
            Err(AttemptError { is_stale: true, .. }) if is_repeatable => {}
            Err(tried) => return Err(tried.failure),
        }
    }
    let connection = slot.open(target, &mut ConnectTimes::default()).await?;
    match attempt(connection, &request, false).await {
        Ok((response, connection)) => Ok(finish(slot, response, connection)),
        Err(tried) => Err(tried.failure),
    }
}

fn finish(slot: BotConnectionPermit, response: Response, connection: BotConnection) -> Response {
    if response.is_reusable {
        slot.release(connection);
    }
    response
}

async fn attempt(
    mut connection: BotConnection,
    request: &Request,
    is_old: bool,
) -> Result<(Response, BotConnection), AttemptError> {
    let mut incoming = ResponseParser::default();
    match send_and_receive(&mut connection, request, &mut incoming, || {}).await {
        Ok(response) => Ok((response, connection)),
        Err(failure) => Err(AttemptError { is_stale: is_old && incoming.is_empty(), failure }),
    }
}

/// Sends a request on an open connection and reads the response into `incoming`; `on_arrival` runs each time that something has arrived.
pub(super) async fn send_and_receive(
    connection: &mut BotConnection,
    request: &Request,
    incoming: &mut ResponseParser,
    mut on_arrival: impl FnMut(),
) -> Result<Response, CallFailure> {
    connection.write_all(&request.0).await.map_err(|error| failure::broken_fault(&error))?;
    loop {
        let count = connection.read_more(incoming.buffer()).await.map_err(|error| failure::broken_fault(&error))?;
        if count == 0 && incoming.is_empty() {
            return Err(CallFault::Closed.into());
        }
        on_arrival();
        if let Progress::Complete(response) = incoming.advance(count == 0)? {
            return Ok(response);
        }
    }
}
