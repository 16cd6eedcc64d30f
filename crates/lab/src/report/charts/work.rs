//! Charts of work that outlives its request: how it drained, and the depth of its queue. Without a timeline, the
//! thinned curve of the record is used.

use std::borrow::Cow;

use super::{SeriesByName, TimeCharts, into_chart};
use crate::measurement::WorkPoint;
use crate::report::Run;
use crate::report::svg::{Chart, ChartPoint, Layer, LayerStyle, SeriesChart, Unit};

/// The states from below, with their colours.
const STATES: [(&str, usize); 6] =
    [("finished", 2), ("failed", 1), ("stuck", 5), ("unknown", 3), ("running", 0), ("waiting", 4)];

pub(in crate::report) fn charts(run: &Run, series: &SeriesByName, name: &str) -> Vec<Chart> {
    let series = with_curve(run, series, name);
    let sheet = TimeCharts::new(run, &series);
    [drain(&sheet, name), queue(&sheet, name)].into_iter().filter_map(into_chart).collect()
}

fn with_curve<'a>(run: &Run, series: &'a SeriesByName, name: &str) -> Cow<'a, SeriesByName> {
    let mut series = Cow::Borrowed(series);
    let is_followed = STATES.iter().any(|(state, _)| series.contains_key(&series_name(name, state)));
    let Some(work) = run.results.work.get(name).filter(|_| !is_followed) else { return series };
    for WorkPoint { t_s, waiting, running, finished, failed, stuck, unknown } in work.drain_curve.iter().copied() {
        let counts = [finished, failed, stuck, unknown, running, waiting];
        for ((state, _), count) in STATES.iter().zip(counts) {
            series.to_mut().entry(series_name(name, state)).or_default().push(t_s, count as f64);
        }
    }
    series
}

fn series_name(name: &str, state: &str) -> String {
    format!("work.{name}.{state}")
}

/// What was created, by its state, each state stacked on those below.
fn drain(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let mut below: Option<Vec<ChartPoint>> = None;
    let mut layers = Vec::new();
    for (state, colour) in STATES {
        let Some(layer) = sheet.line(&series_name(name, state), state, colour, LayerStyle::Area) else { continue };
        if layer.points.iter().all(|dot| dot.high <= 0.0) {
            continue;
        }
        let dots = match &below {
            None => layer.points.iter().map(|dot| ChartPoint { low: 0.0, high: dot.y, ..*dot }).collect(),
            Some(below) => stacked(&layer.points, below),
        };
        below = Some(dots.clone());
        layers.push(Layer { points: dots, ..layer });
    }
    sheet.chart(&format!("{name}: how the work drained"), Unit::count("pieces"), layers)
}

/// The states of one round of status requests have the same moment; points without a counterpart are left out.
fn stacked(dots: &[ChartPoint], below: &[ChartPoint]) -> Vec<ChartPoint> {
    let pairs = dots.iter().zip(below).filter(|(dot, below)| dot.x == below.x);
    let on_top = |(dot, below): (&ChartPoint, &ChartPoint)| ChartPoint {
        y: below.high + dot.y,
        low: below.high,
        high: below.high + dot.y,
        ..*dot
    };
    pairs.map(on_top).collect()
}

fn queue(sheet: &TimeCharts<'_>, name: &str) -> Option<SeriesChart> {
    let line = |state: &str, colour: usize| sheet.line(&series_name(name, state), state, colour, LayerStyle::Line);
    let lines = [line("waiting", 4), line("running", 0)].into_iter().flatten().collect();
    sheet.chart(&format!("{name}: queue depth and running"), Unit::count("pieces"), lines)
}
