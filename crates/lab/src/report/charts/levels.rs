//! Charts of a ladder or of a search for the edge: throughput and latency against the load, with the knee and the
//! fitted law.

use crate::aggregate::LoadStepFigures;
use crate::report::levels::{FittedLaw, PhaseCapacity, loads};
use crate::report::svg::{ChartAxis, ChartPoint, Layer, LayerStyle, Mark, SeriesChart, Unit};

/// Points of a drawn law.
const LAW_POINTS: usize = 60;

/// Loads that span more than this factor are drawn on a logarithmic axis.
const LOG_FROM: f64 = 30.0;

/// Levels by their load, from the lowest to the highest.
struct LevelCharts<'a> {
    levels: Vec<(f64, &'a LoadStepFigures)>,
    capacity: Option<&'a PhaseCapacity>,
    /// Whether the load is a rate, and not a number of clients.
    is_rate: bool,
}

pub(in crate::report) fn charts(levels: &[&LoadStepFigures], capacity: Option<&PhaseCapacity>) -> Vec<SeriesChart> {
    let loads = loads(levels).into_iter().zip(levels);
    let mut levels: Vec<_> =
        loads.filter_map(|(load, level)| Some((load.filter(|load| *load > 0.0)?, *level))).collect();
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    if levels.len() < 2 {
        return Vec::new();
    }
    let is_rate = levels.iter().any(|(_, level)| level.clients.is_none());
    let charts = LevelCharts { levels, capacity, is_rate };
    [charts.throughput(), charts.latency()].into_iter().flatten().collect()
}

/// Neither errors nor an overload, and evaluated at all if any level was.
fn is_healthy(level: &LoadStepFigures) -> bool {
    level.op.errors == 0 && level.void.is_none() && level.overload.as_ref().is_none_or(Vec::is_empty)
}

impl LevelCharts<'_> {
    fn throughput(&self) -> Option<SeriesChart> {
        let layer = |name: &str, colour: usize, wanted: bool| {
            let per_s = |level: &LoadStepFigures| level.throughput_per_s.filter(|_| is_healthy(level) == wanted);
            Layer::new(name, colour, LayerStyle::Points, self.points(per_s))
        };
        let layers =
            vec![layer("level", 0, true), layer("level with errors or overload, or void", 1, false), self.reference()];
        self.chart("Throughput against", "ok a second", layers)
    }

    fn latency(&self) -> Option<SeriesChart> {
        let p99 = Layer::new("latency p99", 0, LayerStyle::Line, self.points(|level| level.op.latency_ms.p99));
        let p50 = Layer::new("latency p50", 0, LayerStyle::Dashed, self.points(|level| level.op.latency_ms.p50));
        self.chart("Latency against", "ms", vec![p99, p50]).map(SeriesChart::with_log_y)
    }

    fn points(&self, of: impl Fn(&LoadStepFigures) -> Option<f64>) -> Vec<ChartPoint> {
        self.levels.iter().filter_map(|(load, level)| Some(ChartPoint::new(*load, of(level)?))).collect()
    }

    fn range(&self) -> (f64, f64) {
        (self.levels[0].0, self.levels[self.levels.len() - 1].0)
    }

    /// The reference for the points: the fitted law for clients, the offered rate for a rate.
    fn reference(&self) -> Layer {
        let (low, high) = self.range();
        let loads = (0..LAW_POINTS).map(|i| low * (high / low).powf(i as f64 / (LAW_POINTS - 1) as f64));
        let layer = |name: &str, throughput_per_s: &dyn Fn(f64) -> f64| {
            let points = loads.map(|load| ChartPoint::new(load, throughput_per_s(load))).collect();
            Layer::new(name, 3, LayerStyle::Fitted, points)
        };
        match self.capacity.and_then(|found| found.usl.as_ref()) {
            _ if self.is_rate => layer("all that was offered", &|load| load),
            Some(FittedLaw::Fitted(law)) => layer("Universal Scalability Law", &|load| law.throughput_per_s(load)),
            Some(FittedLaw::Refused { .. }) | None => Layer::default(),
        }
    }

    fn chart(&self, title: &str, unit: &str, layers: Vec<Layer>) -> Option<SeriesChart> {
        let (load, clients) =
            if self.is_rate { ("the offered rate", "offered a second") } else { ("concurrency", "clients") };
        let (low, high) = self.range();
        let chart = SeriesChart {
            title: format!("{title} {load}"),
            x: ChartAxis { unit: Unit::count(clients), log: high / low >= LOG_FROM, reaches_at_least: 0.0 },
            y: ChartAxis { unit: Unit::number(unit), ..ChartAxis::default() },
            layers,
            marks: self.marks(),
            ..SeriesChart::default()
        };
        chart.non_empty()
    }

    fn marks(&self) -> Vec<Mark> {
        let Some(PhaseCapacity { capacity, .. }) = self.capacity else { return Vec::new() };
        let knee = capacity.knee.as_ref().map(|knee| ("knee", &knee.level));
        let peak = capacity.peak.as_ref().map(|peak| ("peak", &peak.level));
        let saturation = capacity.saturation.as_ref().map(|saturation| ("saturation", &saturation.level));
        let known = [knee, peak, saturation].into_iter().flatten();
        known
            .filter_map(|(label, level)| Some(Mark { x: level.load?, label: label.to_owned(), is_fault: false }))
            .collect()
    }
}
