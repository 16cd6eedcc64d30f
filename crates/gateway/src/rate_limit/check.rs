//! `POST /api/limits/check`: may this key do so much now? And the same for many keys at once.

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
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::yield_now;
use wire::api::{LimitAllowed, LimitBatchAnswer, LimitBatchItem, LimitCheck, LimitCheckBatch, LimitPart, LimitProblem};
use wire::problem::{PROBLEM_JSON, Problem};

/// Policies of one answer: a thousand questions under a thousand policies would be a million answers.
const POLICIES_SHOWN_MAX: usize = 16;
/// Time after which a batch lets others have its thread: a thousand questions to a thousand policies take longer than anybody
/// should wait behind them. A question is judged and its answer written in one go, whatever time that takes.
pub(super) const YIELD_AFTER: Duration = Duration::from_millis(1);
const JSON: &str = "application/json";
const NS_PER_MS: u64 = 1_000_000;
/// The route's documentation is all that this stands for: the desk answers it.
#[utoipa::path(post, path = "/api/limits/check", tag = "limits", request_body = LimitCheck,
    summary = "Ask whether a key may do so much now",
    description = "Open to whoever reaches the port, where `limiter.service` is on; with `limiter.http_token`, to whoever brings that as `Authorization: Bearer`. All policies that match are asked together: a \
        denial by one charges none. Counts are this process's own.",
    responses(
        (status = 200, description = "It may. The headers `RateLimit-Policy` and `RateLimit` say what is left.", body = LimitAllowed),
        (status = 422, description = "It costs more than any window holds, or the body has another shape.", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "Not now (`rate_limited`: `Retry-After` says when), or there is no room to count one more key (`limiter_full`).", body = LimitProblem, content_type = "application/problem+json"),
    ))]
#[expect(dead_code, reason = "documented here, answered by the desk")]
pub(super) fn check_one() {}

/// The route's documentation is all that this stands for: the desk answers it.
#[utoipa::path(post, path = "/api/limits/check/batch", tag = "limits", request_body = LimitCheckBatch,
    summary = "Ask many questions at once",
    description = "Each is judged alone, in order. Open to whoever reaches the port, where `limiter.service` is on; with `limiter.http_token`, to whoever brings that as `Authorization: Bearer`.",
    responses((status = 200, description = "An answer to each.", body = LimitBatchAnswer)))]
#[expect(dead_code, reason = "documented here, answered by the desk")]
pub(super) fn check_many() {}

/// What is wrong with a request before its body is read.
pub(super) fn validate_head(parts: &Parts) -> ApiResult<()> {
    if parts.method != Method::POST {
        return Err(ApiError::MethodNotAllowed);
    }
    refuse_unknown_query(&parts.uri, &[])?;
    require_json(&parts.headers)
}

/// One question.
pub(super) fn check_one_body(limits: &RateLimiter, body: &[u8]) -> ApiResult<Response<ResponseBody>> {
    let question: LimitCheck<'_> = parse(body)?;
    find_invalid_member(&question)
        .map_or(Ok(()), |(member, why)| Err(ApiError::bad_value(format!("/{member}"), why)))?;
    let ruling = decide(limits, &question);
    let now = limits.now();
    let mut response = check_response(&ruling, now, limits.is_shadow());
    RateLimitHeaders::of(&ruling, now).write_to(response.headers_mut());
    Ok(response)
}

