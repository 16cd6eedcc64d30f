//! Charts of processes and of the machine: memory, CPU, threads and files; and how late the lab itself was.

use super::{TimeCharts, figure_unit};
use crate::format::number;
use crate::report::svg::{Layer, LayerStyle, SeriesChart, Threshold, Unit};

/// Processes that are drawn; the table has all.
const PROCESSES_MAX: usize = 5;

/// Figures of observers that are drawn; the timeline has all.
const OBSERVED_MAX: usize = 12;

pub(in crate::report) fn charts(sheet: &TimeCharts<'_>) -> Vec<SeriesChart> {
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
pub(in crate::report) fn schedule_lag(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let line = sheet.line("generator.lag_p99_ms", "schedule lag p99", 0, LayerStyle::Line);
    let y = sheet.run.results.generator.lag_p99_max_ms;
    let bound = Threshold { y, label: format!("{} ms: the bound on the lab being late", number(Some(y))) };
    let chart = sheet.chart("Schedule lag of the lab", Unit::number("ms"), [line])?;
    Some(chart.with_log_y().with_thresholds([bound]))
}
