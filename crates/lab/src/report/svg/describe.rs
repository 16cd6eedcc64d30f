//! Charts in words, for those who cannot see them: what each layer shows at its ends and at its highest. Refuses to
//! judge.

use super::bars::Bars;
use super::curves::{Curves, Form, Layer};
use crate::report::words::first_few;

pub(super) fn curves(curves: &Curves) -> String {
    let layers = curves.layers.iter().filter(|layer| layer.form != Form::Law);
    let layers = first_few(layers.map(|layer| of(curves, layer)), "; ");
    let bounds = first_few(curves.bounds.iter().map(|bound| format!("bound: {}", bound.label)), "; ");
    let marks = curves.marks.iter().map(|mark| format!("{} at {}", mark.label, curves.x.unit.say(mark.x)));
    let mut parts = vec![layers, bounds, first_few(marks, "; ")];
    parts.retain(|part| !part.is_empty());
    format!("{}. {}.", curves.title, parts.join("; "))
}

fn of(curves: &Curves, layer: &Layer) -> String {
    let height = |dot: &super::Dot| if layer.form == Form::Area { dot.high - dot.low } else { dot.y };
    let (Some(first), Some(last)) = (layer.dots.first(), layer.dots.last()) else { return layer.name.clone() };
    let highest = layer.dots.iter().max_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(last);
    let (y, x) = (&curves.y.unit, &curves.x.unit);
    format!(
        "{}: first {}, highest {} at {}, last {}",
        layer.name,
        y.say(height(first)),
        y.say(height(highest)),
        x.say(highest.x),
        y.say(height(last)),
    )
}

pub(super) fn bars(bars: &Bars) -> String {
    let group = |group: &super::Group| {
        let values = bars.names.iter().zip(&group.values).filter(|(_, value)| **value > 0.0);
        let values = values.map(|((name, _), value)| format!("{name} {}", bars.unit.say(*value)));
        format!("{}: {}", group.label, first_few(values, ", "))
    };
    format!("{}. {}.", bars.title, first_few(bars.groups.iter().map(group), "; "))
}
