//! What the response to a step means: denied, expected, or neither, and the values that are kept from it. Does not know
//! how it was received.

use serde_json::Value;

use super::failure::{Failure, excerpt};
use super::framing::any_matches;
use super::json_pointer;
use crate::measurement::ErrorKind;
use crate::scenario::{KeepRule, LongPoll, SequenceCheck, Step, ValueSource};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusClass {
    Denied,
    Expected,
    Unexpected,
}

/// Classifies a status. The body of an expected response may still be a denial: [`is_denial`].
pub(crate) fn classify_status(step: &Step, status: u16) -> StatusClass {
    if step.denied.statuses.contains(&status) {
        StatusClass::Denied
    } else if step.expect.matches(status) {
        StatusClass::Expected
    } else {
        StatusClass::Unexpected
    }
}

/// Whether the body of an expected response is read.
pub(crate) fn needs_body(step: &Step) -> bool {
    let has_event = step.long_poll.as_ref().is_some_and(|long_poll| long_poll.event_time.is_some());
    let looks = !step.denied.matches.is_empty() || has_event || step.sequence_check.is_some();
    // A frame is looked at as it arrives.
    let is_request = step.request().is_some();
    is_request && (looks || step.keep.iter().any(|keep| matches!(keep.source, ValueSource::Content(_))))
}

/// Whether a response is a denial, by its status or by its body.
///
/// # Errors
/// The status is neither expected nor a denial, or the body is not JSON, where it must be read.
pub(crate) fn is_denial(step: &Step, status: u16, body: &[u8]) -> Result<bool, Failure> {
    match classify_status(step, status) {
        StatusClass::Denied => Ok(true),
        StatusClass::Unexpected => Err(Failure::new(ErrorKind::Status(status), format!("{status}: {}", excerpt(body)))),
        StatusClass::Expected => any_matches(&step.denied.matches, body),
    }
}

/// When the event in a response happened, in microseconds of Unix time; none if the response has no event.
///
/// # Errors
/// The body is not JSON, or its event has no time.
pub(crate) fn event_time_unix_us(long_poll: &LongPoll, body: &[u8]) -> Result<Option<i64>, Failure> {
    let Some(since) = &long_poll.event_time else { return Ok(None) };
    if let Some(event) = &long_poll.event_pointer
        && json_pointer::find(body, event)?.is_none_or(|value| value.is_null())
    {
        return Ok(None);
    }
    match json_pointer::find(body, since)? {
        Some(Value::Number(number)) if number.is_i64() => Ok(number.as_i64()),
        None | Some(Value::Null) if long_poll.event_pointer.is_none() => Ok(None),
        _ => Err(Failure::new(ErrorKind::Answer, format!("no microseconds at `{since}`: {}", excerpt(body)))),
    }
}

/// Checks a response against the sequence that it continues: everything up to `seen` is known, everything up to
/// `cursor` will be.
///
/// # Errors
/// The response omits an event, repeats one or goes back; or it has no such numbers.
pub(crate) fn check_sequence(follows: &SequenceCheck, seen: &str, cursor: &str, body: &[u8]) -> Result<(), Failure> {
    let number = |text: &str| {
        let wrong = || format!("`{}` is \"{text}\", no number: {}", follows.cursor, excerpt(body));
        text.parse::<u64>().map_err(|_| Failure::new(ErrorKind::Answer, wrong()))
    };
    let (seen, cursor) = (number(seen)?, number(cursor)?);
    let mut last = seen;
    if let Some((items, at)) = &follows.items {
        for item in json_pointer::find(body, items)?.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let found = item.pointer(at).and_then(Value::as_u64);
            let found = found.ok_or_else(|| Failure::new(ErrorKind::Answer, format!("an item without `{at}`")))?;
            if found != last + 1 {
                return Err(Failure::new(ErrorKind::Sequence, format!("{found} follows {last}, and {seen} was seen")));
            }
            last = found;
        }
    }
    let is_right = if follows.items.is_some() { cursor == last } else { cursor >= seen };
    match is_right {
        true => Ok(()),
        false => Err(Failure::new(ErrorKind::Sequence, format!("says {cursor} after {last}, and {seen} was seen"))),
    }
}

/// A value that a step keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptValue {
    /// The text that later steps fill in.
    pub(crate) text: String,
    /// The items, if the value is a list of started work.
    pub(crate) items: Option<Vec<String>>,
}

