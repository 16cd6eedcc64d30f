//! One policy as people write it, in a file or over the API, and what the limiter makes of it. Both ways end here, so that
//! both refuse the same things in the same words.

use limiter::{Algorithm, Pattern, Policy, Quota, WhenFull};
use std::time::Duration;
use wire::api::{LimitPolicyDefinition, LimitQuota};

/// Name of the policy that the reference API configures, and of no other.
pub const REFERENCE: &str = "reference";
/// Longest name of a policy, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// Longest window: a century.
pub const WINDOW_MS_MAX: u64 = 100 * 365 * 86_400_000;

const ALGORITHMS: [(&str, Algorithm); 3] =
    [("gcra", Algorithm::Gcra), ("log", Algorithm::Log), ("counter", Algorithm::Counter)];
const WHEN_FULL: [(&str, WhenFull); 2] = [("deny", WhenFull::Deny), ("admit", WhenFull::Admit)];

/// What is wrong with one member of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMember {
    /// The member.
    pub member: &'static str,
    /// What was given, what was expected.
    pub reason: String,
}

fn invalid(member: &'static str, why: impl Into<String>) -> InvalidMember {
    InvalidMember { member, reason: why.into() }
}

/// The policy of this name that a definition stands for.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse_policy(name: &str, definition: &LimitPolicyDefinition) -> Result<Policy, Vec<InvalidMember>> {
    let mut mistakes = Vec::new();
    let mut keep = |mistake: Option<InvalidMember>| mistakes.extend(mistake);
    keep(check_name(name).err());
    let class = parse_pattern("class", &definition.class).map_err(|mistake| keep(Some(mistake))).ok();
    let key = parse_pattern("key", &definition.key).map_err(|mistake| keep(Some(mistake))).ok();
    let algorithm = parse_algorithm(&definition.algorithm).map_err(|mistake| keep(Some(mistake))).ok();
    let when_full =
        parse_choice("when_full", &WHEN_FULL, &definition.when_full).map_err(|mistake| keep(Some(mistake))).ok();
    let quota = LimitQuota { limit: definition.limit, window_ms: definition.window_ms };
    let quota =
        self::parse_quota(&quota).map_err(|wrong| wrong.into_iter().for_each(|mistake| keep(Some(mistake)))).ok();
    match (class, key, algorithm, when_full, quota) {
        (Some(class), Some(key), Some(algorithm), Some(when_full), Some(quota)) if mistakes.is_empty() => {
            Ok(Policy { name: name.into(), class, key, algorithm, quota, is_shadow: definition.shadow, when_full })
        }
        _ => Err(mistakes),
    }
}

/// The definition that stands for a policy.
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

/// The quota that these figures stand for.
///
/// # Errors
/// Which of them cannot be.
pub fn parse_quota(wanted: &LimitQuota) -> Result<Quota, Vec<InvalidMember>> {
    let mut mistakes = Vec::new();
    if wanted.limit == 0 {
        mistakes.push(invalid("limit", "the limit is 0: expected at least 1 unit a window"));
    }
    if !(1..=WINDOW_MS_MAX).contains(&wanted.window_ms) {
        let why = format!("the window is {} ms: expected 1 to {WINDOW_MS_MAX} milliseconds", wanted.window_ms);
        mistakes.push(invalid("window_ms", why));
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    let quota = Quota::new(wanted.limit, Duration::from_millis(wanted.window_ms));
    quota.map_err(|error| vec![invalid("limit", error.to_string())])
}

/// Refuses a quota of an exact log that needs more stamps than all logs together may keep: its limit could never be reached.
///
/// # Errors
/// How many there may be.
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

/// Whether a policy may have this name.
///
/// # Errors
/// Why it may not.
fn check_name(name: &str) -> Result<(), InvalidMember> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_plain) {
        let shown: String = name.chars().take(NAME_BYTES_MAX).collect();
        let why = format!("the name is {shown:?}: expected 1 to {NAME_BYTES_MAX} characters of a-z, 0-9, _ and -");
        return Err(invalid("name", why));
    }
    if name == REFERENCE {
        let why = format!("the name {REFERENCE:?} is taken: /api/v1/configure sets that policy; choose another name");
        return Err(invalid("name", why));
    }
    Ok(())
}

/// The algorithm of this name.
pub(super) fn parse_algorithm(name: &str) -> Result<Algorithm, InvalidMember> {
    parse_choice("algorithm", &ALGORITHMS, name)
}

fn parse_pattern(member: &'static str, text: &str) -> Result<Pattern, InvalidMember> {
    Pattern::new(text).map_err(|error| invalid(member, error.to_string()))
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
