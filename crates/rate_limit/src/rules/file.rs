//! Parses the file of policies: TOML, strictly. A file with any error is refused as a whole, and every error is reported with
//! its line. Pure: the caller reads the file.

use super::definition::{self, InvalidMember};
use engine::limits::{LIMIT_KEY_BYTES_MAX, LIMIT_OVERRIDES_MAX, LIMIT_POLICIES_MAX};
use limiter::{Algorithm, Policy, Quota};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};
use wire::api::{LimitPolicyDefinition, LimitQuota};
use wire::escape::Escaped;

/// The rules of a file of policies.
#[derive(Clone, Debug, Default)]
pub struct FileRules {
    /// The policies, in the order of the file.
    pub policies: Vec<Policy>,
    /// Quotas of single keys, by policy and key.
    pub overrides: BTreeMap<(Box<str>, Box<[u8]>), Quota>,
}

/// All errors of a file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    shown: Vec<String>,
    count: usize,
}

/// Errors that are shown; the others are only counted.
const ERRORS_SHOWN_MAX: usize = 20;
const POLICY_KEYS: [&str; 9] =
    ["name", "class", "key", "algorithm", "limit", "window", "shadow", "when_full", "override"];
const OVERRIDE_KEYS: [&str; 3] = ["key", "limit", "window"];
const SPAN_UNITS_MS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl std::error::Error for FileError {}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, shown) = (self.count, self.shown.len());
        write!(f, "{count} {}:", if count == 1 { "error" } else { "errors" })?;
        self.shown.iter().try_for_each(|error| write!(f, "\n  {error}"))?;
        if count > shown { write!(f, "\n  and {} more", count - shown) } else { Ok(()) }
    }
}

/// Parses a file of policies, whose exact logs may keep so many timestamps together.
///
/// # Errors
/// All errors, with their lines.
pub fn parse_policies(text: &str, timestamps_max: usize) -> Result<FileRules, FileError> {
    let mut reader = PolicyFileParser {
        timestamps_max,
        rules: FileRules::default(),
        names: HashSet::new(),
        invalid_members: HashSet::new(),
        errors: ErrorCollector::default(),
    };
    match DeTable::parse(text) {
        Ok(table) => reader.document(table.get_ref()),
        Err(error) => reader.refuse(&error.span().unwrap_or_default(), "not TOML", error.message()),
    }
    if reader.errors.count == 0 { Ok(reader.rules) } else { Err(reader.errors.into_file_error(text)) }
}

/// The first errors of a file, and their number. A bad file can have more than memory should hold.
#[derive(Debug, Default)]
struct ErrorCollector {
    /// By their position in the file, and among those of one position by their order.
    first: BTreeMap<(usize, usize), String>,
    count: usize,
}

impl ErrorCollector {
    fn push(&mut self, at: usize, error: fmt::Arguments<'_>) {
        let position = (at, self.count);
        self.count += 1;
        let is_full = self.first.len() >= ERRORS_SHOWN_MAX;
        if is_full && self.first.last_key_value().is_some_and(|(last, _)| *last < position) {
            return;
        }
        // Names and a parser's texts may contain anything that the file contains, line breaks included.
        self.first.insert(position, Escaped(error).to_string());
        if is_full {
            self.first.pop_last();
        }
    }

    fn into_file_error(self, text: &str) -> FileError {
        let line = |at: usize| text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1;
        let shown = self.first.into_iter().map(|((at, _), error)| match at {
            WHOLE_FILE => error,
            at => format!("line {}: {error}", line(at)),
        });
        FileError { shown: shown.collect(), count: self.count }
    }
}

/// The position of an error that concerns no single line: after all others.
const WHOLE_FILE: usize = usize::MAX;

struct PolicyFileParser {
    timestamps_max: usize,
    rules: FileRules,
    names: HashSet<Box<str>>,
    /// The members of the current table that have no valid value, and were refused for that.
    invalid_members: HashSet<&'static str>,
    errors: ErrorCollector,
}

/// Longest name in an error text, in bytes.
const NAME_SHOWN_BYTES_MAX: usize = 80;

/// A table with its name in error texts.
struct TableContext<'a> {
    table: &'a DeTable<'a>,
    label: String,
}