/// One kept value of the body.
///
/// # Errors
/// The body is not JSON, or has no such value.
pub(crate) fn keep_from_body(step: &Step, keep: &KeepRule, at: &str, body: &[u8]) -> Result<KeptValue, Failure> {
    let wrong = |message: String| Failure::new(ErrorKind::Answer, format!("{message}: {}", excerpt(body)));
    let found = json_pointer::find(body, at)?;
    let starts = step.starts_work.as_ref() == Some(&keep.name);
    match found {
        Some(Value::Array(items)) if starts => {
            let texts: Option<Vec<String>> = items.iter().cloned().map(json_pointer::scalar_text).collect();
            let texts = texts.ok_or_else(|| wrong(format!("the list at `{at}` holds other things than ids")))?;
            Ok(KeptValue { text: Value::Array(items).to_string(), items: Some(texts) })
        }
        found => {
            let text = found.and_then(json_pointer::scalar_text).ok_or_else(|| wrong(format!("nothing at `{at}`")))?;
            Ok(KeptValue { text, items: None })
        }
    }
}

/// One kept header.
///
/// # Errors
/// There is none, or it is no text.
pub(crate) fn keep_from_header<'v>(name: &str, value: Option<&'v [u8]>) -> Result<&'v str, Failure> {
    let text = value.and_then(|value| std::str::from_utf8(value).ok());
    text.ok_or_else(|| Failure::new(ErrorKind::Answer, format!("no header `{name}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follows(items: bool) -> SequenceCheck {
        let items = items.then(|| ("/events".to_owned(), "/seq".to_owned()));
        SequenceCheck { cursor: "seq".to_owned(), items }
    }

    #[track_caller]
    fn check(items: bool, seen: &str, body: &str, expected: Result<(), ErrorKind>) {
        let cursor = serde_json::from_str::<Value>(body).unwrap()["seq"].to_string();
        let found = check_sequence(&follows(items), seen, &cursor, body.as_bytes());
        assert_eq!(found.map_err(|failure| failure.kind), expected, "{body} after {seen}");
    }

    #[test]
    fn sequences() {
        check(true, "4", r#"{"seq":6,"events":[{"seq":5},{"seq":6}]}"#, Ok(()));
        check(true, "4", r#"{"seq":4,"events":[]}"#, Ok(()));
        check(true, "4", r#"{"seq":4}"#, Ok(()));
        let wrong = Err(ErrorKind::Sequence);
        // One omitted, one repeated, one kept back, a cursor that goes back.
        check(true, "4", r#"{"seq":6,"events":[{"seq":6}]}"#, wrong);
        check(true, "4", r#"{"seq":5,"events":[{"seq":4},{"seq":5}]}"#, wrong);
        check(true, "4", r#"{"seq":6,"events":[{"seq":5}]}"#, wrong);
        check(true, "4", r#"{"seq":3,"events":[]}"#, wrong);
        check(false, "4", r#"{"seq":9}"#, Ok(()));
        check(false, "4", r#"{"seq":3}"#, wrong);
        check(true, "4", r#"{"seq":5,"events":[{"n":5}]}"#, Err(ErrorKind::Answer));
        check(true, "4", r#"{"seq":"x"}"#, Err(ErrorKind::Answer));
        check(true, "", r#"{"seq":5}"#, Err(ErrorKind::Answer));
    }

    #[track_caller]
    fn check_happened(event: Option<&str>, body: &str, expected: Result<Option<i64>, ErrorKind>) {
        let long_poll = LongPoll { event_time: Some("/at".to_owned()), event_pointer: event.map(str::to_owned) };
        assert_eq!(event_time_unix_us(&long_poll, body.as_bytes()).map_err(|failure| failure.kind), expected, "{body}");
    }

    #[test]
    fn only_events_have_a_time() {
        check_happened(Some("/events/0"), r#"{"at":7,"events":[{}]}"#, Ok(Some(7)));
        check_happened(Some("/events/0"), r#"{"at":7,"events":[]}"#, Ok(None));
        check_happened(Some("/event"), r#"{"at":7,"event":null}"#, Ok(None));
        check_happened(Some("/event"), r#"{"event":1}"#, Err(ErrorKind::Answer));
        check_happened(None, r#"{"at":7}"#, Ok(Some(7)));
        check_happened(None, r#"{"at":null}"#, Ok(None));
        check_happened(None, r#"{"at":"soon"}"#, Err(ErrorKind::Answer));
        check_happened(None, "late", Err(ErrorKind::Answer));
    }
}
