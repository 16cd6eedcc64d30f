//! The errors of a configuration: what was given, and what would be valid.

use std::fmt;

/// One error in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValidationError {
    /// What was given, and where.
    pub given: String,
    /// What would be valid, or what to do.
    pub expected: String,
}

/// All errors in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub Vec<ValidationError>);

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        write!(f, "the configuration has {count} {}:", if count == 1 { "mistake" } else { "mistakes" })?;
        self.0.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected: {}", self.given, self.expected)
    }
}
