//! What the lab and its worker processes say to each other: one JSON object a line, over a socket that is the process's
//! standard input. Secrets travel there and nowhere else. Refuses to know processes.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::crew::{DIALS, Report, Segment, Setting};
use super::moment::Moment;
use crate::scenario::{Recipe, Rows, Scenario};

/// The first line to a worker process: everything that its workers share.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Commission {
    recipe: Recipe,
    addresses: Vec<SocketAddr>,
    doors: Vec<Vec<SocketAddr>>,
    headers: Vec<(String, Vec<u8>)>,
    globals: BTreeMap<String, String>,
    picks: Vec<Vec<String>>,
    feeds: Vec<Table>,
    run_id: String,
    start: Moment,
    sources: Vec<IpAddr>,
    samples: bool,
    segment: Segment,
}

#[derive(Debug, Serialize, Deserialize)]
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Box<str>>>,
}

/// A line from a worker process.
#[derive(Debug, Serialize, Deserialize)]
#[allow(clippy::large_enum_variant)] // One a second: a box would save nothing.
pub(crate) enum Word {
    /// Its workers have started.
    Ready,
    /// They cannot, and why.
    Refused(String),
    /// The sum of its gauges.
    Gauges([u64; DIALS]),
    /// What one of its workers reports.
    Report(Report),
}

impl Commission {
    /// What a process needs to drive a segment.
    pub(crate) fn new(setting: &Setting, recipe: Recipe, segment: Segment) -> Self {
        let header = |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.as_bytes().to_vec());
        let table = |rows: &Rows| Table { columns: rows.columns.clone(), rows: rows.rows.clone() };
        Self {
            recipe,
            addresses: setting.addresses.clone(),
            doors: setting.doors.clone(),
            headers: setting.headers.iter().map(header).collect(),
            globals: setting.globals.clone(),
            picks: setting.picks.clone(),
            feeds: setting.feeds.iter().map(table).collect(),
            run_id: setting.run_id.clone(),
            start: setting.start,
            sources: setting.sources.clone(),
            samples: setting.samples,
            segment,
        }
    }

    /// The setting that it describes.
    ///
    /// # Errors
    /// It was written by another version of the lab.
    pub(crate) fn into_setting(self) -> Result<Setting, String> {
        let document = self.recipe.document().map_err(|mistakes| mistakes.to_string())?;
        let scenario = Scenario::read(&document).map_err(|mistakes| mistakes.to_string())?;
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
            headers.append(name, HeaderValue::from_bytes(&value).map_err(|error| error.to_string())?);
        }
        let rows = |Table { columns, rows }| Rows { columns, rows };
        Ok(Setting {
            scenario: Arc::new(scenario),
            addresses: self.addresses,
            doors: self.doors,
            headers,
            globals: self.globals,
            picks: self.picks,
            feeds: self.feeds.into_iter().map(rows).collect(),
            run_id: self.run_id,
            start: self.start,
            sources: self.sources,
            samples: self.samples,
            segment: self.segment,
            processes: None,
        })
    }
}

/// Writes a line.
pub(crate) fn write(out: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(frame)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Reads a line; nothing at the end.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}
