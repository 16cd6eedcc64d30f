//! Charts as SVG, drawn by pure functions: content in, markup out. A chart needs no script, scales with the page, and
//! has a text description for screen readers. Does not know where figures come from.

mod plot_area;
mod scale;
mod series_chart;
mod unit;

pub(super) use series_chart::{Band, ChartAxis, ChartPoint, Layer, LayerStyle, Mark, SeriesChart, Threshold};
pub(super) use unit::Unit;

use maud::{Markup, html};

/// Width of every drawing in its own units. Pages show it at 0.8 to 1.3 pixels per unit, so that text stays readable.
const WIDTH: f64 = 400.0;

const HEIGHT: f64 = 216.0;

const TEXT_HEIGHT: f64 = 11.0;

/// Width of a character of text, on average: sans-serif digits take 0.56 of their height.
const CHARACTER_WIDTH: f64 = 0.56 * TEXT_HEIGHT;

/// Distinguishable colours; further layers start over, with dashes.
pub(super) const COLOUR_COUNT: usize = 6;

/// A coordinate with one digit: a tenth of a unit is less than a pixel.
fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

fn path(class: &str, d: &str) -> Markup {
    html! { path class=(class) d=(d) {} }
}

fn line(class: &str, [x1, y1, x2, y2]: [f64; 4]) -> Markup {
    path(class, &format!("M{} {}L{} {}", coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2)))
}

fn label(class: &str, (x, y): (f64, f64), text: &str) -> Markup {
    html! { @if !text.is_empty() { text class=(class) x=(coordinate(x)) y=(coordinate(y)) { (text) } } }
}

/// A rectangle; `title` is its tooltip.
fn rectangle(class: &str, [x, y, width, height]: [f64; 4], title: &str) -> Markup {
    let (width, height) = (coordinate(width.max(0.0)), coordinate(height.max(0.0)));
    html! {
        rect class=(class) x=(coordinate(x)) y=(coordinate(y)) width=(width) height=(height) {
            @if !title.is_empty() { title { (title) } }
        }
    }
}

#[cfg(test)]
mod tests;
