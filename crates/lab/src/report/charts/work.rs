//! Charts of work that outlives its request: how it drained, and the depth of its queue.

use std::borrow::Cow;

use super::{SeriesByName, TimeCharts};
use crate::measurement::WorkPoint;
use crate::report::Run;
use crate::report::svg::{ChartPoint, Layer, LayerStyle, SeriesChart, Unit};

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
    let mut layers: Vec<Option<Layer>> = Vec::new();
    for (state, colour) in STATES {
        let Some(mut layer) = sheet.line(&series_name(name, state), state, colour, LayerStyle::Area) else { continue };
        if layer.points.iter().all(|dot| dot.high <= 0.0) {
            continue;
        }
        match layers.last().and_then(Option::as_ref) {
            None => layer.points.iter_mut().for_each(|dot| (dot.low, dot.high) = (0.0, dot.y)),
            Some(below) => layer.points = stacked(&layer.points, &below.points),
        }
        layers.push(Some(layer));
    }
    sheet.chart(&format!("{name}: how the work drained"), Unit::count("work items"), layers)
}

/// The states of one round of status requests have the same moment; points without a counterpart are left out.
fn stacked(dots: &[ChartPoint], below: &[ChartPoint]) -> Vec<ChartPoint> {
    let pairs = dots.iter().zip(below).filter(|(dot, below)| dot.x == below.x);
    let on_top = |(dot, below): (&ChartPoint, &ChartPoint)| {
        let high = below.high + dot.y;
        ChartPoint { y: high, low: below.high, high, ..*dot }
    };
    pairs.map(on_top).collect()
}

fn queue(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let line = |state: &str, colour: usize| sheet.line(&series_name(name, state), state, colour, LayerStyle::Line);
    sheet.chart(
        &format!("{name}: queue depth and running"),
        Unit::count("work items"),
        [line("waiting", 4), line("running", 0)],
    )
}
