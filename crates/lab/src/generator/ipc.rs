//! Messages between the lab and its worker processes: one JSON object a line, over a socket that is the process's
//! standard input. Secrets are sent there and nowhere else. Does not know processes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::monotonic_time::MonotonicTime;
use super::worker_pool::{GAUGE_COUNT, GeneratorConfig, Segment, WorkerReport};
use crate::scenario::{FeedRows, Scenario, ScenarioSource};

/// The first line to a worker process: everything that its workers share.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WorkerInit {
    scenario_source: ScenarioSource,
    addresses: Vec<SocketAddr>,
    message_endpoints: Vec<Vec<SocketAddr>>,
    headers: Vec<(String, Vec<u8>)>,
    globals: BTreeMap<String, String>,
    picks: Vec<Vec<String>>,
    feeds: Vec<FeedTable>,
    run_id: String,
    start: MonotonicTime,
    source_addresses: Vec<IpAddr>,
    writes_samples: bool,
    segment: Segment,
}

#[derive(Debug, Serialize, Deserialize)]
struct FeedTable {
    columns: Vec<String>,
    rows: Vec<Vec<Box<str>>>,
}

/// A line from a worker process.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // One a second: a box would save nothing.
pub(crate) enum WorkerMessage {
    /// Its workers have started.
    Ready,
    /// The workers cannot start; the message for the user.
    Failed(String),
    /// The sum of its workers' gauges.
    Gauges([u64; GAUGE_COUNT]),
    Report(WorkerReport),
}

impl WorkerInit {
    pub(crate) fn new(config: &GeneratorConfig, scenario_source: ScenarioSource, segment: Segment) -> Self {
        let header = |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.as_bytes().to_vec());
        let table = |rows: &FeedRows| FeedTable { columns: rows.columns.clone(), rows: rows.rows.clone() };
        Self {
            scenario_source,
            addresses: config.addresses.clone(),
            message_endpoints: config.message_endpoints.clone(),
            headers: config.headers.iter().map(header).collect(),
            globals: config.globals.clone(),
            picks: config.picks.clone(),
            feeds: config.feeds.iter().map(table).collect(),
            run_id: config.run_id.clone(),
            start: config.start,
            source_addresses: config.source_addresses.clone(),
            writes_samples: config.writes_samples,
            segment,
        }
    }

    /// The configuration that it describes.
    ///
    /// # Errors
    /// It was written by another version of the lab.
    pub(crate) fn into_config(self) -> Result<GeneratorConfig, String> {
        let document = self.scenario_source.rebuild().map_err(|mistakes| mistakes.to_string())?;
        let scenario = Scenario::read(&document).map_err(|mistakes| mistakes.to_string())?;
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
            headers.append(name, HeaderValue::from_bytes(&value).map_err(|error| error.to_string())?);
        }
        let rows = |FeedTable { columns, rows }| FeedRows { columns, rows };
        Ok(GeneratorConfig {
            scenario: Arc::new(scenario),
            addresses: self.addresses,
            message_endpoints: self.message_endpoints,
            headers,
            globals: self.globals,
            picks: self.picks,
            feeds: self.feeds.into_iter().map(rows).collect(),
            run_id: self.run_id,
            start: self.start,
            source_addresses: self.source_addresses,
            writes_samples: self.writes_samples,
            segment: self.segment,
            processes: None,
        })
    }
}

pub(crate) fn write(out: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(frame)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Reads a line; none at the end of the stream.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
