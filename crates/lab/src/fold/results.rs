//! The figures of a run as they stand in `run.json`, and the paths by which gates find them. Refuses to judge
//! them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::curve::Point;
use super::summary::{Figures, STATISTICS};
use crate::scenario::{Journey, Work};

/// Names that no journey and no work may have: figures of the run itself are found under them.
pub const RESERVED: [&str; 2] = ["generator", "server"];

/// Names that no derived figure may have.
pub const WORK_FIGURES: [&str; 17] = [
    "created",
    "finished",
    "failed",
    "stuck",
    "waiting",
    "running",
    "duplicates",
    "throughput_per_min",
    "drain_s",
    "completion_s",
    "queue_wait_s",
    "run_s",
    "figures",
    "progress_per_s",
    "totals",
    "drain_curve",
    "stuck_by",
];

/// Everything that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// By journey.
    pub journeys: BTreeMap<String, JourneyFigures>,
    /// By kind of work.
    pub work: BTreeMap<String, WorkFigures>,
    /// The lab itself.
    pub generator: Generator,
    /// The service under test.
    pub server: ServerFigures,
    /// Processes beside it.
    pub processes: BTreeMap<String, ProcessFigures>,
}

impl Results {
    /// The tree in which gates look figures up.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("figures are texts, finite numbers and maps with text keys")
    }
}

/// A journey.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JourneyFigures {
    /// The journey as a whole.
    #[serde(flatten)]
    pub op: OpFigures,
    /// Arrivals whose time had come but that were never sent.
    pub not_sent: u64,
    /// Its steps, where there is more than one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub steps: BTreeMap<String, OpFigures>,
}

/// An operation. Latency counts from the intended moment, service time from the moment of sending; both are of
/// good answers only, in milliseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct OpFigures {
    pub count: u64,
    pub ok: u64,
    pub errors: u64,
    pub denied: u64,
    pub retries: u64,
    pub latency_ms: Figures,
    pub service_ms: Figures,
    /// From the intended moment to the end of what was denied or went wrong, in milliseconds.
    #[serde(default)]
    pub failed_ms: Figures,
}

/// One part of the trial: a burst, a level, or a whole phase without any.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PartFigures {
    /// Its number, counted over the whole trial.
    pub part: u32,
    /// The phase that it belongs to.
    pub phase: String,
    /// What it is: `burst 2`, `50 clients`, `1,250/s`.
    pub label: String,
    /// The first moment of it, in seconds from the start of the plan.
    pub start_s: f64,
    /// From its first moment to the end of its last exchange, in seconds.
    pub length_s: f64,
    /// Arrivals per second that were due, in an open loop with a rate.
    pub offered_per_s: Option<f64>,
    /// Clients, in a closed loop; held connections, where it holds some.
    pub clients: Option<u64>,
    /// Good answers per second over its length.
    pub throughput_per_s: Option<f64>,
    /// Arrivals whose time had come but that were never sent.
    pub not_sent: u64,
    /// Its journey as a whole.
    #[serde(flatten)]
    pub op: OpFigures,
    /// Whether the search for the edge called it overloaded, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<Vec<String>>,
}

/// One kind of work. Finished, failed, stuck, waiting and running add up to created.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkFigures {
    /// Pieces whose creation was answered.
    pub created: u64,
    /// Ended as they should.
    pub finished: u64,
    /// Ended otherwise.
    pub failed: u64,
    /// Without progress for too long.
    pub stuck: u64,
    /// Of those: by who held them, where the scenario says how to see it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stuck_by: BTreeMap<String, u64>,
    /// In the queue when the trial ended.
    pub waiting: u64,
    /// Under way when the trial ended.
    pub running: u64,
    /// Ids that the target gave out a second time.
    pub duplicates: u64,
    /// Finished pieces per minute, from the first creation to the last finish.
    pub throughput_per_min: Option<f64>,
    /// Seconds from the moment the last arrival was due until nothing was left.
    pub drain_s: Option<f64>,
    /// From creation to finish.
    pub completion_s: Figures,
    /// From creation to start.
    pub queue_wait_s: Figures,
    /// From start to finish.
    pub run_s: Figures,
    /// Whatever the scenario keeps from the status of finished pieces.
    pub figures: BTreeMap<String, Figures>,
    /// Sums of the progress figures per second, over the time that the throughput is taken over.
    pub progress_per_s: BTreeMap<String, f64>,
    /// Figures that the scenario derives from them.
    #[serde(flatten)]
    pub derived: BTreeMap<String, Figures>,
    /// What the server itself counted meanwhile.
    pub totals: Option<TotalsFigures>,
    /// The work over time, thinned out; the timeline file has every row.
    pub drain_curve: Vec<Point>,
}

