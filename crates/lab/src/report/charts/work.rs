//! Charts of work that outlives its request: how it drained, and the depth of its queue.

use std::borrow::Cow;

use super::{SeriesByName, TimeCharts, stacked};
use crate::measurement::WorkPoint;
use crate::report::Run;
use crate::report::svg::{LayerStyle, SeriesChart, Unit};

/// The states from below, with their colours.
const STATES: [(&str, usize); 6] =
    [("finished", 2), ("failed", 1), ("stuck", 5), ("unknown", 3), ("running", 0), ("waiting", 4)];

pub(in crate::report) fn charts(sheet: &TimeCharts<'_>, name: &str) -> Vec<SeriesChart> {
    [drain(sheet, name), queue(sheet, name)].into_iter().flatten().collect()
}

/// The series with the thinned curves of the record, for work that the timeline does not have.
pub(super) fn with_drain_curves<'a>(run: &Run, series: &'a SeriesByName) -> Cow<'a, SeriesByName> {
    let mut all = Cow::Borrowed(series);
    for (name, work) in &run.results.work {
        if STATES.iter().any(|(state, _)| series.contains_key(&series_name(name, state))) {
            continue;
        }
        for WorkPoint { t_s, waiting, running, finished, failed, stuck, unknown } in work.drain_curve.iter().copied() {
            let counts = [finished, failed, stuck, unknown, running, waiting];
            for ((state, _), count) in STATES.iter().zip(counts) {
                all.to_mut().entry(series_name(name, state)).or_default().push(t_s, count as f64);
            }
        }
    }
    all
}

fn series_name(name: &str, state: &str) -> String {
    format!("work.{name}.{state}")
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
