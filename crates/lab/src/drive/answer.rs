//! What the answer to a step means: denied, as hoped for, or neither, and the values that are kept of it. Refuses to
//! know how it came.

use serde_json::Value;

use super::failure::{Failure, excerpt};
use super::pointer;
use crate::record::Trouble;
use crate::scenario::{Follows, Keep, Source, Step, Waits, Word};

/// An answer in the words of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Refused politely.
    Denied,
    /// As hoped for.
    Expected,
    /// Neither.
    Unexpected,
}

/// What a status means to a step. The body of an expected one may still say no: [`says_no`].
pub(crate) fn meaning(step: &Step, status: u16) -> Meaning {
    if step.denied.statuses.contains(&status) {
        Meaning::Denied
    } else if step.expect.hold(status) {
        Meaning::Expected
    } else {
        Meaning::Unexpected
    }
}

/// The failure that an unexpected status is.
pub(crate) fn unexpected(status: u16, body: &[u8]) -> Failure {
    Failure::new(Trouble::Status(status), format!("{status}: {}", excerpt(body)))
}

/// Whether the body of an expected answer means anything.
pub(crate) fn reads_body(step: &Step) -> bool {
    let looks = step.denied.body.is_some() || step.waits.as_ref().is_some_and(|waits| waits.since.is_some());
    looks || step.follows.is_some() || step.keep.iter().any(|keep| matches!(keep.from, Source::Json(_)))
}

/// Whether the body of an answer with an expected status denies all the same.
///
/// # Errors
/// The body is not JSON, where it must be read.
pub(crate) fn says_no(step: &Step, body: &[u8]) -> Result<bool, Failure> {
    step.denied.body.as_ref().map_or(Ok(false), |word| says(word, body))
}

/// Whether a body says this.
///
/// # Errors
/// The body is not JSON.
pub(crate) fn says(word: &Word, body: &[u8]) -> Result<bool, Failure> {
    Ok(look(body, &word.at)?.as_ref() == Some(&word.is))
}

fn look(body: &[u8], pointer: &str) -> Result<Option<Value>, Failure> {
    pointer::find(body, pointer).map_err(|error| not_json(&error, body))
}

/// When what an answer tells of happened, in microseconds of Unix time; none of an answer that tells of nothing.
///
/// # Errors
/// The body is not JSON, or it tells of something without saying when that happened.
pub(crate) fn happened_us(waits: &Waits, body: &[u8]) -> Result<Option<i64>, Failure> {
    let Some(since) = &waits.since else { return Ok(None) };
    if let Some(news) = &waits.news
        && look(body, news)?.is_none_or(|value| value.is_null())
    {
        return Ok(None);
    }
    match look(body, since)? {
        Some(Value::Number(number)) if number.is_i64() => Ok(number.as_i64()),
        None | Some(Value::Null) if waits.news.is_none() => Ok(None),
        _ => Err(Failure::new(Trouble::Answer, format!("no microseconds at `{since}`: {}", excerpt(body)))),
    }
}

/// Holds an answer against the sequence that it continues: everything up to `seen` is known, everything up to `cursor`
/// will be.
///
/// # Errors
/// The answer leaves something out, says something twice or goes back; or it has no such numbers.
pub(crate) fn check_sequence(follows: &Follows, seen: &str, cursor: &str, body: &[u8]) -> Result<(), Failure> {
    let number = |text: &str| {
        let wrong = || format!("`{}` is \"{text}\", no number: {}", follows.cursor, excerpt(body));
        text.parse::<u64>().map_err(|_| Failure::new(Trouble::Answer, wrong()))
    };
    let (seen, cursor) = (number(seen)?, number(cursor)?);
    let mut last = seen;
    if let Some((items, at)) = &follows.items {
        for item in look(body, items)?.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let found = item.pointer(at).and_then(Value::as_u64);
            let found = found.ok_or_else(|| Failure::new(Trouble::Answer, format!("an item without `{at}`")))?;
            if found != last + 1 {
                return Err(Failure::new(Trouble::Sequence, format!("{found} follows {last}, and {seen} was seen")));
            }
            last = found;
        }
    }
    let is_right = if follows.items.is_some() { cursor == last } else { cursor >= seen };
    match is_right {
        true => Ok(()),
        false => Err(Failure::new(Trouble::Sequence, format!("says {cursor} after {last}, and {seen} was seen"))),
    }
}

fn not_json(error: &serde_json::Error, body: &[u8]) -> Failure {
    Failure::new(Trouble::Answer, format!("not JSON ({error}): {}", excerpt(body)))
}

