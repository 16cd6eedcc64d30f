//! What the levels of a ladder, or of a search for the edge, show about the capacity of the target, in the terms of
//! capacity reports: peak, zero-error range, optimal range, knee, saturation, behaviour beyond it, and the resulting
//! limits. Does not compute them.

use super::{ContentBlock, Section, Table, TableCell, Tone};
use crate::aggregate::LoadStepFigures;
use crate::edge::{Estimate, Peak, Suggestion};
use crate::format::{clock, first_few, number, percent, sanitize};
use crate::limits::REPORT_ROWS_MAX;
use crate::report::chart::{ChartAxis, ChartPoint, Layer, LayerStyle, Mark, SeriesChart, Unit};
use crate::report::levels::{FittedLaw, PhaseCapacity, ladders, levels, loads};
use crate::report::{Run, slug};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    ladders(run).into_iter().map(|phase| section(run, phase)).collect()
}

fn section(run: &Run, phase: &str) -> Section {
    let levels = levels(run, phase);
    let capacity = PhaseCapacity::of_phase(run, phase);
    let mut blocks = vec![ContentBlock::facts(capacity.as_ref().map(capacity_sentences).unwrap_or_default())];
    blocks.extend(ContentBlock::charts(charts(&levels, capacity.as_ref())));
    blocks.push(ContentBlock::Heading("Level by level".to_owned()));
    blocks.push(ContentBlock::Table(table(&levels)));
    let suggestions = capacity.map(|found| found.capacity.suggestions).unwrap_or_default();
    if !suggestions.is_empty() {
        blocks.push(ContentBlock::Heading("Suggested limits and alerts".to_owned()));
        blocks.push(ContentBlock::facts(suggestions.iter().map(suggestion).collect()));
    }
    Section::new(&format!("capacity-{}", slug(phase)), &format!("Capacity: {}", sanitize(phase)), blocks)
}

/// In the terms of capacity reports, in their order.
fn capacity_sentences(found: &PhaseCapacity) -> Vec<String> {
    let PhaseCapacity { capacity, usl, edge } = found;
    let left_out = (!capacity.left_out.is_empty()).then(|| first_few(&capacity.left_out, "; "));
    let terms = [
        ("Zero-error range", capacity.zero_error_range.as_ref().map(|range| &range.because)),
        ("Optimal range", capacity.optimal_range.as_ref().map(|range| &range.because)),
        ("Knee", capacity.knee.as_ref().map(|knee| &knee.because)),
        ("Saturation point", capacity.saturation.as_ref().map(|saturation| &saturation.because)),
        ("Beyond it", capacity.beyond.as_ref().map(|beyond| &beyond.sentence)),
        ("Left out", left_out.as_ref()),
    ];
    let terms = terms.into_iter().filter_map(|(term, text)| Some(format!("{term}: {}", sanitize(text?))));
    let edge = edge.as_ref().map(|edge| format!("Edge: {}", sanitize(&edge.reason)));
    let peak = capacity.peak.as_ref().map(peak_sentence);
    edge.into_iter().chain(peak).chain(terms).chain(usl.as_ref().map(law_sentence)).collect()
}

fn peak_sentence(peak: &Peak) -> String {
    let state = if peak.healthy { "" } else { ", past the point where it was healthy" };
    format!("Peak throughput: {}/s at {}{state}", number(Some(peak.throughput_per_s)), sanitize(&peak.level.label))
}

/// The parameters of the fitted law with their intervals, or why there is none.
fn law_sentence(law: &FittedLaw) -> String {
    let law = match law {
        FittedLaw::Fitted(law) => law,
        FittedLaw::Refused { refusal } => {
            return format!("Universal Scalability Law: not fitted. {}", sanitize(refusal));
        }
    };
    let [one, contention, coherency] = [law.lambda_per_s, law.sigma, law.kappa].map(|Estimate { value, low, high }| {
        format!("{} ({} to {})", significant(value), significant(low), significant(high))
    });
    format!(
        "Universal Scalability Law, with 95 % intervals: {one} a second for one, contention {contention}, coherency \
         {coherency}; R² {:.3}",
        law.r_squared
    )
}

/// Parameters of a law may be far below one.
fn significant(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.2e}") } else { number(Some(value)) }
}

fn suggestion(suggestion: &Suggestion) -> String {
    let Suggestion { what, value, unit, because } = suggestion;
    let value = match unit.as_str() {
        // As many digits as needed: 0.1 %, not 0.100 %.
        "share" => format!("{} %", (value * 1e6).round() / 1e4),
        unit => format!("{} {unit}", number(Some(*value))),
    };
    sanitize(&format!("{}: {value}. {because}", what.description()))
}

fn table(levels: &[&LoadStepFigures]) -> Table {
    let heading = [
        "level",
        "judged",
        "time",
        "clients",
        "offered/s",
        "ok/s",
        "ok %",
        "denied",
        "errors",
        "not sent",
        "p50",
        "p95",
        "p99",
    ];
    let rows = levels.iter().map(|level| row(level)).collect();
    let note = "Time since the start of the plan; p50 to p99: latency in ms, from the intended moment.".to_owned();
    let notes = [note].into_iter().chain(levels.iter().filter_map(|level| overload_reasons(level))).collect();
    Table::new(2, &heading, rows).with_notes(notes).without_empty_columns().limit_rows(REPORT_ROWS_MAX)
}

fn row(level: &LoadStepFigures) -> Vec<TableCell> {
    let op = &level.op;
    let judged = match (&level.void, level.overload.as_deref()) {
        (Some(_), _) => TableCell::with_tone("void", Tone::Doubtful),
        (None, None) => TableCell::from("-"),
        (None, Some([])) => TableCell::with_tone("sustained", Tone::Good),
        (None, Some(_)) => TableCell::with_tone("overload", Tone::Bad),
    };
    let times = [op.latency_ms.p50, op.latency_ms.p95, op.latency_ms.p99].map(TableCell::from);
    let clients = level.clients.map_or_else(|| TableCell::from("-"), TableCell::from);
    let head = [level.label.as_str().into(), judged, clock(level.start_s).into(), clients];
    let rates = [level.offered_per_s, level.throughput_per_s].map(TableCell::from);
    let counts = [
        percent(op.ok, op.count).into(),
        TableCell::unless_zero(op.denied),
        op.errors.into(),
        TableCell::unless_zero(level.not_sent),
    ];
    head.into_iter().chain(rates).chain(counts).chain(times).collect()
}

/// Why a level counted as overloaded, or could not be evaluated.
fn overload_reasons(level: &LoadStepFigures) -> Option<String> {
    if let Some(why) = &level.void {
        return Some(format!("{} is void: {}", level.label, sanitize(why)));
    }
    let reasons = level.overload.as_deref().filter(|reasons| !reasons.is_empty())?;
    Some(format!("{} was overloaded: {}", level.label, sanitize(&first_few(reasons, "; "))))
}

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

fn charts(levels: &[&LoadStepFigures], capacity: Option<&PhaseCapacity>) -> Vec<SeriesChart> {
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
