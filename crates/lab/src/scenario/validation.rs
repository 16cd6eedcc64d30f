//! What is wrong in a scenario, all of it at once, worded for the person who must correct it. Does not know what a
//! scenario means: it holds origins and sentences.

use std::cell::RefCell;
use std::fmt;

/// Where a value of a scenario was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A line of the file, counted from 1.
    Line(usize),
    /// An argument of the command line, as it was typed.
    Argument(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(f, "line {line}"),
            Self::Argument(argument) => f.write_str(argument),
        }
    }
}

/// One error: where, which key, what was expected.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValidationError {
    pub origin: Origin,
    /// The dotted key; empty for the whole file.
    pub key: String,
    /// What was wrong and what was expected.
    pub message: String,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => write!(f, "{}: {}", self.origin, self.message),
            key => write!(f, "{}: `{key}` {}", self.origin, self.message),
        }
    }
}

/// All errors of one scenario, in the order of their lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidationErrors(pub Vec<ValidationError>);

impl ValidationErrors {
    pub(crate) fn single(origin: Origin, key: &str, message: impl Into<String>) -> Self {
        Self(vec![ValidationError { origin, key: key.to_owned(), message: message.into() }])
    }
}

impl fmt::Display for ValidationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if i == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for ValidationErrors {}

/// Collects the errors of all readers of a scenario.
#[derive(Debug, Default)]
pub(crate) struct ErrorCollector {
    errors: RefCell<Vec<ValidationError>>,
    /// For every table that was read: the keys that it may have, and those that it has.
    #[cfg(test)]
    pub(crate) tables: RefCell<Vec<(Vec<&'static str>, Vec<&'static str>)>>,
}

impl ErrorCollector {
    pub(crate) fn add(&self, origin: &Origin, key: &str, message: impl Into<String>) {
        self.errors.borrow_mut().push(ValidationError {
            origin: origin.clone(),
            key: key.to_owned(),
            message: message.into(),
        });
    }

    pub(crate) fn finish(self) -> Result<(), ValidationErrors> {
        let mut all = self.errors.into_inner();
        all.sort();
        all.dedup();
        if all.is_empty() { Ok(()) } else { Err(ValidationErrors(all)) }
    }
}