impl PolicyFileParser {
    fn document(&mut self, document: &DeTable<'_>) {
        for (key, value) in document {
            match value.get_ref() {
                DeValue::Array(policies) if key.get_ref() == "policy" => self.policies(policies),
                _ if key.get_ref() == "policy" => {
                    self.refuse(&value.span(), "policy", "expected tables that begin with [[policy]]");
                }
                _ => self.refuse(
                    &key.span(),
                    &format!("{:?}", shortened(key.get_ref())),
                    "no such key: expected [[policy]]",
                ),
            }
        }
    }

    fn policies(&mut self, policies: &DeArray<'_>) {
        for policy in policies {
            match policy.get_ref() {
                DeValue::Table(table) => self.policy(&policy.span(), table),
                _ => self.refuse(&policy.span(), "policy", "expected a table that begins with [[policy]]"),
            }
        }
        let count = policies.iter().count();
        if count > LIMIT_POLICIES_MAX {
            self.errors.push(WHOLE_FILE, format_args!("{count} policies: expected at most {LIMIT_POLICIES_MAX}"));
        }
        let count = self.rules.overrides.len();
        if count > LIMIT_OVERRIDES_MAX {
            self.errors.push(WHOLE_FILE, format_args!("{count} overrides: expected at most {LIMIT_OVERRIDES_MAX}"));
        }
    }

    fn policy(&mut self, span: &Range<usize>, table: &DeTable<'_>) {
        let label = table
            .get("name")
            .and_then(|name| name.get_ref().as_str())
            .map(|name| format!("policy {:?}", shortened(name)));
        let context = TableContext { table, label: label.unwrap_or_else(|| "policy".to_owned()) };
        self.invalid_members.clear();
        self.refuse_unknown(&context, &POLICY_KEYS);
        let name = self.string_member(&context, span, "name", None);
        let quota = self.quota(&context, span);
        let definition = LimitPolicyDefinition {
            class: self.string_member(&context, span, "class", Some("*")),
            key: self.string_member(&context, span, "key", Some("*")),
            algorithm: self.string_member(&context, span, "algorithm", Some("gcra")),
            limit: quota.limit,
            window_ms: quota.window_ms,
            shadow: self.bool_member(&context, "shadow"),
            when_full: self.string_member(&context, span, "when_full", Some("deny")),
        };
        if !self.invalid_members.contains("name") && !self.names.insert(name.as_str().into()) {
            self.refuse(span, &context.label, "another policy has this name already: expected names that differ");
        }
        match definition::parse_policy(&name, &definition) {
            Ok(policy) => match self.check_capacity(Some(policy.algorithm), policy.quota) {
                Some(invalid) => self.refuse_member(&context, span, &invalid),
                None => self.rules.policies.push(policy),
            },
            Err(invalid) => invalid.iter().for_each(|invalid| self.refuse_member(&context, span, invalid)),
        }
        self.overrides(&context, &name, definition::parse_algorithm(&definition.algorithm).ok());
    }

    fn check_capacity(&self, algorithm: Option<Algorithm>, quota: Quota) -> Option<InvalidMember> {
        definition::check_log_capacity(algorithm?, quota.limit(), self.timestamps_max).err()
    }

    fn overrides(&mut self, policy: &TableContext<'_>, name: &str, algorithm: Option<Algorithm>) {
        let Some(value) = policy.table.get("override") else { return };
        let DeValue::Array(overrides) = value.get_ref() else {
            return self.refuse(
                &value.span(),
                &policy.label,
                "override: expected tables that begin with [[policy.override]]",
            );
        };
        for entry in overrides {
            match entry.get_ref() {
                DeValue::Table(table) => {
                    let context = TableContext { table, label: format!("{}, override", policy.label) };
                    self.override_entry(&context, &entry.span(), name, algorithm);
                }
                _ => self.refuse(
                    &entry.span(),
                    &policy.label,
                    "override: expected a table that begins with [[policy.override]]",
                ),
            }
        }
    }

    fn override_entry(
        &mut self,
        context: &TableContext<'_>,
        span: &Range<usize>,
        policy: &str,
        algorithm: Option<Algorithm>,
    ) {
        self.invalid_members.clear();
        self.refuse_unknown(context, &OVERRIDE_KEYS);
        let key = self.string_member(context, span, "key", None);
        let quota = self.quota(context, span);
        if !self.invalid_members.contains("key") && !(1..=LIMIT_KEY_BYTES_MAX).contains(&key.len()) {
            let reason = format!("key has {} bytes: expected 1 to {LIMIT_KEY_BYTES_MAX}", key.len());
            self.refuse(span, &context.label, &reason);
        }
        match definition::parse_quota(&quota) {
            Ok(quota) => {
                if let Some(invalid) = self.check_capacity(algorithm, quota) {
                    return self.refuse_member(context, span, &invalid);
                }
                let at = (policy.into(), key.as_bytes().into());
                if self.rules.overrides.insert(at, quota).is_some() {
                    self.refuse(
                        span,
                        &context.label,
                        &format!("the key {key:?} has an override already: expected one a key"),
                    );
                }
            }
            Err(invalid) => invalid.iter().for_each(|invalid| self.refuse_member(context, span, invalid)),
        }
    }

