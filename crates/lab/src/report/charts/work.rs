//! Charts of work that outlives its request: how it drained, and how deep its queue was.

use super::{SeriesByName, Sheet, boxed};
use crate::report::Run;
use crate::report::svg::{Chart, Curves, Dot, Form, Layer, Unit};

/// The states from below, with their colours.
const STATES: [(&str, usize); 5] = [("finished", 2), ("failed", 1), ("stuck", 5), ("running", 0), ("waiting", 4)];

pub(in crate::report) fn charts(run: &Run, series: &SeriesByName, name: &str) -> Vec<Chart> {
    let sheet = Sheet::of(run, series);
    [drain(&sheet, name), queue(&sheet, name)].into_iter().filter_map(boxed).collect()
}

/// What was created, by what had become of it.
fn drain(sheet: &Sheet<'_>, name: &str) -> Option<Curves> {
    let mut below: Vec<Dot> = Vec::new();
    let mut layers = Vec::new();
    for (state, colour) in STATES {
        let Some(layer) = sheet.line(&format!("work.{name}.{state}"), state, colour, Form::Area) else { continue };
        if layer.dots.iter().all(|dot| dot.high <= 0.0) {
            continue;
        }
        let dots: Vec<Dot> = if below.is_empty() { layer.dots } else { stacked(&layer.dots, &below) };
        let dots: Vec<Dot> = if below.is_empty() {
            dots.iter().map(|dot| Dot { low: 0.0, high: dot.y, ..*dot }).collect()
        } else {
            dots
        };
        below.clone_from(&dots);
        layers.push(Layer { dots, ..layer });
    }
    sheet.chart(&format!("{name}: how the work drained"), Unit::count("pieces"), layers)
}

/// The states of one round of status requests have the same moment; what has no counterpart is left out.
fn stacked(dots: &[Dot], below: &[Dot]) -> Vec<Dot> {
    let pairs = dots.iter().zip(below).filter(|(dot, below)| dot.x == below.x);
    pairs
        .map(|(dot, below)| Dot { x: dot.x, y: below.high + dot.y, low: below.high, high: below.high + dot.y })
        .collect()
}

fn queue(sheet: &Sheet<'_>, name: &str) -> Option<Curves> {
    let line = |state: &str, colour: usize| sheet.line(&format!("work.{name}.{state}"), state, colour, Form::Line);
    let lines = [line("waiting", 4), line("running", 0)];
    sheet.chart(
        &format!("{name}: queue depth and running"),
        Unit::count("pieces"),
        lines.into_iter().flatten().collect(),
    )
}
