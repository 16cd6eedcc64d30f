//! `POST /api/limits/check`: whether a key may take so many units now; and the same for many checks at once.

use super::full_response;
use crate::extract::{parse, refuse_unknown_query, require_json};
use crate::problem::{ApiError, ApiResult};
use crate::response_body::ResponseBody;
use bytes::Bytes;
use engine::limits::{LIMIT_CHECKS_MAX, LIMIT_CLASS_BYTES_MAX, LIMIT_KEY_BYTES_MAX};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use limiter::{CheckResult, Decision, Hit, Moment, Outcome, PolicyDecision};
use metrics::OWN_CLASS_PREFIX;
use rate_limit::RateLimiter;
use rate_limit::headers::{RateLimitHeaders, retry_after_s};
use rate_limit::rules::window_ms;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::yield_now;
use wire::api::{LimitAllowed, LimitBatchAnswer, LimitBatchItem, LimitCheck, LimitCheckBatch, LimitPart, LimitProblem};
use wire::problem::PROBLEM_JSON;

/// Policies in one response: a thousand checks under a thousand policies would be a million decisions.
const POLICIES_SHOWN_MAX: usize = 16;
/// Time after which a batch yields its thread: a thousand checks under a thousand policies take longer than other requests should wait.
/// One check is decided and encoded without a pause, whatever time that takes.
pub(super) const YIELD_AFTER: Duration = Duration::from_millis(1);
const JSON: &str = "application/json";
const NS_PER_MS: u64 = 1_000_000;
/// Only the route's documentation: [`super::LimiterHandler`] answers it.
#[utoipa::path(post, path = "/api/limits/check", tag = "limits", request_body = LimitCheck,
    summary = "Check whether a key may take so many units now",
    description = "Open to every client that reaches the port, where `limiter.service` is on; with `limiter.http_token`, to clients that send it as `Authorization: Bearer`. All policies that match decide together: a \
        denial by one charges none. Counts are per process.",
    responses(
        (status = 200, description = "Allowed. The headers `RateLimit-Policy` and `RateLimit` say what remains.", body = LimitAllowed),
        (status = 422, description = "It costs more than any window holds, or the body has another shape."),
        (status = 429, description = "Denied now (`rate_limited`: `Retry-After` says when to try again), or there is no room to count one more key (`limiter_full`).", body = LimitProblem, content_type = "application/problem+json"),
    ))]
#[expect(dead_code, reason = "documented here, answered by LimiterHandler")]
pub(super) fn check_one() {}

/// Only the route's documentation: [`super::LimiterHandler`] answers it.
#[utoipa::path(post, path = "/api/limits/check/batch", tag = "limits", request_body = LimitCheckBatch,
    summary = "Check many at once",
    description = "Each is decided alone, in order. Open to every client that reaches the port, where `limiter.service` is on; with `limiter.http_token`, to clients that send it as `Authorization: Bearer`.",
    responses((status = 200, description = "A result for each.", body = LimitBatchAnswer)))]
#[expect(dead_code, reason = "documented here, answered by LimiterHandler")]
pub(super) fn check_many() {}

/// Validates a request before its body is read.
pub(super) fn validate_head(parts: &Parts) -> ApiResult<()> {
    if parts.method != Method::POST {
        return Err(ApiError::MethodNotAllowed);
    }
    refuse_unknown_query(&parts.uri, &[])?;
    require_json(&parts.headers)
}

/// Decides one check.
pub(super) fn check_one_body(limits: &RateLimiter, body: &[u8]) -> ApiResult<Response<ResponseBody>> {
    let check: LimitCheck<'_> = parse(body)?;
    find_invalid_member(&check).map_or(Ok(()), |(member, why)| Err(ApiError::bad_value(format!("/{member}"), why)))?;
    let result = decide(limits, &check);
    let now = limits.now();
    let mut response = check_response(&result, now, limits.is_shadow());
    RateLimitHeaders::of(&result, now).write_to(response.headers_mut());
    Ok(response)
}

/// Decides many checks, each alone and in order. A client that disconnects before the end was charged for those that were decided till then.
pub(super) async fn check_many_bodies(
    limits: Arc<RateLimiter>,
    body: Bytes,
    turn_max: Duration,
) -> ApiResult<Response<ResponseBody>> {
    let checks = parse::<LimitCheckBatch<'_>>(&body)?.checks;
    if !(1..=LIMIT_CHECKS_MAX).contains(&checks.len()) {
        let why = format!("{} checks: expected 1 to {LIMIT_CHECKS_MAX}", checks.len());
        return Err(ApiError::bad_value("/checks", why));
    }
    // As a `LimitBatchAnswer` would be encoded. Each item is encoded at once: its result can be as long as there are policies.
    let mut text = br#"{"items":["#.to_vec();
    let mut turn = Instant::now();
    for (at, check) in checks.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        write_item(&limits, check, &mut text);
        if turn.elapsed() >= turn_max {
            yield_now().await;
            turn = Instant::now();
        }
    }
    text.extend_from_slice(b"]}");
    Ok(full_response(StatusCode::OK, JSON, text))
}

