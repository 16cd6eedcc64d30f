//! Figures over time, over another figure, or of items in a row: lines, areas, bars, dots and fitted curves on one pair
//! of axes, with bands for the load steps of a trial, vertical lines for moments, horizontal lines for thresholds. Does
//! not interpret them.

use super::plot_area::{PlotArea, across, y_extent};
use super::scale::AxisScale;
use super::unit::Unit;
use super::{
    CHARACTER_WIDTH, HEIGHT, LegendEntry, TEXT_HEIGHT, WIDTH, add_label, add_line, add_rectangle, colour_index,
    coordinate,
};
use crate::format::first_few;
use crate::report::markup::Markup;

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

impl ChartPoint {
    pub(in crate::report) fn new(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y, until: None }
    }
}

impl Layer {
    pub(in crate::report) fn new(name: &str, colour: usize, style: LayerStyle, points: Vec<ChartPoint>) -> Self {
        Self { name: name.to_owned(), colour, style, points }
    }

    pub(super) fn legend_entry(&self) -> LegendEntry<'_> {
        LegendEntry { name: &self.name, class: format!("key {} c{}", self.style.class(), colour_index(self.colour)) }
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
        let (words, view) = (describe_series_chart(self), format!("0 0 {WIDTH} {HEIGHT}"));
        let attributes = [("viewBox", view.as_str()), ("role", "img"), ("aria-label", words.as_str())];
        let mut svg = Markup::default();
        svg.element("svg", &attributes, |svg| self.draw_content(svg));
        svg
    }

    fn draw_content(&self, svg: &mut Markup) {
        let frame = self.frame();
        let x = self.x_scale(&frame);
        self.draw_bands(svg, &frame, &x);
        frame.draw_y_axis(svg);
        frame.draw_x_axis(svg, &x, &x.name);
        for layer in &self.layers {
            self.draw_layer(svg, &frame, &x, layer);
        }
        self.draw_thresholds(svg, &frame);
        self.draw_marks(svg, &frame, &x);
        self.draw_tooltips(svg, &frame, &x);
    }

    /// What the colours mean.
    pub(in crate::report) fn legend(&self) -> Vec<LegendEntry<'_>> {
        self.layers.iter().map(Layer::legend_entry).collect()
    }

    fn points(&self) -> impl Iterator<Item = &ChartPoint> {
        self.layers.iter().flat_map(|layer| &layer.points)
    }

    fn frame(&self) -> PlotArea {
        let shown =
            self.points().flat_map(|dot| [dot.low, dot.y, dot.high]).chain(self.thresholds.iter().map(|bound| bound.y));
        let shown: Vec<f64> = shown.filter(|value| !self.y.log || *value > 0.0).collect();
        let highest = shown.iter().copied().fold(self.y.reaches_at_least, f64::max);
        let lowest = shown.iter().copied().fold(f64::INFINITY, f64::min);
        PlotArea::new(&y_extent(&self.y.unit, if lowest.is_finite() { lowest } else { 0.0 }, highest, self.y.log))
    }

    fn x_scale(&self, frame: &PlotArea) -> AxisScale {
        let xs = self.points().map(|dot| dot.x);
        let xs = xs.chain(self.marks.iter().map(|mark| mark.x)).chain(self.bands.iter().map(|band| band.to));
        let xs: Vec<f64> = xs.filter(|x| x.is_finite() && (!self.x.log || *x > 0.0)).collect();
        let highest = xs.iter().copied().fold(self.x.reaches_at_least, f64::max);
        let lowest = xs.iter().copied().fold(f64::INFINITY, f64::min);
        frame.x_extent(&across(&self.x.unit, if self.x.log { lowest } else { 0.0 }, highest, self.x.log))
    }

    /// Every second load step is shaded, and named where its name fits.
    fn draw_bands(&self, svg: &mut Markup, frame: &PlotArea, x: &AxisScale) {
        if self.bands.len() > BANDS_MAX {
            return;
        }
        for (i, band) in self.bands.iter().enumerate() {
            let (from, to) = (x.position(band.from), x.position(band.to));
            let shade = if i % 2 == 0 { "band" } else { "band odd" };
            add_rectangle(svg, shade, [from, frame.top, to - from, frame.bottom - frame.top], "");
            if band.label.chars().count() as f64 * CHARACTER_WIDTH < to - from {
                add_label(svg, "part m", ((from + to) / 2.0, frame.top - 4.0), &band.label);
            }
        }
    }

    fn draw_layer(&self, svg: &mut Markup, frame: &PlotArea, x: &AxisScale, layer: &Layer) {
        let class = format!("{} c{}", layer.style.class(), colour_index(layer.colour));
        match layer.style {
            LayerStyle::Points => self.draw_points(svg, frame, x, layer, &class),
            LayerStyle::Area => draw_range(svg, frame, x, &layer.points, &class),
            LayerStyle::Bars => self.draw_bars(svg, frame, x, layer, &class),
            LayerStyle::Line | LayerStyle::Dashed | LayerStyle::Fitted => {
                for run in self.split_at_gaps(layer) {
                    if run.iter().any(|dot| dot.low < dot.high) {
                        draw_range(svg, frame, x, run, &format!("spread c{}", colour_index(layer.colour)));
                    }
                    draw_line(svg, frame, x, run, &class);
                }
            }
        }
    }

    fn draw_points(&self, svg: &mut Markup, frame: &PlotArea, x: &AxisScale, layer: &Layer, class: &str) {
        for dot in &layer.points {
            let (cx, cy) = (coordinate(x.position(dot.x)), coordinate(frame.y.position(dot.y)));
            let title = self.point_title(layer, dot);
            let attributes = [("class", class), ("cx", cx.as_str()), ("cy", cy.as_str()), ("r", "3.5")];
            svg.element("circle", &attributes, |svg| svg.text_element("title", &[], &title));
        }
    }

    fn draw_bars(&self, svg: &mut Markup, frame: &PlotArea, x: &AxisScale, layer: &Layer, class: &str) {
        let width = ((x.position(2.0) - x.position(1.0)) * BAR_WIDTH_SHARE).min(BAR_WIDTH_MAX);
        for dot in layer.points.iter().filter(|dot| dot.high > dot.low) {
            let (low, high) = (frame.y.position(dot.low), frame.y.position(dot.high));
            let area = [x.position(dot.x) - width / 2.0, high, width, low - high];
            add_rectangle(svg, class, area, &self.point_title(layer, dot));
        }
    }

    fn point_title(&self, layer: &Layer, dot: &ChartPoint) -> String {
        format!("{}\n{}: {}", self.x.unit.format(dot.x), layer.name, self.y.unit.format(layer.value(dot)))
    }

    /// Over time, a line is cut where nothing was measured for longer than usual.
    fn split_at_gaps<'a>(&self, layer: &'a Layer) -> Vec<&'a [ChartPoint]> {
        if self.x.unit == Unit::Time { unbroken(&layer.points) } else { vec![&layer.points] }
    }

    fn draw_thresholds(&self, svg: &mut Markup, frame: &PlotArea) {
        for bound in &self.thresholds {
            let y = frame.y.position(bound.y);
            add_line(svg, "bound", [frame.left, y, frame.right, y]);
            add_label(svg, "mark e", (frame.right - 2.0, y - 3.0), &bound.label);
        }
    }

    fn draw_marks(&self, svg: &mut Markup, frame: &PlotArea, x: &AxisScale) {
        for (i, mark) in self.marks.iter().enumerate() {
            let position = x.position(mark.x);
            add_line(
                svg,
                if mark.is_fault { "moment fault" } else { "moment" },
                [position, frame.top, position, frame.bottom],
            );
            let y = frame.top + TEXT_HEIGHT * (1.0 + (i % MARK_ROWS) as f64);
            let fits = position + 3.0 + mark.label.chars().count() as f64 * CHARACTER_WIDTH < frame.right;
            let (class, position) = if fits { ("mark", position + 3.0) } else { ("mark e", position - 3.0) };
            add_label(svg, class, (position, y), &mark.label);
        }
    }

    /// Invisible sections with tooltips of what every layer shows there.
    fn draw_tooltips(&self, svg: &mut Markup, frame: &PlotArea, x: &AxisScale) {
        let lined: Vec<&Layer> = self
            .layers
            .iter()
            .filter(|layer| !matches!(layer.style, LayerStyle::Points | LayerStyle::Bars | LayerStyle::Fitted))
            .collect();
        let longest = lined.iter().map(|layer| layer.points.len()).max().unwrap_or(0);
        let tips = longest.min(TOOLTIPS_MAX);
        for tip in 0..tips {
            let (from, to) = (x.value_at(tip as f64 / tips as f64), x.value_at((tip + 1) as f64 / tips as f64));
            let lines: Vec<String> = lined.iter().filter_map(|layer| self.tooltip(layer, from, to)).collect();
            if !lines.is_empty() {
                let title = format!("{}\n{}", self.x.unit.format(from.midpoint(to)), lines.join("\n"));
                add_rectangle(
                    svg,
                    "tip",
                    [x.position(from), frame.top, x.position(to) - x.position(from), frame.bottom - frame.top],
                    &title,
                );
            }
        }
    }

    fn tooltip(&self, layer: &Layer, from: f64, to: f64) -> Option<String> {
        let inside: Vec<&ChartPoint> = layer.points.iter().filter(|dot| (from..=to).contains(&dot.x)).collect();
        let mean = inside.iter().map(|dot| layer.value(dot)).sum::<f64>() / inside.len() as f64;
        let highest = inside.iter().map(|dot| dot.high).fold(f64::NEG_INFINITY, f64::max);
        let more = layer.style != LayerStyle::Area && highest > mean * 1.05;
        let more = if more { format!(" (highest {})", self.y.unit.format(highest)) } else { String::new() };
        (!inside.is_empty()).then(|| format!("{}: {}{more}", layer.name, self.y.unit.format(mean)))
    }
}

