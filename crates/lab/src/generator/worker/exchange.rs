//! One request, or one message, and its response: from the head to the classified outcome, with the values that are kept
//! from it. Knows a step and bytes; does not know connections, and neither who sent the request nor what comes after.

use std::time::Duration;

use crate::generator::Failure;
use crate::generator::decoder::{BodyCapture, ResponseBody};
use crate::generator::framing;
use crate::generator::http1;
use crate::generator::prepared::PreparedStep;
use crate::generator::response::{self, StatusClass};
use crate::measurement::{Class, ErrorKind};
use crate::scenario::{SocketTarget, ValueSource};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StepOutcome {
    Ok,
    Denied,
    Failed(Failure),
}

impl StepOutcome {
    pub(super) fn class(&self) -> Class {
        match self {
            Self::Ok => Class::Ok,
            Self::Denied => Class::Denied,
            Self::Failed(failure) => Class::Error(failure.kind),
        }
    }
}

impl From<Result<(), Failure>> for StepOutcome {
    fn from(result: Result<(), Failure>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Ok)
    }
}

/// The memory of an exchange; reused for the next one.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The status of the response; 0 before its head was received.
    pub(super) status: u16,
    /// When the head of the response was received.
    pub(super) head_at: Option<Duration>,
    /// The body of the response, or the frame that answered the message.
    pub(super) body: ResponseBody,
    /// When the event in the response of a long poll happened, in microseconds of Unix time.
    pub(super) event_unix_us: Option<i64>,
    /// Ids of work that the response has started; none before it was evaluated.
    pub(super) started_ids: Vec<String>,
    /// Whether the request was resent because its first connection had been idle too long.
    resent: bool,
    /// Why a value could not be kept from the head.
    header_failure: Option<Failure>,
}

/// What a frame means to a step that waits for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameClass {
    Answer,
    Denial,
    /// The service reports an error.
    Error,
    /// It answers nothing.
    Push,
}

/// How a request lost its connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLost {
    pub(super) kind: ErrorKind,
    /// Whether it became known while the request was sent.
    pub(super) sending: bool,
    /// Whether any byte of the request was handed to the kernel.
    pub(super) has_written: bool,
    /// Whether the connection had carried another response before.
    pub(super) is_reused: bool,
}

/// What becomes of a request whose connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    No,
    /// Nothing of it had been sent.
    Unsent,
    /// It counts as a retry.
    Retry,
}

impl Exchange {
    /// Prepares for another exchange.
    pub(super) fn start(&mut self) {
        (self.status, self.head_at, self.event_unix_us) = (0, None, None);
        (self.resent, self.header_failure) = (false, None);
        self.started_ids.clear();
        self.body.clear();
    }

    /// Takes the head of the response.
    pub(super) fn on_head(
        &mut self,
        prepared: &PreparedStep,
        kept: &mut KeptValues,
        (status, head): (u16, &[u8]),
        now: Duration,
    ) {
        (self.status, self.head_at) = (status, Some(now));
        let class = response::classify_status(&prepared.step, status);
        self.body.capture = match class {
            StatusClass::Unexpected => BodyCapture::Excerpt,
            StatusClass::Expected if prepared.needs_body => BodyCapture::Whole,
            StatusClass::Expected | StatusClass::Denied => BodyCapture::Nothing,
        };
        if class != StatusClass::Expected {
            return;
        }
        for keep in &prepared.step.keep {
            let ValueSource::Header(name) = &keep.source else { continue };
            match response::keep_from_header(name.as_str(), http1::header(head, name.as_str())) {
                Ok(text) => kept.insert(&keep.name, text),
                Err(failure) => self.header_failure = Some(failure),
            }
        }
    }

    /// The outcome of a complete response, after which bytes were received that belong to no response.
    pub(super) fn evaluate(&mut self, prepared: &PreparedStep, kept: &mut KeptValues, excess: &[u8]) -> StepOutcome {
        let outcome = match response::is_denial(&prepared.step, self.status, &self.body.bytes) {
            Ok(true) => StepOutcome::Denied,
            Ok(false) => self.read_response(prepared, kept).into(),
            Err(failure) => StepOutcome::Failed(failure),
        };
        // Empty lines are tolerated, as before a response.
        if matches!(outcome, StepOutcome::Failed(_)) || excess.iter().all(|byte| matches!(byte, b'\r' | b'\n')) {
            return outcome;
        }
        let message = format!("{} bytes behind the end of the answer", excess.len());
        StepOutcome::Failed(Failure::new(ErrorKind::ExcessBytes, message))
    }

    /// Reads a response that is neither denied nor unexpected.
    fn read_response(&mut self, prepared: &PreparedStep, kept: &mut KeptValues) -> Result<(), Failure> {
        let step = &prepared.step;
        let seen = step.sequence_check.as_ref().and_then(|check| kept.get(&check.cursor)).map(str::to_owned);
        self.keep_from_body(prepared, kept)?;
        if let (Some(check), Some(seen)) = (&step.sequence_check, seen)
            && let Some(cursor) = kept.get(&check.cursor)
        {
            response::check_sequence(check, &seen, cursor, &self.body.bytes)?;
        }
        if let Some(long_poll) = &step.long_poll {
            self.event_unix_us = response::event_time_unix_us(long_poll, &self.body.bytes)?;
        }
        Ok(())
    }

