//! A page of metrics: families, each with its help, its kind and its samples. As text it is Prometheus' format (version 0.0.4); what sends
//! metrics elsewhere reads the families.

use super::instruments::{Counter, FineHistogram, Gauge, Histogram, SizeHistogram};
use std::fmt::{self, Display, Write};

/// The content type of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of metrics.
#[derive(Debug, Default)]
pub struct Page(Vec<Family>);

/// All samples of one metric.
#[derive(Debug)]
pub struct Family {
    pub name: Box<str>,
    pub help: Box<str>,
    pub kind: FamilyKind,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
}

impl FamilyKind {
    fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

#[derive(Debug)]
pub struct Sample {
    pub labels: Vec<(Box<str>, Box<str>)>,
    pub value: SampleValue,
}

#[derive(Debug)]
pub enum SampleValue {
    Number(Number),
    Buckets(Buckets),
}

/// The contents of a histogram so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Buckets {
    /// The bounds, each with the number of observations up to it.
    pub cumulative: Vec<(f64, u64)>,
    pub count: u64,
    pub sum: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Number {
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(value) => value as f64,
            Self::Signed(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(value) => value.fmt(f),
            Self::Signed(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self::Unsigned(value)
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::Unsigned(value as u64)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl Page {
    /// The page as text.
    #[must_use]
    pub fn into_text(self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        let _ = self.0.iter().try_for_each(|family| write_family(&mut text, family));
        text
    }

    #[must_use]
    pub fn families(&self) -> &[Family] {
        &self.0
    }

    /// A gauge with one sample for each pair of a label's value and its number.
    pub fn gauges<'a>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.head(name, help, FamilyKind::Gauge);
        for (of, value) in samples {
            self.sample(&[(label, of)], value);
        }
    }

    /// A metric without labels; omitted when its value is unknown.
    pub fn number(&mut self, name: &str, help: &str, kind: FamilyKind, value: Option<impl Into<Number>>) {
        if let Some(value) = value {
            self.head(name, help, kind);
            self.sample(&[], value);
        }
    }

    /// Begins a family: the samples that follow are of it.
    pub fn head(&mut self, name: &str, help: &str, kind: FamilyKind) {
        self.0.push(Family { name: name.into(), help: help.into(), kind, samples: Vec::new() });
    }

    /// One sample of the family that was begun last.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Into<Number>) {
        let labels = labels.iter().map(|(label, of)| ((*label).into(), (*of).into())).collect();
        self.push(Sample { labels, value: SampleValue::Number(value.into()) });
    }

    /// A histogram, which is the only sample of its family.
    fn histogram(&mut self, name: &str, help: &str, buckets: Buckets) {
        self.head(name, help, FamilyKind::Histogram);
        self.push(Sample { labels: Vec::new(), value: SampleValue::Buckets(buckets) });
    }

    fn push(&mut self, sample: Sample) {
        if let Some(family) = self.0.last_mut() {
            family.samples.push(sample);
        }
    }
}

fn write_family(text: &mut String, family: &Family) -> fmt::Result {
    let Family { name, help, kind, samples } = family;
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.name())?;
    for Sample { labels, value } in samples {
        match value {
            SampleValue::Number(value) => {
                text.push_str(name);
                write_labels(text, labels)?;
                writeln!(text, " {value}")?;
            }
            SampleValue::Buckets(Buckets { cumulative, count, sum }) => {
                for (bound, count) in cumulative {
                    writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {count}")?;
                }
                writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {count}\n{name}_sum {sum}\n{name}_count {count}")?;
            }
        }
    }
    Ok(())
}

/// Their values are escaped as the format requires; control characters without an escape are replaced.
fn write_labels(text: &mut String, labels: &[(Box<str>, Box<str>)]) -> fmt::Result {
    for (at, (label, of)) in labels.iter().enumerate() {
        let open = if at == 0 { '{' } else { ',' };
        let of = of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let of = of.replace(char::is_control, "\u{fffd}");
        write!(text, "{open}{label}=\"{of}\"")?;
    }
    if labels.is_empty() { Ok(()) } else { text.write_char('}') }
}

/// A metric that can be written to a page.
pub(super) trait Exposed {
    /// Writes the whole family.
    fn expose(&self, page: &mut Page, name: &str, help: &str);
}

impl Exposed for Counter {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Counter);
        page.sample(&[], self.get());
    }
}

impl Exposed for Gauge {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        page.head(name, help, FamilyKind::Gauge);
        page.sample(&[], self.get());
    }
}

impl Exposed for Histogram {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        let snapshot = self.snapshot();
        let (cumulative, count) = (snapshot.cumulative().collect(), snapshot.count());
        page.histogram(name, help, Buckets { cumulative, count, sum: snapshot.sum_s() });
    }
}

impl Exposed for FineHistogram {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        self.0.expose(page, name, help);
    }
}

impl Exposed for SizeHistogram {
    fn expose(&self, page: &mut Page, name: &str, help: &str) {
        let (bounds, count, sum) = self.cumulative();
        let cumulative = bounds.into_iter().map(|(bound, count)| (bound as f64, count)).collect();
        page.histogram(name, help, Buckets { cumulative, count, sum: sum as f64 });
    }
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
