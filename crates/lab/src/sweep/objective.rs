//! The figure by which a sweep calls a combination the best. Pure.

use serde_json::Value;

use crate::aggregate::figure;
use crate::report::Run;

/// Ends of paths of which more is better; of all others less is.
const HIGHER_IS_BETTER: [&str; 5] = ["throughput_per_min", "ok", "finished", "created", "count"];

/// A part of a path below which more is better.
const PROGRESS: &str = "progress_per_s";

/// A figure, and which way is better.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Work finished a minute, of the work of which most was created; good answers a second where there is none.
    Throughput,
    /// A figure by its path, as gates name it.
    Path {
        /// The path.
        path: String,
        /// Whether more of it is better.
        more: bool,
    },
}

impl Objective {
    /// Reads a path such as `create_game.latency_ms.p99`. Which way is better follows from its name, unless `max:` or
    /// `min:` stands before it.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let (path, more) = match (text.strip_prefix("max:"), text.strip_prefix("min:")) {
            (Some(path), _) => (path, true),
            (_, Some(path)) => (path, false),
            (None, None) => (text, is_more_better(text)),
        };
        Self::Path { path: path.to_owned(), more }
    }

    /// Whether more of it is better.
    #[must_use]
    pub fn is_higher_better(&self) -> bool {
        matches!(self, Self::Throughput | Self::Path { more: true, .. })
    }

    /// What it is called in a table of this run.
    #[must_use]
    pub fn name(&self, run: &Run) -> String {
        match (self, run.results.work.iter().max_by_key(|(_, work)| work.created)) {
            (Self::Path { path, .. }, _) => path.clone(),
            (Self::Throughput, Some((work, _))) => format!("{work} finished, /min"),
            (Self::Throughput, None) => "good answers, /s".to_owned(),
        }
    }

    /// The figure of a run.
    #[must_use]
    pub fn value(&self, run: &Run) -> Option<f64> {
        match self {
            Self::Path { path, .. } => figure(&run.results.to_json(), path),
            Self::Throughput => throughput(run),
        }
    }
}

fn is_more_better(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    HIGHER_IS_BETTER.contains(&last) || path.split('.').any(|part| part == PROGRESS)
}

fn throughput(run: &Run) -> Option<f64> {
    if let Some(work) = run.results.work.values().max_by_key(|work| work.created) {
        return work.throughput_per_min;
    }
    let (ok, length_s) = if run.parts.is_empty() {
        (run.results.journeys.values().map(|journey| journey.op.ok).sum(), run.duration_s)
    } else {
        run.parts.iter().fold((0, 0.0), |(ok, length_s), part| (ok + part.op.ok, length_s + part.length_s))
    };
    (length_s > 0.0).then_some(ok as f64 / length_s)
}

/// What the target spent in a run: processor seconds, and its peak of memory in bytes.
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
    fn check(text: &str, path: &str, more: bool) {
        assert_eq!(Objective::parse(text), Objective::Path { path: path.to_owned(), more });
    }

    #[test]
    fn names_say_which_way_is_better() {
        check("game.throughput_per_min", "game.throughput_per_min", true);
        check("game.progress_per_s.turns", "game.progress_per_s.turns", true);
        check("create_game.ok", "create_game.ok", true);
        check("create_game.latency_ms.p99", "create_game.latency_ms.p99", false);
        check("game.stuck", "game.stuck", false);
        check("server.cpu_s", "server.cpu_s", false);
        check("max:game.figures.turns.max", "game.figures.turns.max", true);
        check("min:game.finished", "game.finished", false);
    }
}
