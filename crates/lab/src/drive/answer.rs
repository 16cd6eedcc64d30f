//! What the answer to a step means: denied, as hoped for, or neither, and the values that are kept of it. Refuses to
//! know how it came.

use serde_json::Value;

use super::failure::{Failure, excerpt};
use super::pointer;
use crate::record::Trouble;
use crate::scenario::{Keep, Source, Step};

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
    Failure::new(Trouble::Status, format!("{status}: {}", excerpt(body)))
}

/// Whether the body of an expected answer means anything.
pub(crate) fn reads_body(step: &Step) -> bool {
    step.denied.body.is_some() || step.keep.iter().any(|keep| matches!(keep.from, Source::Json(_)))
}

/// Whether the body of an answer with an expected status denies all the same.
///
/// # Errors
/// The body is not JSON, where it must be read.
pub(crate) fn says_no(step: &Step, body: &[u8]) -> Result<bool, Failure> {
    let Some(word) = &step.denied.body else { return Ok(false) };
    let found = pointer::find(body, &word.at).map_err(|error| not_json(&error, body))?;
    Ok(found.as_ref() == Some(&word.is))
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
