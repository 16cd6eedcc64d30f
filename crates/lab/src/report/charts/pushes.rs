//! Charts of what the target pushed: how many frames of each kind per second, and how late they arrived.

use super::{SeriesByName, TimeCharts, gate_threshold, into_chart};
use crate::report::Run;
use crate::report::svg::{Chart, LayerStyle, Unit};

/// Kinds with their own colour; the table has all.
const KINDS_MAX: usize = 6;

pub(in crate::report) fn charts(run: &Run, series: &SeriesByName) -> Vec<Chart> {
    let sheet = TimeCharts::new(run, series);
    let kinds = || run.results.push.iter().take(KINDS_MAX).enumerate();
    let of = |name: &str, figure: &str| format!("op.push.{name}.{figure}");
    let frames = kinds().filter_map(|(i, (name, _))| sheet.line(&of(name, "ok_per_s"), name, i, LayerStyle::Line));
    let frames = sheet.chart("Frames pushed", Unit::number("a second"), frames.collect());
    let told = || kinds().filter(|(_, (_, push))| push.delay_ms.count > 0);
    let delay = |(i, (name, _)): (usize, (&String, &crate::aggregate::PushFigures))| {
        let p99 = sheet.line(&of(name, "wake_p99_ms"), &format!("{name} p99"), i, LayerStyle::Line);
        [p99, sheet.line(&of(name, "wake_p50_ms"), &format!("{name} p50"), i, LayerStyle::Dashed)]
    };
    let lines = told().flat_map(delay).flatten().collect();
    let delays = sheet.chart("From what happened to the frame that tells of it", Unit::number("ms"), lines);
    let delays = delays.map(|mut curves| {
        curves.y.log = true;
        curves
            .thresholds
            .extend(told().filter_map(|(_, (name, _))| gate_threshold(run, &format!("push.{name}.delay_ms.p99"))));
        curves
    });
    [frames, delays].into_iter().filter_map(into_chart).collect()
}
