//! Further calls on the connection of a probe's first call: games keep their connections, so these take as long as a move of a game does.

use super::ProbeStep;
use crate::connection::BotConnection;
use crate::exchange::{Request, send_and_receive};
use crate::failure::CallFailure;
use crate::replies;
use crate::response::ResponseParser;
use engine::limits::HEALTH_CALL_TIMEOUT;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How further calls on one connection went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepeatedCalls {
    /// From sending to the end of the answer, of each call that was answered well.
    pub times: Vec<Duration>,
    /// Whether the bot closed the connection: a game opens a new one for each move then.
    pub is_closed: bool,
    /// What was wrong with the last call, if anything was.
    pub failure: Option<CallFailure>,
}

impl RepeatedCalls {
    /// Those of a bot that says with its first answer that it closes the connection.
    pub(super) fn closed() -> Self {
        Self { is_closed: true, ..Self::default() }
    }
}

/// Sends the request up to `count` times, as often as is answered within [`HEALTH_CALL_TIMEOUT`] in all.
pub(super) async fn repeat(
    connection: &mut BotConnection,
    request: &Request,
    step: ProbeStep,
    count: usize,
) -> RepeatedCalls {
    let mut calls = RepeatedCalls::default();
    let deadline = Instant::now() + HEALTH_CALL_TIMEOUT;
    while calls.times.len() < count && !calls.is_closed && calls.failure.is_none() {
        if !connection.is_reusable() {
            calls.is_closed = true;
            break;
        }
        let (mut incoming, begun) = (ResponseParser::default(), Instant::now());
        let answer = timeout_at(deadline, send_and_receive(connection, request, &mut incoming, || {})).await;
        match answer {
            Ok(Ok(response)) => match replies::fault(step, response.status, false, &response.body) {
                None => {
                    calls.times.push(begun.elapsed());
                    calls.is_closed = !response.is_reusable;
                }
                Some(fault) => calls.failure = Some(fault.into()),
            },
            // It was closed while the request was under way, as a connection may be that is not in use.
            Ok(Err(_)) if incoming.is_empty() => calls.is_closed = true,
            Ok(Err(failure)) => calls.failure = Some(failure),
            // What was measured until now is what there is.
            Err(_) => break,
        }
    }
    calls
}
