//! The figures on which a finding rests, drawn next to it, if the timeline has them.

use super::{SeriesByName, TimeCharts, figure_unit, into_chart};
use crate::findings::Finding;
use crate::report::Run;
use crate::report::svg::{Chart, LayerStyle};

/// Charts for one finding.
const CHARTS_MAX: usize = 4;

pub(in crate::report) fn charts(finding: &Finding, run: &Run, series: &SeriesByName) -> Vec<Chart> {
    let sheet = TimeCharts::new(run, series);
    let chart = |figure: &str| {
        let line = sheet.line(figure, figure, 0, LayerStyle::Line)?;
        into_chart(sheet.chart(figure, figure_unit(figure), vec![line]))
    };
    finding.evidence.iter().filter_map(|evidence| chart(&evidence.figure)).take(CHARTS_MAX).collect()
}
