//! What is told: a ruling in the words of the protocol. Knows no policies but those of the ruling, and decides nothing.

use super::request::UNITS;
use crate::rate_limit::headers::{RATE_LIMIT, RATE_LIMIT_POLICY, RateLimitHeaders};
use http::header::RETRY_AFTER;
use limiter::{CheckResult, Decision, Moment, Outcome, PolicyDecision};
use wire::rls::{Code, DescriptorStatus, HeaderValue, RateLimit, RateLimitResponse, Unit};

const NS_PER_S: u64 = 1_000_000_000;

/// The answer to a request of so many descriptors, `now` being the moment of the ruling or a later one.
pub(super) fn response(ruling: &CheckResult, descriptors: usize, now: Moment) -> RateLimitResponse {
    let is_allowed = matches!(ruling.outcome, Outcome::Allowed);
    let parts = |place| ruling.decisions.iter().filter(move |part| part.hit == place);
    let statuses = (0..descriptors).map(|place| descriptor_status(parts(place), is_allowed, now));
    RateLimitResponse {
        overall_code: code(is_allowed).into(),
        statuses: statuses.collect(),
        response_headers_to_add: headers(ruling, now),
    }
}

fn code(is_allowed: bool) -> Code {
    if is_allowed { Code::Ok } else { Code::OverLimit }
}

/// What became of one descriptor: the word of the policy that is hardest on it, if any has one. In a request that is allowed
/// none is over its limit, whatever a limiter in shadow would have said.
fn descriptor_status<'a>(
    parts: impl Iterator<Item = &'a PolicyDecision>,
    is_allowed: bool,
    now: Moment,
) -> DescriptorStatus {
    let Some(part) = parts.filter(|part| !part.policy.is_shadow).min_by_key(|part| strictness(&part.decision)) else {
        return DescriptorStatus { code: Code::Ok.into(), ..DescriptorStatus::default() };
    };
    let (limit_remaining, reset) = match part.decision {
        Decision::Allow { remaining, whole_at } => (saturated(remaining), Some(whole_at)),
        Decision::NotUntil { at } => (0, Some(at)),
        Decision::Never | Decision::Full => (0, None),
    };
    DescriptorStatus {
        code: code(is_allowed || part.decision.is_allowed()).into(),
        current_limit: Some(limit(part)),
        limit_remaining,
        duration_until_reset: reset.map(|at| at.since(now).into()),
    }
}

/// Sorts the hardest decision first: no waiting helps, no moment is known, the latest moment, the least that remains.
fn strictness(decision: &Decision) -> (u8, u64) {
    match decision {
        Decision::Never => (0, 0),
        Decision::Full => (1, 0),
        Decision::NotUntil { at } => (2, u64::MAX - at.0),
        Decision::Allow { remaining, .. } => (3, *remaining),
    }
}

fn limit(part: &PolicyDecision) -> RateLimit {
    let window_ns = part.quota.window_ns();
    let unit =
        UNITS.iter().find(|(_, seconds)| seconds * NS_PER_S == window_ns).map_or(Unit::Unknown, |(unit, _)| *unit);
    RateLimit {
        requests_per_unit: saturated(part.quota.limit()),
        unit: unit.into(),
        name: part.policy.name.to_string(),
    }
}

fn saturated(units: u64) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}

fn headers(ruling: &CheckResult, now: Moment) -> Vec<HeaderValue> {
    let RateLimitHeaders { policy, limit, retry_after_s } = RateLimitHeaders::of(ruling, now);
    let retry_after = retry_after_s.map(|seconds| seconds.to_string()).unwrap_or_default();
    let headers = [(RATE_LIMIT_POLICY, policy), (RATE_LIMIT, limit), (RETRY_AFTER, retry_after)];
    let said = headers.into_iter().filter(|(_, value)| !value.is_empty());
    said.map(|(name, value)| HeaderValue { key: name.as_str().to_owned(), value }).collect()
}