/// Decides one check of many, and encodes its result.
fn write_item(limits: &RateLimiter, check: &LimitCheck<'_>, text: &mut Vec<u8>) {
    let result = match find_invalid_member(check) {
        Some((member, why)) => Err(format!("{member}: {why}")),
        None => Ok(decide(limits, check)),
    };
    let item = batch_item(&result, limits.now(), limits.is_shadow());
    serde_json::to_writer(text, &item).expect("an answer holds only text and numbers");
}

/// What is wrong with a check: the member, and why.
fn find_invalid_member(check: &LimitCheck<'_>) -> Option<(&'static str, String)> {
    let (key, class) = (check.key.len(), check.class.len());
    if !(1..=LIMIT_KEY_BYTES_MAX).contains(&key) {
        return Some(("key", format!("the key has {key} bytes: expected 1 to {LIMIT_KEY_BYTES_MAX}")));
    }
    if !(1..=LIMIT_CLASS_BYTES_MAX).contains(&class) {
        return Some(("class", format!("the class has {class} bytes: expected 1 to {LIMIT_CLASS_BYTES_MAX}")));
    }
    if check.class.starts_with(OWN_CLASS_PREFIX) {
        let why = format!("classes that begin with {OWN_CLASS_PREFIX} are this server's own: expected another one");
        return Some(("class", why));
    }
    (check.cost == 0).then(|| ("cost", "the cost is 0: expected at least 1 unit".to_owned()))
}

fn decide(limits: &RateLimiter, check: &LimitCheck<'_>) -> CheckResult {
    limits.check(&[Hit { class: &check.class, key: check.key.as_bytes(), cost: check.cost }])
}

fn check_response(result: &CheckResult, now: Moment, is_shadow: bool) -> Response<ResponseBody> {
    let policies = policy_views(result, now, is_shadow);
    let Some((status, code, detail)) = refusal(&result.outcome) else {
        let allowed = LimitAllowed { allowed: true, remaining: remaining_min(result), policies };
        return full_response(StatusCode::OK, JSON, json(&allowed));
    };
    let problem = LimitProblem {
        status: status.as_u16(),
        title: status.canonical_reason().unwrap_or_default(),
        code,
        detail,
        allowed: false,
        retry_after_ms: retry_after_ms(&result.outcome, now),
        policies,
    };
    full_response(status, PROBLEM_JSON, json(&problem))
}

fn batch_item<'a>(result: &'a Result<CheckResult, String>, now: Moment, is_shadow: bool) -> LimitBatchItem<'a> {
    let result = match result {
        Ok(result) => result,
        Err(why) => {
            return LimitBatchItem { code: Some("bad_value"), detail: Some(why), ..LimitBatchItem::default() };
        }
    };
    let refusal = refusal(&result.outcome);
    LimitBatchItem {
        allowed: refusal.is_none(),
        code: refusal.map(|(_, code, _)| code),
        detail: None,
        remaining: refusal.is_none().then(|| remaining_min(result)).flatten(),
        retry_after_ms: retry_after_ms(&result.outcome, now),
        policies: policy_views(result, now, is_shadow),
    }
}

/// Status, code and text of a denial.
fn refusal(outcome: &Outcome) -> Option<(StatusCode, &'static str, &'static str)> {
    match outcome {
        Outcome::Allowed => None,
        Outcome::NotUntil(_) => Some((
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "this key has used what its policies allow: try again when Retry-After has passed",
        )),
        Outcome::Full => Some((
            StatusCode::TOO_MANY_REQUESTS,
            "limiter_full",
            "there is no room to count this: try again later, or raise limiter.keys_max (limiter.timestamps_max for exact logs)",
        )),
        Outcome::Never => Some((
            StatusCode::UNPROCESSABLE_ENTITY,
            "cost_exceeds_limit",
            "the cost is more than a policy's window ever holds: ask for less at a time",
        )),
    }
}

