//! Figures over time, over another figure, or of items in a row, as data: lines, areas, bars, dots and fitted curves on one
//! pair of axes, with bands for the load steps of a trial, marks for moments, thresholds; and times by second as a heatmap.
//! The console's pages draw them. Does not interpret them.

mod heatmap;
mod unit;

pub(super) use heatmap::{Heatmap, HeatmapBuilder, HeatmapByName};
pub(super) use unit::Unit;

use serde::{Serialize, Serializer};

use crate::format::round;

/// A line breaks where nothing was measured for this many times the usual distance, if no point says how long it holds.
const GAP_FACTOR: f64 = 3.5;

/// A line breaks where nothing is known for more than this share of what the previous point covers.
const GAP_SHARE: f64 = 0.5;

/// Digits of a figure of a chart: a screen shows fewer.
const DIGITS: i32 = 5;

/// Figures on one pair of axes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeriesChart {
    pub title: String,
    pub caption: String,
    pub x: ChartAxis,
    pub y: ChartAxis,
    pub layers: Vec<Layer>,
    pub bands: Vec<Band>,
    pub marks: Vec<Mark>,
    pub thresholds: Vec<Threshold>,
    /// What the findings say that rest on a figure of this chart.
    pub findings: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ChartAxis {
    pub unit: Unit,
    pub log: bool,
    /// The axis extends at least to this figure.
    pub reaches_at_least: f64,
}

/// Figures that belong together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layer {
    pub name: String,
    pub colour: usize,
    pub style: LayerStyle,
    pub points: Vec<ChartPoint>,
    /// The figure of the timeline that it shows; empty if it shows another.
    pub figure: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LayerStyle {
    #[default]
    Line,
    Dashed,
    /// From the minimum to the maximum of each point.
    Area,
    /// The same, each point by itself.
    Bars,
    Points,
    /// A law, not a measurement.
    Fitted,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChartPoint {
    pub x: f64,
    pub y: f64,
    /// The minimum and maximum of what `y` is the mean of.
    pub low: f64,
    pub high: f64,
    /// The x value up to which it is known to hold; none if that is the next point, unless that is unusually far away.
    pub until: Option<f64>,
}

/// A section of the x axis.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Band {
    pub from: f64,
    pub to: f64,
    pub label: String,
}

/// A position on the x axis.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Mark {
    pub x: f64,
    pub label: String,
    /// A fault of the trial on the target.
    pub is_fault: bool,
}

/// A figure to which the others are compared.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Threshold {
    pub y: f64,
    pub label: String,
}

impl ChartPoint {
    pub(in crate::report) fn new(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y, until: None }
    }
}

impl Layer {
    pub(in crate::report) fn new(name: &str, colour: usize, style: LayerStyle, points: Vec<ChartPoint>) -> Self {
        Self { name: name.to_owned(), colour, style, points, figure: String::new() }
    }

    /// The value of a point: in stacked areas and bars its own height, without what it is stacked on.
    pub(super) fn value(&self, dot: &ChartPoint) -> f64 {
        if matches!(self.style, LayerStyle::Area | LayerStyle::Bars) { dot.high - dot.low } else { dot.y }
    }
}

impl SeriesChart {
    /// Without the layers that have nothing to show; none if that is all of them.
    pub(in crate::report) fn non_empty(mut self) -> Option<Self> {
        self.layers.retain(|layer| layer.points.iter().any(|dot| dot.x.is_finite() && dot.y.is_finite()));
        self.layers.iter_mut().for_each(|layer| layer.points.retain(|dot| dot.x.is_finite() && dot.y.is_finite()));
        (!self.layers.is_empty()).then_some(self)
    }

    pub(in crate::report) fn with_log_y(mut self) -> Self {
        self.y.log = true;
        self
    }

    pub(in crate::report) fn with_thresholds(mut self, thresholds: impl IntoIterator<Item = Threshold>) -> Self {
        self.thresholds.extend(thresholds);
        self
    }

    /// Of every layer that was measured: its first, highest and last figure. For views that cannot draw.
    pub(in crate::report) fn extremes(&self) -> Vec<[String; 5]> {
        let measured = self.layers.iter().filter(|layer| layer.style != LayerStyle::Fitted);
        measured.filter_map(|layer| self.extremes_of(layer)).collect()
    }

