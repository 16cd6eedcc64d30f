//! Parses one policy from a file or the API into the limiter's form. Both sources use this, so that both refuse the same with the same
//! texts.

use limiter::{Algorithm, Pattern, Policy, Quota, WhenFull};
use std::time::Duration;
use wire::api::{LimitPolicyDefinition, LimitQuota};

/// Name of the policy that the reference API configures, and of no other.
pub const REFERENCE: &str = "reference";
/// Longest name of a policy, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Longest window: a century.
pub const WINDOW_MS_MAX: u64 = 100 * 365 * 86_400_000;

/// The classes of the gateway are `gateway.<caller>.<action>`: who sent the request,
pub const GATEWAY_CALLERS: [&str; 6] = ["anonymous", "guest", "player", "operator", "admin", "load_test"];
/// and what it is about.
pub const GATEWAY_ACTIONS: [&str; 4] = ["create", "write", "read", "watch"];
const GATEWAY_PREFIX: &str = "gateway.";

const ALGORITHMS: [(&str, Algorithm); 3] =
    [("gcra", Algorithm::Gcra), ("log", Algorithm::Log), ("counter", Algorithm::Counter)];
const WHEN_FULL: [(&str, WhenFull); 2] = [("deny", WhenFull::Deny), ("admit", WhenFull::Admit)];

/// An error in one member of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMember {
    pub member: &'static str,
    /// What was given, and what was expected.
    pub reason: String,
}

fn invalid(member: &'static str, reason: impl Into<String>) -> InvalidMember {
    InvalidMember { member, reason: reason.into() }
}

/// Parses the definition of the policy of this name.
///
/// # Errors
/// All errors of the definition.
pub fn parse_policy(name: &str, definition: &LimitPolicyDefinition) -> Result<Policy, Vec<InvalidMember>> {
    let mut errors = Vec::new();
    let mut keep = |error: Option<InvalidMember>| errors.extend(error);
    keep(check_name(name).err());
    let class = parse_class(&definition.class).map_err(|error| keep(Some(error))).ok();
    let key = parse_pattern("key", &definition.key).map_err(|error| keep(Some(error))).ok();
    let algorithm = parse_algorithm(&definition.algorithm).map_err(|error| keep(Some(error))).ok();
    let when_full =
        parse_choice("when_full", &WHEN_FULL, &definition.when_full).map_err(|error| keep(Some(error))).ok();
    let quota = LimitQuota { limit: definition.limit, window_ms: definition.window_ms };
    let quota = parse_quota(&quota).map_err(|invalid| invalid.into_iter().for_each(|error| keep(Some(error)))).ok();
    match (class, key, algorithm, when_full, quota) {
        (Some(class), Some(key), Some(algorithm), Some(when_full), Some(quota)) if errors.is_empty() => {
            Ok(Policy { name: name.into(), class, key, algorithm, quota, is_shadow: definition.shadow, when_full })
        }
        _ => Err(errors),
    }
}

/// The definition of a policy.
#[must_use]
pub fn definition(policy: &Policy) -> LimitPolicyDefinition {
    LimitPolicyDefinition {
        class: policy.class.as_str().to_owned(),
        key: policy.key.as_str().to_owned(),
        algorithm: name_of(&ALGORITHMS, &policy.algorithm),
        limit: policy.quota.limit(),
        window_ms: window_ms(policy.quota),
        shadow: policy.is_shadow,
        when_full: name_of(&WHEN_FULL, &policy.when_full),
    }
}

/// Parses a quota.
///
/// # Errors
/// The invalid members.
pub fn parse_quota(quota: &LimitQuota) -> Result<Quota, Vec<InvalidMember>> {
    let mut errors = Vec::new();
    if quota.limit == 0 {
        errors.push(invalid("limit", "the limit is 0: expected at least 1 unit a window"));
    }
    if !(1..=WINDOW_MS_MAX).contains(&quota.window_ms) {
        let reason = format!("the window is {} ms: expected 1 to {WINDOW_MS_MAX} milliseconds", quota.window_ms);
        errors.push(invalid("window_ms", reason));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let parsed = Quota::new(quota.limit, Duration::from_millis(quota.window_ms));
    parsed.map_err(|error| vec![invalid("limit", error.to_string())])
}

/// Refuses a quota of an exact log that needs more timestamps than all logs together may keep: its limit could never be reached.
///
/// # Errors
/// The maximum.
pub fn check_log_capacity(algorithm: Algorithm, limit: u64, timestamps_max: usize) -> Result<(), InvalidMember> {
    if algorithm != Algorithm::Log || usize::try_from(limit).is_ok_and(|limit| limit <= timestamps_max) {
        return Ok(());
    }
    Err(invalid(
        "limit",
        format!(
            "the limit is {limit}, and an exact log keeps a time stamp for each unit: expected at most {timestamps_max} \
             (limiter.timestamps_max), or another algorithm"
        ),
    ))
}

/// A window in milliseconds, rounded up.
#[must_use]
pub fn window_ms(quota: Quota) -> u64 {
    quota.window_ns().div_ceil(1_000_000)
}

/// Validates the name of a policy.
///
/// # Errors
/// Why it is invalid.
fn check_name(name: &str) -> Result<(), InvalidMember> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_plain) {
        let shown: String = name.chars().take(NAME_BYTES_MAX).collect();
        let reason = format!("the name is {shown:?}: expected 1 to {NAME_BYTES_MAX} characters of a-z, 0-9, _ and -");
        return Err(invalid("name", reason));
    }
    if name == REFERENCE {
        let reason =
            format!("the name {REFERENCE:?} is taken: /api/v1/configure sets that policy; choose another name");
        return Err(invalid("name", reason));
    }
    Ok(())
}

pub(super) fn parse_algorithm(name: &str) -> Result<Algorithm, InvalidMember> {
    parse_choice("algorithm", &ALGORITHMS, name)
}

fn parse_pattern(member: &'static str, text: &str) -> Result<Pattern, InvalidMember> {
    Pattern::new(text).map_err(|error| invalid(member, error.to_string()))
}

/// Refuses what looks like classes of the gateway and matches none of them: a policy with it would limit nothing.
fn parse_class(text: &str) -> Result<Pattern, InvalidMember> {
    let class = parse_pattern("class", text)?;
    let is_matched = |caller: &&str| {
        GATEWAY_ACTIONS.iter().any(|action| class.matches(format!("{GATEWAY_PREFIX}{caller}.{action}").as_bytes()))
    };
    if text.starts_with(GATEWAY_PREFIX) && !GATEWAY_CALLERS.iter().any(is_matched) {
        let (callers, actions) = (GATEWAY_CALLERS.join(", "), GATEWAY_ACTIONS.join(", "));
        let reason = format!(
            "the class {text:?} matches no request of the gateway: expected {GATEWAY_PREFIX}CALLER.ACTION, with a caller of \
             {callers}, an action of {actions}, or * for either"
        );
        return Err(invalid("class", reason));
    }
    Ok(class)
}

fn parse_choice<T: Copy>(member: &'static str, choices: &[(&str, T)], text: &str) -> Result<T, InvalidMember> {
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names = choices.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let shown: String = text.chars().take(NAME_BYTES_MAX).collect();
        invalid(member, format!("{member} is {shown:?}: expected one of {names}"))
    })
}

fn name_of<T: PartialEq>(choices: &[(&str, T)], value: &T) -> String {
    choices.iter().find(|(_, choice)| choice == value).map_or("", |(name, _)| name).to_owned()
}
