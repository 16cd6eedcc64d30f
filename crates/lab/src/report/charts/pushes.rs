//! Charts of what the target pushed: how many frames of each kind per second, and how late they arrived.

use super::TimeCharts;
use crate::report::svg::{LayerStyle, SeriesChart, Unit};

/// Kinds with their own colour; the table has all.
const KINDS_MAX: usize = 6;

pub(in crate::report) fn charts(sheet: &TimeCharts<'_>) -> Vec<SeriesChart> {
    let kinds = || sheet.run.results.push.iter().take(KINDS_MAX).enumerate();
    let frames =
        kinds().map(|(i, (name, _))| sheet.line(&format!("op.push.{name}.ok_per_s"), name, i, LayerStyle::Line));
    let delayed = || kinds().filter(|(_, (_, push))| push.delay_ms.count > 0);
    let delays = delayed().flat_map(|(i, (name, _))| sheet.wake_lines(&format!("op.push.{name}"), name, i));
    let gates = delayed().filter_map(|(_, (name, _))| sheet.gate_threshold(&format!("push.{name}.delay_ms.p99")));
    let title = "From what happened to the frame that tells of it";
    let delays = sheet.chart(title, Unit::number("ms"), delays);
    let delays = delays.map(|chart| chart.with_log_y().with_thresholds(gates));
    [sheet.chart("Frames pushed", Unit::number("a second"), frames), delays].into_iter().flatten().collect()
}
