//! The axes of a drawing, its grid, and the area for its content. Does not know that content.

use maud::{Markup, html};

use super::scale::{AxisScale, Extent};
use super::{CHARACTER_WIDTH, HEIGHT, TEXT_HEIGHT, WIDTH, coordinate, label, line};

/// Room above the plot: the unit's name.
const MARGIN_TOP: f64 = 20.0;

/// Room below the plot: ticks, and the name of the x axis.
const MARGIN_BOTTOM: f64 = 32.0;

/// Room to the right: half of the last tick.
const MARGIN_RIGHT: f64 = 18.0;

/// From the text of a tick to the axis.
const TICK_GAP: f64 = 5.0;

/// The area in which figures are drawn, with the scales of its axes.
#[derive(Clone, Debug)]
pub(super) struct PlotArea {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: AxisScale,
    pub(super) y: AxisScale,
}

impl PlotArea {
    pub(super) fn new(x: &Extent<'_>, y: &Extent<'_>) -> Self {
        let (top, bottom, right) = (MARGIN_TOP, HEIGHT - MARGIN_BOTTOM, WIDTH - MARGIN_RIGHT);
        let y = AxisScale::new(y, bottom, top);
        let left = (y.widest_tick() as f64).max(2.0) * CHARACTER_WIDTH + TICK_GAP + 2.0;
        Self { left, right, top, bottom, x: AxisScale::new(x, left, right), y }
    }

    /// A point in the syntax of paths.
    pub(super) fn point(&self, x: f64, y: f64) -> String {
        format!("{} {}", coordinate(self.x.position(x)), coordinate(self.y.position(y)))
    }

    /// Lines of the grid, ticks, and the name of the unit.
    pub(super) fn y_axis(&self) -> Markup {
        html! {
            @for (value, text) in &self.y.ticks {
                @let y = self.y.position(*value);
                (line("grid", [self.left, y, self.right, y]))
                (label("tick e", (self.left - TICK_GAP, y + TEXT_HEIGHT * 0.35), text))
            }
            (label("name", (0.0, TEXT_HEIGHT), &self.y.name))
        }
    }

    /// The x axis, with its ticks and its name. Ticks that would touch the previous one are left out.
    pub(super) fn x_axis(&self) -> Markup {
        let mut free_from = f64::NEG_INFINITY;
        let ticks = self.x.ticks.iter().filter_map(|(value, text)| {
            let (position, half) = (self.x.position(*value), text.chars().count() as f64 * CHARACTER_WIDTH / 2.0);
            let fits = !text.is_empty() && position - half >= free_from && position + half <= WIDTH;
            free_from = if fits { position + half + CHARACTER_WIDTH } else { free_from };
            fits.then_some((position, text))
        });
        html! {
            (line("axis", [self.left, self.bottom, self.right, self.bottom]))
            @for (position, text) in ticks {
                (line("axis", [position, self.bottom, position, self.bottom + 3.0]))
                (label("tick m", (position, self.bottom + 4.0 + TEXT_HEIGHT), text))
            }
            (label("name e", (self.right, HEIGHT - 3.0), &self.x.name))
        }
    }
}
