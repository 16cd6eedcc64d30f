//! Figures over time or over another figure: lines, areas, dots and fitted curves on one pair of axes, with bands for
//! the parts of a trial, upright lines for moments, level lines for bounds. Refuses to interpret them.

use super::frame::{Frame, across, upright};
use super::scale::Scale;
use super::unit::Unit;
use super::{CHARACTER, Key, TEXT, at, colour, label, line, rectangle};
use crate::report::markup::Markup;

/// Stretches of the axis that have a tooltip of their own.
const TIPS_MAX: usize = 64;

/// Bands beyond which none are drawn: they would be stripes.
const BANDS_MAX: usize = 40;

/// A line breaks where nothing was measured for so many times the usual distance, where no dot says how far it holds.
const GAP_FACTOR: f64 = 3.5;

/// A line breaks where nothing is known for more than this share of what the dot before stands for.
const GAP_SHARE: f64 = 0.5;

/// Rows in which the labels of moments are set, so that neighbours do not overlap.
const MARK_ROWS: usize = 3;

/// Figures on one pair of axes.
#[derive(Clone, Debug)]
pub(in crate::report) struct Curves {
    pub title: String,
    pub about: String,
    pub x: Axis,
    pub y: Axis,
    pub layers: Vec<Layer>,
    pub bands: Vec<Band>,
    pub marks: Vec<Mark>,
    pub bounds: Vec<Bound>,
}

#[derive(Clone, Debug)]
pub(in crate::report) struct Axis {
    pub unit: Unit,
    pub log: bool,
    /// The axis reaches at least so far.
    pub to: f64,
}

/// Figures that belong together.
#[derive(Clone, Debug)]
pub(in crate::report) struct Layer {
    pub name: String,
    pub colour: usize,
    pub form: Form,
    pub dots: Vec<Dot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Form {
    Line,
    Dashed,
    /// From the lowest to the highest of each dot.
    Area,
    Dots,
    /// A law, not a measurement.
    Law,
}

/// One figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Dot {
    pub x: f64,
    pub y: f64,
    /// The lowest and highest of what `y` is the mean of.
    pub low: f64,
    pub high: f64,
    /// How far along the axis below it is known to hold; none where that is the next dot, unless that lies unusually far.
    pub until: Option<f64>,
}

/// A stretch of the axis below.
#[derive(Clone, Debug)]
pub(in crate::report) struct Band {
    pub from: f64,
    pub to: f64,
    pub label: String,
}

/// A place on the axis below.
#[derive(Clone, Debug)]
pub(in crate::report) struct Mark {
    pub x: f64,
    pub label: String,
    /// Something was done there to the target, on purpose.
    pub is_fault: bool,
}

/// A figure that the others are held against.
#[derive(Clone, Debug)]
pub(in crate::report) struct Bound {
    pub y: f64,
    pub label: String,
}

impl Dot {
    pub(in crate::report) fn new(x: f64, y: f64) -> Self {
        Self { x, y, low: y, high: y, until: None }
    }
}

impl Layer {
    pub(super) fn key(&self) -> Key<'_> {
        Key { name: &self.name, class: format!("key {} c{}", self.form.class(), colour(self.colour)) }
    }

    /// What a dot says: of an area its own height, not what it stands on.
    fn value(&self, dot: &Dot) -> f64 {
        if self.form == Form::Area { dot.high - dot.low } else { dot.y }
    }
}

impl Form {
    fn class(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Dashed => "line dashed",
            Self::Area => "area",
            Self::Dots => "dots",
            Self::Law => "line law",
        }
    }
}

impl Curves {
    /// Without the layers that have nothing to show; none where that is all of them.
    pub(in crate::report) fn or_none(mut self) -> Option<Self> {
        self.layers.retain(|layer| layer.dots.iter().any(|dot| dot.x.is_finite() && dot.y.is_finite()));
        self.layers.iter_mut().for_each(|layer| layer.dots.retain(|dot| dot.x.is_finite() && dot.y.is_finite()));
        (!self.layers.is_empty()).then_some(self)
    }

    pub(super) fn draw(&self) -> Markup {
        let frame = self.frame();
        let x = self.across(&frame);
        let mut svg = Markup::default();
        self.draw_bands(&mut svg, &frame, &x);
        frame.draw_upright(&mut svg);
        frame.draw_across(&mut svg, &x, &x.name);
        for layer in &self.layers {
            self.draw_layer(&mut svg, &frame, &x, layer);
        }
        self.draw_bounds(&mut svg, &frame);
        self.draw_marks(&mut svg, &frame, &x);
        self.draw_tips(&mut svg, &frame, &x);
        svg
    }

