//! The run as a whole: its bounds, what the lab itself may use, and which of the target's metrics mean what. Enforces
//! none of it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use super::journey::Journey;
use super::phase::Phase;
use super::reader::NodeReader;
use crate::limits::{CONNECTIONS_MAX, LAG_P99_MAX, REQUESTS_MAX, SOURCES_MAX, WAIT_MAX, WORKERS_MAX};

/// Bounds of the whole run; reaching one ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// From the start of the plan.
    pub duration_max: Duration,
    pub requests: u64,
    /// Connections open at once.
    pub connections: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { duration_max: WAIT_MAX, requests: REQUESTS_MAX, connections: CONNECTIONS_MAX }
    }
}

impl Bounds {
    pub(crate) fn read(at: &NodeReader<'_>) -> Option<Self> {
        let Self { duration_max, requests, connections } = Self::default();
        at.table(|fields| Self {
            duration_max: fields.or("time", duration_max, |at| at.duration(Duration::from_secs(1)..=duration_max)),
            requests: fields.or("requests", requests, |at| at.int(1..=requests)),
            connections: fields.or("connections", connections, |at| at.int(1..=connections)),
        })
    }

    /// Adds an error if the plan exceeds its own bounds. `at` is where the bounds are written, or the whole file.
    pub(crate) fn check(&self, at: &NodeReader<'_>, phases: &[Phase], journeys: &[Journey]) {
        let wrong = |what: String| match at.path.as_str() {
            "" => at.add_error(format!("the bounds of any run {what}")),
            _ => at.add_error(what),
        };
        let each = |phase: &Phase, of: fn(&Journey) -> u64| journeys.get(phase.journey_index).map_or(1, of);
        let opened = |phase: &Phase| match (phase.opening_journey, phase.load_profile.held()) {
            (Some(first), Some((connections, opening))) => opening
                .new_connections(connections)
                .saturating_mul(journeys.get(first).map_or(1, Journey::request_count)),
            _ => 0,
        };
        let arrived = |phase: &Phase| {
            phase.load_profile.max_count().unwrap_or(0).saturating_mul(each(phase, Journey::request_count))
        };
        let requests = |phase: &Phase| arrived(phase).saturating_add(opened(phase));
        let requests = phases.iter().map(requests).fold(0, u64::saturating_add);
        if requests > self.requests {
            wrong(format!("allow {} requests, but the phases may come to {requests}", self.requests));
        }
        for phase in phases {
            let count = |arrivals: u64| arrivals.saturating_mul(each(phase, Journey::connection_count));
            if let Some(count) = phase.load_profile.concurrency().map(count).filter(|count| *count > self.connections) {
                wrong(format!("allow {} connections, but the phase {} needs {count}", self.connections, phase.name));
            }
        }
        let time = phases.iter().map(|phase| phase.pause_before.saturating_add(phase.load_profile.min_duration()));
        let time = time.fold(Duration::ZERO, Duration::saturating_add);
        if time > self.duration_max {
            wrong(format!("allow {:?}, but the phases take at least {time:?}", self.duration_max));
        }
    }
}

/// Settings of the lab itself.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratorSpec {
    /// The 99th percentile of schedule lag above which a failed gate is void.
    pub lag_p99_max: Duration,
    /// Worker threads; without a value, the lab decides.
    pub workers: Option<usize>,
    /// Source addresses; if empty, the lab decides.
    pub source_addresses: Vec<IpAddr>,
}

impl Default for GeneratorSpec {
    fn default() -> Self {
        Self { lag_p99_max: LAG_P99_MAX, workers: None, source_addresses: Vec::new() }
    }
}

impl GeneratorSpec {
    pub(crate) fn read(at: &NodeReader<'_>) -> Option<Self> {
        at.table(|fields| Self {
            lag_p99_max: fields.or("lag_p99_max", LAG_P99_MAX, |at| at.duration(Duration::from_millis(1)..=WAIT_MAX)),
            workers: fields.optional("workers", |at| at.int(1..=WORKERS_MAX)).map(|workers| workers as usize),
            source_addresses: fields.or_default("sources", read_source_addresses),
        })
    }
}

fn read_source_addresses(at: &NodeReader<'_>) -> Vec<IpAddr> {
    let list = at.list().unwrap_or_default();
    if list.len() > SOURCES_MAX {
        at.add_error(format!("must list at most {SOURCES_MAX} addresses"));
    }
    let mut sources = Vec::new();
    for item in list {
        let Some(text) = item.text() else { continue };
        match text.parse() {
            Ok(source) if sources.contains(&source) => item.add_error(format!("lists {source} a second time")),
            Ok(source) => sources.push(source),
            Err(_) => item.add_error(format!("must be an address such as \"127.0.0.2\", not \"{text}\"")),
        }
    }
    sources
}

/// Which of the target's metrics mean what, so that findings can name a bottleneck: role to metric name. The metrics of
/// our own server need no entry.
pub type MetricRoles = BTreeMap<String, String>;

/// What a metric of the target can mean.
pub const METRIC_ROLES: [&str; 16] = [
    "pool_wait",
    "query_time",
    "queue_wait",
    "run_time",
    "queue_depth",
    "scheduler_delay",
    "commit_time",
    "commit_wait",
    "work_in_memory",
    "own_work",
    "dependency_time",
    "dependency_wait",
    "dependency_late",
    "denied",
    "accept_errors",
    "open_files",
];

/// Reads roles and metrics; an error if the target has no metrics.
pub(crate) fn read_metric_roles(at: &NodeReader<'_>, has_metrics: bool) -> MetricRoles {
    let roles = at.entries(|role, at| {
        if !METRIC_ROLES.contains(&role) {
            at.add_error(format!("is not a role that a metric can have; known: {}", METRIC_ROLES.join(", ")));
        }
        Some((role.to_owned(), at.string()?))
    });
    if !has_metrics {
        at.add_error("needs `metrics` in [target]: the path at which these metrics are read");
    }
    roles.into_iter().collect()
}
