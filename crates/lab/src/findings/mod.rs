//! Findings: bottlenecks from the timeline, each with its evidence and what would refute it. Pure. Names no bottleneck
//! that the figures do not show: a healthy run has no findings.
//!
//! How a cause is told from its consequences: every kind uses the time in which the target was busy (see `view`),
//! compares the suspect with its alternative (a wait for the pool with the query after it, a queue with the run time
//! after it), and says how much of the loss of clients or work items it explains. A finding whose cause was found as
//! well is left out (`CONSEQUENCES`); the others are ordered by what they explain.

mod cpu;
mod disturbance;
mod fault_effects;
pub(crate) mod format;
mod latency_breakdown;
mod lost_connections;
mod memory;
mod network;
mod op_series;
mod outages;
mod overload;
mod queue;
mod refusals;
mod roles;
mod series;
mod stuck;
mod thresholds;
mod view;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::aggregate::{ErrorGroup, LoadStepFigures, Results, Timeline};
use crate::machine::Machine;
use crate::scenario::{MetricRoles, TargetLimits};

pub use outages::CurrentOutage;
pub use roles::{ROLE_METRICS, metric_names};
use view::RunView;

/// A bottleneck that the figures support.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The stable name of its kind: `pool_starved`, `generator_behind`.
    pub code: String,
    pub sentence: String,
    /// The figures on which it rests.
    pub evidence: Vec<Evidence>,
    /// What one would see if it were wrong.
    pub refuted_by: String,
    /// What to try.
    pub advice: String,
}

/// A figure on which a finding rests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name on the timeline or in the record.
    pub figure: String,
    /// What it showed, in words, with its numbers and units.
    #[serde(rename = "says")]
    pub text: String,
}

/// Everything that findings are computed from.
#[derive(Clone, Copy, Debug)]
pub struct FindingsInput<'a> {
    /// The figures of the run.
    pub results: &'a Results,
    pub load_steps: &'a [LoadStepFigures],
    /// Its errors by kind, each with a sample.
    pub errors: &'a [ErrorGroup],
    /// Its figures over time, and the faults that were carried out.
    pub timeline: &'a Timeline,
    /// Which metrics mean what, if the scenario says so.
    pub metric_roles: &'a MetricRoles,
    /// Where it ran.
    pub machine: &'a Machine,
    /// What the target was allowed to use.
    pub limits: TargetLimits,
    /// Processes of the trial that exited while it ran, by a fault or not.
    pub process_exits: &'a [ProcessExit],
    /// Workers of the lab: each uses one core at most.
    pub workers: usize,
    /// Whether some step treats a status (429) as a denial, as limiters send it; a denial by the body of a success may
    /// have any reason.
    pub denies_by_status: bool,
}

/// A process of the trial that exited while it ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessExit {
    /// Its name: `server`, or that of a `[[process]]`.
    pub process: String,
    /// In seconds from the start of the plan.
    pub t_s: f64,
    /// The signal that ended it; none if it exited by itself.
    pub signal: Option<i32>,
}

/// A finding before it is known whether another one explains it.
#[derive(Clone, Debug)]
struct Candidate {
    finding: Finding,
    /// The share of the loss that it explains, from 0 to 1; 0 if it is worth knowing but nothing was lost.
    explained_share: f64,
    rank: FindingRank,
}

/// Which findings come first, whatever explains most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FindingRank {
    /// The target exited: everything after that is a consequence.
    TargetExited,
    /// Every response was an error: the lab's lateness causes none.
    Failed,
    /// It casts doubt on the figures of the whole run.
    Validity,
    /// The target answered no request, or none successfully, for a while: shortages in that time come after it.
    Outage,
    /// Everything else.
    Cause,
}

