//! The resource usage of every process. Does not know whose process it is.

use super::time_charts::{TimeCharts, figure_unit};
use super::{ContentBlock, Section, Table, TableCell};
use crate::aggregate::{ObservedFigure, ProcessFigures};
use crate::format::{count, mebibytes, number, percent, sanitize};
use crate::report::Run;
use crate::report::chart::{Layer, LayerStyle, SeriesChart, Threshold, Unit};

pub(super) fn section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let results = &run.results;
    let generator = ProcessFigures { rss_bytes: results.generator.rss_bytes, cpu_s: results.generator.cpu_s };
    let named = [("server", &results.server.process), ("lab", &generator)];
    let others = results.processes.iter().map(|(name, process)| (name.as_str(), process));
    let rows = named.into_iter().chain(others).filter_map(|(name, process)| row(name, process)).collect();
    let table = Table::new(1, &["process", "RSS first", "RSS peak", "RSS last", "CPU s"], rows);
    let blocks = [ContentBlock::Table(table), ContentBlock::facts(limits(run)), observed(run)];
    let charts = ContentBlock::charts(charts(sheet));
    Section::new("processes", "Processes", blocks.into_iter().chain(charts))
}

/// The target's limits, and what they did to it.
fn limits(run: &Run) -> Vec<String> {
    let server = &run.results.server;
    let mut facts = Vec::new();
    if let Some(limits) = &server.limits {
        let memory = limits.memory_bytes.map(|bytes| format!("memory {}", mebibytes(bytes)));
        let cores = limits.cpu.map(|cpu| cpu.quota_us as f64 / cpu.period_us as f64);
        let cores = cores.map(|cores| format!("CPU {} cores", number(Some(cores))));
        let files = limits.open_files.map(|files| format!("open files {}", count(files)));
        let all: Vec<String> = [memory, cores, files].into_iter().flatten().collect();
        facts.push(format!("the server was held within: {}", all.join(", ")));
        facts.extend(limits.notes.iter().map(|note| sanitize(note)));
    }
    if let Some(seen) = &server.limits_seen {
        let throttled = seen.cpu_throttled_periods.zip(seen.cpu_periods);
        let throttled =
            throttled.map(|(throttled, all)| format!("throttled in {} % of its periods", percent(throttled, all)));
        let peak = seen.memory_peak_bytes.map(|bytes| format!("memory peak {}", mebibytes(bytes)));
        let hits = seen.memory_limit_hits.map(|hits| format!("memory used up {} times", count(hits)));
        let kills = seen.oom_kills.map(|kills| format!("killed for memory {} times", count(kills)));
        let all: Vec<String> = [throttled, peak, hits, kills].into_iter().flatten().collect();
        if !all.is_empty() {
            facts.push(format!("the limits did this to it: {}", all.join(", ")));
        }
    }
    facts
}

/// What the scenario's observers read.
fn observed(run: &Run) -> ContentBlock {
    let row = |observer: &str, figure: &str, observed: &ObservedFigure| {
        let ObservedFigure { min, avg, max, last } = *observed;
        let values = [min, avg, max, last].map(|value| TableCell::from(Some(value)));
        [TableCell::from(format!("{observer}.{figure}"))].into_iter().chain(values).collect::<Vec<_>>()
    };
    let all = run.results.observe.iter();
    let rows =
        all.flat_map(|(observer, figures)| figures.iter().map(move |(figure, value)| row(observer, figure, value)));
    ContentBlock::Table(Table::new(1, &["observed", "min", "avg", "max", "last"], rows.collect()))
}

fn row(name: &str, process: &ProcessFigures) -> Option<Vec<TableCell>> {
    let rss = process.rss_bytes?;
    let memory = [rss.first, rss.peak, rss.last].map(|bytes| TableCell::from(mebibytes(bytes)));
    Some([TableCell::from(name)].into_iter().chain(memory).chain([process.cpu_s.into()]).collect())
}

/// Processes that are drawn; the table has all.
const PROCESSES_MAX: usize = 5;

/// Figures of observers that are drawn; the timeline has all.
const OBSERVED_MAX: usize = 12;

fn charts(sheet: &TimeCharts<'_>) -> Vec<SeriesChart> {
    let charts = [memory(sheet), processor(sheet), threads_and_files(sheet)];
    charts.into_iter().chain(observer_charts(sheet)).flatten().collect()
}

/// A line for each process: the server first, then the others by name.
fn process_lines(sheet: &TimeCharts<'_>, figure: &str, what: &str) -> Vec<Option<Layer>> {
    let mut names = sheet.names_between("process.", figure);
    names.sort_by_key(|name| (*name != "server", *name));
    let line = |(i, name): (usize, &&str)| {
        sheet.line(&format!("process.{name}{figure}"), &format!("{name}{what}"), i, LayerStyle::Line)
    };
    names.iter().take(PROCESSES_MAX).enumerate().map(line).collect()
}

fn memory(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let pss = sheet.line("process.server.pss_bytes", "server PSS", 0, LayerStyle::Dashed);
    sheet.chart("Memory", Unit::Bytes, process_lines(sheet, ".rss_bytes", " RSS").into_iter().chain([pss]))
}

fn processor(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let cores = sheet.run.machine.cores.map(|cores| cores as f64);
    let busy = cores.and_then(|cores| whole_machine(sheet, cores));
    let lines = process_lines(sheet, ".cpu_cores", "").into_iter().chain([busy]);
    let all = cores.map(|y| Threshold { y, label: format!("all {} cores", number(Some(y))) });
    Some(sheet.chart("Processor", Unit::number("cores"), lines)?.with_thresholds(all))
}

/// The usage of the whole machine, in cores.
fn whole_machine(sheet: &TimeCharts<'_>, cores: f64) -> Option<Layer> {
    let mut layer = sheet.line("machine.busy_share", "whole machine", PROCESSES_MAX, LayerStyle::Dashed)?;
    for dot in &mut layer.points {
        (dot.y, dot.low, dot.high) = (dot.y * cores, dot.low * cores, dot.high * cores);
    }
    Some(layer)
}

fn threads_and_files(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let threads = sheet.line("process.server.threads", "threads", 3, LayerStyle::Line);
    let files = sheet.line("process.server.open_files", "open files", 4, LayerStyle::Line);
    sheet.chart("The server's threads and open files", Unit::count(""), [threads, files])
}

/// What the scenario's observers read, one chart per figure: it is unknown which of them share a unit.
fn observer_charts(sheet: &TimeCharts<'_>) -> Vec<Option<SeriesChart>> {
    let chart = |name: &str| {
        let line = sheet.line(&format!("observe.{name}"), name, 0, LayerStyle::Line);
        sheet.chart(&format!("Observed: {name}"), figure_unit(name), [line])
    };
    sheet.names_between("observe.", "").into_iter().take(OBSERVED_MAX).map(chart).collect()
}

/// How late the lab sent, against the bound above which a failed gate is void.
pub(super) fn schedule_lag_chart(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let line = sheet.line("generator.lag_p99_ms", "schedule lag p99", 0, LayerStyle::Line);
    let y = sheet.run.results.generator.lag_p99_max_ms;
    let bound = Threshold { y, label: format!("{} ms: the bound on the lab being late", number(Some(y))) };
    let chart = sheet.chart("Schedule lag of the lab", Unit::number("ms"), [line])?;
    Some(chart.with_log_y().with_thresholds([bound]))
}
