//! Single calls of a bot in which everything is measured and what came back is kept, for its owner. Each call opens a connection of its own,
//! so that every step has a time; it may be repeated on that connection.
//!
//! What is shown of an answer is a few headers and the beginning of the body, and only if the answer was HTTP: a probe must not read other
//! services' greetings to strangers.

mod repeat;

pub use super::call::ProbeStep;
pub use repeat::RepeatedCalls;

use super::BotClient;
use super::clock::CallClock;
use super::connection::ConnectTimes;
use super::exchange::{self, CallRoute, OpenedConnection, Request};
use super::failure::CallFailure;
use super::gate::{self, CallSubject, Ending, Purpose};
use super::replies;
use super::response::{Response, ResponseParser};
use super::signing::CallSigner;
use super::target::Target;
use bytes::Bytes;
use engine::health::CallFault;
use engine::ids::AccountId;
use engine::limits::{HEALTH_BODY_BYTES_SHOWN, HEALTH_CALL_TIMEOUT, HEALTH_HEADER_BYTES_SHOWN};
use engine::printable::is_unprintable;
use std::time::Duration;
use tokio::time::Instant;

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
    /// The account on whose behalf it is made.
    pub account: AccountId,
    /// How often it is sent again on the same connection after a good answer.
    pub repeats: usize,
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
    /// How the repetitions went; `None` if there were none.
    pub repeated: Option<RepeatedCalls>,
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
        let request = match call.step {
            ProbeStep::Index => Request::get(&target, call.signer.as_ref()),
            ProbeStep::Start | ProbeStep::Move | ProbeStep::End => {
                Request::post(&target, call.step.name(), &call.body, call.signer.as_ref(), None)
            }
        };
        let subject = CallSubject { target: &target, account: call.account, purpose: Purpose::Probe };
        let permit_wait_max = Some(HEALTH_CALL_TIMEOUT);
        let route = CallRoute { subject, give_up_at: gate::give_up_at(Instant::now()), permit_wait_max };
        let mut trace = Trace::default();
        let mut clock = CallClock::start(&self.metrics, HEALTH_CALL_TIMEOUT);
        let ended = self.run_probe(&route, &request, &mut clock, &mut trace).await;
        let took = clock.elapsed();
        let (opened, failure): (_, Option<CallFailure>) = match ended {
            // The permit is held until the repetitions have ended.
            Ok(OpenedConnection { connection, permit, admission, .. }) => {
                admission.settle(ending_of(call.step, &trace));
                (Some((connection, permit)), None)
            }
            Err(failure) if !failure.is_timeout() => (None, Some(failure)),
            // How long a name took that leads nowhere says something about the server's network: nothing is said.
            Err(_) if trace.connect_times.resolve.is_none() => (None, Some(CallFault::NoPublicAddress.into())),
            Err(failure) => (None, Some(failure)),
        };
        let is_refused = failure.as_ref().is_some_and(|failure| failure.fault == CallFault::NoPublicAddress);
        let total = if is_refused { Duration::ZERO } else { took };
        let mut report = report(call.step, &trace, total, failure);
        if report.failure.is_none() && call.repeats > 0 {
            let is_kept = trace.whole.as_ref().is_some_and(|whole| whole.is_reusable);
            report.repeated = Some(match opened.filter(|_| is_kept) {
                Some((mut connection, _permit)) => {
                    repeat::repeat(&mut connection, &request, call.step, call.repeats).await
                }
                None => RepeatedCalls::closed(),
            });
        }
        report
    }

    async fn run_probe(
        &self,
        route: &CallRoute<'_>,
        request: &Request,
        clock: &mut CallClock<'_>,
        trace: &mut Trace,
    ) -> Result<OpenedConnection, CallFailure> {
        let mut opened = self.open(route, clock, &mut trace.connect_times, false).await?;
        let sent = Instant::now();
        let first_byte = &mut trace.first_byte;
        let on_arrival = || {
            first_byte.get_or_insert_with(|| sent.elapsed());
        };
        let receive = exchange::send_and_receive(&mut opened.connection, request, &mut trace.incoming, on_arrival);
        match clock.run(receive).await.map_err(CallFailure::from).flatten() {
            Ok(response) => {
                trace.whole = Some(response);
                Ok(opened)
            }
            Err(failure) => {
                exchange::settle_failure(opened.admission, &failure);
                Err(failure)
            }
        }
    }
}

/// What a whole response is worth for the bot's standing.
fn ending_of(step: ProbeStep, trace: &Trace) -> Ending {
    let has_move = |response: &Response| replies::classify_move(&response.body).1.is_some();
    match &trace.whole {
        Some(response) if response.status != 200 => Ending::Failed,
        Some(response) if step == ProbeStep::Move && has_move(response) => Ending::ValidMove,
        Some(_) if step != ProbeStep::Move => Ending::Neutral,
        Some(_) | None => Ending::Failed,
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
    let (connect_times, first_byte) = (trace.connect_times, trace.first_byte);
    ProbeReport { connect_times, first_byte, total, response, failure, repeated: None }
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

/// Bytes of a stranger as text that can be shown anywhere: what is no text, and what controls a terminal or the direction of text, is replaced.
fn text(bytes: &[u8]) -> String {
    let shown = |char: char| match char {
        '\n' | '\r' | '\t' => char,
        _ if is_unprintable(char) => char::REPLACEMENT_CHARACTER,
        _ => char,
    };
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
        assert_eq!(text("a\u{202e}gnp.exe\t\u{2066}".as_bytes()), "a\u{fffd}gnp.exe\t\u{fffd}");
    }
}
