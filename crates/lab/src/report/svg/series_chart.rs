//! Figures over time, over another figure, or of items in a row: lines, areas, bars, dots and fitted curves on one pair
//! of axes, with bands for the load steps of a trial, vertical lines for moments, horizontal lines for thresholds. Does
//! not interpret them.

use maud::{Markup, html};

use super::plot_area::PlotArea;
use super::scale::Extent;
use super::unit::Unit;
use super::{CHARACTER_WIDTH, COLOUR_COUNT, HEIGHT, TEXT_HEIGHT, WIDTH, coordinate, label, line, path, rectangle};
use crate::format::first_few;

const X_TICKS_MAX: usize = 7;

const Y_TICKS_MAX: usize = 4;

/// Sections of the axis that have a tooltip.
const TOOLTIPS_MAX: usize = 64;

/// Above this number no bands are drawn: they would be stripes.
const BANDS_MAX: usize = 40;

/// A line breaks where nothing was measured for this many times the usual distance, if no point says how long it holds.
const GAP_FACTOR: f64 = 3.5;

/// A line breaks where nothing is known for more than this share of what the previous point covers.
const GAP_SHARE: f64 = 0.5;

/// The share of its slot that a bar takes.
const BAR_WIDTH_SHARE: f64 = 0.7;

/// The maximum width of a bar.
const BAR_WIDTH_MAX: f64 = 36.0;

/// Rows in which the labels of moments are placed, so that neighbours do not overlap.
const MARK_ROWS: usize = 3;

/// Figures on one pair of axes.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct SeriesChart {
    pub title: String,
    pub caption: String,
    pub x: ChartAxis,
    pub y: ChartAxis,
    pub layers: Vec<Layer>,
    pub bands: Vec<Band>,
    pub marks: Vec<Mark>,
    pub thresholds: Vec<Threshold>,
}

#[derive(Clone, Debug, Default)]
pub(in crate::report) struct ChartAxis {
    pub unit: Unit,
    pub log: bool,
    /// The axis extends at least to this figure.
    pub reaches_at_least: f64,
}

/// Figures that belong together.
#[derive(Clone, Debug, Default)]
pub(in crate::report) struct Layer {
    pub name: String,
    pub colour: usize,
    pub style: LayerStyle,
    pub points: Vec<ChartPoint>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::report) enum LayerStyle {
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
pub(in crate::report) struct ChartPoint {
    pub x: f64,
    pub y: f64,
    /// The minimum and maximum of what `y` is the mean of.
    pub low: f64,
    pub high: f64,
    /// The x value up to which it is known to hold; none if that is the next point, unless that is unusually far away.
    pub until: Option<f64>,
}

/// A section of the x axis.
#[derive(Clone, Debug)]
pub(in crate::report) struct Band {
    pub from: f64,
    pub to: f64,
    pub label: String,
}

/// A position on the x axis.
#[derive(Clone, Debug)]
pub(in crate::report) struct Mark {
    pub x: f64,
    pub label: String,
    /// A fault of the trial on the target.
    pub is_fault: bool,
}

/// A figure to which the others are compared.
#[derive(Clone, Debug)]
pub(in crate::report) struct Threshold {
    pub y: f64,
    pub label: String,
}

impl ChartAxis {
    /// The extent that holds these figures.
    fn extent(&self, figures: impl Iterator<Item = f64>, exact: bool, ticks_max: usize) -> Extent<'_> {
        let shown = figures.filter(|figure| figure.is_finite() && (!self.log || *figure > 0.0));
        let ends = (f64::INFINITY, self.reaches_at_least);
        let (low, highest) = shown.fold(ends, |(low, high), figure| (low.min(figure), high.max(figure)));
        let lowest = if low.is_finite() { low } else { 0.0 };
        Extent { unit: &self.unit, lowest, highest, log: self.log, exact, ticks_max }
    }
}

impl ChartPoint {
    pub(in crate::report) fn new(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y, until: None }
    }
}

impl Layer {
    pub(in crate::report) fn new(name: &str, colour: usize, style: LayerStyle, points: Vec<ChartPoint>) -> Self {
        Self { name: name.to_owned(), colour, style, points }
    }

    /// Classes of its drawing, and of the sample in the legend.
    pub(in crate::report) fn class(&self) -> String {
        format!("{} c{}", self.style.class(), self.colour % COLOUR_COUNT)
    }

    /// The value of a point: in stacked areas and bars its own height, without what it is stacked on.
    pub(super) fn value(&self, dot: &ChartPoint) -> f64 {
        if matches!(self.style, LayerStyle::Area | LayerStyle::Bars) { dot.high - dot.low } else { dot.y }
    }
}

impl LayerStyle {
    fn class(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Dashed => "line dashed",
            Self::Area | Self::Bars => "area",
            Self::Points => "dots",
            Self::Fitted => "line law",
        }
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

