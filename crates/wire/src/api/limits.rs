//! Rate limits: one check or many, and the policies that decide them.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// May this key do so much now?
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitCheck<'a> {
    /// Who asks, as the policies' key patterns know it; 1 to 1,024 bytes.
    #[serde(borrow)]
    #[schema(value_type = String, min_length = 1, max_length = 1024, example = "user:42")]
    pub key: Cow<'a, str>,
    /// What is asked for, as the policies' class patterns know it; 1 to 256 bytes, not beginning with `gateway.`.
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

/// Questions that are judged in order, each alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitCheckBatch<'a> {
    /// 1 to 1,000 questions.
    #[serde(borrow)]
    #[schema(min_items = 1, max_items = 1000)]
    pub checks: Vec<LimitCheck<'a>>,
}

/// It may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitAllowed<'a> {
    /// Always true.
    pub allowed: bool,
    /// Units that could be taken right now, under every policy that took part; absent when none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// What each policy that took part said.
    pub policies: Vec<LimitPart<'a>>,
}

/// What one policy said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitPart<'a> {
    /// The policy.
    #[schema(value_type = String)]
    pub name: Cow<'a, str>,
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
    /// Whether the policy only watches: what it says refuses nobody.
    pub shadow: bool,
}

/// It may not: a problem detail that says more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitProblem<'a> {
    /// The HTTP status.
    #[schema(example = 429)]
    pub status: u16,
    /// What the status means.
    #[schema(value_type = String, example = "Too Many Requests")]
    pub title: Cow<'a, str>,
    /// `rate_limited`, `limiter_full` or `cost_exceeds_limit`.
    #[schema(value_type = String, example = "rate_limited")]
    pub code: Cow<'a, str>,
    /// For a human reader, may change.
    #[schema(value_type = String)]
    pub detail: Cow<'a, str>,
    /// Always false.
    pub allowed: bool,
    /// Milliseconds after which it may be tried again; absent where that will never help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What each policy that took part said.
    pub policies: Vec<LimitPart<'a>>,
}

/// One answer of many, in the order of the questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitBatchItem<'a> {
    /// Whether it may.
    pub allowed: bool,
    /// Why not: `rate_limited`, `limiter_full`, `cost_exceeds_limit` or `bad_value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub code: Option<Cow<'a, str>>,
    /// What is wrong with the question; of a `bad_value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub detail: Option<Cow<'a, str>>,
    /// See [`LimitAllowed::remaining`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// See [`LimitProblem::retry_after_ms`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What each policy that took part said.
    pub policies: Vec<LimitPart<'a>>,
}

/// The answers to many questions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LimitBatchAnswer<'a> {
    /// One for each question, in their order.
    pub items: Vec<LimitBatchItem<'a>>,
}

/// What a policy says, but for its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitPolicyDefinition {
    /// Classes that it is about: text in which `*` stands for anything.
    #[serde(default = "everything")]
    #[schema(default = "*", min_length = 1, max_length = 256)]
    pub class: String,
    /// Keys that it is about: text in which `*` stands for anything.
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
    /// Whether it only decides and counts, and refuses nobody.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitPolicyView {
    /// Its name.
    pub name: String,
    /// What it says.
    #[serde(flatten)]
    pub definition: LimitPolicyDefinition,
    /// `file`, or `api` where it was set while the server ran.
    pub source: String,
    /// Keys that it counts now, in this process.
    pub keys: u64,
    /// Keys with a quota of their own.
    pub overrides: u64,
}

/// All policies in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LimitPolicies {
    /// How far a count reaches: `process`.
    #[schema(example = "process")]
    pub scope: String,
    /// Whether the whole limiter only decides and counts.
    pub shadow: bool,
    /// The policies, those of the file first.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
