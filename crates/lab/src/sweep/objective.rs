//! The figure by which a sweep selects the best combination. Pure.

use serde_json::Value;

use crate::aggregate::figure;
use crate::report::Run;

/// Ends of paths of which a higher value is better; for all others a lower one is.
const HIGHER_IS_BETTER: [&str; 14] = [
    "throughput_per_min",
    "throughput_per_s",
    "answered_per_s",
    "peak_per_s",
    "edge_per_s",
    "opened_per_s",
    "frames_per_s",
    "bytes_per_s",
    "ok",
    "finished",
    "created",
    "count",
    "opened",
    "kept",
];

/// A part of a path below which a higher value is better.
const PROGRESS: &str = "progress_per_s";

/// A figure, and which direction is better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objective {
    /// Work finished per minute, of the work of which most was created; without work, successful responses per second.
    Throughput,
    /// A figure by its path, as in gates.
    Path { path: String, higher_is_better: bool },
}

impl Objective {
    /// Parses a path such as `create_game.latency_ms.p99`. Which direction is better follows from its name, unless it
    /// is preceded by `max:` or `min:`.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Self {
        let (path, higher_is_better) = match (text.strip_prefix("max:"), text.strip_prefix("min:")) {
            (Some(path), _) => (path, true),
            (_, Some(path)) => (path, false),
            (None, None) => (text, is_higher_better_by_default(text)),
        };
        Self::Path { path: path.to_owned(), higher_is_better }
    }

    #[must_use]
    pub(crate) fn is_higher_better(&self) -> bool {
        matches!(self, Self::Throughput | Self::Path { higher_is_better: true, .. })
    }

    /// Its name in a table of this run.
    #[must_use]
    pub(crate) fn name(&self, run: &Run) -> String {
        match (self, run.results.work.iter().max_by_key(|(_, work)| work.created)) {
            (Self::Path { path, .. }, _) => path.clone(),
            (Self::Throughput, Some((work, _))) => format!("{work} finished, /min"),
            (Self::Throughput, None) => "good answers, /s".to_owned(),
        }
    }

    /// The figure of a run.
    #[must_use]
    pub(crate) fn value(&self, run: &Run) -> Option<f64> {
        match self {
            Self::Path { path, .. } => figure(&run.results.to_json(), path),
            Self::Throughput => throughput(run),
        }
    }
}

fn is_higher_better_by_default(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    HIGHER_IS_BETTER.contains(&last) || path.split('.').any(|part| part == PROGRESS)
}

fn throughput(run: &Run) -> Option<f64> {
    if let Some(work) = run.results.work.values().max_by_key(|work| work.created) {
        return work.throughput_per_min;
    }
    let (ok, length_s) = if run.load_steps.is_empty() {
        (run.results.journeys.values().map(|journey| journey.op.ok).sum(), run.duration_s)
    } else {
        run.load_steps.iter().fold((0, 0.0), |(ok, length_s), part| (ok + part.op.ok, length_s + part.length_s))
    };
    (length_s > 0.0).then_some(ok as f64 / length_s)
}

/// What the target used in a run: CPU seconds, and its peak memory in bytes.
pub(super) fn cost(run: &Run) -> (Option<f64>, Option<f64>) {
    let process = &run.results.server.process;
    (process.cpu_s, process.rss_bytes.map(|rss| rss.peak as f64))
}

/// The value of a gate for a reader.
pub(super) fn format_gate_value(value: &Value) -> String {
    match value {
        Value::Null => "no figure".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, path: &str, higher_is_better: bool) {
        assert_eq!(Objective::parse(text), Objective::Path { path: path.to_owned(), higher_is_better });
    }

    #[test]
    fn names_determine_which_direction_is_better() {
        check("game.throughput_per_min", "game.throughput_per_min", true);
        check("game.progress_per_s.turns", "game.progress_per_s.turns", true);
        check("create_game.ok", "create_game.ok", true);
        for figure in ["check.throughput_per_s", "climb.edge_per_s", "climb.peak_per_s", "viewers.connections.kept"] {
            check(figure, figure, true);
        }
        check("create_game.steps.post.errors", "create_game.steps.post.errors", false);
        check("create_game.latency_ms.p99", "create_game.latency_ms.p99", false);
        check("game.stuck", "game.stuck", false);
        check("server.cpu_s", "server.cpu_s", false);
        check("max:game.figures.turns.max", "game.figures.turns.max", true);
        check("min:game.finished", "game.finished", false);
    }
}
