//! The resource usage of every process. Does not know whose process it is.

use super::{ContentBlock, Section, Table, TableCell};
use crate::aggregate::{ObservedFigure, ProcessFigures};
use crate::format::{count, mebibytes, number, percent, sanitize};
use crate::report::Run;
use crate::report::charts::{TimeCharts, processes};

pub(super) fn section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let results = &run.results;
    let generator = ProcessFigures { rss_bytes: results.generator.rss_bytes, cpu_s: results.generator.cpu_s };
    let named = [("server", &results.server.process), ("lab", &generator)];
    let others = results.processes.iter().map(|(name, process)| (name.as_str(), process));
    let rows = named.into_iter().chain(others).filter_map(|(name, process)| row(name, process)).collect();
    let table = Table::new(1, &["process", "RSS first", "RSS peak", "RSS last", "CPU s"], rows);
    let blocks = [ContentBlock::Table(table), ContentBlock::facts(limits(run)), observed(run)];
    let charts = ContentBlock::charts(processes::charts(sheet));
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
