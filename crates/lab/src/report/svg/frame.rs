//! The axes of a drawing, its grid, and the room that they leave for what is shown. Refuses to know what that is.

use super::scale::{Extent, Scale};
use super::unit::Unit;
use super::{CHARACTER, HEIGHT, TEXT, WIDTH, label, line};
use crate::report::markup::Markup;

/// Room above the plot: the unit's name.
const ABOVE: f64 = 20.0;

/// Room below the plot: ticks, and the name of what runs to the right.
const BELOW: f64 = 32.0;

/// Room to the right: half of the last tick.
const RIGHT: f64 = 18.0;

/// From the text of a tick to the axis.
const GAP: f64 = 5.0;

/// The room in which figures are drawn.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) y: Scale,
}

impl Frame {
    /// A frame whose upright axis holds these figures.
    pub(super) fn new(upright: &Extent<'_>) -> Self {
        let (top, bottom) = (ABOVE, HEIGHT - BELOW);
        let y = Scale::new(upright, bottom, top);
        let left = (y.widest() as f64).max(2.0) * CHARACTER + GAP + 2.0;
        Self { left, right: WIDTH - RIGHT, top, bottom, y }
    }

    /// The scale to the right.
    pub(super) fn across(&self, extent: &Extent<'_>) -> Scale {
        Scale::new(extent, self.left, self.right)
    }

    /// Lines of the grid, ticks, and the name of the unit.
    pub(super) fn draw_upright(&self, svg: &mut Markup) {
        for (value, text) in &self.y.ticks {
            let y = self.y.at(*value);
            line(svg, "grid", [self.left, y, self.right, y]);
            label(svg, "tick e", (self.left - GAP, y + TEXT * 0.35), text);
        }
        label(svg, "name", (0.0, TEXT), &self.y.name);
    }

    /// The axis below, with its ticks and its name. Ticks that would touch the one before are left out.
    pub(super) fn draw_across(&self, svg: &mut Markup, x: &Scale, name: &str) {
        line(svg, "axis", [self.left, self.bottom, self.right, self.bottom]);
        let mut free_from = f64::NEG_INFINITY;
        for (value, text) in &x.ticks {
            let (place, half) = (x.at(*value), text.chars().count() as f64 * CHARACTER / 2.0);
            if place - half < free_from || place + half > WIDTH {
                continue;
            }
            free_from = place + half + CHARACTER;
            line(svg, "axis", [place, self.bottom, place, self.bottom + 3.0]);
            label(svg, "tick m", (place, self.bottom + 4.0 + TEXT), text);
        }
        label(svg, "name e", (self.right, HEIGHT - 3.0), name);
    }
}

/// The extent of an upright axis.
pub(super) fn upright(unit: &Unit, lowest: f64, highest: f64, log: bool) -> Extent<'_> {
    Extent { unit, lowest, highest, log, exact: false, ticks_max: 4 }
}

/// The extent of an axis below.
pub(super) fn across(unit: &Unit, lowest: f64, highest: f64, log: bool) -> Extent<'_> {
    Extent { unit, lowest, highest, log, exact: true, ticks_max: 7 }
}