    fn dots(&self) -> impl Iterator<Item = &Dot> {
        self.layers.iter().flat_map(|layer| &layer.dots)
    }

    fn frame(&self) -> Frame {
        let shown =
            self.dots().flat_map(|dot| [dot.low, dot.y, dot.high]).chain(self.bounds.iter().map(|bound| bound.y));
        let shown: Vec<f64> = shown.filter(|value| !self.y.log || *value > 0.0).collect();
        let highest = shown.iter().copied().fold(self.y.to, f64::max);
        let lowest = shown.iter().copied().fold(f64::INFINITY, f64::min);
        Frame::new(&upright(&self.y.unit, if lowest.is_finite() { lowest } else { 0.0 }, highest, self.y.log))
    }

    fn across(&self, frame: &Frame) -> Scale {
        let xs = self.dots().map(|dot| dot.x);
        let xs = xs.chain(self.marks.iter().map(|mark| mark.x)).chain(self.bands.iter().map(|band| band.to));
        let xs: Vec<f64> = xs.filter(|x| x.is_finite() && (!self.x.log || *x > 0.0)).collect();
        let highest = xs.iter().copied().fold(self.x.to, f64::max);
        let lowest = xs.iter().copied().fold(f64::INFINITY, f64::min);
        frame.across(&across(&self.x.unit, if self.x.log { lowest } else { 0.0 }, highest, self.x.log))
    }

    /// Every second part is shaded, and named where its name fits.
    fn draw_bands(&self, svg: &mut Markup, frame: &Frame, x: &Scale) {
        if self.bands.len() > BANDS_MAX {
            return;
        }
        for (i, band) in self.bands.iter().enumerate() {
            let (from, to) = (x.at(band.from), x.at(band.to));
            let shade = if i % 2 == 0 { "band" } else { "band odd" };
            rectangle(svg, shade, [from, frame.top, to - from, frame.bottom - frame.top], "");
            if band.label.chars().count() as f64 * CHARACTER < to - from {
                label(svg, "part m", ((from + to) / 2.0, frame.top - 4.0), &band.label);
            }
        }
    }

    fn draw_layer(&self, svg: &mut Markup, frame: &Frame, x: &Scale, layer: &Layer) {
        let class = format!("{} c{}", layer.form.class(), colour(layer.colour));
        match layer.form {
            Form::Dots => self.draw_dots(svg, frame, x, layer, &class),
            Form::Area => draw_spread(svg, frame, x, &layer.dots, &class),
            Form::Line | Form::Dashed | Form::Law => {
                for run in self.unbroken(layer) {
                    if run.iter().any(|dot| dot.low < dot.high) {
                        draw_spread(svg, frame, x, run, &format!("spread c{}", colour(layer.colour)));
                    }
                    draw_line(svg, frame, x, run, &class);
                }
            }
        }
    }

    fn draw_dots(&self, svg: &mut Markup, frame: &Frame, x: &Scale, layer: &Layer, class: &str) {
        for dot in &layer.dots {
            let (cx, cy) = (at(x.at(dot.x)), at(frame.y.at(dot.y)));
            let title = format!("{}\n{}: {}", self.x.unit.say(dot.x), layer.name, self.y.unit.say(dot.y));
            let attributes = [("class", class), ("cx", cx.as_str()), ("cy", cy.as_str()), ("r", "3.5")];
            svg.within("circle", &attributes, |svg| svg.leaf("title", &[], &title));
        }
    }

