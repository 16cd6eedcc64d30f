//! Single calls of a bot in which everything is measured and what came back is kept, for its owner. Each call opens a connection of its own,
//! so that every step has a time.
//!
//! What is shown of an answer is a few headers and the beginning of the body, and only if the answer was HTTP: a probe must not read other
//! services' greetings to strangers.

pub use super::call::ProbeStep;

use super::BotClient;
use super::connection::ConnectTimes;
use super::exchange::{self, Request};
use super::failure::CallFailure;
use super::replies;
use super::response::{Response, ResponseParser};
use super::signing::CallSigner;
use super::target::Target;
use bytes::Bytes;
use engine::health::CallFault;
use engine::limits::{HEALTH_BODY_BYTES_SHOWN, HEALTH_CALL_TIMEOUT, HEALTH_HEADER_BYTES_SHOWN};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Headers that explain an answer.
const SHOWN_HEADERS: [&str; 8] = [
    "content-type",
    "content-length",
    "content-encoding",
    "transfer-encoding",
    "connection",
    "location",
    "retry-after",
    "server",
];
const HEADERS_MAX: usize = 64;

/// One call of a probe.
#[derive(Clone, Debug)]
pub struct ProbeCall {
    /// The bot's base URL.
    pub url: String,
    pub step: ProbeStep,
    /// The JSON body; empty for [`ProbeStep::Index`].
    pub body: Bytes,
    pub signer: Option<CallSigner>,
}

/// How a call of a probe went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProbeReport {
    pub connect_times: ConnectTimes,
    /// From the request to the first byte of the answer.
    pub first_byte: Option<Duration>,
    /// All of it, at most the timeout.
    pub total: Duration,
    /// What came back, as far as it was HTTP.
    pub response: Option<ProbeResponse>,
    /// What was wrong; `None`: nothing.
    pub failure: Option<CallFailure>,
}

/// A response, whole or cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeResponse {
    pub status: u16,
    /// The headers that explain it.
    pub headers: Vec<(&'static str, String)>,
    /// The beginning of its body, as text.
    pub body_start: String,
    /// Bytes of the body that were received.
    pub body_bytes: usize,
}

/// What is measured while the call is under way, so that a timeout does not lose it.
#[derive(Default)]
struct Trace {
    connect_times: ConnectTimes,
    first_byte: Option<Duration>,
    incoming: ResponseParser,
    whole: Option<Response>,
}

impl BotClient {
    /// Calls a bot on a connection of its own. Never fails: the report says what was wrong.
    pub async fn probe(&self, call: ProbeCall) -> ProbeReport {
        let unsent = |fault: CallFault| ProbeReport { failure: Some(fault.into()), ..ProbeReport::default() };
        let Some(target) = Target::parse(&call.url) else { return unsent(CallFault::NoPublicAddress) };
        let permit = timeout_at(Instant::now() + HEALTH_CALL_TIMEOUT, self.pool.acquire(&target)).await;
        let Ok(mut permit) = permit else { return unsent(CallFault::ServerFault) };
        // The connection that came with the permit is closed: there would be one more than a host may have.
        drop(permit.take_idle());
        let request = match call.step {
            ProbeStep::Index => Request::get(&target, call.signer.as_ref()),
            ProbeStep::Start | ProbeStep::Move | ProbeStep::End => {
                Request::post(&target, call.step.name(), &call.body, call.signer.as_ref())
            }
        };
        let mut trace = Trace::default();
        let stalled_before = self.metrics.process.stalled();
        let begun = Instant::now();
        let run = async {
            let mut connection = permit.open(&target, &mut trace.connect_times).await?;
            let sent = Instant::now();
            let first_byte = &mut trace.first_byte;
            let on_arrival = || {
                first_byte.get_or_insert_with(|| sent.elapsed());
            };
            let (incoming, whole) = (&mut trace.incoming, &mut trace.whole);
            *whole = Some(exchange::send_and_receive(&mut connection, &request, incoming, on_arrival).await?);
            Ok(())
        };
        let ended = timeout_at(begun + HEALTH_CALL_TIMEOUT, run).await;
        let took = begun.elapsed();
        let failure: Option<CallFailure> = match ended {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure),
            // How long a name took that leads nowhere says something about the server's network: nothing is said.
            Err(_) if trace.connect_times.resolve.is_none() => Some(CallFault::NoPublicAddress.into()),
            Err(_) if self.was_stalled(took, HEALTH_CALL_TIMEOUT, stalled_before) => {
                Some(CallFault::ServerFault.into())
            }
            Err(_) => Some(CallFault::TooLate.into()),
        };
        let is_refused = failure.as_ref().is_some_and(|failure| failure.fault == CallFault::NoPublicAddress);
        let total = if is_refused { Duration::ZERO } else { took.min(HEALTH_CALL_TIMEOUT) };
        report(call.step, &trace, total, failure)
    }
}

