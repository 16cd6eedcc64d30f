//! Parses the file of policies: TOML, strictly. A file with any error is refused as a whole, and every error is reported with
//! its line. Pure: the caller reads the file.

use super::definition::{self, InvalidMember};
use engine::limits::{LIMIT_KEY_BYTES_MAX, LIMIT_OVERRIDES_MAX, LIMIT_POLICIES_MAX};
use limiter::{Algorithm, Policy, Quota};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use wire::api::{LimitPolicyDefinition, LimitQuota};
use wire::escape::Escaped;

/// The rules of a file of policies.
#[derive(Clone, Debug, Default)]
pub struct FileRules {
    /// The policies: built-in ones, then those of the file in its order.
    pub policies: Vec<Policy>,
    /// Names of the built-in policies among them.
    pub built_in: BTreeSet<Box<str>>,
    /// Quotas of single keys, by policy and key.
    pub overrides: BTreeMap<(Box<str>, Box<[u8]>), Quota>,
}

/// The built-in policies, in the form of a file.
const BUILT_IN: &str = include_str!("built_in.toml");

impl FileRules {
    /// The built-in policies.
    #[must_use]
    pub fn built_in() -> Self {
        let mut rules = parse_policies(BUILT_IN, usize::MAX).expect("a test reads the built-in policies");
        rules.built_in = rules.policies.iter().map(|policy| policy.name.clone()).collect();
        rules
    }

    /// These rules beside the built-in policies. One of the same name takes the place of a built-in one.
    #[must_use]
    pub fn beside_built_in(self) -> Self {
        let mut all = Self::built_in();
        for policy in &self.policies {
            all.built_in.remove(&policy.name);
        }
        all.policies.retain(|policy| all.built_in.contains(&policy.name));
        all.policies.extend(self.policies);
        all.overrides = self.overrides;
        all
    }

    /// A line for each policy: name, units, window, class, key, and whether it is a built-in one.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |policy: &Policy| {
            let LimitPolicyDefinition { class, key, limit, window_ms, shadow, .. } = definition::definition(policy);
            let source = if self.built_in.contains(&policy.name) { "built-in" } else { "file" };
            let shadow = if shadow { ", in shadow" } else { "" };
            let (name, window) = (&policy.name, Duration::from_millis(window_ms));
            format!("{name}: {limit} in {window:?}, class {class}, key {key} ({source}{shadow})")
        };
        self.policies.iter().map(line).collect()
    }
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
    let mut parser = PolicyFileParser { timestamps_max, rules: FileRules::default(), names: HashSet::new() };
    let mut errors = ErrorCollector::default();
    match DeTable::parse(text) {
        Ok(table) => parser.document(table.get_ref(), &mut errors),
        Err(error) => {
            let at = error.span().unwrap_or_default().start;
            errors.push(at, format_args!("not TOML: {}", error.message()));
        }
    }
    if errors.count == 0 { Ok(parser.rules) } else { Err(errors.into_file_error(text)) }
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

/// Longest name in an error text, in bytes.
const NAME_SHOWN_BYTES_MAX: usize = 80;

struct PolicyFileParser {
    timestamps_max: usize,
    rules: FileRules,
    names: HashSet<Box<str>>,
}

impl PolicyFileParser {
    fn document(&mut self, document: &DeTable<'_>, errors: &mut ErrorCollector) {
        for key in document.keys().filter(|key| key.get_ref() != "policy") {
            let name = shortened(key.get_ref());
            errors.push(key.span().start, format_args!("{name:?}: no such key: expected [[policy]]"));
        }
        let Some(value) = document.get("policy") else { return };
        for (span, table) in tables(value, "[[policy]]", "policy", errors) {
            let name = table.get("name").and_then(|name| name.get_ref().as_str());
            let label = name.map_or_else(|| "policy".to_owned(), |name| format!("policy {:?}", shortened(name)));
            self.policy(&mut TableReader { table, span, label, invalid_members: Vec::new(), errors });
        }
        let policies = value.get_ref().as_array().map_or(0, |policies| policies.len());
        for (count, max, what) in
            [(policies, LIMIT_POLICIES_MAX, "policies"), (self.rules.overrides.len(), LIMIT_OVERRIDES_MAX, "overrides")]
        {
            if count > max {
                errors.push(WHOLE_FILE, format_args!("{count} {what}: expected at most {max}"));
            }
        }
    }

    fn policy(&mut self, fields: &mut TableReader<'_>) {
        fields.refuse_unknown(&POLICY_KEYS);
        let name = fields.text("name", None);
        let LimitQuota { limit, window_ms } = fields.quota();
        let definition = LimitPolicyDefinition {
            class: fields.text("class", Some("*")),
            key: fields.text("key", Some("*")),
            algorithm: fields.text("algorithm", Some("gcra")),
            limit,
            window_ms,
            shadow: fields.member("shadow", Some(false), "expected true or false", |value| value.get_ref().as_bool()),
            when_full: fields.text("when_full", Some("deny")),
        };
        if !fields.is_invalid("name") && !self.names.insert(name.as_str().into()) {
            fields.refuse("another policy has this name already: expected names that differ");
        }
        match definition::parse_policy(&name, &definition) {
            Ok(policy) => match self.check_capacity(Some(policy.algorithm), policy.quota) {
                Some(invalid) => fields.refuse_member(&invalid),
                None => self.rules.policies.push(policy),
            },
            Err(invalid) => invalid.iter().for_each(|invalid| fields.refuse_member(invalid)),
        }
        let Some(overrides) = fields.table.get("override") else { return };
        let algorithm = definition::parse_algorithm(&definition.algorithm).ok();
        let label = format!("{}, override", fields.label);
        let what = format!("{}: override", fields.label);
        for (span, table) in tables(overrides, "[[policy.override]]", &what, fields.errors) {
            let (label, errors) = (label.clone(), &mut *fields.errors);
            self.override_entry(
                &mut TableReader { table, span, label, invalid_members: Vec::new(), errors },
                &name,
                algorithm,
            );
        }
    }

