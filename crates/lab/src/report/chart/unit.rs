//! How the figures of an axis are written: their unit, and how it scales with them. Does not know where they are shown.

use serde::Serialize;

use crate::format::{clock, number};

const KIB: f64 = 1024.0;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub(crate) enum Unit {
    /// A plain number, followed by the unit's name: `ms`, `a second`.
    Number(String),
    /// Whole things.
    Count(String),
    /// Bytes, in whichever of KiB, MiB, GiB fits.
    Bytes,
    /// A moment in seconds since the start.
    Time,
    /// One of this many is larger: 100 is the 99th percentile.
    PercentileRank,
    /// Named items in a row: 1 is the first.
    Items(Vec<String>),
}

impl Default for Unit {
    fn default() -> Self {
        Self::number("")
    }
}

impl Unit {
    pub(in crate::report) fn number(name: &str) -> Self {
        Self::Number(name.to_owned())
    }

    pub(in crate::report) fn count(name: &str) -> Self {
        Self::Count(name.to_owned())
    }

    /// A single figure, with its unit.
    pub(super) fn format(&self, value: f64) -> String {
        match self {
            Self::Count(_) => number(Some(value)),
            Self::Number(name) => {
                let blank = if name.is_empty() { "" } else { " " };
                format!("{}{blank}{name}", number(Some(value)))
            }
            Self::Time => clock(value),
            Self::PercentileRank => percentile_label(value),
            Self::Items(names) => item_name(names, value),
            Self::Bytes => {
                let (factor, name) = match value {
                    _ if value >= KIB * KIB * KIB => (KIB * KIB * KIB, "GiB"),
                    _ if value >= KIB * KIB => (KIB * KIB, "MiB"),
                    _ => (KIB, "KiB"),
                };
                format!("{} {name}", number(Some(value / factor)))
            }
        }
    }
}

/// 100 → `p99`, 1000 → `p99.9`. Rounded to the digits that this many nines need.
fn percentile_label(one_of: f64) -> String {
    let digits = one_of.log10().ceil().clamp(2.0, 6.0) as usize - 2;
    format!("p{:.digits$}", 100.0 - 100.0 / one_of)
}

/// Nothing beside the items.
fn item_name(names: &[String], item: f64) -> String {
    names.get((item - 1.0) as usize).filter(|_| item >= 1.0).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_by_themselves_have_their_unit() {
        assert_eq!(Unit::number("ms").format(12.34), "12.3 ms");
        assert_eq!(Unit::number("").format(3.0), "3");
        assert_eq!(Unit::Bytes.format(140.0 * KIB * KIB), "140 MiB");
        assert_eq!(Unit::Time.format(61.0), "1:01");
        assert_eq!(
            [2.0, 10.0, 100.0, 200.0, 1000.0].map(|value| Unit::PercentileRank.format(value)).join(" "),
            "p50 p90 p99 p99.5 p99.9"
        );
    }
}
