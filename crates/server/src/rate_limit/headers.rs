//! What a ruling says in HTTP headers: `RateLimit-Policy` and `RateLimit` of the IETF draft (draft-ietf-httpapi-ratelimit-headers,
//! revision 11), and `Retry-After`. Policies in shadow are not shown: they change nothing for the caller.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use limiter::{CheckResult, Decision, Moment, Outcome, PolicyDecision, Quota};
use std::fmt::Write;

/// The header that names the policies: `"burst";q=100;w=60`.
pub const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The header that says what is left: `"burst";r=50;t=30`.
pub const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Policies that headers name. Where more take part, the tightest ones are named: a head must stay short.
const POLICIES_SHOWN_MAX: usize = 8;
/// After this time a caller who found no room may try again: by then idle keys have been looked for everywhere.
pub const RETRY_WHEN_FULL_S: u64 = super::SWEEP_ROUND.as_secs();
const NS_PER_S: u64 = 1_000_000_000;

/// The texts of the headers of one ruling.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimitHeaders {
    /// The value of [`RATE_LIMIT_POLICY`]; empty where no policy takes part.
    pub policy: String,
    /// The value of [`RATE_LIMIT`]; empty where no policy can say anything.
    pub limit: String,
    /// The value of `Retry-After`, in seconds, rounded up.
    pub retry_after_s: Option<u64>,
}

impl RateLimitHeaders {
    /// The headers of a ruling, read at `now` or a moment later.
    #[must_use]
    pub fn of(ruling: &CheckResult, now: Moment) -> Self {
        let mut headers = Self { retry_after_s: retry_after_s(&ruling.outcome, now), ..Self::default() };
        let named = shown_parts(ruling);
        for part in &named {
            let (q, w) = (part.quota.limit(), part.quota.window_ns().div_ceil(NS_PER_S));
            put(&mut headers.policy, format_args!("\"{}\";q={q};w={w}", part.policy.name));
        }
        // A refusal shows only who refused: `Retry-After` must not come before any `t`, and who allows has its own time.
        let is_refused = !matches!(ruling.outcome, Outcome::Allowed);
        for part in named {
            let name = &part.policy.name;
            match part.decision {
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

    /// Sets the headers that say something.
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

/// Seconds after which a request that was refused may be tried again, rounded up; `None` of one that was not refused, or
/// will be whenever it comes.
#[must_use]
pub fn retry_after_s(outcome: &Outcome, now: Moment) -> Option<u64> {
    match outcome {
        Outcome::Allowed | Outcome::Never => None,
        Outcome::NotUntil(at) => Some(seconds_until(*at, now).max(1)),
        Outcome::Full => Some(RETRY_WHEN_FULL_S),
    }
}

fn seconds_until(at: Moment, now: Moment) -> u64 {
    at.0.saturating_sub(now.0).div_ceil(NS_PER_S)
}

/// The parts that headers show: one of each policy that is not in shadow (the tightest, where several of its keys take part),
/// the tightest policies first where there are too many.
fn shown_parts(ruling: &CheckResult) -> Vec<&PolicyDecision> {
    let mut parts: Vec<&PolicyDecision> = ruling.decisions.iter().filter(|part| !part.policy.is_shadow).collect();
    if parts.len() > 1 {
        parts.sort_by_key(|part| tightness(&part.decision, part.quota));
        let mut seen: Vec<&str> = Vec::new();
        parts.retain(|part| {
            let is_new = !seen.contains(&&*part.policy.name) && seen.len() < POLICIES_SHOWN_MAX;
            if is_new {
                seen.push(&part.policy.name);
            }
            is_new
        });
    }
    parts
}

/// Refusals first, the longest before all; then by what is left of the limit.
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