/// What the server's own totals rose by between the start of the trial and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsFigures {
    /// Created.
    pub created: Option<i64>,
    /// Finished.
    pub finished: Option<i64>,
    /// Failed.
    pub failed: Option<i64>,
}

/// The lab itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Generator {
    /// How late arrivals left through the lab's own doing.
    pub schedule_lag_ms: Figures,
    /// The bound on its 99th percentile beyond which a failed gate is void.
    pub lag_p99_max_ms: f64,
    /// Arrivals that are over.
    pub arrivals: u64,
    /// Arrivals that waited for a free place in flight: the target's doing, and part of their latency.
    pub capped: u64,
    /// Arrivals whose time had come but that were never sent.
    pub not_sent: u64,
    /// Arrivals that were sent and given up when the trial was ended.
    pub abandoned: u64,
    /// Processor time of the lab.
    pub cpu_s: Option<f64>,
    /// Memory of the lab.
    pub rss_bytes: Option<Rss>,
}

/// The service under test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerFigures {
    /// Its process, where it runs on this machine.
    #[serde(flatten)]
    pub process: ProcessFigures,
    /// Its configuration in its own words, where the scenario says how to ask.
    pub config: Option<Value>,
}

/// A process, watched from outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessFigures {
    /// Resident memory.
    pub rss_bytes: Option<Rss>,
    /// Processor time, user and system, during the trial.
    pub cpu_s: Option<f64>,
}

/// Resident memory over a run, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Rss {
    pub first: u64,
    pub peak: u64,
    pub last: u64,
}

/// Errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorGroup {
    /// The journey.
    pub journey: String,
    /// The step, where the journey has more than one.
    pub step: Option<String>,
    /// What kind.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// The first message.
    pub sample: String,
}

/// A figure by its path: `create_game.errors`, `game.figures.turns.max`, `generator.schedule_lag_ms.p99`.
#[must_use]
pub fn figure(results: &Value, path: &str) -> Option<f64> {
    let (first, rest) = path.split_once('.')?;
    let roots = [results.get("journeys"), results.get("work"), Some(results)];
    let root = roots.into_iter().flatten().find_map(|root| root.get(first))?;
    rest.split('.').try_fold(root, |value, key| value.get(key))?.as_f64()
}

/// Every path that a trial with these journeys and works can have a figure at.
#[must_use]
pub fn known_figures(journeys: &[Journey], works: &[Work]) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for journey in journeys {
        add_op(&mut paths, &journey.name);
        paths.insert(format!("{}.not_sent", journey.name));
        if journey.steps.len() > 1 {
            journey.steps.iter().for_each(|step| add_op(&mut paths, &format!("{}.steps.{}", journey.name, step.name)));
        }
    }
    works.iter().for_each(|work| add_work(&mut paths, work));
    add_statistics(&mut paths, "generator.schedule_lag_ms");
    for figure in ["generator.capped", "generator.not_sent", "generator.arrivals", "generator.cpu_s", "server.cpu_s"] {
        paths.insert(figure.to_owned());
    }
    for figure in ["first", "peak", "last"] {
        paths.insert(format!("server.rss_bytes.{figure}"));
    }
    paths
}

fn add_op(paths: &mut BTreeSet<String>, name: &str) {
    for figure in ["count", "ok", "errors", "denied", "retries"] {
        paths.insert(format!("{name}.{figure}"));
    }
    add_statistics(paths, &format!("{name}.latency_ms"));
    add_statistics(paths, &format!("{name}.service_ms"));
}

fn add_work(paths: &mut BTreeSet<String>, work: &Work) {
    let name = &work.name;
    for figure in &WORK_FIGURES[..9] {
        paths.insert(format!("{name}.{figure}"));
    }
    for figure in &WORK_FIGURES[9..12] {
        add_statistics(paths, &format!("{name}.{figure}"));
    }
    work.reading.figures.iter().for_each(|(figure, _)| add_statistics(paths, &format!("{name}.figures.{figure}")));
    for place in &work.reading.progress {
        paths.insert(format!("{name}.progress_per_s.{}", work.reading.figures[*place].0));
    }
    work.derive.iter().for_each(|(figure, _)| add_statistics(paths, &format!("{name}.{figure}")));
}

fn add_statistics(paths: &mut BTreeSet<String>, path: &str) {
    paths.extend(STATISTICS.map(|statistic| format!("{path}.{statistic}")));
}