/// Many questions, each judged alone and in order. Whoever leaves before the end has asked those that were judged till then.
pub(super) async fn check_many_bodies(
    limits: Arc<RateLimiter>,
    body: Bytes,
    turn_max: Duration,
) -> ApiResult<Response<ResponseBody>> {
    let questions = parse::<LimitCheckBatch<'_>>(&body)?.checks;
    if !(1..=LIMIT_CHECKS_MAX).contains(&questions.len()) {
        let why = format!("{} checks: expected 1 to {LIMIT_CHECKS_MAX}", questions.len());
        return Err(ApiError::bad_value("/checks", why));
    }
    // As a `LimitBatchAnswer` would be written. What is judged is written at once: its ruling can be as long as the policies are
    // many, and is not kept.
    let mut text = br#"{"items":["#.to_vec();
    let mut turn = Instant::now();
    for (place, question) in questions.iter().enumerate() {
        if place > 0 {
            text.push(b',');
        }
        write_item(&limits, question, &mut text);
        if turn.elapsed() >= turn_max {
            yield_now().await;
            turn = Instant::now();
        }
    }
    text.extend_from_slice(b"]}");
    Ok(full_response(StatusCode::OK, JSON, text))
}

/// Judges one question of many, and writes the answer down.
fn write_item(limits: &RateLimiter, question: &LimitCheck<'_>, text: &mut Vec<u8>) {
    let ruling = match find_invalid_member(question) {
        Some((member, why)) => Err(format!("{member}: {why}")),
        None => Ok(decide(limits, question)),
    };
    let item = batch_item(&ruling, limits.now(), limits.is_shadow());
    serde_json::to_writer(text, &item).expect("an answer holds only text and numbers");
}

/// What is wrong with a question: the member, and why.
fn find_invalid_member(question: &LimitCheck<'_>) -> Option<(&'static str, String)> {
    let (key, class) = (question.key.len(), question.class.len());
    if !(1..=LIMIT_KEY_BYTES_MAX).contains(&key) {
        return Some(("key", format!("the key has {key} bytes: expected 1 to {LIMIT_KEY_BYTES_MAX}")));
    }
    if !(1..=LIMIT_CLASS_BYTES_MAX).contains(&class) {
        return Some(("class", format!("the class has {class} bytes: expected 1 to {LIMIT_CLASS_BYTES_MAX}")));
    }
    if question.class.starts_with(OWN_CLASS_PREFIX) {
        let why = format!("classes that begin with {OWN_CLASS_PREFIX} are this server's own: expected another one");
        return Some(("class", why));
    }
    (question.cost == 0).then(|| ("cost", "the cost is 0: expected at least 1 unit".to_owned()))
}

fn decide(limits: &RateLimiter, question: &LimitCheck<'_>) -> CheckResult {
    limits.check(&[Hit { class: &question.class, key: question.key.as_bytes(), cost: question.cost }])
}

fn check_response(ruling: &CheckResult, now: Moment, is_shadow: bool) -> Response<ResponseBody> {
    let policies = policy_views(ruling, now, is_shadow);
    let Some((status, code, detail)) = refusal(&ruling.outcome) else {
        let allowed = LimitAllowed { allowed: true, remaining: remaining_min(ruling), policies };
        return full_response(StatusCode::OK, JSON, json(&allowed));
    };
    let problem = LimitProblem {
        status: status.as_u16(),
        title: Cow::Borrowed(status.canonical_reason().unwrap_or_default()),
        code: Cow::Borrowed(code),
        detail: Cow::Borrowed(detail),
        allowed: false,
        retry_after_ms: retry_after_ms(&ruling.outcome, now),
        policies,
    };
    full_response(status, PROBLEM_JSON, json(&problem))
}

fn batch_item<'a>(ruling: &'a Result<CheckResult, String>, now: Moment, is_shadow: bool) -> LimitBatchItem<'a> {
    let ruling = match ruling {
        Ok(ruling) => ruling,
        Err(why) => {
            let (code, detail) = (Some(Cow::Borrowed("bad_value")), Some(Cow::Borrowed(why.as_str())));
            return LimitBatchItem {
                allowed: false,
                code,
                detail,
                remaining: None,
                retry_after_ms: None,
                policies: Vec::new(),
            };
        }
    };
    let refusal = refusal(&ruling.outcome);
    LimitBatchItem {
        allowed: refusal.is_none(),
        code: refusal.map(|(_, code, _)| Cow::Borrowed(code)),
        detail: None,
        remaining: refusal.is_none().then(|| remaining_min(ruling)).flatten(),
        retry_after_ms: retry_after_ms(&ruling.outcome, now),
        policies: policy_views(ruling, now, is_shadow),
    }
}

