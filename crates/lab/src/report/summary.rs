//! The summary of a trial at its end, in place of its progress. Does not print it.

use std::path::Path;

use super::Run;
use super::content::{failing_gates, finding_sentences};
use super::headline::headline;
use crate::format::{count, sanitize};
use crate::verdict::Verdict;

/// The two numbers, the verdict, the failing gates, the findings, and where the reports are.
#[must_use]
pub fn summary(run: &Run, dir: &Path, colour: bool) -> String {
    let headline = headline(run);
    let code = match run.verdict {
        Verdict::Passed => "32",
        Verdict::Failed => "31",
        Verdict::Void | Verdict::Interrupted => "33",
    };
    let stands = if colour { format!("\x1b[{code}m{}\x1b[0m", headline.gate_status) } else { headline.gate_status };
    let mut lines = [Some(headline.amount.sentence), Some(headline.timing.sentence), headline.total, Some(stands)]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    lines.extend(failing_gates(run).iter().map(|gate| format!("  {gate}")));
    lines.extend(finding_sentences(run).iter().map(|sentence| format!("  {sentence}")));
    lines.extend(run.errors.iter().map(|group| {
        let sample = sanitize(&group.sample);
        let step = group.step.as_ref().map_or_else(String::new, |step| format!(" {step}"));
        format!("  {} x {} in {}{step}: {sample}", count(group.count), group.kind, group.journey)
    }));
    lines.push(format!("Report: {} (and report.md)", dir.join("report.html").display()));
    lines.join("\n") + "\n"
}