    fn extremes_of(&self, layer: &Layer) -> Option<[String; 5]> {
        let (x, y) = (&self.x.unit, &self.y.unit);
        let value = |point| y.format(layer.value(point));
        let (first, last) = (layer.points.first()?, layer.points.last()?);
        let highest = layer.points.iter().max_by(|a, b| layer.value(a).total_cmp(&layer.value(b)))?;
        Some([layer.name.clone(), value(first), value(highest), x.format(highest.x), value(last)])
    }
}

impl Serialize for SeriesChart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_gaps = self.x.unit == Unit::Time;
        let columns = self.layers.iter().map(|layer| LayerColumns::of(layer, has_gaps)).collect();
        let Self { title, caption, x, y, layers: _, bands, marks, thresholds, findings } = self;
        ChartColumns { title, caption, x, y, layers: columns, bands, marks, thresholds, findings }.serialize(serializer)
    }
}

/// A chart as it is written.
#[derive(Serialize)]
struct ChartColumns<'a> {
    title: &'a str,
    caption: &'a str,
    x: &'a ChartAxis,
    y: &'a ChartAxis,
    layers: Vec<LayerColumns<'a>>,
    bands: &'a [Band],
    marks: &'a [Mark],
    thresholds: &'a [Threshold],
    findings: &'a [String],
}

/// The points of a layer, column by column. A gap is a point without figures.
#[derive(Serialize)]
struct LayerColumns<'a> {
    name: &'a str,
    colour: usize,
    style: LayerStyle,
    x: Vec<f64>,
    y: Vec<Option<f64>>,
    /// The lowest and highest of what each figure is the mean of, or the ends of a part of a stack; empty if there is nothing
    /// to tell.
    low: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
}

impl<'a> LayerColumns<'a> {
    fn of(layer: &'a Layer, has_gaps: bool) -> Self {
        let runs = if has_gaps { unbroken(&layer.points) } else { vec![&layer.points[..]] };
        let mut points: Vec<(f64, Option<&ChartPoint>)> = Vec::with_capacity(layer.points.len() + runs.len());
        for (at, run) in runs.iter().enumerate() {
            points.extend(run.iter().map(|point| (point.x, Some(point))));
            let next = runs.get(at + 1).and_then(|next| next.first());
            points.extend(run.last().zip(next).map(|(last, next)| (last.x.midpoint(next.x), None)));
        }
        let column = |of: fn(&ChartPoint) -> f64| -> Vec<Option<f64>> {
            points.iter().map(|(_, point)| point.map(|point| significant(of(point)))).collect()
        };
        let has_range = layer.points.iter().any(|point| point.low < point.high);
        let range = |of: fn(&ChartPoint) -> f64| if has_range { column(of) } else { Vec::new() };
        Self {
            name: &layer.name,
            colour: layer.colour,
            style: layer.style,
            x: points.iter().map(|(x, _)| round(*x)).collect(),
            y: column(|point| point.y),
            low: range(|point| point.low),
            high: range(|point| point.high),
        }
    }
}

/// With as many digits as a chart shows.
fn significant(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = DIGITS - 1 - value.abs().log10().floor() as i32;
    // Above that a figure is whole, and keeps its digits.
    let scale = 10_f64.powi(digits.clamp(0, 12));
    (value * scale).round() / scale
}

