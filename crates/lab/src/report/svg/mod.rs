//! Charts as SVG, drawn by pure functions: what a chart shows in, markup out. A chart needs no script, scales with
//! the page, and says in words what it shows to those who cannot see it. Refuses to know where figures come from.

mod bars;
mod curves;
mod describe;
mod frame;
mod scale;
mod unit;

pub(super) use bars::{Bars, Group};
pub(super) use curves::{Axis, Band, Bound, Curves, Dot, Form, Layer, Mark};
pub(super) use unit::Unit;

use super::markup::Markup;

/// Width of every drawing in its own units. Pages show it at 0.8 to 1.3 pixels a unit, so that text stays readable.
const WIDTH: f64 = 400.0;

/// Height of every drawing.
const HEIGHT: f64 = 216.0;

/// Height of text.
const TEXT: f64 = 11.0;

/// Width of a character of text, on average: sans-serif digits take 0.56 of their height.
const CHARACTER: f64 = 0.56 * TEXT;

/// Colours that are told apart; more layers than that begin again, with dashes.
pub(super) const COLOURS: usize = 6;

/// A chart.
#[derive(Clone, Debug)]
pub(super) enum Chart {
    /// Figures over time, or over another figure.
    Curves(Curves),
    /// Figures of things in a row.
    Bars(Bars),
}

/// What a name in the legend looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key<'a> {
    pub name: &'a str,
    /// Classes of the sample beside it.
    pub class: String,
}

impl Chart {
    pub(super) fn title(&self) -> &str {
        match self {
            Self::Curves(curves) => &curves.title,
            Self::Bars(bars) => &bars.title,
        }
    }

    /// A sentence below the chart; empty where it explains itself.
    pub(super) fn about(&self) -> &str {
        match self {
            Self::Curves(curves) => &curves.about,
            Self::Bars(bars) => &bars.about,
        }
    }

    /// The drawing.
    pub(super) fn draw(&self) -> Markup {
        let (words, inside) = match self {
            Self::Curves(curves) => (describe::curves(curves), curves.draw()),
            Self::Bars(bars) => (describe::bars(bars), bars.draw()),
        };
        let view = format!("0 0 {WIDTH} {HEIGHT}");
        let mut svg = Markup::default();
        let attributes = [("viewBox", view.as_str()), ("role", "img"), ("aria-label", words.as_str())];
        svg.within("svg", &attributes, |svg| svg.append(&inside));
        svg
    }

    /// What the colours mean.
    pub(super) fn legend(&self) -> Vec<Key<'_>> {
        match self {
            Self::Curves(curves) => curves.layers.iter().map(Layer::key).collect(),
            Self::Bars(bars) => bars
                .names
                .iter()
                .map(|(name, hue)| Key { name, class: format!("key area c{}", colour(*hue)) })
                .collect(),
        }
    }
}

impl From<Curves> for Chart {
    fn from(curves: Curves) -> Self {
        Self::Curves(curves)
    }
}

impl From<Bars> for Chart {
    fn from(bars: Bars) -> Self {
        Self::Bars(bars)
    }
}

fn colour(i: usize) -> usize {
    i % COLOURS
}

/// A coordinate with one digit: a tenth of a unit is less than a pixel.
fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A straight line.
fn line(svg: &mut Markup, class: &'static str, [x1, y1, x2, y2]: [f64; 4]) {
    let path = format!("M{} {}L{} {}", at(x1), at(y1), at(x2), at(y2));
    svg.empty("path", &[("class", class), ("d", &path)]);
}

/// A text at a place.
fn label(svg: &mut Markup, class: &'static str, (x, y): (f64, f64), text: &str) {
    svg.leaf("text", &[("class", class), ("x", &at(x)), ("y", &at(y))], text);
}

/// A rectangle; what it says where a pointer rests on it.
fn rectangle(svg: &mut Markup, class: &str, [x, y, width, height]: [f64; 4], title: &str) {
    let (x, y, width, height) = (at(x), at(y), at(width.max(0.0)), at(height.max(0.0)));
    let attributes = [
        ("class", class),
        ("x", x.as_str()),
        ("y", y.as_str()),
        ("width", width.as_str()),
        ("height", height.as_str()),
    ];
    if title.is_empty() {
        svg.empty("rect", &attributes);
    } else {
        svg.within("rect", &attributes, |svg| svg.leaf("title", &[], title));
    }
}

#[cfg(test)]
mod tests;