/// Status, code and text of a ruling that refuses.
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

/// The least of what is left under the policies that have a say.
fn remaining_min(ruling: &CheckResult) -> Option<u64> {
    let left = |part: &PolicyDecision| match part.decision {
        Decision::Allow { remaining, .. } => remaining,
        Decision::NotUntil { .. } | Decision::Never | Decision::Full => 0,
    };
    ruling.decisions.iter().filter(|part| !part.policy.is_shadow).map(left).min()
}

/// What each policy said, refusals first.
fn policy_views(ruling: &CheckResult, now: Moment, is_shadow: bool) -> Vec<LimitPart<'_>> {
    let view = |part: &'_ PolicyDecision| {
        let (remaining, retry_after_ms) = match part.decision {
            Decision::Allow { remaining, .. } => (Some(remaining), None),
            Decision::NotUntil { at } => (None, Some(ms_until(at, now))),
            Decision::Never | Decision::Full => (None, None),
        };
        (part.quota, remaining, retry_after_ms)
    };
    let mut parts: Vec<&PolicyDecision> = ruling.decisions.iter().collect();
    parts.sort_by_key(|part| part.decision.is_allowed() || part.policy.is_shadow);
    parts
        .into_iter()
        .take(POLICIES_SHOWN_MAX)
        .map(|part| {
            let (quota, remaining, retry_after_ms) = view(part);
            LimitPart {
                name: Cow::Borrowed(&*part.policy.name),
                limit: quota.limit(),
                window_ms: window_ms(quota),
                remaining,
                retry_after_ms,
                shadow: is_shadow || part.policy.is_shadow,
            }
        })
        .collect()
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("an answer holds only text and numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use metrics::Metrics;
    use rate_limit::LimitClock;
    use rate_limit::rules::{LimitRuleSet, StoredRules, parse_policies};
    use settings::Config;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    const BURST: &str = "[[policy]]\nname = \"burst\"\nalgorithm = \"log\"\nlimit = 3\nwindow = \"60s\"\n";

    /// How often a batch of these questions gave way to others, and its answer.
    fn asked(checks: &serde_json::Value, turn_max: Duration) -> (usize, serde_json::Value) {
        let (config, metrics) = (Config::default(), Arc::new(Metrics::default()));
        let limits = RateLimiter::with_clock(&config, metrics, LimitClock::manual());
        limits
            .replace_rules(LimitRuleSet {
                file: parse_policies(BURST, limits.timestamps_max()).unwrap(),
                stored: StoredRules::default(),
            })
            .unwrap();
        let body = serde_json::json!({ "checks": checks }).to_string();
        let mut asking = pin!(check_many_bodies(Arc::new(limits), body.into(), turn_max));
        let mut context = Context::from_waker(Waker::noop());
        let mut turns = 0;
        let answer = loop {
            match asking.as_mut().poll(&mut context) {
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
    fn a_batch_gives_way_between_questions_and_says_the_same() {
        let checks: Vec<_> =
            (0..1_000).map(|n| serde_json::json!({"key": format!("k{}", n % 250), "cost": n % 3})).collect();
        let checks = serde_json::Value::from(checks);
        let (turns, answer) = asked(&checks, Duration::ZERO);
        assert_eq!(turns, 1_000);
        let (turns, at_once) = asked(&checks, Duration::MAX);
        assert_eq!((turns, &at_once), (0, &answer));
        let items = answer["items"].as_array().unwrap();
        let count = |allowed| items.iter().filter(|item| item["allowed"] == allowed).count();
        assert_eq!(items.len(), 1_000);
        // A cost of 0 is refused; of the others, 3 units a key are allowed.
        assert!(count(true) > 250 && count(false) > 334, "{} and {}", count(true), count(false));
    }
}
