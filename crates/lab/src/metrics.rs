//! Metrics in Prometheus text, put onto the timeline with the client's view. Does not interpret them.

use std::collections::BTreeMap;

/// Every sample of the text by its name and labels, without the buckets of histograms: their sum and count are enough
/// on a timeline. Values that are not finite are left out.
#[must_use]
pub fn parse(text: &str) -> BTreeMap<String, f64> {
    let sample = |line: &str| {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        // Labels may hold spaces and braces inside quotes; the value follows the last brace.
        let (series, rest) = match line.rfind('}') {
            Some(end) => line.split_at(end + 1),
            None => line.split_once(char::is_whitespace)?,
        };
        let name = series.split('{').next()?;
        let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
        (value.is_finite() && !name.ends_with("_bucket")).then(|| (series.to_owned(), value))
    };
    text.lines().filter_map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(&str, f64)>) {
        let found = parse(line).into_iter().next();
        assert_eq!(found, expected.map(|(series, value)| (series.to_owned(), value)), "{line}");
    }

    #[test]
    fn lines() {
        check("jobs 3", Some(("jobs", 3.0)));
        check("jobs 3 1700000000000", Some(("jobs", 3.0)));
        check("jobs{state=\"ready\"} 3.5", Some(("jobs{state=\"ready\"}", 3.5)));
        check("jobs{path=\"/a {b} c\"} 1e3", Some(("jobs{path=\"/a {b} c\"}", 1000.0)));
        check("took_seconds_bucket{le=\"0.1\"} 7", None);
        check("# HELP jobs waiting", None);
        check("jobs NaN", None);
        check("jobs", None);
        check("", None);
    }
}
