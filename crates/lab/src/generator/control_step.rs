//! One step over the control client, from its template to the classified response: the requests of the setup. Does not
//! know plans and figures.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};

use super::Failure;
use super::control_client::{ControlClient, ControlRequest, ControlResponse};
use super::response;
use crate::measurement::ErrorKind;
use crate::scenario::{Body, Scope, Step, Target, ValueSource};

#[derive(Debug)]
pub(crate) enum ControlOutcome {
    /// The expected response, with the values that the step keeps.
    Ok(Vec<(String, String)>),
    Denied,
}

/// Performs a step; resends the same bytes if the scenario retries and no response was received.
///
/// # Errors
/// No response was received, or an unexpected one.
pub(crate) async fn perform_step(
    client: &ControlClient,
    step: &Step,
    headers: &HeaderMap,
    scope: &Scope<'_>,
) -> Result<ControlOutcome, Failure> {
    let request = build_request(step, headers, scope).map_err(|message| Failure::new(ErrorKind::Request, message))?;
    let mut retries = 0;
    loop {
        let reply = client.send(&request).await;
        let status = reply.as_ref().map_or(0, |reply| reply.status);
        let result = reply.and_then(|reply| evaluate_response(step, &reply));
        match (result, &step.retry) {
            (Err(failure), Some(retry)) if retry.applies(failure.kind, status) && retries < retry.times => {
                retries += 1;
                tokio::time::sleep(retry.backoff).await;
            }
            (result, _) => return result,
        }
    }
}

fn build_request(step: &Step, headers: &HeaderMap, scope: &Scope<'_>) -> Result<ControlRequest, String> {
    let request = step.request().ok_or("the control client sends requests alone")?;
    let mut headers = headers.clone();
    for (name, value) in &request.headers {
        headers.insert(name, header_value(name.as_str(), &value.render(scope)?)?);
    }
    let body = match &request.body {
        Some(Body::Text(text)) => Bytes::from(text.render(scope)?),
        Some(Body::Json(json)) => {
            headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
            Bytes::from(json.render(scope)?)
        }
        None => Bytes::new(),
    };
    let path = request.path.render(scope)?;
    let path = path.parse().map_err(|_| format!("`{path}` is not a path"))?;
    Ok(ControlRequest {
        method: request.method.clone(),
        path,
        headers,
        body,
        timeout: step.timeout,
        idempotent: step.is_idempotent(),
    })
}

/// The headers of every request to the target.
///
/// # Errors
/// A name has no value, or one that cannot stand in a header.
pub(crate) fn target_headers(target: &Target, globals: &BTreeMap<String, String>) -> Result<HeaderMap, String> {
    let scope = Scope::for_run(globals);
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

fn evaluate_response(step: &Step, reply: &ControlResponse) -> Result<ControlOutcome, Failure> {
    if response::is_denial(step, reply.status, &reply.body)? {
        return Ok(ControlOutcome::Denied);
    }
    let mut values = Vec::with_capacity(step.keep.len());
    for keep in &step.keep {
        let text = match &keep.source {
            ValueSource::Content(path) => response::keep_from_body(step, keep, &path.pointer, &reply.body)?.text,
            ValueSource::Header(name) => {
                let value = reply.headers.get(name).map(HeaderValue::as_bytes);
                response::keep_from_header(name.as_str(), value)?.to_owned()
            }
        };
        values.push((keep.name.clone(), text));
    }
    Ok(ControlOutcome::Ok(values))
}