    pub(in crate::report) fn draw(&self) -> Markup {
        let plot = &self.plot_area();
        html! {
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.description()) {
                @if self.bands.len() <= BANDS_MAX { (self.draw_bands(plot)) }
                (plot.y_axis())
                (plot.x_axis())
                @for layer in &self.layers { (self.draw_layer(plot, layer)) }
                @for bound in &self.thresholds {
                    @let y = plot.y.position(bound.y);
                    (line("bound", [plot.left, y, plot.right, y]))
                    (label("mark e", (plot.right - 2.0, y - 3.0), &bound.label))
                }
                @for (i, mark) in self.marks.iter().enumerate() { (draw_mark(plot, i % MARK_ROWS, mark)) }
                (self.draw_tooltips(plot))
            }
        }
    }

    fn points(&self) -> impl Iterator<Item = &ChartPoint> {
        self.layers.iter().flat_map(|layer| &layer.points)
    }

    fn plot_area(&self) -> PlotArea {
        let xs = self.points().map(|dot| dot.x).chain(self.marks.iter().map(|mark| mark.x));
        let xs = xs.chain(self.bands.iter().map(|band| band.to)).map(|x| x.max(0.0));
        let ys = self.points().flat_map(|dot| [dot.low, dot.y, dot.high]);
        let ys = ys.chain(self.thresholds.iter().map(|bound| bound.y));
        PlotArea::new(&self.x.extent(xs, true, X_TICKS_MAX), &self.y.extent(ys, false, Y_TICKS_MAX))
    }

    /// Every second load step is shaded, and named where its name fits.
    fn draw_bands(&self, plot: &PlotArea) -> Markup {
        html! {
            @for (i, band) in self.bands.iter().enumerate() {
                @let (from, to) = (plot.x.position(band.from), plot.x.position(band.to));
                @let shade = if i % 2 == 0 { "band" } else { "band odd" };
                (rectangle(shade, [from, plot.top, to - from, plot.bottom - plot.top], ""))
                @if band.label.chars().count() as f64 * CHARACTER_WIDTH < to - from {
                    (label("part m", (from.midpoint(to), plot.top - 4.0), &band.label))
                }
            }
        }
    }

    fn draw_layer(&self, plot: &PlotArea, layer: &Layer) -> Markup {
        if layer.points.is_empty() {
            return html! {};
        }
        let class = layer.class();
        let title = |dot: &ChartPoint| {
            format!("{}\n{}: {}", self.x.unit.format(dot.x), layer.name, self.y.unit.format(layer.value(dot)))
        };
        match layer.style {
            LayerStyle::Points => html! {
                @for dot in &layer.points {
                    @let (x, y) = (coordinate(plot.x.position(dot.x)), coordinate(plot.y.position(dot.y)));
                    circle class=(class) cx=(x) cy=(y) r="3.5" { title { (title(dot)) } }
                }
            },
            LayerStyle::Area => draw_range(plot, &layer.points, &class),
            LayerStyle::Bars => {
                let width = ((plot.x.position(2.0) - plot.x.position(1.0)) * BAR_WIDTH_SHARE).min(BAR_WIDTH_MAX);
                let bar = |dot: &ChartPoint| {
                    let (low, high) = (plot.y.position(dot.low), plot.y.position(dot.high));
                    rectangle(&class, [plot.x.position(dot.x) - width / 2.0, high, width, low - high], &title(dot))
                };
                html! { @for dot in layer.points.iter().filter(|dot| dot.high > dot.low) { (bar(dot)) } }
            }
            LayerStyle::Line | LayerStyle::Dashed | LayerStyle::Fitted => html! {
                @for run in self.split_at_gaps(layer) {
                    @if run.iter().any(|dot| dot.low < dot.high) {
                        (draw_range(plot, run, &format!("spread c{}", layer.colour % COLOUR_COUNT)))
                    }
                    (draw_line(plot, run, &class))
                }
            },
        }
    }

    /// Over time, a line is cut where nothing was measured for longer than usual.
    fn split_at_gaps<'a>(&self, layer: &'a Layer) -> Vec<&'a [ChartPoint]> {
        if self.x.unit == Unit::Time { unbroken(&layer.points) } else { vec![&layer.points] }
    }

    /// Invisible sections with tooltips of what every layer shows there.
    fn draw_tooltips(&self, plot: &PlotArea) -> Markup {
        let has_own =
            |layer: &&Layer| matches!(layer.style, LayerStyle::Points | LayerStyle::Bars | LayerStyle::Fitted);
        let lined: Vec<&Layer> = self.layers.iter().filter(|layer| !has_own(layer)).collect();
        let longest = lined.iter().map(|layer| layer.points.len()).max().unwrap_or(0);
        let tips = longest.min(TOOLTIPS_MAX);
        let tip = |tip: usize| {
            let [from, to] = [tip, tip + 1].map(|tip| plot.x.value_at(tip as f64 / tips as f64));
            let lines: Vec<String> = lined.iter().filter_map(|layer| self.tooltip(layer, from, to)).collect();
            let title = format!("{}\n{}", self.x.unit.format(from.midpoint(to)), lines.join("\n"));
            let (left, right) = (plot.x.position(from), plot.x.position(to));
            let area = [left, plot.top, right - left, plot.bottom - plot.top];
            (!lines.is_empty()).then(|| rectangle("tip", area, &title))
        };
        html! { @for tip in (0..tips).filter_map(tip) { (tip) } }
    }

    fn tooltip(&self, layer: &Layer, from: f64, to: f64) -> Option<String> {
        let inside: Vec<&ChartPoint> = layer.points.iter().filter(|dot| (from..=to).contains(&dot.x)).collect();
        let mean = inside.iter().map(|dot| layer.value(dot)).sum::<f64>() / inside.len() as f64;
        let highest = inside.iter().map(|dot| dot.high).fold(f64::NEG_INFINITY, f64::max);
        let more = layer.style != LayerStyle::Area && highest > mean * 1.05;
        let more = if more { format!(" (highest {})", self.y.unit.format(highest)) } else { String::new() };
        (!inside.is_empty()).then(|| format!("{}: {}{more}", layer.name, self.y.unit.format(mean)))
    }

    /// In words, for readers who cannot see it: what each layer shows at its ends and at its maximum.
    fn description(&self) -> String {
        let layers = self.layers.iter().filter(|layer| layer.style != LayerStyle::Fitted);
        let layers = first_few(layers.map(|layer| self.describe_layer(layer)), "; ");
        let bounds = first_few(self.thresholds.iter().map(|bound| format!("bound: {}", bound.label)), "; ");
        let marks = self.marks.iter().map(|mark| format!("{} at {}", mark.label, self.x.unit.format(mark.x)));
        let mut parts = vec![layers, bounds, first_few(marks, "; ")];
        parts.retain(|part| !part.is_empty());
        format!("{}. {}.", self.title, parts.join("; "))
    }

    fn describe_layer(&self, layer: &Layer) -> String {
        let height = |dot| layer.value(dot);
        let (Some(first), Some(last)) = (layer.points.first(), layer.points.last()) else { return layer.name.clone() };
        let highest = layer.points.iter().max_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(last);
        let (y, x) = (&self.y.unit, &self.x.unit);
        format!(
            "{}: first {}, highest {} at {}, last {}",
            layer.name,
            y.format(height(first)),
            y.format(height(highest)),
            x.format(highest.x),
            y.format(height(last)),
        )
    }
}

