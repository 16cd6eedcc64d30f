//! The Prometheus text format (version 0.0.4): a page of families, each with its help, its kind and its samples.

use super::instruments::{Counter, FineHistogram, Gauge, Histogram, HistogramSnapshot, SizeHistogram};
use std::fmt::{Display, Write};

/// The content type of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of metrics.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// The page as text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }

    /// A gauge with one sample for each pair of a label's value and its number.
    pub fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.head(name, help, "gauge");
        for (of, value) in samples {
            self.sample(name, &[(label, of)], value);
        }
    }

    /// A metric without labels; omitted when its value is unknown.
    pub fn number(&mut self, name: &str, help: &str, kind: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.head(name, help, kind);
            self.sample(name, &[], value);
        }
    }

    /// The two lines before a family's samples.
    pub fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// One sample. Values of labels are escaped as the format requires; control characters without an escape are replaced.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.write(format_args!("{name}"));
        for (at, (label, of)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let of = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let of = of.replace(char::is_control, "\u{fffd}");
            self.write(format_args!("{open}{label}=\"{of}\""));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        self.write(format_args!("{close} {value}\n"));
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        let _ = self.0.write_fmt(text);
    }
}

/// A metric that can be written to a page.
pub(super) trait Exposed {
    /// Writes the whole family.
    fn expose(&self, page: &mut Page, name: &str, help: &str);
}

impl Exposed for Counter {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, "counter");
        page.sample(name, &[], self.get());
    }
}

impl Exposed for Gauge {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, "gauge");
        page.sample(name, &[], self.get());
    }
}

impl Exposed for Histogram {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, "histogram");
        expose_buckets(page, name, &self.snapshot());
    }
}

impl Exposed for FineHistogram {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        self.0.expose(page, name, help);
    }
}

impl Exposed for SizeHistogram {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, "histogram");
        let bucket = format!("{name}_bucket");
        let (bounds, count, sum) = self.cumulative();
        for (bound, count) in bounds {
            page.sample(&bucket, &[("le", &bound.to_string())], count);
        }
        page.sample(&bucket, &[("le", "+Inf")], count);
        page.sample(&format!("{name}_sum"), &[], sum);
        page.sample(&format!("{name}_count"), &[], count);
    }
}

fn expose_buckets(page: &mut Page, name: &str, snapshot: &HistogramSnapshot) {
    let bucket = format!("{name}_bucket");
    for (bound_s, count) in snapshot.cumulative() {
        page.sample(&bucket, &[("le", &bound_s.to_string())], count);
    }
    page.sample(&bucket, &[("le", "+Inf")], snapshot.count());
    page.sample(&format!("{name}_sum"), &[], snapshot.sum_s());
    page.sample(&format!("{name}_count"), &[], snapshot.count());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(of: &str, want: &str) {
        let mut page = Page::default();
        page.gauges("x", "Things.", "of", [(of, 3)]);
        assert_eq!(page.into_text(), format!("# HELP x Things.\n# TYPE x gauge\n{want}\n"));
    }

    #[test]
    fn values_of_labels_are_escaped() {
        check("plain", r#"x{of="plain"} 3"#);
        check("a\"b\\c\nd", r#"x{of="a\"b\\c\nd"} 3"#);
        check("a\r\0\u{1b}b", "x{of=\"a\u{fffd}\u{fffd}\u{fffd}b\"} 3");
    }
}