    /// Parses limit and window; zeros, besides an error, where they are invalid.
    fn quota(&mut self, context: &TableContext<'_>, span: &Range<usize>) -> LimitQuota {
        let limit = match context.table.get("limit") {
            None => self.refuse_missing(context, span, "limit"),
            Some(value) => match value.get_ref() {
                DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', "").parse().ok(),
                _ => None,
            }
            .unwrap_or_else(|| {
                self.refuse_value(context, value, "limit", "expected a whole number of units, at least 1");
                0
            }),
        };
        let window_ms = match context.table.get("window") {
            None => self.refuse_missing(context, span, "window"),
            Some(value) => value.get_ref().as_str().and_then(span_ms).unwrap_or_else(|| {
                let reason = r#"expected a span such as "60s", "500ms", "1m", "24h" or "30d""#;
                self.refuse_value(context, value, "window", reason);
                0
            }),
        };
        LimitQuota { limit, window_ms }
    }

    /// Refuses a value of the wrong type.
    fn refuse_value(
        &mut self,
        context: &TableContext<'_>,
        value: &Spanned<DeValue<'_>>,
        key: &'static str,
        reason: &str,
    ) {
        self.invalid_members.insert(key);
        self.refuse(&value.span(), &context.label, &format!("{key}: {reason}"));
    }

    fn refuse_missing(&mut self, context: &TableContext<'_>, span: &Range<usize>, key: &'static str) -> u64 {
        self.invalid_members.insert(key);
        self.refuse(span, &context.label, &format!("{key} is missing"));
        0
    }

    fn string_member(
        &mut self,
        context: &TableContext<'_>,
        span: &Range<usize>,
        key: &'static str,
        default: Option<&str>,
    ) -> String {
        match context.table.get(key) {
            Some(value) => value.get_ref().as_str().map(str::to_owned).unwrap_or_else(|| {
                self.refuse_value(context, value, key, "expected text in quotes");
                String::new()
            }),
            None => default.map(str::to_owned).unwrap_or_else(|| {
                self.refuse_missing(context, span, key);
                String::new()
            }),
        }
    }

    fn bool_member(&mut self, context: &TableContext<'_>, key: &'static str) -> bool {
        let Some(value) = context.table.get(key) else { return false };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.refuse_value(context, value, key, "expected true or false");
            false
        })
    }

    fn refuse_unknown(&mut self, context: &TableContext<'_>, known: &[&str]) {
        for key in context.table.keys().filter(|key| !known.contains(&&**key.get_ref())) {
            let reason = format!("no such key: {:?}; expected {}", shortened(key.get_ref()), known.join(", "));
            self.refuse(&key.span(), &context.label, &reason);
        }
    }

    /// Refuses the value of a member, at the member's line. A member that could not be parsed has been refused already, and would only be
    /// refused again for its substitute.
    fn refuse_member(&mut self, context: &TableContext<'_>, span: &Range<usize>, invalid: &InvalidMember) {
        let member = if invalid.member == "window_ms" { "window" } else { invalid.member };
        if self.invalid_members.contains(member) {
            return;
        }
        let span = context.table.get(member).map_or_else(|| span.clone(), Spanned::span);
        self.refuse(&span, &context.label, &invalid.reason);
    }

    fn refuse(&mut self, span: &Range<usize>, what: &str, reason: &str) {
        self.errors.push(span.start, format_args!("{what}: {reason}"));
    }
}

/// The beginning of a text, short enough for a log line.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(NAME_SHOWN_BYTES_MAX)]
}

/// Parses a span such as `60s` to milliseconds.
fn span_ms(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (amount, unit) = text.split_at(digits);
    let (_, unit_ms) = SPAN_UNITS_MS.into_iter().find(|(name, _)| *name == unit)?;
    amount.parse::<u64>().ok()?.checked_mul(unit_ms)
}
