//! Charts of a ladder or of a search for the edge: throughput and latency against the load, with the knee and the
//! fitted law.

use super::into_chart;
use crate::aggregate::LoadStepFigures;
use crate::edge::{Capacity, LevelRef};
use crate::report::levels::{FittedLaw, PhaseCapacity, loads};
use crate::report::svg::{Chart, ChartAxis, ChartPoint, Layer, LayerStyle, Mark, SeriesChart, Unit};

/// Points of a drawn law.
const LAW_POINTS: usize = 60;

/// Loads that span more than this factor are drawn on a logarithmic axis.
const LOG_FROM: f64 = 30.0;

/// A level and its load.
type LevelLoad<'a> = (f64, &'a LoadStepFigures);

pub(in crate::report) fn charts(levels: &[&LoadStepFigures], capacity: Option<&PhaseCapacity>) -> Vec<Chart> {
    let mut at: Vec<LevelLoad<'_>> = loads(levels)
        .into_iter()
        .zip(levels)
        .filter_map(|(load, level)| Some((load.filter(|load| *load > 0.0)?, *level)))
        .collect();
    at.sort_by(|a, b| a.0.total_cmp(&b.0));
    if at.len() < 2 {
        return Vec::new();
    }
    [throughput(&at, capacity), latency(&at, capacity)].into_iter().filter_map(into_chart).collect()
}

fn throughput(at: &[LevelLoad<'_>], capacity: Option<&PhaseCapacity>) -> Option<SeriesChart> {
    let dots = |wanted: bool| {
        let wanted = at.iter().filter(move |(_, level)| is_healthy(level) == wanted);
        wanted.filter_map(|(load, level)| Some(ChartPoint::new(*load, level.throughput_per_s?))).collect()
    };
    let layers = vec![
        Layer { name: "level".to_owned(), colour: 0, style: LayerStyle::Points, points: dots(true) },
        Layer {
            name: "level with errors or overload, or void".to_owned(),
            colour: 1,
            style: LayerStyle::Points,
            points: dots(false),
        },
        reference(at, capacity),
    ];
    level_chart(at, capacity, "Throughput against", Unit::number("ok a second"), layers)
}

/// Neither errors nor an overload, and evaluated at all if any level was.
fn is_healthy(level: &LoadStepFigures) -> bool {
    level.op.errors == 0 && level.void.is_none() && level.overload.as_ref().is_none_or(Vec::is_empty)
}

/// The reference for the points: the fitted law for clients, the offered rate for a rate.
fn reference(at: &[LevelLoad<'_>], capacity: Option<&PhaseCapacity>) -> Layer {
    let (low, high) = (at[0].0, at[at.len() - 1].0);
    let is_rate = at.iter().any(|(_, level)| level.clients.is_none());
    let law = capacity.and_then(|found| found.usl.as_ref()).filter(|_| !is_rate);
    let (name, throughput_per_s): (&str, Box<dyn Fn(f64) -> f64>) = match law {
        Some(FittedLaw::Fitted(law)) => ("Universal Scalability Law", Box::new(move |load| law.throughput_per_s(load))),
        None if is_rate => ("all that was offered", Box::new(|load| load)),
        Some(FittedLaw::Refused { .. }) | None => ("", Box::new(|_| f64::NAN)),
    };
    let load = |i: usize| low * (high / low).powf(i as f64 / (LAW_POINTS - 1) as f64);
    let dots = (0..LAW_POINTS).map(|i| ChartPoint::new(load(i), throughput_per_s(load(i)))).collect();
    Layer { name: name.to_owned(), colour: 3, style: LayerStyle::Fitted, points: dots }
}

fn latency(at: &[LevelLoad<'_>], capacity: Option<&PhaseCapacity>) -> Option<SeriesChart> {
    let layer = |name: &str, form: LayerStyle, of: fn(&LoadStepFigures) -> Option<f64>| {
        let dots = at.iter().filter_map(|(load, level)| Some(ChartPoint::new(*load, of(level)?))).collect();
        Layer { name: name.to_owned(), colour: 0, style: form, points: dots }
    };
    let layers = vec![
        layer("latency p99", LayerStyle::Line, |level| level.op.latency_ms.p99),
        layer("latency p50", LayerStyle::Dashed, |level| level.op.latency_ms.p50),
    ];
    let mut curves = level_chart(at, capacity, "Latency against", Unit::number("ms"), layers)?;
    curves.y.log = true;
    Some(curves)
}

fn level_chart(
    at: &[LevelLoad<'_>],
    capacity: Option<&PhaseCapacity>,
    title: &str,
    unit: Unit,
    layers: Vec<Layer>,
) -> Option<SeriesChart> {
    let is_rate = at.iter().any(|(_, level)| level.clients.is_none());
    let (load, unit_x) = if is_rate { ("the offered rate", "offered a second") } else { ("concurrency", "clients") };
    let curves = SeriesChart {
        title: format!("{title} {load}"),
        caption: String::new(),
        x: ChartAxis {
            unit: Unit::count(unit_x),
            log: at[at.len() - 1].0 / at[0].0 >= LOG_FROM,
            reaches_at_least: 0.0,
        },
        y: ChartAxis { unit, log: false, reaches_at_least: 0.0 },
        layers,
        bands: Vec::new(),
        marks: capacity.map(|found| marks(&found.capacity)).unwrap_or_default(),
        thresholds: Vec::new(),
    };
    curves.non_empty()
}

fn marks(capacity: &Capacity) -> Vec<Mark> {
    let Capacity { knee, peak, saturation, .. } = capacity;
    let mark =
        |(label, level): (&str, &LevelRef)| level.load.map(|x| Mark { x, label: label.to_owned(), is_fault: false });
    let knee = knee.as_ref().map(|knee| ("knee", &knee.level));
    let peak = peak.as_ref().map(|peak| ("peak", &peak.level));
    let saturation = saturation.as_ref().map(|saturation| ("saturation", &saturation.level));
    [knee, peak, saturation].into_iter().flatten().filter_map(mark).collect()
}
