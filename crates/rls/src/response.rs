//! Encodes a check's result as a response of the protocol. Knows no policies but those of the result, and decides nothing.

use super::request::UNITS;
use http::header::RETRY_AFTER;
use limiter::{CheckResult, Decision, Moment, Outcome, PolicyDecision};
use rate_limit::headers::{RATE_LIMIT, RATE_LIMIT_POLICY, RateLimitHeaders};
use wire::grpc::{Code, DescriptorStatus, HeaderValue, RateLimit, RateLimitResponse, Unit};

const NS_PER_S: u64 = 1_000_000_000;

/// The response to a request of so many descriptors, `now` being the moment of the check or a later one.
pub(super) fn response(result: &CheckResult, descriptors: usize, now: Moment) -> RateLimitResponse {
    let is_allowed = matches!(result.outcome, Outcome::Allowed);
    let decisions = |index| result.decisions.iter().filter(move |decision| decision.hit == index);
    let statuses = (0..descriptors).map(|index| descriptor_status(decisions(index), is_allowed, now));
    RateLimitResponse {
        overall_code: code(is_allowed).into(),
        statuses: statuses.collect(),
        response_headers_to_add: headers(result, now),
    }
}

fn code(is_allowed: bool) -> Code {
    if is_allowed { Code::Ok } else { Code::OverLimit }
}

/// The status of one descriptor: that of the strictest policy, if any applies. In an allowed request none is over its limit, whatever
/// a limiter in shadow mode decided.
fn descriptor_status<'a>(
    decisions: impl Iterator<Item = &'a PolicyDecision>,
    is_allowed: bool,
    now: Moment,
) -> DescriptorStatus {
    let Some(decision) =
        decisions.filter(|decision| !decision.policy.is_shadow).min_by_key(|decision| strictness(&decision.decision))
    else {
        return DescriptorStatus { code: Code::Ok.into(), ..DescriptorStatus::default() };
    };
    let (limit_remaining, reset) = match decision.decision {
        Decision::Allow { remaining, whole_at } => (saturated(remaining), Some(whole_at)),
        Decision::NotUntil { at } => (0, Some(at)),
        Decision::Never | Decision::Full => (0, None),
    };
    DescriptorStatus {
        code: code(is_allowed || decision.decision.is_allowed()).into(),
        current_limit: Some(limit(decision)),
        limit_remaining,
        duration_until_reset: reset.and_then(|at| at.since(now).try_into().ok()),
    }
}

/// Sorts the strictest decision first: never allowed, no moment known, the latest moment, the least that remains.
fn strictness(decision: &Decision) -> (u8, u64) {
    match decision {
        Decision::Never => (0, 0),
        Decision::Full => (1, 0),
        Decision::NotUntil { at } => (2, u64::MAX - at.0),
        Decision::Allow { remaining, .. } => (3, *remaining),
    }
}

fn limit(decision: &PolicyDecision) -> RateLimit {
    let window_ns = decision.quota.window_ns();
    let unit =
        UNITS.iter().find(|(_, seconds)| seconds * NS_PER_S == window_ns).map_or(Unit::Unknown, |(unit, _)| *unit);
    RateLimit {
        requests_per_unit: saturated(decision.quota.limit()),
        unit: unit.into(),
        name: decision.policy.name.to_string(),
    }
}

fn saturated(units: u64) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}

fn headers(result: &CheckResult, now: Moment) -> Vec<HeaderValue> {
    let RateLimitHeaders { policy, limit, retry_after_s } = RateLimitHeaders::of(result, now);
    let retry_after = retry_after_s.map(|seconds| seconds.to_string()).unwrap_or_default();
    let headers = [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, limit), (RETRY_AFTER, retry_after)];
    let non_empty = headers.into_iter().filter(|(_, value)| !value.is_empty());
    non_empty.map(|(name, value)| HeaderValue { key: name.as_str().to_owned(), value }).collect()
}