    fn check_capacity(&self, algorithm: Option<Algorithm>, quota: Quota) -> Option<InvalidMember> {
        definition::check_log_capacity(algorithm?, quota.limit(), self.timestamps_max).err()
    }

    fn override_entry(&mut self, fields: &mut TableReader<'_>, policy: &str, algorithm: Option<Algorithm>) {
        fields.refuse_unknown(&OVERRIDE_KEYS);
        let key = fields.text("key", None);
        let quota = fields.quota();
        if !fields.is_invalid("key") && !(1..=LIMIT_KEY_BYTES_MAX).contains(&key.len()) {
            fields.refuse(&format!("key has {} bytes: expected 1 to {LIMIT_KEY_BYTES_MAX}", key.len()));
        }
        match definition::parse_quota(&quota) {
            Ok(quota) => {
                if let Some(invalid) = self.check_capacity(algorithm, quota) {
                    return fields.refuse_member(&invalid);
                }
                let at = (policy.into(), key.as_bytes().into());
                if self.rules.overrides.insert(at, quota).is_some() {
                    fields.refuse(&format!("the key {key:?} has an override already: expected one a key"));
                }
            }
            Err(invalid) => invalid.iter().for_each(|invalid| fields.refuse_member(invalid)),
        }
    }
}

/// The tables of a list that each begin with `heading`; everything else in it is refused.
fn tables<'a>(
    list: &'a Spanned<DeValue<'a>>,
    heading: &str,
    what: &str,
    errors: &mut ErrorCollector,
) -> Vec<(Range<usize>, &'a DeTable<'a>)> {
    let Some(items) = list.get_ref().as_array() else {
        errors.push(list.span().start, format_args!("{what}: expected tables that begin with {heading}"));
        return Vec::new();
    };
    let table = |item: &'a Spanned<DeValue<'a>>| {
        let table = item.get_ref().as_table().map(|table| (item.span(), table));
        if table.is_none() {
            errors.push(item.span().start, format_args!("{what}: expected a table that begins with {heading}"));
        }
        table
    };
    items.iter().filter_map(table).collect()
}

/// A table with its name in error texts.
struct TableReader<'a> {
    table: &'a DeTable<'a>,
    span: Range<usize>,
    label: String,
    /// Its members that have no valid value, and were refused for that.
    invalid_members: Vec<&'static str>,
    errors: &'a mut ErrorCollector,
}

impl TableReader<'_> {
    /// Parses a member; the type's default, besides an error, where it is invalid, or missing without a `default`.
    fn member<T: Default>(
        &mut self,
        key: &'static str,
        default: Option<T>,
        expected: &str,
        parse: impl FnOnce(&Spanned<DeValue<'_>>) -> Option<T>,
    ) -> T {
        let value = self.table.get(key);
        let parsed = value.map_or(default, parse);
        parsed.unwrap_or_else(|| {
            self.invalid_members.push(key);
            match value {
                Some(value) => self.refuse_at(&value.span(), &format!("{key}: {expected}")),
                None => self.refuse(&format!("{key} is missing")),
            }
            T::default()
        })
    }

    fn text(&mut self, key: &'static str, default: Option<&str>) -> String {
        let text = |value: &Spanned<DeValue<'_>>| value.get_ref().as_str().map(str::to_owned);
        self.member(key, default.map(str::to_owned), "expected text in quotes", text)
    }

    fn quota(&mut self) -> LimitQuota {
        let units = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        let limit = self.member("limit", None, "expected a whole number of units, at least 1", units);
        let expected = r#"expected a span such as "60s", "500ms", "1m", "24h" or "30d""#;
        let window_ms = self.member("window", None, expected, |value| span_ms(value.get_ref().as_str()?));
        LimitQuota { limit, window_ms }
    }

    fn is_invalid(&self, member: &str) -> bool {
        self.invalid_members.contains(&member)
    }

    fn refuse_unknown(&mut self, known: &[&str]) {
        for key in self.table.keys().filter(|key| !known.contains(&&**key.get_ref())) {
            let reason = format!("no such key: {:?}; expected {}", shortened(key.get_ref()), known.join(", "));
            self.refuse_at(&key.span(), &reason);
        }
    }

    /// Refuses the value of a member, at the member's line. A member that could not be parsed has been refused already, and would only be
    /// refused again for its substitute.
    fn refuse_member(&mut self, invalid: &InvalidMember) {
        let member = if invalid.member == "window_ms" { "window" } else { invalid.member };
        if !self.is_invalid(member) {
            let span = self.table.get(member).map_or_else(|| self.span.clone(), Spanned::span);
            self.refuse_at(&span, &invalid.reason);
        }
    }

    /// Refuses the table.
    fn refuse(&mut self, reason: &str) {
        self.refuse_at(&self.span.clone(), reason);
    }

    fn refuse_at(&mut self, span: &Range<usize>, reason: &str) {
        self.errors.push(span.start, format_args!("{}: {reason}", self.label));
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
