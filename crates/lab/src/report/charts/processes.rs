//! Charts of processes and of the machine: memory, CPU, threads and files; and how late the lab itself was.

use super::{SeriesByName, TimeCharts, figure_unit, into_chart, names_between};
use crate::format::number;
use crate::report::Run;
use crate::report::svg::{Chart, Layer, LayerStyle, SeriesChart, Threshold, Unit};

/// Processes that are drawn; the table has all.
const PROCESSES_MAX: usize = 5;

/// Figures of observers that are drawn; the timeline has all.
const OBSERVED_MAX: usize = 12;

pub(in crate::report) fn charts(run: &Run, series: &SeriesByName) -> Vec<Chart> {
    let sheet = TimeCharts::new(run, series);
    let charts = [memory(&sheet), processor(run, &sheet), threads_and_files(&sheet)];
    charts.into_iter().chain(observer_charts(&sheet)).filter_map(into_chart).collect()
}

/// The server first, then the others by name.
fn processes<'a>(sheet: &TimeCharts<'a>, figure: &str) -> Vec<&'a str> {
    let mut names = names_between(sheet.series, "process.", figure);
    names.sort_by_key(|name| (*name != "server", *name));
    names.truncate(PROCESSES_MAX);
    names
}

fn memory(sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let rss = processes(sheet, ".rss_bytes").into_iter().enumerate();
    let rss = rss.filter_map(|(i, name)| {
        sheet.line(&format!("process.{name}.rss_bytes"), &format!("{name} RSS"), i, LayerStyle::Line)
    });
    let pss = sheet.line("process.server.pss_bytes", "server PSS", 0, LayerStyle::Dashed);
    sheet.chart("Memory", Unit::Bytes, rss.chain(pss).collect())
}

fn processor(run: &Run, sheet: &TimeCharts<'_>) -> Option<SeriesChart> {
    let lines = processes(sheet, ".cpu_cores").into_iter().enumerate();
    let lines =
        lines.filter_map(|(i, name)| sheet.line(&format!("process.{name}.cpu_cores"), name, i, LayerStyle::Line));
    let cores = run.machine.cores.map(|cores| cores as f64);
    let busy = cores.and_then(|cores| whole_machine(sheet, cores));
    let mut curves = sheet.chart("Processor", Unit::number("cores"), lines.chain(busy).collect())?;
    curves.thresholds.extend(cores.map(|y| Threshold { y, label: format!("all {} cores", number(Some(y))) }));
    Some(curves)
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
    let lines = [
        sheet.line("process.server.threads", "threads", 3, LayerStyle::Line),
        sheet.line("process.server.open_files", "open files", 4, LayerStyle::Line),
    ];
    sheet.chart("The server's threads and open files", Unit::count(""), lines.into_iter().flatten().collect())
}

/// What the scenario's observers read, one chart per figure: it is unknown which of them share a unit.
fn observer_charts(sheet: &TimeCharts<'_>) -> Vec<Option<SeriesChart>> {
    let names: Vec<&str> = names_between(sheet.series, "observe.", "");
    let chart = |name: &&str| {
        let line = sheet.line(&format!("observe.{name}"), name, 0, LayerStyle::Line)?;
        sheet.chart(&format!("Observed: {name}"), figure_unit(name), vec![line])
    };
    names.iter().take(OBSERVED_MAX).map(chart).collect()
}

/// How late the lab sent, against the bound above which a failed gate is void.
pub(in crate::report) fn schedule_lag(run: &Run, series: &SeriesByName) -> Option<Chart> {
    let sheet = TimeCharts::new(run, series);
    let line = sheet.line("generator.lag_p99_ms", "schedule lag p99", 0, LayerStyle::Line)?;
    let mut curves = sheet.chart("Schedule lag of the lab", Unit::number("ms"), vec![line])?;
    let y = run.results.generator.lag_p99_max_ms;
    curves.thresholds.push(Threshold { y, label: format!("{} ms: the bound on the lab being late", number(Some(y))) });
    curves.y.log = true;
    Some(curves.into())
}