    fn keep_from_body(&mut self, prepared: &PreparedStep, kept: &mut KeptValues) -> Result<(), Failure> {
        if let Some(failure) = self.header_failure.take() {
            return Err(failure);
        }
        let mut ids = Vec::new();
        for keep in &prepared.step.keep {
            let ValueSource::Content(path) = &keep.source else { continue };
            let value = response::keep_from_body(&prepared.step, keep, &path.pointer, &self.body.bytes)?;
            kept.insert(&keep.name, &value.text);
            if prepared.step.starts_work.as_ref() == Some(&keep.name) {
                ids = value.items.unwrap_or_else(|| vec![value.text]);
            }
        }
        if let (Some(_), Some(starts)) = (prepared.work_index, &prepared.step.starts_work) {
            if ids.is_empty() {
                // The value was kept from a header.
                ids.extend(kept.get(starts).map(str::to_owned));
            }
            self.started_ids = ids;
        }
        Ok(())
    }

    /// Takes the frame that answers the message, and keeps values from it.
    pub(super) fn on_answer_frame(
        &mut self,
        prepared: &PreparedStep,
        socket: &SocketTarget,
        kept: &mut KeptValues,
        frame: &[u8],
        now: Duration,
    ) -> StepOutcome {
        self.head_at = Some(now);
        if prepared.needs_body {
            self.body.clear();
            self.body.bytes.extend_from_slice(frame);
        }
        self.keep_from_frame(prepared, socket, kept, frame).into()
    }

    fn keep_from_frame(
        &mut self,
        prepared: &PreparedStep,
        socket: &SocketTarget,
        kept: &mut KeptValues,
        frame: &[u8],
    ) -> Result<(), Failure> {
        let mut started = None;
        for keep in &prepared.step.keep {
            let ValueSource::Content(path) = &keep.source else { continue };
            let value = framing::read_text(path, &socket.format, frame)?;
            kept.insert(&keep.name, &value);
            let starts = prepared.step.starts_work.as_ref() == Some(&keep.name);
            started = started.or(starts.then_some(value));
        }
        self.started_ids.extend(started.filter(|_| prepared.work_index.is_some()));
        Ok(())
    }

    /// What becomes of the request when its connection is lost. A reused connection that the peer closed in order before the first byte of a response may have been closed before the request was
    /// sent. Then the request is resent once over a new connection, if it is idempotent, and counted. A request of which
    /// no byte was sent has not been sent at all.
    pub(super) fn on_connection_lost(&mut self, prepared: &PreparedStep, lost: ConnectionLost) -> Resend {
        let unsent = lost.sending && !lost.has_written;
        let closed = self.head_at.is_none() && lost.kind == ErrorKind::Closed && prepared.idempotent;
        // A message belongs to its connection.
        let is_message = prepared.step.message().is_some();
        if is_message || !lost.is_reused || self.resent || !(unsent || closed) {
            return Resend::No;
        }
        self.resent = true;
        if lost.has_written { Resend::Retry } else { Resend::Unsent }
    }
}

/// What a frame means; `prepared` is the step that waits for one, if any does.
///
/// # Errors
/// The frame is not of the message format.
pub(super) fn classify_frame(
    prepared: Option<&PreparedStep>,
    socket: &SocketTarget,
    frame: &[u8],
) -> Result<FrameClass, Failure> {
    if let Some(step) = prepared.map(|prepared| &prepared.step)
        && let Some(message) = step.message()
    {
        if framing::any_matches(&message.answer_matches, frame)? {
            return Ok(FrameClass::Answer);
        }
        if framing::any_matches(&step.denied.matches, frame)? {
            return Ok(FrameClass::Denial);
        }
    }
    match &socket.error_path {
        Some(error) if framing::has_value(error, frame)? => Ok(FrameClass::Error),
        _ => Ok(FrameClass::Push),
    }
}

pub(super) fn error_frame_failure(socket: &SocketTarget, frame: &[u8]) -> Failure {
    let text = framing::excerpt(&socket.format, frame);
    Failure::new(ErrorKind::Answer, format!("the service says that something is wrong: {text}"))
}

/// Values that a journey keeps. Entries of an earlier journey are overwritten, so that a steady run allocates nothing.
#[derive(Debug, Default)]
pub(super) struct KeptValues {
    values: Vec<(String, String)>,
    len: usize,
}

impl KeptValues {
    /// Replaces the value that was kept under this name.
    pub(super) fn insert(&mut self, name: &str, value: &str) {
        let known = self.values[..self.len].iter().position(|(known, _)| known == name);
        let index = known.unwrap_or(self.len);
        self.len = self.len.max(index + 1);
        if index == self.values.len() {
            self.values.push((String::new(), String::new()));
        }
        let (old_name, old_value) = &mut self.values[index];
        name.clone_into(old_name);
        value.clone_into(old_value);
    }

