//! One step, from its template to the meaning of its answer. Refuses to know plans and figures.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use serde_json::Value;
use tokio::time::Instant;

use super::client::{Call, Client, Failure, Reply};
use crate::limits::SAMPLE_CHARS_MAX;
use crate::record::Trouble;
use crate::scenario::{Body, Keep, Scope, Source, Step, Target};

/// What became of a step.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) sent: Instant,
    pub(crate) first_byte: Option<Instant>,
    pub(crate) done: Instant,
    pub(crate) retries: u64,
    pub(crate) outcome: Result<Answer, Failure>,
}

/// An answer that the scenario has a word for.
#[derive(Debug)]
pub(crate) enum Answer {
    /// As hoped for, with what the step keeps of it.
    Ok(Vec<(String, String)>),
    /// Refused politely.
    Denied,
}

/// Performs a step: the same bytes again, where the scenario wants that and no answer came.
pub(crate) async fn perform(client: &Client, step: &Step, headers: &HeaderMap, scope: &Scope<'_>) -> Exchange {
    let call = match prepare(step, headers, scope) {
        Ok(call) => call,
        Err(message) => {
            let now = Instant::now();
            let outcome = Err(Failure::new(Trouble::Request, message));
            return Exchange { sent: now, first_byte: None, done: now, retries: 0, outcome };
        }
    };
    let sent = Instant::now();
    let (reply, retries) = send_with_retries(client, step, &call).await;
    let done = Instant::now();
    let first_byte = reply.as_ref().ok().map(|reply| reply.first_byte);
    let outcome = reply.and_then(|reply| meaning(step, &reply));
    Exchange { sent, first_byte, done, retries, outcome }
}

async fn send_with_retries(client: &Client, step: &Step, call: &Call) -> (Result<Reply, Failure>, u64) {
    let mut retries = 0;
    loop {
        let reply = client.send(call).await;
        match (&reply, step.retry) {
            (Err(failure), Some(retry)) if failure.trouble.is_transport() && retries < retry.times => {
                retries += 1;
                tokio::time::sleep(retry.backoff).await;
            }
            _ => {
                let resent = reply.as_ref().is_ok_and(|reply| reply.resent);
                return (reply, retries + u64::from(resent));
            }
        }
    }
}

fn prepare(step: &Step, headers: &HeaderMap, scope: &Scope<'_>) -> Result<Call, String> {
    let mut headers = headers.clone();
    for (name, value) in &step.headers {
        headers.insert(name, header_value(name.as_str(), &value.render(scope)?)?);
    }
    let body = match &step.body {
        Some(Body::Text(text)) => Bytes::from(text.render(scope)?),
        Some(Body::Json(json)) => {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Bytes::from(json.render(scope)?)
        }
        None => Bytes::new(),
    };
    let path = step.path.render(scope)?;
    let path = path.parse().map_err(|_| format!("`{path}` is not a path"))?;
    Ok(Call {
        method: step.method.clone(),
        path,
        headers,
        body,
        timeout: step.timeout,
        repeatable: step.is_repeatable(),
    })
}

/// The headers of every request to the target.
pub(crate) fn target_headers(target: &Target, globals: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let scope = Scope::of_run(globals);
    let mut headers = HeaderMap::new();
    for (name, value) in &target.headers {
        headers.insert(name, header_value(name.as_str(), &value.render(&scope)?)?);
    }
    Ok(headers)
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, String> {
    let mut value =
        HeaderValue::from_str(value).map_err(|_| format!("header `{name}` would hold a control character"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn meaning(step: &Step, reply: &Reply) -> Result<Answer, Failure> {
    if step.denied.contains(&reply.status) {
        return Ok(Answer::Denied);
    }
    if !step.expect.hold(reply.status) {
        return Err(Failure::new(Trouble::Status, format!("{}: {}", reply.status, excerpt(&reply.body))));
    }
    if step.keep.is_empty() {
        return Ok(Answer::Ok(Vec::new()));
    }
    let json: Value = serde_json::from_slice(&reply.body)
        .map_err(|error| Failure::new(Trouble::Answer, format!("not JSON ({error}): {}", excerpt(&reply.body))))?;
    let kept = |Keep { name, from }: &Keep| {
        let Source::Json(pointer) = from else { return Err(Failure::new(Trouble::Answer, "no such header")) };
        let text = json.pointer(pointer).and_then(text_of);
        let missing = || Failure::new(Trouble::Answer, format!("nothing at `{pointer}`: {}", excerpt(&reply.body)));
        Ok((name.clone(), text.ok_or_else(missing)?))
    };
    Ok(Answer::Ok(step.keep.iter().map(kept).collect::<Result<_, Failure>>()?))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The beginning of a body, on one line.
pub(crate) fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SAMPLE_CHARS_MAX * 4)]);
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.as_str() {
        "" => "(empty body)".to_owned(),
        line => line.chars().take(SAMPLE_CHARS_MAX).collect(),
    }
}