/// Kinds of findings, each with the kinds that are its consequences: if the first is found, the others add nothing.
const CONSEQUENCES: [(&str, &[&str]); 10] = [
    // Without a CPU everything waits, so no wait can be blamed.
    (
        "cpu_throttled",
        &[
            "cpu_saturated",
            "machine_full",
            "scheduler_late",
            "pool_starved",
            "store_slow",
            "queue_behind",
            "dependency_slow",
        ],
    ),
    ("cpu_saturated", &["scheduler_late", "pool_starved", "store_slow", "queue_behind", "dependency_slow"]),
    // Others leave little of the machine, but a queue that stays at its ceiling and a pool whose connections are held
    // briefly look the same on an idle machine.
    ("machine_full", &["scheduler_late", "store_slow", "dependency_slow"]),
    // One thread that does all the work of a small pool is busy all the time.
    ("pool_starved", &["one_core"]),
    // A request that waits for the disk keeps its connection meanwhile, and its worker.
    ("store_slow", &["pool_starved", "queue_behind", "one_core"]),
    // Work that waits for a dependency keeps its worker meanwhile.
    ("dependency_slow", &["queue_behind"]),
    // A killed process closes all its connections.
    ("memory_cap", &["memory_per_work", "connections_lost", "only_errors", "target_silent"]),
    ("errors_after_fault", &["connections_lost"]),
    ("late_after_fault", &["connections_lost"]),
    // A process that has no file left accepts no connection.
    ("descriptors_exhausted", &["accept_queue_full"]),
];

/// Everything that the figures support, ordered by what explains most.
#[must_use]
pub fn find_bottlenecks(input: &FindingsInput<'_>) -> Vec<Finding> {
    let view = RunView::new(input);
    let mut found = [
        cpu::candidates(&view),
        memory::candidates(&view),
        refusals::candidates(&view),
        network::candidates(&view),
        stuck::candidates(&view),
        fault_effects::candidates(&view),
        lost_connections::candidates(&view),
        outages::candidates(&view),
        overload::candidates(&view),
        queue::candidates(&view),
        latency_breakdown::candidates(&view),
    ]
    .concat();
    let codes: Vec<String> = found.iter().map(|candidate| candidate.finding.code.clone()).collect();
    let is_explained = |code: &str| {
        let causes = CONSEQUENCES.iter().filter(|(_, consequences)| consequences.contains(&code));
        causes.into_iter().any(|(cause, _)| codes.iter().any(|found| found == cause))
    };
    found.retain(|candidate| !is_explained(&candidate.finding.code));
    found.sort_by(|a, b| a.rank.cmp(&b.rank).then(b.explained_share.total_cmp(&a.explained_share)));
    found.into_iter().map(|candidate| candidate.finding).collect()
}

impl Candidate {
    fn new(code: &str, explains: f64, sentence: String) -> Self {
        let finding = Finding { code: code.to_owned(), sentence, ..Finding::default() };
        Self { finding, explained_share: explains.clamp(0.0, 1.0), rank: FindingRank::Cause }
    }

    fn rank(self, rank: FindingRank) -> Self {
        Self { rank, ..self }
    }

    /// What a figure showed; nothing if it is not known.
    fn evidence(self, figure: impl Into<String>, text: impl Into<Option<String>>) -> Self {
        self.all_evidence(text.into().map(|text| (figure, text)))
    }

    fn all_evidence(mut self, all: impl IntoIterator<Item = (impl Into<String>, String)>) -> Self {
        let all = all.into_iter().map(|(figure, text)| Evidence { figure: figure.into(), text });
        self.finding.evidence.extend(all);
        self
    }

    /// Errors of one cause, each kind with a sample.
    fn error_evidence(self, groups: &[&ErrorGroup]) -> Self {
        let text = |group: &ErrorGroup| format!("{} · {}", format::count(group.count), group.sample);
        self.all_evidence(groups.iter().map(|group| (error_figure(group), text(group))))
    }

    fn with_advice(mut self, refuted_by: &str, advice: &str) -> Self {
        (self.finding.refuted_by, self.finding.advice) = (refuted_by.to_owned(), advice.to_owned());
        self
    }
}

fn error_figure(group: &ErrorGroup) -> String {
    format!("errors.{}.{}", group.journey, group.kind)
}