/// A line through the points; a single point is drawn as a dot, by round line ends.
fn draw_line(svg: &mut Markup, frame: &PlotArea, x: &AxisScale, dots: &[ChartPoint], class: &str) {
    let mut path = String::with_capacity(dots.len() * 11);
    for (i, dot) in dots.iter().enumerate() {
        path.push(if i == 0 { 'M' } else { 'L' });
        path.push_str(&format!("{} {}", coordinate(x.position(dot.x)), coordinate(frame.y.position(dot.y))));
    }
    let class = if dots.len() == 1 { format!("{class} alone") } else { class.to_owned() };
    path.push_str(if dots.len() == 1 { "h0" } else { "" });
    svg.void_element("path", &[("class", &class), ("d", &path)]);
}

/// The area between minimum and maximum.
fn draw_range(svg: &mut Markup, frame: &PlotArea, x: &AxisScale, dots: &[ChartPoint], class: &str) {
    let corner =
        |dot: &ChartPoint, y: f64| format!("{} {}", coordinate(x.position(dot.x)), coordinate(frame.y.position(y)));
    let above = dots.iter().map(|dot| corner(dot, dot.high));
    let below = dots.iter().rev().map(|dot| corner(dot, dot.low));
    let path = format!("M{}Z", above.chain(below).collect::<Vec<_>>().join("L"));
    svg.void_element("path", &[("class", class), ("d", &path)]);
}

