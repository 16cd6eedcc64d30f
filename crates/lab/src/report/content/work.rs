//! The work that outlived its requests: its outcome, how long it took, how fast it drained.

use super::time_charts::{STATES, TimeCharts, series_name, stacked};
use super::{ContentBlock, Section, Table, TableCell, statistics};
use crate::aggregate::WorkFigures;
use crate::format::{clock, count, first_few, first_few_of, number, percent, sanitize};
use crate::measurement::WorkPoint;
use crate::report::chart::{LayerStyle, SeriesChart, Unit};
use crate::report::{Run, slug};

/// Rows of the polling timeline.
const TIMELINE_ROWS_MAX: usize = 20;

/// Characters of the bar next to it.
const BAR_CHARACTERS: u64 = 8;

pub(super) fn sections(run: &Run, sheet: &TimeCharts<'_>) -> Vec<Section> {
    run.results.work.iter().map(|(name, work)| section(run, sheet, name, work)).collect()
}

fn section(run: &Run, sheet: &TimeCharts<'_>, name: &str, figures: &WorkFigures) -> Section {
    let mut blocks = vec![ContentBlock::Table(counts(figures)), ContentBlock::Table(times(run, name, figures))];
    blocks.push(ContentBlock::facts(facts(run, figures)));
    blocks.extend(ContentBlock::charts(charts(sheet, name)));
    if !figures.drain_curve.is_empty() {
        blocks.push(ContentBlock::Heading("Polling timeline".to_owned()));
        blocks.push(ContentBlock::Table(timeline(figures)));
    }
    Section::new(&format!("work-{}", slug(name)), &format!("Work: {name}"), blocks)
}

fn counts(work: &WorkFigures) -> Table {
    let counts = [work.created, work.finished, work.failed, work.stuck, work.waiting, work.running];
    let unknown = TableCell::unless_zero(work.unknown);
    let done = TableCell::from(percent(work.finished, work.created));
    let row = counts.map(TableCell::from).into_iter().chain([unknown, done]).collect();
    let heading = ["created", "finished", "failed", "stuck", "waiting", "running", "unknown", "finished %"];
    Table::new(0, &heading, vec![row]).without_empty_columns()
}

fn times(run: &Run, name: &str, work: &WorkFigures) -> Table {
    let mut rows = vec![
        statistics("completion, s".to_owned(), &work.completion_s),
        statistics("queue wait, s".to_owned(), &work.queue_wait_s),
        statistics("run, s".to_owned(), &work.run_s),
    ];
    let own = work.derived.iter().chain(&work.figures);
    rows.extend(own.map(|(figure, figures)| statistics(figure.clone(), figures)));
    let formula = |figure: &String| {
        let formula = run.scenario.formulas.get(&format!("{name}.{figure}"))?;
        Some(format!("{figure} = {formula}, of every finished work item"))
    };
    Table::of_statistics(&[""], rows, work.derived.keys().filter_map(formula).collect())
}

fn facts(run: &Run, work: &WorkFigures) -> Vec<String> {
    let mut facts = vec![
        format!("throughput {} a minute", number(work.throughput_per_min)),
        match work.drain_s {
            Some(drain_s) => format!("drained {} s after the last arrival was due", number(Some(drain_s))),
            None => "not drained when the trial ended".to_owned(),
        },
    ];
    facts.extend(work.progress_per_s.iter().map(|(name, rate)| format!("{name} {} a second", number(Some(*rate)))));
    facts.extend(
        work.figures.iter().filter_map(|(name, figures)| Some(format!("{name} {} in all", number(Some(figures.sum?))))),
    );
    facts.extend(cpu_facts(run, work));
    if !work.stuck_by.is_empty() {
        let mut holders: Vec<(&String, &u64)> = work.stuck_by.iter().collect();
        holders.sort_by(|a, b| b.1.cmp(a.1));
        let holders = holders.iter().map(|(who, n)| format!("{} by {}", count(**n), sanitize(who)));
        facts.push(format!("of the stuck ones were held: {}", first_few(holders, ", ")));
    }
    if work.unknown > 0 {
        let cut = work.unknown.saturating_sub(work.unknown_ids.len() as u64);
        let ids = first_few_of(work.unknown_ids.iter().map(|id| sanitize(id)), cut, ", ");
        facts.push(format!("the server does not know {}: {ids}", count(work.unknown)));
    }
    if work.duplicates > 0 {
        facts.push(format!("{} ids were given out twice", count(work.duplicates)));
    }
    facts
}

/// The target's CPU time per finished work item, and per unit of its progress.
fn cpu_facts(run: &Run, work: &WorkFigures) -> Vec<String> {
    let Some(cpu_s) = run.results.server.process.cpu_s.filter(|_| work.finished > 0) else { return Vec::new() };
    let mut facts =
        vec![format!("target's CPU {} ms per finished work item", number(Some(cpu_s * 1000.0 / work.finished as f64)))];
    for name in work.progress_per_s.keys() {
        if let Some(sum) = work.figures.get(name).and_then(|figures| figures.sum).filter(|sum| *sum > 0.0) {
            facts.push(format!("target's CPU {} ms per unit of {name}", number(Some(cpu_s * 1000.0 / sum))));
        }
    }
    facts
}

fn timeline(work: &WorkFigures) -> Table {
    let points = &work.drain_curve;
    let step = points.len().div_ceil(TIMELINE_ROWS_MAX).max(1);
    let last = points.len().saturating_sub(1);
    // Counted from the end, so that the last point is always shown.
    let shown = points.iter().enumerate().filter(|(i, _)| (last - i).is_multiple_of(step));
    let rows = shown.map(|(_, point)| timeline_row(point, work.created)).collect();
    let heading = ["", "time", "unfinished", "waiting", "running", "finished", "failed", "stuck", "unknown", "done %"];
    let note = "Time since the start of the plan; done: finished or failed, of all that were ever created.".to_owned();
    Table::new(1, &heading, rows).with_name_column(1).with_notes(vec![note]).without_empty_columns()
}

fn timeline_row(point: &WorkPoint, created: u64) -> Vec<TableCell> {
    let WorkPoint { t_s, waiting, running, finished, failed, stuck, unknown } = *point;
    let done = finished + failed;
    let share = |of: u64| (done.min(created) * of).checked_div(created).unwrap_or(0);
    let bar = TableCell { bar: Some(share(100) as u8), ..TableCell::from("#".repeat(share(BAR_CHARACTERS) as usize)) };
    let counts = [point.unfinished(), waiting, running, finished].map(TableCell::from);
    let odd = [failed, stuck, unknown].map(TableCell::unless_zero);
    let head = [bar, clock(t_s).into()];
    head.into_iter().chain(counts).chain(odd).chain([percent(done, created).into()]).collect()
}

fn charts(sheet: &TimeCharts<'_>, name: &str) -> Vec<SeriesChart> {
    [drain(sheet, name), queue(sheet, name)].into_iter().flatten().collect()
}

/// What was created, by its state, each state stacked on those below.
fn drain(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let states = STATES
        .into_iter()
        .filter_map(|(state, colour)| sheet.line(&series_name(name, state), state, colour, LayerStyle::Area));
    let layers = stacked(states).into_iter().map(Some);
    sheet.chart(&format!("{name}: how the work drained"), Unit::count("work items"), layers)
}

fn queue(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let line = |state: &str, colour: usize| sheet.line(&series_name(name, state), state, colour, LayerStyle::Line);
    sheet.chart(
        &format!("{name}: queue depth and running"),
        Unit::count("work items"),
        [line("waiting", 4), line("running", 0)],
    )
}
