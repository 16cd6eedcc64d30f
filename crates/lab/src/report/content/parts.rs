//! Batch by batch: what every burst, ramp step or phase of the trial showed. Levels of a ladder or of a search for
//! the edge have a table of their own, beside what they say about the capacity.

use super::{Block, Cell, Section, Table};
use crate::fold::PartFigures;
use crate::limits::REPORT_ROWS_MAX;
use crate::report::charts::requests;
use crate::report::words::{clock, percent};
use crate::report::{Run, levels};

pub(super) fn section(run: &Run) -> Section {
    let batches: Vec<&PartFigures> = run.parts.iter().filter(|part| !levels::is_ladder(run, &part.phase)).collect();
    if run.parts.len() < 2 || batches.is_empty() {
        return Section::new("parts", "Part by part", Vec::new());
    }
    let several_phases = batches.iter().any(|part| part.phase != batches[0].phase);
    let rows = batches.iter().map(|part| row(part, several_phases)).collect();
    let heading = ["part", "time", "attempted", "ok", "denied", "failed", "ok %", "avg", "p50", "p95", "p99"];
    let note = "Time since the start of the plan; avg to p99: latency in ms, from the intended moment.".to_owned();
    let table = Table::new(1, &heading, rows).noted(vec![note]).at_most(REPORT_ROWS_MAX);
    let chart = requests::outcomes(&batches).map(|chart| Block::Chart(Box::new(chart)));
    Section::new("parts", "Part by part", [Block::Table(table)].into_iter().chain(chart).collect())
}

fn row(part: &PartFigures, several_phases: bool) -> Vec<Cell> {
    let op = &part.op;
    let times = [op.latency_ms.avg, op.latency_ms.p50, op.latency_ms.p95, op.latency_ms.p99].map(Cell::from);
    let counts = [op.count, op.ok, op.denied, op.errors].map(Cell::from);
    let head = [name(part, several_phases).into(), clock(part.start_s).into()];
    head.into_iter().chain(counts).chain([percent(op.ok, op.count).into()]).chain(times).collect()
}

/// What a part is called.
fn name(part: &PartFigures, with_phase: bool) -> String {
    match (with_phase, part.label.as_str()) {
        (_, "") => part.phase.clone(),
        (true, label) if label != part.phase => format!("{}: {label}", part.phase),
        (_, label) => label.to_owned(),
    }
}
