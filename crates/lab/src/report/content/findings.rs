//! The findings, with evidence and what would refute them; the faults of the trial; and the errors with samples of the
//! target's responses. Computes no findings.

use super::time_charts::TimeCharts;
use super::{ContentBlock, ListItem, Section, Table, TableCell, Tone};
use crate::aggregate::ErrorGroup;
use crate::findings::{Evidence, Finding};
use crate::format::{count, number, sanitize};
use crate::measurement::timeline::FaultRow;
use crate::report::{Run, slug};
use crate::verdict::Verdict;

/// The title of the findings.
const FINDINGS_TITLE: &str = "What the figures say";

/// The sentences of all findings: what every reader should see.
pub(in crate::report) fn finding_sentences(run: &Run) -> Vec<String> {
    run.findings.iter().map(|finding| sanitize(&finding.sentence)).collect()
}

/// Their title: if every gate holds, nothing broke.
pub(in crate::report) fn findings_title(run: &Run) -> &'static str {
    if run.verdict == Verdict::Passed { FINDINGS_TITLE } else { "What broke" }
}

pub(super) fn section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let mut blocks: Vec<ContentBlock> = Vec::new();
    run.findings.iter().for_each(|finding| blocks.extend(finding_blocks(finding, sheet)));
    let hints = hints(run);
    if !blocks.is_empty() && !hints.is_empty() {
        blocks.push(ContentBlock::Heading("Besides".to_owned()));
    }
    blocks.push(ContentBlock::facts(hints));
    Section::new("findings", FINDINGS_TITLE, blocks)
}

fn finding_blocks(finding: &Finding, sheet: &TimeCharts<'_>) -> impl Iterator<Item = ContentBlock> {
    let evidence = finding.evidence.iter().map(|Evidence { figure, text }| (figure.as_str(), text));
    let ends = [("Refuted by", &finding.refuted_by), ("To try", &finding.advice)];
    let items = evidence.chain(ends).map(|(what, text)| format!("{}: {}", sanitize(what), sanitize(text))).collect();
    let head = [
        ContentBlock::Heading(heading(&finding.code)),
        ContentBlock::Text(sanitize(&finding.sentence)),
        ContentBlock::facts(items),
    ];
    head.into_iter().chain(ContentBlock::charts(sheet.evidence(finding)))
}

/// `pool_starved` → `Pool starved`.
fn heading(code: &str) -> String {
    let words = slug(code).replace('_', " ");
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

/// What a reader must know about the figures themselves, unless a finding says it.
fn hints(run: &Run) -> Vec<String> {
    let mut hints = Vec::new();
    let found = |word: &str| run.findings.iter().any(|finding| finding.code.contains(word));
    let generator = &run.results.generator;
    let lag = &generator.schedule_lag_ms;
    if !found("generator") && lag.p99_or_max().is_some_and(|lag_ms| lag_ms > generator.lag_p99_max_ms) {
        hints.push(format!(
            "The lab fell behind its own plan: schedule lag {} {} ms, bound {} ms. Gates that fail and would hold without that are void.",
            if lag.p99.is_some() { "p99" } else { "max" },
            number(lag.p99_or_max()),
            number(Some(generator.lag_p99_max_ms)),
        ));
    }
    if generator.capped > 0 {
        hints.push(format!(
            "{} of {} arrivals waited in the lab for a free place in flight; their latency includes the wait, their \
             service time does not.",
            count(generator.capped),
            count(generator.arrivals),
        ));
    }
    if generator.behind_pauses > 0 {
        hints.push(format!(
            "{} of {} arrivals waited in the lab only because the lab itself had paused.",
            count(generator.behind_pauses),
            count(generator.arrivals),
        ));
    }
    for (name, journey) in &run.results.journeys {
        if journey.op.retries > 0 {
            hints.push(format!("{name}: {} repeats after tries that got no answer.", count(journey.op.retries)));
        }
    }
    for (name, work) in &run.results.work {
        if let (Some(wait), Some(run_s)) = (work.queue_wait_s.p99, work.run_s.p99)
            && wait > run_s
            && !found("queue")
        {
            let (wait, run_s) = (number(Some(wait)), number(Some(run_s)));
            hints.push(format!("{name}: at p99 it waited {wait} s in the queue, longer than it ran ({run_s} s)."));
        }
    }
    hints
}

/// The faults of the trial.
pub(super) fn faults(run: &Run) -> Section {
    let heading = ["fault", "process", "outcome", "at, s", "planned, s", "ready again, s"];
    let table = Table::new(3, &heading, run.faults.iter().map(fault).collect());
    Section::new("faults", "Faults", [ContentBlock::Table(table.without_empty_columns())])
}

fn fault(fault: &FaultRow) -> Vec<TableCell> {
    let outcome = match &fault.failed {
        None => TableCell::with_tone("carried out", Tone::Good),
        Some(why) => TableCell::with_tone(&format!("not carried out: {why}"), Tone::Bad),
    };
    let at_s = fault.failed.is_none().then_some(fault.t_s);
    let times = [at_s, Some(fault.planned_s), fault.ready_again_s].map(TableCell::from);
    let head = [TableCell::from(fault.act.as_str()), fault.process.as_str().into(), outcome];
    head.into_iter().chain(times).collect()
}

/// Errors by kind, each with its first sample.
pub(super) fn errors(run: &Run) -> Section {
    let line = |group: &ErrorGroup| {
        let step = group.step.as_ref().map_or_else(String::new, |step| format!(" {step}"));
        let text = format!("{}{step}: {} x {}:", group.journey, count(group.count), group.kind);
        let samples: Vec<&str> = [&group.sample].into_iter().chain(&group.more_samples).map(String::as_str).collect();
        ListItem { text, quoted: Some(sanitize(&samples.join(" | "))) }
    };
    Section::new("errors", "Errors", [ContentBlock::List(run.errors.iter().map(line).collect())])
}