/// A value that a step keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The text that later steps fill in.
    pub(crate) text: String,
    /// The items, where the value is a list of work that was started.
    pub(crate) items: Option<Vec<String>>,
}

/// One kept value of the body.
///
/// # Errors
/// The body is not JSON, or has no such value.
pub(crate) fn keep_of_body(step: &Step, keep: &Keep, at: &str, body: &[u8]) -> Result<Kept, Failure> {
    let wrong = |message: String| Failure::new(Trouble::Answer, format!("{message}: {}", excerpt(body)));
    let found = pointer::find(body, at).map_err(|error| not_json(&error, body))?;
    let starts = step.starts.as_ref() == Some(&keep.name);
    match found {
        Some(Value::Array(items)) if starts => {
            let texts: Option<Vec<String>> = items.iter().map(text_of).collect();
            let texts = texts.ok_or_else(|| wrong(format!("the list at `{at}` holds other things than ids")))?;
            Ok(Kept { text: Value::Array(items).to_string(), items: Some(texts) })
        }
        found => {
            let text = found.as_ref().and_then(text_of).ok_or_else(|| wrong(format!("nothing at `{at}`")))?;
            Ok(Kept { text, items: None })
        }
    }
}

/// One kept header.
///
/// # Errors
/// There is none, or it is no text.
pub(crate) fn keep_of_head(name: &str, value: Option<&[u8]>) -> Result<Kept, Failure> {
    let text = value.and_then(|value| std::str::from_utf8(value).ok());
    let text = text.ok_or_else(|| Failure::new(Trouble::Answer, format!("no header `{name}`")))?;
    Ok(Kept { text: text.to_owned(), items: None })
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follows(items: bool) -> Follows {
        let items = items.then(|| ("/events".to_owned(), "/seq".to_owned()));
        Follows { cursor: "seq".to_owned(), items }
    }

    #[track_caller]
    fn check(items: bool, seen: &str, body: &str, expected: Result<(), Trouble>) {
        let cursor = serde_json::from_str::<Value>(body).unwrap()["seq"].to_string();
        let found = check_sequence(&follows(items), seen, &cursor, body.as_bytes());
        assert_eq!(found.map_err(|failure| failure.trouble), expected, "{body} after {seen}");
    }

    #[test]
    fn sequences() {
        check(true, "4", r#"{"seq":6,"events":[{"seq":5},{"seq":6}]}"#, Ok(()));
        check(true, "4", r#"{"seq":4,"events":[]}"#, Ok(()));
        check(true, "4", r#"{"seq":4}"#, Ok(()));
        let wrong = Err(Trouble::Sequence);
        // One left out, one said twice, one kept back, a cursor that goes back.
        check(true, "4", r#"{"seq":6,"events":[{"seq":6}]}"#, wrong);
        check(true, "4", r#"{"seq":5,"events":[{"seq":4},{"seq":5}]}"#, wrong);
        check(true, "4", r#"{"seq":6,"events":[{"seq":5}]}"#, wrong);
        check(true, "4", r#"{"seq":3,"events":[]}"#, wrong);
        check(false, "4", r#"{"seq":9}"#, Ok(()));
        check(false, "4", r#"{"seq":3}"#, wrong);
        check(true, "4", r#"{"seq":5,"events":[{"n":5}]}"#, Err(Trouble::Answer));
        check(true, "4", r#"{"seq":"x"}"#, Err(Trouble::Answer));
        check(true, "", r#"{"seq":5}"#, Err(Trouble::Answer));
    }

    #[track_caller]
    fn check_happened(news: Option<&str>, body: &str, expected: Result<Option<i64>, Trouble>) {
        let waits = Waits { since: Some("/at".to_owned()), news: news.map(str::to_owned) };
        assert_eq!(happened_us(&waits, body.as_bytes()).map_err(|failure| failure.trouble), expected, "{body}");
    }

    #[test]
    fn only_news_happened() {
        check_happened(Some("/events/0"), r#"{"at":7,"events":[{}]}"#, Ok(Some(7)));
        check_happened(Some("/events/0"), r#"{"at":7,"events":[]}"#, Ok(None));
        check_happened(Some("/event"), r#"{"at":7,"event":null}"#, Ok(None));
        check_happened(Some("/event"), r#"{"event":1}"#, Err(Trouble::Answer));
        check_happened(None, r#"{"at":7}"#, Ok(Some(7)));
        check_happened(None, r#"{"at":null}"#, Ok(None));
        check_happened(None, r#"{"at":"soon"}"#, Err(Trouble::Answer));
        check_happened(None, "late", Err(Trouble::Answer));
    }
}