    pub(super) fn values(&self) -> &[(String, String)] {
        &self.values[..self.len]
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values().iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn clear(&mut self) {
        self.len = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::generator::prepared::prepare_journeys;
    use crate::scenario::{Document, Scenario};

    fn prepared(step: &str) -> PreparedStep {
        let text = format!(
            r#"
            format = 1
            name = "exchange"
            summary = "One step"
            target = {{ url = "http://127.0.0.1:1" }}
            [[phase]]
            name = "p"
            arrivals = {{ batch = 1 }}
            in_flight_max = 1
            journey = "visit"
            [[journey]]
            name = "visit"
            [[journey.step]]
            {step}
            "#
        );
        let scenario = Scenario::read(&Document::parse(&text).unwrap()).unwrap_or_else(|wrong| panic!("{wrong}"));
        prepare_journeys(&scenario, &[], &BTreeMap::new()).unwrap().0.remove(0).steps.remove(0)
    }

    const KEEPING: &str = r#"request = "GET /"
        keep = { n = "/n", tag = { header = "x-tag" } }
        denied = 429"#;

    #[track_caller]
    fn check(status: u16, body: &str, excess: &[u8], expected: (Class, &[(&str, &str)])) {
        let (prepared, mut exchange, mut kept) = (prepared(KEEPING), Exchange::default(), KeptValues::default());
        exchange.start();
        let head = b"HTTP/1.1 200 OK\r\nX-Tag: blue\r\n\r\n";
        exchange.on_head(&prepared, &mut kept, (status, head), Duration::from_secs(1));
        exchange.body.push(body.as_bytes()).unwrap();
        let outcome = exchange.evaluate(&prepared, &mut kept, excess);
        let values: Vec<_> = kept.values().iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((outcome.class(), &values[..]), expected, "{status} {body:?} {excess:?}: {outcome:?}");
    }

    #[test]
    fn responses_are_classified_and_their_values_kept() {
        let both: &[_] = &[("tag", "blue"), ("n", "7")];
        check(200, r#"{"n":7}"#, b"", (Class::Ok, both));
        check(200, r#"{"n":7}"#, b"\r\n", (Class::Ok, both));
        check(200, r#"{"n":7}"#, b"HTTP", (Class::Error(ErrorKind::ExcessBytes), both));
        check(200, "{}", b"", (Class::Error(ErrorKind::Answer), &both[..1]));
        check(200, "<html>", b"", (Class::Error(ErrorKind::Answer), &both[..1]));
        check(429, r#"{"n":7}"#, b"", (Class::Denied, &[]));
        check(429, "", b"x", (Class::Error(ErrorKind::ExcessBytes), &[]));
        check(500, r#"{"n":7}"#, b"x", (Class::Error(ErrorKind::Status(500)), &[]));
    }

    #[track_caller]
    fn check_lost(request: &str, lost: ConnectionLost, expected: Resend) {
        let (prepared, mut exchange) = (prepared(&format!("request = \"{request}\"")), Exchange::default());
        exchange.start();
        assert_eq!(exchange.on_connection_lost(&prepared, lost), expected, "{request} {lost:?}");
        // Once is enough, whatever happens to the second connection.
        assert_eq!(exchange.on_connection_lost(&prepared, lost), Resend::No);
    }

    #[test]
    fn a_request_is_resent_once_if_it_may_not_have_been_received() {
        let lost = |kind| ConnectionLost { kind, sending: false, has_written: true, is_reused: true };
        let unsent = ConnectionLost { sending: true, has_written: false, ..lost(ErrorKind::Reset) };
        check_lost("GET /", lost(ErrorKind::Closed), Resend::Retry);
        check_lost("GET /", lost(ErrorKind::Reset), Resend::No);
        check_lost("GET /", ConnectionLost { is_reused: false, ..lost(ErrorKind::Closed) }, Resend::No);
        check_lost("POST /", lost(ErrorKind::Closed), Resend::No);
        check_lost("POST /", unsent, Resend::Unsent);
        check_lost("POST /", ConnectionLost { is_reused: false, ..unsent }, Resend::No);
    }

    #[test]
    fn kept_values_are_replaced_and_their_memory_is_reused() {
        let mut kept = KeptValues::default();
        [("id", "first"), ("other", "x"), ("id", "second")].iter().for_each(|(name, value)| kept.insert(name, value));
        let second = [("id".to_owned(), "second".to_owned()), ("other".to_owned(), "x".to_owned())];
        assert_eq!((kept.values(), kept.get("id"), kept.get("none")), (&second[..], Some("second"), None));
        kept.clear();
        kept.insert("next", "y");
        assert_eq!((kept.values().len(), kept.get("id"), kept.get("next")), (1, None, Some("y")));
    }
}
