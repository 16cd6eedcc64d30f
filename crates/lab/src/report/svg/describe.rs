//! Charts in words, for those who cannot see them: what each layer shows at its ends and at its highest. Refuses to
//! judge.

use super::bars::Bars;
use super::curves::{Curves, Form, Layer};

/// Layers that are told one by one.
const LAYERS_MAX: usize = 8;

pub(super) fn curves(curves: &Curves) -> String {
    let told: Vec<String> = curves
        .layers
        .iter()
        .filter(|layer| layer.form != Form::Law)
        .take(LAYERS_MAX)
        .map(|layer| of(curves, layer))
        .collect();
    let bounds = curves.bounds.iter().map(|bound| format!("bound: {}", bound.label));
    let marks = curves.marks.iter().take(LAYERS_MAX);
    let marks = marks.map(|mark| format!("{} at {}", mark.label, curves.x.unit.say(mark.x)));
    let parts: Vec<String> = told.into_iter().chain(bounds).chain(marks).collect();
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
        let values: Vec<String> =
            values.map(|((name, _), value)| format!("{name} {}", bars.unit.say(*value))).collect();
        format!("{}: {}", group.label, values.join(", "))
    };
    let told: Vec<String> = bars.groups.iter().take(LAYERS_MAX).map(group).collect();
    let rest = bars.groups.len().saturating_sub(LAYERS_MAX);
    let rest = if rest > 0 { format!("; and {rest} more") } else { String::new() };
    format!("{}. {}{rest}.", bars.title, told.join("; "))
}
