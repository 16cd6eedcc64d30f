//! Progress on a terminal: plain lines once a second, or one block that rewrites itself where there is a TTY. At
//! most 80 columns, and no colour where NO_COLOR says so. Refuses to know where the figures come from.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::time::Duration;

use super::Run;
use super::headline::headline;
use super::words::{count, mebibytes};
use crate::fold::Point;
use crate::verdict::Verdict;

/// Columns that a line may take; one less than 80, so that no terminal wraps it.
const WIDTH: usize = 79;

/// A trial at one moment.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Since the first moment of the plan.
    pub elapsed: Duration,
    /// Arrivals in the whole plan.
    pub planned: u64,
    /// Arrivals that are over.
    pub done: u64,
    /// Arrivals under way.
    pub in_flight: u64,
    /// Of those that are over: errors.
    pub errors: u64,
    /// Of those that are over: denied.
    pub denied: u64,
    /// Every kind of work.
    pub work: Vec<(String, Point)>,
    /// The target's memory.
    pub server_rss_bytes: Option<u64>,
    /// Good answers in the last second.
    pub throughput_per_s: f64,
    /// 99th percentile.
    pub latency_p99_ms: Option<f64>,
    /// Queued.
    pub queued: u64,
    /// Connections.
    pub connections: u64,
    /// Part.
    pub part: Option<String>,
}

impl Progress {
    /// One line about requests, one about each kind of work.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let seconds = self.elapsed.as_secs();
        let denied = if self.denied > 0 { format!(" · denied {}", count(self.denied)) } else { String::new() };
        let memory = self.server_rss_bytes.map_or_else(String::new, |bytes| format!(" · server {}", mebibytes(bytes)));
        let requests = format!(
            "{seconds:>4} s · sent {} of {} · in flight {} · errors {}{denied}{memory}",
            count(self.done),
            count(self.planned),
            count(self.in_flight),
            count(self.errors),
        );
        let work = self.work.iter().map(|(name, point)| {
            let Point { waiting, running, finished, failed, stuck, .. } = *point;
            let odd = [("failed", failed), ("stuck", stuck)];
            let odd: String =
                odd.iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!(" · {word} {}", count(*n))).collect();
            let (waiting, running, finished) = (count(waiting), count(running), count(finished));
            format!("       {name}: waiting {waiting} · running {running} · finished {finished}{odd}")
        });
        [requests].into_iter().chain(work).map(|line| line.chars().take(WIDTH).collect()).collect()
    }
}

/// Where progress is shown.
#[derive(Debug)]
pub struct Screen {
    kind: Kind,
    /// Lines of the block that stands there now.
    standing: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Quiet,
    Plain,
    Rewriting,
}

impl Screen {
    /// Shows nothing.
    #[must_use]
    pub fn quiet() -> Self {
        Self { kind: Kind::Quiet, standing: 0 }
    }

    /// Shows progress on stderr, as fits what stands behind it.
    #[must_use]
    pub fn stderr() -> Self {
        let kind = if std::io::stderr().is_terminal() { Kind::Rewriting } else { Kind::Plain };
        Self { kind, standing: 0 }
    }

    /// Shows the trial at this moment.
    pub fn show(&mut self, progress: &Progress) {
        let lines = progress.lines();
        match self.kind {
            Kind::Quiet => {}
            Kind::Plain => {
                let line: Vec<&str> = lines.iter().map(|line| line.trim_start()).collect();
                write_out(&format!("{}\n", line.join(" · ")));
            }
            Kind::Rewriting => {
                let standing = std::mem::replace(&mut self.standing, lines.len());
                write_out(&format!("{}{}\n", erased(standing), lines.join("\n")));
            }
        }
    }

    /// Takes the block away, to make room for what is said last.
    pub fn clear(&mut self) {
        let standing = std::mem::take(&mut self.standing);
        if standing > 0 {
            write_out(&erased(standing));
        }
    }
}

/// Up by so many lines, and everything below erased.
fn erased(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\x1b[{lines}A\r\x1b[J") }
}

/// Nobody may be listening any more; the trial goes on.
fn write_out(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// What a trial says at its end: the two numbers, the verdict, the gates that do not hold, where the report is.
#[must_use]
pub fn summary(run: &Run, dir: &Path, colour: bool) -> String {
    let headline = headline(run);
    let code = match run.verdict {
        Verdict::Passed => "32",
        Verdict::Failed => "31",
        Verdict::Void | Verdict::Interrupted => "33",
    };
    let stands = if colour { format!("\x1b[{code}m{}\x1b[0m", headline.stands) } else { headline.stands };
    let mut lines = vec![headline.took, headline.lasted, stands];
    for gate in run.gates.iter().filter(|gate| !gate.ok) {
        let value = match &gate.value {
            serde_json::Value::Null => "no figure".to_owned(),
            serde_json::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        lines.push(format!("  {} {}: found {value}", gate.name, gate.limit));
    }
    lines.extend(
        run.errors
            .iter()
            .map(|group| format!("  {} x {} in {}: {}", count(group.count), group.kind, group.journey, group.sample)),
    );
    lines.push(format!("Report: {}", dir.join("report.md").display()));
    lines.join("\n") + "\n"
}
