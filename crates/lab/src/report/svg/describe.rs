//! Charts in words, for readers who cannot see them: what each layer shows at its ends and at its maximum. Does not
//! evaluate.

use super::bar_chart::BarChart;
use super::series_chart::{Layer, LayerStyle, SeriesChart};
use crate::format::first_few;

pub(super) fn describe_series_chart(curves: &SeriesChart) -> String {
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

pub(super) fn describe_bar_chart(bars: &BarChart) -> String {
    let group = |group: &super::BarGroup| {
        let values = bars.names.iter().zip(&group.values).filter(|(_, value)| **value > 0.0);
        let values = values.map(|((name, _), value)| format!("{name} {}", bars.unit.format(*value)));
        format!("{}: {}", group.label, first_few(values, ", "))
    };
    format!("{}. {}.", bars.title, first_few(bars.groups.iter().map(group), "; "))
}
