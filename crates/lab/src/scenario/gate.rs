//! What a scenario says about figures: gates (a figure, a comparison, a limit) and the headline of its report.
//! Evaluation is the verdict's task.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::formula::Formula;
use super::reader::NodeReader;
use crate::format::known_names;

/// A condition on a figure that must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    /// The path of the figure.
    pub name: String,
    /// The limit as it was written, such as `<= 20`.
    pub limit: String,
    pub op: ComparisonOp,
    pub limit_formula: Formula,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparisonOp {
    Equal,
    NotEqual,
    Below,
    AtMost,
    Above,
    AtLeast,
}

impl ComparisonOp {
    // The longer ones first: `<` is a prefix of `<=`.
    const ALL: [(&'static str, Self); 6] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("!=", Self::NotEqual),
        ("=", Self::Equal),
        ("<", Self::Below),
        (">", Self::Above),
    ];

    #[must_use]
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Equal => value == limit,
            Self::NotEqual => value != limit,
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
        }
    }

    #[must_use]
    pub fn symbol(self) -> &'static str {
        Self::ALL.iter().find(|(_, op)| *op == self).map_or("", |(sign, _)| sign)
    }
}

impl Gate {
    /// Reads `name` = `limit`, where the limit is a comparison and a formula.
    ///
    /// # Errors
    /// A sentence that says what was expected.
    pub fn parse(name: &str, limit: &str) -> Result<Self, String> {
        let text = limit.trim();
        let found = ComparisonOp::ALL.iter().find_map(|(sign, op)| Some((*op, text.strip_prefix(sign)?)));
        let (op, rest) = found.ok_or("must start with one of = != < <= > >=")?;
        Ok(Self { name: name.to_owned(), limit: text.to_owned(), op, limit_formula: Formula::parse(rest)? })
    }
}

/// Every figure that a trial will have, and the first segments of paths that are unknown because what they belong to
/// could not be read.
pub(crate) struct KnownFigures {
    pub(crate) paths: BTreeSet<String>,
    pub(crate) unread_roots: BTreeSet<String>,
}

impl KnownFigures {
    /// Reads the gates of a trial with these figures, and whether errors that no gate covers must not happen: `errors =
    /// "off"` allows them.
    pub(crate) fn read_gates(&self, at: &NodeReader<'_>) -> (Vec<Gate>, bool) {
        let mut gates_other_errors = true;
        let gates = at.entries(|name, at| {
            if name != "errors" {
                return Some(self.read_limits(name, at));
            }
            gates_other_errors = at.text() != Some("off");
            if gates_other_errors {
                at.add_error("must be \"off\": no gate on errors but those that stand here; or name a figure, such as \"total.errors\"");
            }
            None
        });
        (gates.concat(), gates_other_errors)
    }

    /// Reads the limits of one figure: one, or a list of several that must all hold.
    fn read_limits(&self, figure: &str, at: &NodeReader<'_>) -> Vec<Gate> {
        at.accept(self.check(figure));
        let limit = |at: &NodeReader<'_>| {
            let gate = at.accept(Gate::parse(figure, at.text()?))?;
            for path in gate.limit_formula.figure_paths() {
                at.accept(self.check(path));
            }
            Some(gate)
        };
        at.one_or_many().iter().filter_map(limit).collect()
    }

    /// Checks that a figure with this path will exist.
    ///
    /// # Errors
    /// A sentence that lists the figures that will exist.
    pub(crate) fn check(&self, path: &str) -> Result<(), String> {
        let first = first_segment(path);
        if self.paths.contains(path) || self.unread_roots.contains(first) {
            return Ok(());
        }
        let lacks = format!("is a figure that this trial does not have: `{path}`");
        let near: Vec<&str> =
            self.paths.iter().map(String::as_str).filter(|near| first_segment(near) == first).collect();
        if near.is_empty() {
            let mut roots: Vec<&str> = self.paths.iter().map(|path| first_segment(path)).collect();
            roots.dedup();
            return Err(format!("{lacks} must start with {}", known_names(roots)));
        }
        // As far as the path is right, and what may follow it.
        let words: Vec<&str> = path.split('.').collect();
        let agrees = |near: &str, length: usize| near.split('.').take(length).eq(words.iter().take(length).copied());
        let goes_on = |near: &&&str, length: usize| agrees(near, length) && near.split('.').nth(length).is_some();
        let right = (1..words.len()).rev().find(|length| near.iter().any(|near| goes_on(&near, *length))).unwrap_or(1);
        let behind = near.iter().filter(|near| goes_on(near, right));
        let mut parts: Vec<&str> = behind.filter_map(|near| near.split('.').nth(right)).collect();
        parts.dedup();
        Err(format!("{lacks}; `{}` has {}", words[..right].join("."), known_names(parts)))
    }
}

fn first_segment(path: &str) -> &str {
    path.split('.').next().unwrap_or_default()
}

/// A figure of the headline: how much load the target took, or with which timing. A trial whose load is made inside the
/// target, or whose subject is a count, is not summarized by its largest journey.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadlineFigure {
    /// The path of the figure.
    pub figure: String,
    /// Its label, including the unit: `actors moving`, `ms until a move is answered, p99`.
    pub of: String,
}

/// Reads `[headline]`: both of its figures, or none.
pub(super) fn read_headline(at: &NodeReader<'_>, known: &KnownFigures) -> Option<[HeadlineFigure; 2]> {
    let read = |at: &NodeReader<'_>| Some(read_headline_figure(at, known));
    let took = "the figure that says how much, such as { figure = \"visit.ok\", of = \"visits\" }";
    let lasted = "the figure that says how long that took";
    let [took, lasted] =
        at.table(|fields| [fields.required("took", took, read), fields.required("lasted", lasted, read)])?;
    Some([took?, lasted?])
}

fn read_headline_figure(at: &NodeReader<'_>, known: &KnownFigures) -> Option<HeadlineFigure> {
    let figure = |at: &NodeReader<'_>| {
        let figure = at.string()?;
        at.accept(known.check(&figure)).map(|()| figure)
    };
    at.table(|fields| HeadlineFigure {
        figure: fields.required("figure", "the path of a figure, as gates name it", figure),
        of: fields.required("of", "what the figure is of, with its unit", NodeReader::string),
    })
}
