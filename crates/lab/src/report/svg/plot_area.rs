//! The axes of a drawing, its grid, and the area for its content. Does not know that content.

use super::scale::{AxisScale, Extent};
use super::unit::Unit;
use super::{CHARACTER_WIDTH, HEIGHT, TEXT_HEIGHT, WIDTH, add_label, add_line};
use crate::report::markup::Markup;

/// Room above the plot: the unit's name.
const MARGIN_TOP: f64 = 20.0;

/// Room below the plot: ticks, and the name of the x axis.
const MARGIN_BOTTOM: f64 = 32.0;

/// Room to the right: half of the last tick.
const MARGIN_RIGHT: f64 = 18.0;

/// From the text of a tick to the axis.
const TICK_GAP: f64 = 5.0;

/// The area in which figures are drawn.
#[derive(Clone, Debug)]
pub(super) struct PlotArea {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) y: AxisScale,
}

impl PlotArea {
    /// An area whose y axis holds these figures.
    pub(super) fn new(upright: &Extent<'_>) -> Self {
        let (top, bottom) = (MARGIN_TOP, HEIGHT - MARGIN_BOTTOM);
        let y = AxisScale::new(upright, bottom, top);
        let left = (y.widest_tick() as f64).max(2.0) * CHARACTER_WIDTH + TICK_GAP + 2.0;
        Self { left, right: WIDTH - MARGIN_RIGHT, top, bottom, y }
    }

    /// The scale of the x axis.
    pub(super) fn x_extent(&self, extent: &Extent<'_>) -> AxisScale {
        AxisScale::new(extent, self.left, self.right)
    }

    /// Lines of the grid, ticks, and the name of the unit.
    pub(super) fn draw_y_axis(&self, svg: &mut Markup) {
        for (value, text) in &self.y.ticks {
            let y = self.y.position(*value);
            add_line(svg, "grid", [self.left, y, self.right, y]);
            add_label(svg, "tick e", (self.left - TICK_GAP, y + TEXT_HEIGHT * 0.35), text);
        }
        add_label(svg, "name", (0.0, TEXT_HEIGHT), &self.y.name);
    }

    /// The x axis, with its ticks and its name. Ticks that would touch the previous one are left out.
    pub(super) fn draw_x_axis(&self, svg: &mut Markup, x: &AxisScale, name: &str) {
        add_line(svg, "axis", [self.left, self.bottom, self.right, self.bottom]);
        let mut free_from = f64::NEG_INFINITY;
        for (value, text) in &x.ticks {
            let (position, half) = (x.position(*value), text.chars().count() as f64 * CHARACTER_WIDTH / 2.0);
            if text.is_empty() || position - half < free_from || position + half > WIDTH {
                continue;
            }
            free_from = position + half + CHARACTER_WIDTH;
            add_line(svg, "axis", [position, self.bottom, position, self.bottom + 3.0]);
            add_label(svg, "tick m", (position, self.bottom + 4.0 + TEXT_HEIGHT), text);
        }
        add_label(svg, "name e", (self.right, HEIGHT - 3.0), name);
    }
}

/// The extent of a y axis.
pub(super) fn y_extent(unit: &Unit, lowest: f64, highest: f64, log: bool) -> Extent<'_> {
    Extent { unit, lowest, highest, log, exact: false, ticks_max: 4 }
}

/// The extent of an x axis.
pub(super) fn across(unit: &Unit, lowest: f64, highest: f64, log: bool) -> Extent<'_> {
    Extent { unit, lowest, highest, log, exact: true, ticks_max: 7 }
}