fn retry_after_ms(outcome: &Outcome, now: Moment) -> Option<u64> {
    match outcome {
        Outcome::NotUntil(at) => Some(ms_until(*at, now)),
        other => retry_after_s(other, now).map(|seconds| seconds * 1_000),
    }
}

fn ms_until(at: Moment, now: Moment) -> u64 {
    at.0.saturating_sub(now.0).div_ceil(NS_PER_MS)
}

/// The least of what is left under the policies that are enforced.
fn remaining_min(result: &CheckResult) -> Option<u64> {
    let left = |part: &PolicyDecision| match part.decision {
        Decision::Allow { remaining, .. } => remaining,
        Decision::NotUntil { .. } | Decision::Never | Decision::Full => 0,
    };
    result.decisions.iter().filter(|part| !part.policy.is_shadow).map(left).min()
}

/// The decision of each policy, denials first.
fn policy_views(result: &CheckResult, now: Moment, is_shadow: bool) -> Vec<LimitPart<'_>> {
    let mut parts: Vec<&PolicyDecision> = result.decisions.iter().collect();
    parts.sort_by_key(|part| part.decision.is_allowed() || part.policy.is_shadow);
    parts.into_iter().take(POLICIES_SHOWN_MAX).map(|part| policy_view(part, now, is_shadow)).collect()
}

fn policy_view(part: &PolicyDecision, now: Moment, is_shadow: bool) -> LimitPart<'_> {
    let (remaining, retry_after_ms) = match part.decision {
        Decision::Allow { remaining, .. } => (Some(remaining), None),
        Decision::NotUntil { at } => (None, Some(ms_until(at, now))),
        Decision::Never | Decision::Full => (None, None),
    };
    LimitPart {
        name: &part.policy.name,
        limit: part.quota.limit(),
        window_ms: window_ms(part.quota),
        remaining,
        retry_after_ms,
        shadow: is_shadow || part.policy.is_shadow,
    }
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("an answer holds only text and numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use limiter::{Capacity, Seed};
    use metrics::Metrics;
    use rate_limit::LimitClock;
    use rate_limit::RateLimitConfig;
    use rate_limit::rules::{LimitRuleSet, StoredRules, parse_policies};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    const BURST: &str = "[[policy]]\nname = \"burst\"\nalgorithm = \"log\"\nlimit = 3\nwindow = \"60s\"\n";

    /// How often a batch of these checks yielded, and its answer.
    fn run_batch(checks: &serde_json::Value, turn_max: Duration) -> (usize, serde_json::Value) {
        let (metrics, capacity) = (Arc::new(Metrics::default()), Capacity { keys_max: 10_000, timestamps_max: 10_000 });
        let config = RateLimitConfig { capacity, is_shadow: false, new_seed: || Seed::new([7; 32]) };
        let limits = RateLimiter::with_clock(config, metrics, LimitClock::manual());
        limits
            .replace_rules(LimitRuleSet {
                file: parse_policies(BURST, limits.timestamps_max()).unwrap(),
                stored: StoredRules::default(),
            })
            .unwrap();
        let body = serde_json::json!({ "checks": checks }).to_string();
        let mut batch = pin!(check_many_bodies(Arc::new(limits), body.into(), turn_max));
        let mut context = Context::from_waker(Waker::noop());
        let mut turns = 0;
        let answer = loop {
            match batch.as_mut().poll(&mut context) {
                Poll::Ready(answer) => {
                    break answer.map_or_else(IntoResponse::into_response, |answer| answer.map(axum::body::Body::new));
                }
                Poll::Pending => turns += 1,
            }
        };
        let read = futures_util::FutureExt::now_or_never(answer.into_body().collect()).unwrap().unwrap();
        (turns, serde_json::from_slice(&read.to_bytes()).unwrap())
    }

    #[test]
    fn a_batch_yields_between_checks_with_the_same_results() {
        let checks: Vec<_> =
            (0..1_000).map(|n| serde_json::json!({"key": format!("k{}", n % 250), "cost": n % 3})).collect();
        let checks = serde_json::Value::from(checks);
        let (turns, answer) = run_batch(&checks, Duration::ZERO);
        assert_eq!(turns, 1_000);
        let (turns, at_once) = run_batch(&checks, Duration::MAX);
        assert_eq!((turns, &at_once), (0, &answer));
        let items = answer["items"].as_array().unwrap();
        let count = |allowed| items.iter().filter(|item| item["allowed"] == allowed).count();
        assert_eq!(items.len(), 1_000);
        // A cost of 0 is refused; of the others, 3 units a key are allowed.
        assert!(count(true) > 250 && count(false) > 334, "{} and {}", count(true), count(false));
    }
}
