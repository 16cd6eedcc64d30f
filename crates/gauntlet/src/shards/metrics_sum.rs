//! The metrics of several servers as those of one: series of the same name and labels are added up, in Prometheus text.
//! Pure.
//!
//! What cannot be added (points in time, ratios, quantiles, build information) is left out: each shard still has its
//! own.

use indexmap::{IndexMap, IndexSet};
use std::fmt::Write;

/// Suffixes of metrics whose sum would mean nothing.
const UNSUMMABLE_SUFFIXES: [&str; 7] =
    ["_info", "_timestamp_seconds", "_start_time_seconds", "_ratio", "_share", "_max", "_max_seconds"];

/// Comments and series in the order in which they came first.
#[derive(Default)]
struct MetricFamily<'a> {
    comments: IndexSet<&'a str>,
    series: IndexMap<&'a str, f64>,
}

/// Adds these texts up. Other lines than samples and comments are skipped.
pub(super) fn sum_metrics<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut families: IndexMap<&str, MetricFamily<'_>> = IndexMap::new();
    for text in texts {
        let mut current = "";
        for line in text.lines() {
            current = described_name(line).unwrap_or(current);
            if let Some((series, value)) = parse_sample(line) {
                let name = series.split('{').next().unwrap_or(series);
                let family = if is_part_of(name, current) { current } else { name };
                if is_summable(family) && !series.contains("quantile=") {
                    *families.entry(family).or_default().series.entry(series).or_default() += value;
                }
            } else if line.starts_with('#') && is_summable(current) {
                families.entry(current).or_default().comments.insert(line);
            }
        }
    }
    let mut text = String::new();
    for family in families.values().filter(|family| !family.series.is_empty()) {
        for line in &family.comments {
            let _ = writeln!(text, "{line}");
        }
        for (series, value) in &family.series {
            let _ = writeln!(text, "{series} {value}");
        }
    }
    text
}

/// The name in a line `# HELP name …` or `# TYPE name …`.
fn described_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("# HELP ").or_else(|| line.strip_prefix("# TYPE "))?;
    rest.split(' ').next()
}

/// A series with its labels, and its value. Labels may hold spaces; values do not.
fn parse_sample(line: &str) -> Option<(&str, f64)> {
    if line.starts_with('#') {
        return None;
    }
    let (series, value) = line.trim_end().rsplit_once(' ')?;
    Some((series, value.parse().ok()?))
}

/// Histograms have series of three names.
fn is_part_of(name: &str, family: &str) -> bool {
    !family.is_empty()
        && name.strip_prefix(family).is_some_and(|rest| ["", "_bucket", "_sum", "_count"].contains(&rest))
}

fn is_summable(name: &str) -> bool {
    !UNSUMMABLE_SUFFIXES.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], want: &str) {
        assert_eq!(sum_metrics(texts.iter().copied()), want);
    }

    #[test]
    fn series_of_one_name_and_labels_are_one() {
        check(&[], "");
        check(&["a 1\n", "a 2.5\n"], "a 3.5\n");
        check(&["a{x=\"1\"} 1\na{x=\"2\"} 2\n", "a{x=\"2\"} 3\n"], "a{x=\"1\"} 1\na{x=\"2\"} 5\n");
        check(&["a{x=\"b c}\"} 1\n", "a{x=\"b c}\"} 1\n"], "a{x=\"b c}\"} 2\n");
        check(&["a 1\n", "b 1\n"], "a 1\nb 1\n");
        check(&["a one\n\nnonsense\n# a comment\n"], "");
    }

    #[test]
    fn comments_are_printed_once_before_all_samples() {
        let one = "# HELP a_total Things.\n# TYPE a_total counter\na_total 1\n# HELP b Other.\n# TYPE b gauge\nb 1\n";
        let two = "# HELP a_total Things.\n# TYPE a_total counter\na_total{x=\"1\"} 1\n";
        check(
            &[one, two],
            "# HELP a_total Things.\n# TYPE a_total counter\na_total 1\na_total{x=\"1\"} 1\n# HELP b Other.\n# TYPE b gauge\nb 1\n",
        );
    }

    #[test]
    fn histograms_stay_together() {
        let one = "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 2\nh_sum 0.5\nh_count 2\n";
        check(&[one, one], "# TYPE h histogram\nh_bucket{le=\"1\"} 2\nh_bucket{le=\"+Inf\"} 4\nh_sum 1\nh_count 4\n");
    }

    #[test]
    fn what_cannot_be_added_is_left_out() {
        check(
            &[
                "# TYPE a_start_time_seconds gauge\na_start_time_seconds 9\nb_info{v=\"1\"} 1\nc{quantile=\"0.99\"} 3\nc_count 1\n",
            ],
            "c_count 1\n",
        );
    }
}
