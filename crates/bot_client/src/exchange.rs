//! One request and its response on one connection of a slot.

use super::connection::BotConnection;
use super::pool::BotConnectionPermit;
use super::response::{Progress, Response, ResponseParser};
use super::target::Target;
use engine::matches::entry::AnswerClass;
use std::io::Write;

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

/// How one attempt on one connection failed.
struct AttemptError {
    class: AnswerClass,
    /// Whether a reused connection broke before any byte of the response: the peer may just have closed it.
    is_stale: bool,
}

/// Sends the request and reads its response. A stale idle connection is replaced by a new one, but only when the request may be repeated:
/// the bot may have received it.
///
/// # Errors
/// The class of answer that a missing response counts as.
pub(super) async fn run(
    mut slot: BotConnectionPermit,
    target: &Target,
    request: Request,
    is_repeatable: bool,
) -> Result<Response, AnswerClass> {
    if let Some(idle) = slot.take_idle()
        && idle.is_reusable()
    {
        match attempt(idle, &request, true).await {
            Ok((response, connection)) => return Ok(finish(slot, response, connection)),
            Err(AttemptError { is_stale: true, .. }) if is_repeatable => {}
            Err(tried) => return Err(tried.class),
        }
    }
    let connection = slot.open(target).await?;
    match attempt(connection, &request, false).await {
        Ok((response, connection)) => Ok(finish(slot, response, connection)),
        Err(tried) => Err(tried.class),
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
    let broke = |is_stale| AttemptError { class: AnswerClass::Unreachable, is_stale };
    connection.write_all(&request.0).await.map_err(|_| broke(is_old))?;
    let mut incoming = ResponseParser::default();
    loop {
        let is_stale = is_old && incoming.is_empty();
        let count = connection.read_more(incoming.buffer()).await.map_err(|_| broke(is_stale))?;
        if count == 0 && incoming.is_empty() {
            return Err(broke(is_old));
        }
        match incoming.advance(count == 0) {
            Ok(Progress::Complete(response)) => return Ok((response, connection)),
            Ok(Progress::Partial) => {}
            Err(class) => return Err(AttemptError { class, is_stale: false }),
        }
    }
}