    /// Over time, a line is cut where nothing was measured for longer than usual.
    fn unbroken<'a>(&self, layer: &'a Layer) -> Vec<&'a [Dot]> {
        if self.x.unit == Unit::Time { unbroken(&layer.dots) } else { vec![&layer.dots] }
    }

    fn draw_bounds(&self, svg: &mut Markup, frame: &Frame) {
        for bound in &self.bounds {
            let y = frame.y.at(bound.y);
            line(svg, "bound", [frame.left, y, frame.right, y]);
            label(svg, "mark e", (frame.right - 2.0, y - 3.0), &bound.label);
        }
    }

    fn draw_marks(&self, svg: &mut Markup, frame: &Frame, x: &Scale) {
        for (i, mark) in self.marks.iter().enumerate() {
            let place = x.at(mark.x);
            line(svg, if mark.is_fault { "moment fault" } else { "moment" }, [place, frame.top, place, frame.bottom]);
            let y = frame.top + TEXT * (1.0 + (i % MARK_ROWS) as f64);
            let fits = place + 3.0 + mark.label.chars().count() as f64 * CHARACTER < frame.right;
            let (class, place) = if fits { ("mark", place + 3.0) } else { ("mark e", place - 3.0) };
            label(svg, class, (place, y), &mark.label);
        }
    }

    /// Invisible stretches that say what every layer shows there.
    fn draw_tips(&self, svg: &mut Markup, frame: &Frame, x: &Scale) {
        let lined: Vec<&Layer> =
            self.layers.iter().filter(|layer| !matches!(layer.form, Form::Dots | Form::Law)).collect();
        let longest = lined.iter().map(|layer| layer.dots.len()).max().unwrap_or(0);
        let tips = longest.min(TIPS_MAX);
        for tip in 0..tips {
            let (from, to) = (x.value_at(tip as f64 / tips as f64), x.value_at((tip + 1) as f64 / tips as f64));
            let lines: Vec<String> = lined.iter().filter_map(|layer| self.tip(layer, from, to)).collect();
            if !lines.is_empty() {
                let title = format!("{}\n{}", self.x.unit.say(from.midpoint(to)), lines.join("\n"));
                rectangle(svg, "tip", [x.at(from), frame.top, x.at(to) - x.at(from), frame.bottom - frame.top], &title);
            }
        }
    }

    fn tip(&self, layer: &Layer, from: f64, to: f64) -> Option<String> {
        let inside: Vec<&Dot> = layer.dots.iter().filter(|dot| (from..=to).contains(&dot.x)).collect();
        let mean = inside.iter().map(|dot| layer.value(dot)).sum::<f64>() / inside.len() as f64;
        let highest = inside.iter().map(|dot| dot.high).fold(f64::NEG_INFINITY, f64::max);
        let more = layer.form != Form::Area && highest > mean * 1.05;
        let more = if more { format!(" (highest {})", self.y.unit.say(highest)) } else { String::new() };
        (!inside.is_empty()).then(|| format!("{}: {}{more}", layer.name, self.y.unit.say(mean)))
    }
}

/// A line through the dots; through a single one a point, which round ends make visible.
fn draw_line(svg: &mut Markup, frame: &Frame, x: &Scale, dots: &[Dot], class: &str) {
    let mut path = String::with_capacity(dots.len() * 11);
    for (i, dot) in dots.iter().enumerate() {
        path.push(if i == 0 { 'M' } else { 'L' });
        path.push_str(&format!("{} {}", at(x.at(dot.x)), at(frame.y.at(dot.y))));
    }
    let class = if dots.len() == 1 { format!("{class} alone") } else { class.to_owned() };
    path.push_str(if dots.len() == 1 { "h0" } else { "" });
    svg.empty("path", &[("class", &class), ("d", &path)]);
}

/// Everything between the lowest and the highest.
fn draw_spread(svg: &mut Markup, frame: &Frame, x: &Scale, dots: &[Dot], class: &str) {
    let corner = |dot: &Dot, y: f64| format!("{} {}", at(x.at(dot.x)), at(frame.y.at(y)));
    let above = dots.iter().map(|dot| corner(dot, dot.high));
    let below = dots.iter().rev().map(|dot| corner(dot, dot.low));
    let path = format!("M{}Z", above.chain(below).collect::<Vec<_>>().join("L"));
    svg.empty("path", &[("class", class), ("d", &path)]);
}

/// Dots in the order of time, cut where nothing was measured for longer than usual.
fn unbroken(dots: &[Dot]) -> Vec<&[Dot]> {
    let mut steps: Vec<f64> = dots.windows(2).map(|pair| pair[1].x - pair[0].x).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.get(steps.len() / 2).copied().unwrap_or(f64::INFINITY);
    let reaches = |one: &Dot, next: &Dot| match one.until {
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
        let dots = [0.0, 1.0, 2.0, 9.0, 10.0].map(|x| Dot::new(x, 1.0));
        let runs = |dots: &[Dot]| unbroken(dots).iter().map(|run| run.len()).collect::<Vec<_>>();
        let held = |s: f64| dots.map(|dot| Dot { until: Some(dot.x + s), ..dot });
        assert_eq!(runs(&dots), [3, 2]);
        assert_eq!(runs(&held(0.1)), [1; 5]);
        assert_eq!(runs(&held(1.0)), [3, 2]);
        assert_eq!(runs(&held(7.0)), [5]);
        // One second is missing.
        assert_eq!(runs(&[0.0, 1.0, 3.0].map(|x| Dot { until: Some(x + 1.0), ..Dot::new(x, 1.0) })), [2, 1]);
        assert_eq!((runs(&dots[..1]), runs(&[])), (vec![1], vec![]));
    }
}