fn report(step: ProbeStep, trace: &Trace, total: Duration, failure: Option<CallFailure>) -> ProbeReport {
    let response = response_of(trace);
    let judge = || {
        let (whole, shown) = (trace.whole.as_ref()?, response.as_ref()?);
        let mut types = shown.headers.iter().filter(|(name, _)| *name == "content-type");
        let is_html = types.any(|(_, value)| value.to_ascii_lowercase().contains("html"));
        replies::fault(step, whole.status, is_html, &whole.body).map(CallFailure::from)
    };
    let failure = failure.or_else(judge);
    ProbeReport { connect_times: trace.connect_times, first_byte: trace.first_byte, total, response, failure }
}

/// What came back, if its head is complete.
fn response_of(trace: &Trace) -> Option<ProbeResponse> {
    let status = trace.incoming.status()?;
    let (received, parsed) = trace.incoming.received();
    let cut_off = received.get(parsed..).unwrap_or_default();
    let body = trace.whole.as_ref().map_or(cut_off, |whole| &whole.body);
    let shown = &body[..body.len().min(HEALTH_BODY_BYTES_SHOWN)];
    Some(ProbeResponse {
        status,
        headers: shown_headers(received, status),
        body_start: text(shown),
        body_bytes: body.len(),
    })
}

/// The headers of the response with this status; interim responses may stand before it.
fn shown_headers(mut received: &[u8], status: u16) -> Vec<(&'static str, String)> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut headers);
        let Ok(httparse::Status::Complete(length)) = response.parse(received) else { return Vec::new() };
        if response.code != Some(status) {
            received = &received[length..];
            continue;
        }
        let shown = response.headers.iter().filter_map(|header| {
            let name = SHOWN_HEADERS.into_iter().find(|name| name.eq_ignore_ascii_case(header.name))?;
            Some((name, text(&header.value[..header.value.len().min(HEALTH_HEADER_BYTES_SHOWN)])))
        });
        return shown.collect();
    }
}

/// Bytes of a stranger as text that can be shown anywhere: what is no text, and what controls a terminal, is replaced.
fn text(bytes: &[u8]) -> String {
    let shown = |char: char| if char.is_control() && !matches!(char, '\n' | '\r' | '\t') { '\u{fffd}' } else { char };
    String::from_utf8_lossy(bytes).chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_that_explain_are_shown_and_nothing_controls_a_terminal() {
        let bytes = b"HTTP/1.1 103 Early Hints\r\nServer: hint\r\n\r\nHTTP/1.1 200 OK\r\nSERVER: a\x1b[2J\r\nSet-Cookie: x\r\n\r\n";
        let headers = shown_headers(bytes, 200);
        // A control character in a header is not HTTP.
        assert_eq!(headers, []);
        let bytes = b"HTTP/1.1 103 Early Hints\r\nServer: hint\r\n\r\nHTTP/1.1 200 OK\r\nSERVER: nginx\r\nSet-Cookie: x\r\n\r\n";
        assert_eq!(shown_headers(bytes, 200), [("server", "nginx".to_owned())]);
        assert_eq!(text(b"a\x1b[2J\xffb\n"), "a\u{fffd}[2J\u{fffd}b\n");
    }
}