/// A chart in words, for readers who cannot see it: what each layer shows at its ends and at its maximum.
fn describe_series_chart(curves: &SeriesChart) -> String {
    let layers = curves.layers.iter().filter(|layer| layer.style != LayerStyle::Fitted);
    let layers = first_few(layers.map(|layer| describe_layer(curves, layer)), "; ");
    let bounds = first_few(curves.thresholds.iter().map(|bound| format!("bound: {}", bound.label)), "; ");
    let marks = curves.marks.iter().map(|mark| format!("{} at {}", mark.label, curves.x.unit.format(mark.x)));
    let mut parts = vec![layers, bounds, first_few(marks, "; ")];
    parts.retain(|part| !part.is_empty());
    format!("{}. {}.", curves.title, parts.join("; "))
}

fn describe_layer(curves: &SeriesChart, layer: &Layer) -> String {
    let height = |dot| layer.value(dot);
    let (Some(first), Some(last)) = (layer.points.first(), layer.points.last()) else { return layer.name.clone() };
    let highest = layer.points.iter().max_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(last);
    let (y, x) = (&curves.y.unit, &curves.x.unit);
    format!(
        "{}: first {}, highest {} at {}, last {}",
        layer.name,
        y.format(height(first)),
        y.format(height(highest)),
        x.format(highest.x),
        y.format(height(last)),
    )
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
}
