//! A check's result as HTTP headers: `RateLimit-Policy` and `RateLimit` of the IETF draft (draft-ietf-httpapi-ratelimit-headers,
//! revision 11), and `Retry-After`. Policies in shadow mode are not shown: they change nothing for the caller.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use limiter::{CheckResult, Decision, Moment, Outcome, PolicyDecision, Quota};
use std::fmt::Write;

/// The header that names the policies: `"burst";q=100;w=60`.
pub const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The header with the remaining quota: `"burst";r=50;t=30`.
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Policies in the headers. Where more apply, only the tightest ones are shown: a head must stay short.
const POLICIES_SHOWN_MAX: usize = 8;
/// After this time a caller refused for lack of capacity may try again: by then all idle keys have been evicted.
pub const RETRY_WHEN_FULL_S: u64 = super::SWEEP_ROUND.as_secs();
const NS_PER_S: u64 = 1_000_000_000;

/// The headers of one result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimitHeaders {
    /// The value of [`RATE_LIMIT_POLICY`]; empty if no policy applies.
    pub policy: String,
    /// The value of [`RATE_LIMIT`]; empty if no policy has a value.
    pub limit: String,
    /// The value of `Retry-After`, in seconds, rounded up.
    pub retry_after_s: Option<u64>,
}

impl RateLimitHeaders {
    /// The headers of a result, read at `now` or a moment later.
    #[must_use]
    pub fn of(result: &CheckResult, now: Moment) -> Self {
        let mut headers = Self { retry_after_s: retry_after_s(&result.outcome, now), ..Self::default() };
        let shown = shown_decisions(result);
        for decision in &shown {
            let (q, w) = (decision.quota.limit(), decision.quota.window_ns().div_ceil(NS_PER_S));
            put(&mut headers.policy, format_args!("\"{}\";q={q};w={w}", decision.policy.name));
        }
        // A refusal shows only the policies that refuse: `Retry-After` must not be earlier than any `t`, and those that allow have other times.
        let is_refused = !matches!(result.outcome, Outcome::Allowed);
        for decision in shown {
            let name = &decision.policy.name;
            match decision.decision {
                Decision::Allow { .. } if is_refused => {}
                Decision::Allow { remaining, whole_at } => {
                    put(
                        &mut headers.limit,
                        format_args!("\"{name}\";r={remaining};t={}", seconds_until(whole_at, now)),
                    );
                }
                Decision::NotUntil { at } => {
                    put(&mut headers.limit, format_args!("\"{name}\";r=0;t={}", seconds_until(at, now)));
                }
                Decision::Never | Decision::Full => {}
            }
        }
        headers
    }

    /// Sets the headers that have a value.
    pub fn write_to(&self, headers: &mut HeaderMap) {
        let texts = [(RATE_LIMIT_POLICY, &self.policy), (RATE_LIMIT, &self.limit)];
        for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            if let Ok(value) = HeaderValue::try_from(text.as_str()) {
                headers.insert(name, value);
            }
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
    }
}

/// Seconds after which a refused request may be tried again, rounded up; `None` for one that was allowed, or that will always be
/// refused.
#[must_use]
pub fn retry_after_s(outcome: &Outcome, now: Moment) -> Option<u64> {
    match outcome {
        Outcome::Allowed | Outcome::Never => None,
        Outcome::NotUntil(at) => Some(seconds_until(*at, now).max(1)),
        Outcome::Full => Some(RETRY_WHEN_FULL_S),
    }
}

pub(super) fn seconds_until(at: Moment, now: Moment) -> u64 {
    at.0.saturating_sub(now.0).div_ceil(NS_PER_S)
}

/// The decisions that headers show: one of each policy that is not in shadow mode (the tightest, where several of its keys apply),
/// the tightest policies first where there are too many.
fn shown_decisions(result: &CheckResult) -> Vec<&PolicyDecision> {
    let mut decisions: Vec<&PolicyDecision> =
        result.decisions.iter().filter(|decision| !decision.policy.is_shadow).collect();
    if decisions.len() > 1 {
        decisions.sort_by_key(|decision| tightness(&decision.decision, decision.quota));
        let mut seen: Vec<&str> = Vec::new();
        decisions.retain(|decision| {
            let is_new = !seen.contains(&&*decision.policy.name) && seen.len() < POLICIES_SHOWN_MAX;
            if is_new {
                seen.push(&decision.policy.name);
            }
            is_new
        });
    }
    decisions
}

/// Refusals first, the longest before all; then by the remaining part of the limit.
fn tightness(decision: &Decision, quota: Quota) -> (u8, u64) {
    match decision {
        Decision::Never | Decision::Full => (0, 0),
        Decision::NotUntil { at } => (1, u64::MAX - at.0),
        Decision::Allow { remaining, .. } => {
            let per_million = u128::from(*remaining) * 1_000_000 / u128::from(quota.limit());
            (2, u64::try_from(per_million).unwrap_or(u64::MAX))
        }
    }
}

fn put(text: &mut String, item: std::fmt::Arguments<'_>) {
    let comma = if text.is_empty() { "" } else { ", " };
    // Writing into a String cannot fail.
    let _ = write!(text, "{comma}{item}");
}
