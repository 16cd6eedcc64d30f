//! Stacked bars in a row: how every batch ended. Does not know what a batch is.

use super::plot_area::{PlotArea, y_extent};
use super::unit::Unit;
use super::{CHARACTER_WIDTH, HEIGHT, TEXT_HEIGHT, add_label, add_line, add_rectangle, colour_index};
use crate::report::markup::Markup;

/// The maximum width of a bar.
const WIDTH_MAX: f64 = 36.0;

/// The share of its slot that a bar takes.
const BAR_WIDTH_SHARE: f64 = 0.7;

#[derive(Clone, Debug)]
pub(in crate::report) struct BarChart {
    pub title: String,
    pub unit: Unit,
    /// What is stacked, from below, with colours.
    pub names: Vec<(String, usize)>,
    pub groups: Vec<BarGroup>,
}

#[derive(Clone, Debug)]
pub(in crate::report) struct BarGroup {
    pub label: String,
    /// One for each name.
    pub values: Vec<f64>,
}

impl BarChart {
    pub(super) fn draw(&self) -> Markup {
        let highest = self.groups.iter().map(|group| group.values.iter().sum::<f64>()).fold(0.0, f64::max);
        let frame = PlotArea::new(&y_extent(&self.unit, 0.0, highest, false));
        let mut svg = Markup::default();
        frame.draw_y_axis(&mut svg);
        let position = (frame.right - frame.left) / self.groups.len().max(1) as f64;
        for (i, group) in self.groups.iter().enumerate() {
            let middle = frame.left + (i as f64 + 0.5) * position;
            self.draw_group(&mut svg, &frame, middle, (position * BAR_WIDTH_SHARE).min(WIDTH_MAX), group);
        }
        add_line(&mut svg, "axis", [frame.left, frame.bottom, frame.right, frame.bottom]);
        self.draw_labels(&mut svg, &frame, position);
        svg
    }

    fn draw_group(&self, svg: &mut Markup, frame: &PlotArea, middle: f64, width: f64, group: &BarGroup) {
        let mut below = 0.0;
        for (i, value) in group.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let (low, high) = (frame.y.position(below), frame.y.position(below + value));
            let (name, hue) = self.names.get(i).map_or(("", i), |(name, hue)| (name.as_str(), *hue));
            let title = format!("{}\n{name}: {}", group.label, self.unit.format(*value));
            add_rectangle(
                svg,
                &format!("area c{}", colour_index(hue)),
                [middle - width / 2.0, high, width, low - high],
                &title,
            );
            below += value;
        }
    }

    /// As many labels as fit, at equal distances.
    fn draw_labels(&self, svg: &mut Markup, frame: &PlotArea, position: f64) {
        let longest = self.groups.iter().map(|group| group.label.chars().count()).max().unwrap_or(0);
        let every = ((longest as f64 + 1.0) * CHARACTER_WIDTH / position).ceil().max(1.0) as usize;
        for (i, group) in self.groups.iter().enumerate().step_by(every) {
            let middle = frame.left + (i as f64 + 0.5) * position;
            add_label(svg, "tick m", (middle, (frame.bottom + 4.0 + TEXT_HEIGHT).min(HEIGHT)), &group.label);
        }
    }
}
