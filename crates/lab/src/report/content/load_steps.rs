//! Load step by load step: what every burst, ramp step or phase of the trial showed, and what each journey step took in
//! phases that run the same journey. Levels of a ladder or of a search for the edge have their own table, with the
//! capacity.

use std::collections::BTreeSet;

use super::time_charts::stacked;
use super::{ContentBlock, Section, Table, TableCell, statistics};
use crate::aggregate::{JourneyFigures, LoadStepFigures, OpFigures};
use crate::format::{clock, percent, sanitize};
use crate::limits::REPORT_ROWS_MAX;
use crate::report::chart::{ChartAxis, ChartPoint, Layer, LayerStyle, SeriesChart, Unit};
use crate::report::{Run, levels};

pub(super) fn section(run: &Run) -> Section {
    let batches: Vec<&LoadStepFigures> =
        run.load_steps.iter().filter(|load_step| !levels::is_ladder(run, &load_step.phase)).collect();
    if run.load_steps.len() < 2 || batches.is_empty() {
        return Section::new("load-steps", "Load step by load step", []);
    }
    let several_phases = batches.iter().any(|load_step| load_step.phase != batches[0].phase);
    let rows = batches.iter().map(|load_step| row(load_step, several_phases)).collect();
    let heading = ["load step", "time", "attempted", "ok", "denied", "failed", "ok %", "avg", "p50", "p95", "p99"];
    let note = "Time since the start of the plan; avg to p99: latency in ms, from the intended moment.".to_owned();
    let table = Table::new(1, &heading, rows).with_notes(vec![note]).limit_rows(REPORT_ROWS_MAX);
    let chart = ContentBlock::charts(outcomes(&batches));
    let blocks = [ContentBlock::Table(table)].into_iter().chain(chart).chain([ContentBlock::Table(steps(run))]);
    Section::new("load-steps", "Load step by load step", blocks)
}

/// The steps of each phase, if several phases run the same ones: combined, a slow phase would be hidden by the others.
fn steps(run: &Run) -> Table {
    let mut seen = BTreeSet::new();
    let phases = run.load_steps.iter().map(|load_step| load_step.phase.as_str()).filter(|phase| seen.insert(*phase));
    let asked = |phase| Some((phase, run.results.phases.get(phase)?.journey.as_ref()?));
    let asked: Vec<(&str, &JourneyFigures)> = phases.filter_map(asked).collect();
    let is_shared =
        |own: &JourneyFigures| asked.iter().filter(|(_, other)| own.steps.keys().eq(other.steps.keys())).count() > 1;
    let shared = asked.iter().filter(|(_, journey)| is_shared(journey));
    let rows =
        shared.flat_map(|(phase, journey)| journey.steps.iter().map(move |(step, op)| step_row(phase, step, op)));
    let note = "avg to max in ms: latency from the intended moment; of a step that waits, how late its answers came.";
    let table = Table::of_statistics(&["step by phase", "ok", "failed"], rows.collect(), vec![note.to_owned()]);
    table.without_empty_columns().limit_rows(REPORT_ROWS_MAX)
}

fn step_row(phase: &str, step: &str, op: &OpFigures) -> Vec<TableCell> {
    let times = op.wake_ms.as_ref().or(op.waited_ms.as_ref()).unwrap_or(&op.latency_ms);
    let mut cells = statistics(format!("{phase}: {step}"), times);
    cells.splice(1..1, [op.ok, op.denied + op.errors].map(TableCell::from));
    cells
}

fn row(load_step: &LoadStepFigures, several_phases: bool) -> Vec<TableCell> {
    let op = &load_step.op;
    let times = [op.latency_ms.avg, op.latency_ms.p50, op.latency_ms.p95, op.latency_ms.p99].map(TableCell::from);
    let counts = [op.count, op.ok, op.denied, op.errors].map(TableCell::from);
    let head = [name(load_step, several_phases).into(), clock(load_step.start_s).into()];
    head.into_iter().chain(counts).chain([percent(op.ok, op.count).into()]).chain(times).collect()
}

/// The name of a load step.
fn name(load_step: &LoadStepFigures, with_phase: bool) -> String {
    match levels::label(load_step) {
        label if with_phase && label != load_step.phase => format!("{}: {label}", load_step.phase),
        label => label.to_owned(),
    }
}

/// How every load step ended, if there are several and not so many that bars become lines.
fn outcomes(load_steps: &[&LoadStepFigures]) -> Option<SeriesChart> {
    let layer = |name: &str, colour: usize, count: fn(&OpFigures) -> u64| {
        let points =
            (1..).zip(load_steps).map(|(i, load_step)| ChartPoint::new(f64::from(i), count(&load_step.op) as f64));
        Layer::new(name, colour, LayerStyle::Bars, points.collect())
    };
    let layers = [layer("ok", 2, |op| op.ok), layer("errors", 1, |op| op.errors), layer("denied", 4, |op| op.denied)];
    let chart = SeriesChart {
        title: "How every load step ended".to_owned(),
        x: ChartAxis {
            unit: Unit::Items(load_steps.iter().map(|load_step| sanitize(levels::label(load_step))).collect()),
            log: false,
            reaches_at_least: (load_steps.len() + 1) as f64,
        },
        y: ChartAxis { unit: Unit::count("requests"), ..ChartAxis::default() },
        layers: stacked(layers),
        ..SeriesChart::default()
    };
    chart.non_empty().filter(|_| (2..=REPORT_ROWS_MAX).contains(&load_steps.len()))
}
