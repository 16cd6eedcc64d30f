//! Rate limits: one check or many, and the policies that decide them.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// A request to the limiter: may this key take so many units now?
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitCheck<'a> {
    /// Who makes the request, as the policies' key patterns match it; 1 to 1,024 bytes.
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1, max_length = 1024, example = "user:42")]
    pub key: Cow<'a, str>,
    /// What the request is for, as the policies' class patterns match it; 1 to 256 bytes, not beginning with `gateway.`.
    #[serde(borrow, default = "default_class")]
    #[schema(value_type = String, min_length = 1, max_length = 256, default = "default")]
    pub class: Cow<'a, str>,
    /// How many units it takes; at least 1.
    #[serde(default = "one")]
    #[schema(minimum = 1, default = 1)]
    pub cost: u64,
}

fn default_class<'a>() -> Cow<'a, str> {
    Cow::Borrowed("default")
}

fn one() -> u64 {
    1
}

/// Checks that are decided in order, each alone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitCheckBatch<'a> {
    /// 1 to 1,000 checks.
    #[serde(borrow)]
    #[schema(min_items = 1, max_items = 1000)]
    pub checks: Vec<LimitCheck<'a>>,
}

/// The request is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitAllowed<'a> {
    /// Always true.
    pub allowed: bool,
    /// Units that could be taken right now, under every policy that took part; absent when none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// The decision of each policy that took part.
    pub policies: Vec<LimitPart<'a>>,
}

/// The decision of one policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitPart<'a> {
    /// The policy.
    pub name: &'a str,
    /// Units a window, for this key.
    pub limit: u64,
    /// The window, in milliseconds.
    pub window_ms: u64,
    /// Units that could be taken right now; of a policy that allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// Milliseconds after which it would be allowed, rounded up; of a policy that says "not yet".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Whether the policy is in shadow mode: it decides and counts, and refuses nothing.
    pub shadow: bool,
}

/// The request is denied: a problem detail with the decisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitProblem<'a> {
    /// The HTTP status.
    #[schema(example = 429)]
    pub status: u16,
    /// What the status means.
    #[schema(example = "Too Many Requests")]
    pub title: &'a str,
    /// `rate_limited`, `limiter_full` or `cost_exceeds_limit`.
    #[schema(example = "rate_limited")]
    pub code: &'a str,
    /// For a human reader, may change.
    pub detail: &'a str,
    /// Always false.
    pub allowed: bool,
    /// Milliseconds after which it may be tried again; absent where that will never help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The decision of each policy that took part.
    pub policies: Vec<LimitPart<'a>>,
}

/// One of many decisions, in the order of the checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitBatchItem<'a> {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why not: `rate_limited`, `limiter_full`, `cost_exceeds_limit` or `bad_value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'a str>,
    /// What is wrong with the check; of a `bad_value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'a str>,
    /// See [`LimitAllowed::remaining`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// See [`LimitProblem::retry_after_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The decision of each policy that took part.
    pub policies: Vec<LimitPart<'a>>,
}

/// The decisions of many checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitBatchAnswer<'a> {
    /// One for each check, in their order.
    pub items: Vec<LimitBatchItem<'a>>,
}

/// A policy without its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitPolicyDefinition {
    /// Classes that it applies to: text in which `*` stands for anything.
    #[serde(default = "everything")]
    #[schema(default = "*", min_length = 1, max_length = 256)]
    pub class: String,
    /// Keys that it applies to: text in which `*` stands for anything.
    #[serde(default = "everything")]
    #[schema(default = "*", min_length = 1, max_length = 256)]
    pub key: String,
    /// `gcra`, `log` or `counter`.
    #[serde(default = "gcra")]
    #[schema(default = "gcra")]
    pub algorithm: String,
    /// Units a window.
    #[schema(minimum = 1)]
    pub limit: u64,
    /// The window, in milliseconds.
    #[schema(minimum = 1)]
    pub window_ms: u64,
    /// Whether it is in shadow mode: it decides and counts, and refuses nothing.
    #[serde(default)]
    #[schema(default = false)]
    pub shadow: bool,
    /// What a key gets that there is no room to count: `deny` or `admit`.
    #[serde(default = "deny")]
    #[schema(default = "deny")]
    pub when_full: String,
}

fn everything() -> String {
    "*".to_owned()
}

fn gcra() -> String {
    "gcra".to_owned()
}

fn deny() -> String {
    "deny".to_owned()
}

/// A policy in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitPolicyView {
    /// Its name.
    pub name: String,
    /// Its definition.
    #[serde(flatten)]
    pub definition: LimitPolicyDefinition,
    /// `built_in`, `file`, or `api` where it was set while the server ran.
    pub source: String,
    /// Keys that it counts now, in this process.
    pub keys: u64,
    /// Keys with a quota of their own.
    pub overrides: u64,
}

/// All policies in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitPolicies {
    /// How far a count reaches: `process`.
    #[schema(example = "process")]
    pub scope: String,
    /// Whether the whole limiter only decides and counts.
    pub shadow: bool,
    /// The policies: built-in ones, those of the file, those that were set over the API alone.
    pub policies: Vec<LimitPolicyView>,
}

/// A quota of one key's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitQuota {
    /// Units a window.
    #[schema(minimum = 1)]
    pub limit: u64,
    /// The window, in milliseconds.
    #[schema(minimum = 1)]
    pub window_ms: u64,
}

/// A quota of one key's own, in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitOverrideView {
    /// The policy.
    pub policy: String,
    /// The key.
    pub key: String,
    /// The quota.
    #[serde(flatten)]
    pub quota: LimitQuota,
    /// `file`, or `api` where it was set while the server ran.
    pub source: String,
}