fn draw_mark(plot: &PlotArea, row: usize, mark: &Mark) -> Markup {
    let position = plot.x.position(mark.x);
    let y = plot.top + TEXT_HEIGHT * (1.0 + row as f64);
    let fits = position + 3.0 + mark.label.chars().count() as f64 * CHARACTER_WIDTH < plot.right;
    let (class, x) = if fits { ("mark", position + 3.0) } else { ("mark e", position - 3.0) };
    html! {
        (line(if mark.is_fault { "moment fault" } else { "moment" }, [position, plot.top, position, plot.bottom]))
        (label(class, (x, y), &mark.label))
    }
}

/// A line through the points; a single point is drawn as a dot, by round line ends.
fn draw_line(plot: &PlotArea, dots: &[ChartPoint], class: &str) -> Markup {
    let points: Vec<String> = dots.iter().map(|dot| plot.point(dot.x, dot.y)).collect();
    match points.as_slice() {
        [point] => path(&format!("{class} alone"), &format!("M{point}h0")),
        points => path(class, &format!("M{}", points.join("L"))),
    }
}

/// The area between minimum and maximum.
fn draw_range(plot: &PlotArea, dots: &[ChartPoint], class: &str) -> Markup {
    let above = dots.iter().map(|dot| plot.point(dot.x, dot.high));
    let below = dots.iter().rev().map(|dot| plot.point(dot.x, dot.low));
    path(class, &format!("M{}Z", above.chain(below).collect::<Vec<_>>().join("L")))
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
    fn a_layer_without_points_draws_nothing() {
        use LayerStyle::{Area, Bars, Dashed, Fitted, Line, Points};
        for style in [Line, Dashed, Area, Bars, Points, Fitted] {
            let layers = vec![
                Layer::new("none", 0, style, Vec::new()),
                Layer::new("some", 1, Line, vec![ChartPoint::new(1.0, 1.0), ChartPoint::new(2.0, 1.0)]),
            ];
            let chart = SeriesChart { layers, ..SeriesChart::default() };
            let plot = &chart.plot_area();
            let drawn = chart.layers.iter().map(|layer| chart.draw_layer(plot, layer).into_string());
            assert_eq!(drawn.map(|svg| svg.is_empty()).collect::<Vec<_>>(), [true, false], "{style:?}");
        }
    }

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
}
