//! Sends the metrics of the process as StatsD's lines over UDP: counters by how much they grew, gauges as they are, histograms as the number
//! of observations, their mean and their quantiles since the last time.
//!
//! A datagram has as many lines as fit. Nothing waits: what cannot be sent at once is counted and gone.

use metrics::{Buckets, FamilyKind, Metrics, Number, Page, Sample, SampleValue};
use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use tokio::net::UdpSocket;

/// Bytes of a datagram at most: with the heads of IPv6 and UDP it fits into a frame of Ethernet.
const DATAGRAM_BYTES_MAX: usize = 1_432;
const QUANTILES: [(&str, f64); 2] = [("p50", 0.5), ("p99", 0.99)];

/// How labels are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatsdTags {
    /// Into the name, as the first StatsD needs it: `name.value`.
    None,
    /// Behind the value, as DogStatsD has it: `|#label:value`.
    Datadog,
}

pub struct StatsdExporter {
    /// `HOST:PORT`.
    address: String,
    encoder: LineEncoder,
    metrics: Arc<Metrics>,
}

impl StatsdExporter {
    #[must_use]
    pub fn new(address: String, tags: StatsdTags, metrics: Arc<Metrics>) -> Self {
        Self { address, encoder: LineEncoder { tags, before: HashMap::new() }, metrics }
    }

    pub async fn send(&mut self, page: &Page) {
        let (datagrams, mut lost) = pack(&self.encoder.of(page));
        match connect(&self.address).await {
            Ok(socket) => lost += datagrams.iter().filter(|text| socket.try_send(text.as_bytes()).is_err()).count(),
            Err(error) => {
                tracing::debug!(address = self.address, %error, "metrics cannot be sent by StatsD");
                lost += datagrams.len();
            }
        }
        self.metrics.telemetry.statsd_lost.add(lost as u64);
    }
}

/// A socket that sends there, now that the name is looked up again.
async fn connect(address: &str) -> io::Result<UdpSocket> {
    let no_address = || io::Error::new(io::ErrorKind::InvalidInput, "expected HOST:PORT");
    let (host, port) = address.rsplit_once(':').ok_or_else(no_address)?;
    let port: u16 = port.parse().map_err(|_| no_address())?;
    let ip = *names::look_up(host).await?.first().ok_or_else(no_address)?;
    let any: IpAddr = if ip.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect((ip, port)).await?;
    // So that the first attempt to send knows that it need not wait.
    socket.writable().await?;
    Ok(socket)
}

/// The datagrams of these lines, and how many lines fit into none.
fn pack(lines: &[String]) -> (Vec<String>, usize) {
    let (mut datagrams, mut too_long) = (Vec::<String>::new(), 0);
    for line in lines {
        if line.len() > DATAGRAM_BYTES_MAX {
            too_long += 1;
            continue;
        }
        match datagrams.last_mut() {
            Some(last) if last.len() + 1 + line.len() <= DATAGRAM_BYTES_MAX => {
                last.push('\n');
                last.push_str(line);
            }
            _ => datagrams.push(line.clone()),
        }
    }
    (datagrams, too_long)
}

/// Pages as lines of StatsD, each with what has changed since the one before.
struct LineEncoder {
    tags: StatsdTags,
    /// What was sent last of counters and histograms, by their names with labels.
    before: HashMap<String, SampleBefore>,
}

enum SampleBefore {
    Counter(f64),
    Buckets(Buckets),
}

impl LineEncoder {
    /// The lines of a page. A counter that has not grown has none, and neither has a histogram without an observation.
    fn of(&mut self, page: &Page) -> Vec<String> {
        let mut lines = Vec::new();
        for family in page.families() {
            for sample in &family.samples {
                let series = Series::new(&family.name, sample, self.tags);
                match (&sample.value, family.kind) {
                    (SampleValue::Number(value), FamilyKind::Counter) => {
                        self.counter(&mut lines, &series, value.as_f64());
                    }
                    (SampleValue::Number(value), _) => gauge(&mut lines, &series, *value),
                    (SampleValue::Buckets(buckets), _) => self.histogram(&mut lines, &series, buckets),
                }
            }
        }
        lines
    }

    fn counter(&mut self, lines: &mut Vec<String>, series: &Series, value: f64) {
        let before = match self.before.insert(series.key(), SampleBefore::Counter(value)) {
            Some(SampleBefore::Counter(before)) => before,
            Some(SampleBefore::Buckets(_)) | None => 0.0,
        };
        if value > before {
            lines.push(series.line("", value - before, 'c'));
        }
    }

    fn histogram(&mut self, lines: &mut Vec<String>, series: &Series, buckets: &Buckets) {
        let before = match self.before.insert(series.key(), SampleBefore::Buckets(buckets.clone())) {
            Some(SampleBefore::Buckets(before)) => before,
            Some(SampleBefore::Counter(_)) | None => Buckets { cumulative: Vec::new(), count: 0, sum: 0.0 },
        };
        let count = buckets.count.saturating_sub(before.count);
        if count == 0 {
            return;
        }
        lines.push(series.line(".count", count, 'c'));
        lines.push(series.line(".mean", (buckets.sum - before.sum) / count as f64, 'g'));
        for (name, q) in QUANTILES {
            if let Some(bound) = quantile_bound(buckets, &before, q * count as f64) {
                lines.push(series.line(&format!(".{name}"), bound, 'g'));
            }
        }
    }
}

/// The bound of the bucket in which the observation of this rank lies; the last bound for what is beyond it.
fn quantile_bound(now: &Buckets, before: &Buckets, rank: f64) -> Option<f64> {
    let since = |at: usize, sum: u64| sum.saturating_sub(before.cumulative.get(at).map_or(0, |(_, before)| *before));
    let found = now.cumulative.iter().enumerate().find(|(at, (_, sum))| since(*at, *sum) as f64 >= rank);
    found.map(|(_, (bound, _))| *bound).or(now.cumulative.last().map(|(bound, _)| *bound))
}

/// A negative value alone would lower the gauge.
fn gauge(lines: &mut Vec<String>, series: &Series, value: Number) {
    if value.as_f64() < 0.0 {
        lines.push(series.line("", 0, 'g'));
    }
    lines.push(series.line("", value, 'g'));
}

/// The name of a series, and its tags.
struct Series {
    name: String,
    tags: String,
}

impl Series {
    fn new(family: &str, sample: &Sample, tags: StatsdTags) -> Self {
        let mut series = Self { name: family.to_owned(), tags: String::new() };
        for (label, value) in &sample.labels {
            let value = value.replace(|c: char| c.is_whitespace() || c.is_control() || "|#,:@".contains(c), "_");
            // Writing into a String cannot fail.
            let _ = match tags {
                StatsdTags::None => write!(series.name, ".{}", value.replace(['.', '/'], "_")),
                StatsdTags::Datadog => {
                    let open = if series.tags.is_empty() { "|#" } else { "," };
                    write!(series.tags, "{open}{label}:{value}")
                }
            };
        }
        series
    }

    fn key(&self) -> String {
        format!("{}{}", self.name, self.tags)
    }

    fn line(&self, part: &str, value: impl std::fmt::Display, kind: char) -> String {
        format!("{}{part}:{value}|{kind}{}", self.name, self.tags)
    }
}

#[cfg(test)]
mod tests;