/// Points in order of time, cut where nothing was measured for longer than usual.
fn unbroken(dots: &[ChartPoint]) -> Vec<&[ChartPoint]> {
    let mut steps: Vec<f64> = dots.windows(2).map(|pair| pair[1].x - pair[0].x).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(f64::INFINITY);
    let reaches = |one: &ChartPoint, next: &ChartPoint| match one.until {
        Some(until) => next.x - until <= (until - one.x) * GAP_SHARE,
        None => next.x - one.x <= usual * GAP_FACTOR,
    };
    dots.chunk_by(reaches).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_breaks_where_nothing_was_measured() {
        let dots = [0.0, 1.0, 2.0, 9.0, 10.0].map(|x| ChartPoint::new(x, 1.0));
        let runs = |dots: &[ChartPoint]| unbroken(dots).iter().map(|run| run.len()).collect::<Vec<_>>();
        let held = |s: f64| dots.map(|dot| ChartPoint { until: Some(dot.x + s), ..dot });
        assert_eq!(runs(&dots), [3, 2]);
        assert_eq!(runs(&held(0.1)), [1; 5]);
        assert_eq!(runs(&held(1.0)), [3, 2]);
        assert_eq!(runs(&held(7.0)), [5]);
        // One second is missing.
        assert_eq!(
            runs(&[0.0, 1.0, 3.0].map(|x| ChartPoint { until: Some(x + 1.0), ..ChartPoint::new(x, 1.0) })),
            [2, 1]
        );
        assert_eq!((runs(&dots[..1]), runs(&[])), (vec![1], vec![]));
    }

    /// A chart of one line, as it is written.
    #[track_caller]
    fn check_columns(x: Unit, points: &[ChartPoint], expected: &serde_json::Value) {
        let layer = Layer::new("a", 0, LayerStyle::Line, points.to_vec());
        let axis = ChartAxis { unit: x, ..ChartAxis::default() };
        let chart = SeriesChart { x: axis, layers: vec![layer], ..SeriesChart::default() };
        let written = serde_json::to_value(&chart).unwrap();
        let of = |name: &str| written["layers"][0][name].clone();
        assert_eq!(&serde_json::json!([of("x"), of("y"), of("high")]), expected);
    }

    #[test]
    fn a_gap_is_a_point_without_figures() {
        let points = |xs: &[f64]| xs.iter().map(|x| ChartPoint::new(*x, 1.0 / 3.0)).collect::<Vec<_>>();
        let third = 0.33333;
        check_columns(Unit::Time, &points(&[0.0, 1.0]), &serde_json::json!([[0.0, 1.0], [third, third], []]));
        let (xs, ys) = ([0.0, 1.0, 2.0, 5.5, 9.0], [Some(third), Some(third), Some(third), None, Some(third)]);
        check_columns(Unit::Time, &points(&[0.0, 1.0, 2.0, 9.0]), &serde_json::json!([xs, ys, []]));
        // Levels of a ladder are as far apart as they were chosen.
        let (xs, ys) = ([0.0, 1.0, 2.0, 9.0], [third; 4]);
        check_columns(Unit::count("clients"), &points(&[0.0, 1.0, 2.0, 9.0]), &serde_json::json!([xs, ys, []]));
        let spread = ChartPoint { high: 123_456.7, ..ChartPoint::new(0.0, 2.0) };
        check_columns(Unit::Time, &[spread], &serde_json::json!([[0.0], [2.0], [123_457.0]]));
        check_columns(Unit::Time, &[], &serde_json::json!([[], [], []]));
    }

    #[test]
    fn what_has_no_figure_has_no_chart() {
        let chart = |points: &[(f64, f64)]| SeriesChart {
            layers: vec![Layer::new(
                "a",
                0,
                LayerStyle::Line,
                points.iter().map(|(x, y)| ChartPoint::new(*x, *y)).collect(),
            )],
            ..SeriesChart::default()
        };
        assert!(SeriesChart::default().non_empty().is_none());
        assert!(chart(&[(0.0, f64::NAN), (f64::INFINITY, 1.0)]).non_empty().is_none());
        assert_eq!(chart(&[(0.0, f64::NAN), (1.0, 1.0)]).non_empty().unwrap().layers[0].points.len(), 1);
    }

    #[test]
    fn a_view_that_cannot_draw_has_the_ends_and_the_highest() {
        let points = [(0.0, 3.0), (61.0, 30.0), (90.0, 12.0)].map(|(x, y)| ChartPoint::new(x, y)).to_vec();
        let law = Layer::new("law", 1, LayerStyle::Fitted, points.clone());
        let chart = SeriesChart {
            x: ChartAxis { unit: Unit::Time, ..ChartAxis::default() },
            y: ChartAxis { unit: Unit::number("ms"), ..ChartAxis::default() },
            layers: vec![Layer::new("p99", 0, LayerStyle::Line, points), law],
            ..SeriesChart::default()
        };
        assert_eq!(chart.extremes(), [["p99", "3 ms", "30 ms", "1:01", "12 ms"].map(str::to_owned)]);
    }
}
