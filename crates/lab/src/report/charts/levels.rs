//! Charts of a ladder or of a search for the edge: throughput and latency against the load, with the knee and the
//! fitted law.

use serde_json::Value;

use super::boxed;
use crate::aggregate::LoadStepFigures;
use crate::report::levels::{law, load_of, loads};
use crate::report::svg::{Axis, Chart, Curves, Dot, Form, Layer, Mark, Unit};

/// Points of a drawn law.
const LAW_POINTS: usize = 60;

/// Loads that span more than this are told apart by their logarithm.
const LOG_FROM: f64 = 30.0;

/// The marks of a capacity, and what they are called.
const MARKS: [(&str, &str); 3] = [("knee", "knee"), ("peak", "peak"), ("saturation", "saturation")];

/// A level and its load.
type At<'a> = (f64, &'a LoadStepFigures);

pub(in crate::report) fn charts(levels: &[&LoadStepFigures], capacity: Option<&Value>) -> Vec<Chart> {
    let mut at: Vec<At<'_>> = loads(levels)
        .into_iter()
        .zip(levels)
        .filter_map(|(load, level)| Some((load.filter(|load| *load > 0.0)?, *level)))
        .collect();
    at.sort_by(|a, b| a.0.total_cmp(&b.0));
    if at.len() < 2 {
        return Vec::new();
    }
    [throughput(&at, capacity), latency(&at, capacity)].into_iter().filter_map(boxed).collect()
}

fn throughput(at: &[At<'_>], capacity: Option<&Value>) -> Option<Curves> {
    let dots = |wanted: bool| {
        let wanted = at.iter().filter(move |(_, level)| is_clean(level) == wanted);
        wanted.filter_map(|(load, level)| Some(Dot::new(*load, level.throughput_per_s?))).collect()
    };
    let layers = vec![
        Layer { name: "level".to_owned(), colour: 0, form: Form::Dots, dots: dots(true) },
        Layer {
            name: "level with errors or overload, or void".to_owned(),
            colour: 1,
            form: Form::Dots,
            dots: dots(false),
        },
        reference(at, capacity),
    ];
    sheet(at, capacity, "Throughput against", Unit::number("ok a second"), layers)
}

/// Neither errors nor an overload, and judged at all where levels were.
fn is_clean(level: &LoadStepFigures) -> bool {
    level.op.errors == 0 && level.void.is_none() && level.overload.as_ref().is_none_or(Vec::is_empty)
}

/// What the dots are held against: the fitted law for clients, all that was offered for a rate.
fn reference(at: &[At<'_>], capacity: Option<&Value>) -> Layer {
    let (low, high) = (at[0].0, at[at.len() - 1].0);
    let is_rate = at.iter().any(|(_, level)| level.clients.is_none());
    let law = capacity.and_then(law).filter(|_| !is_rate);
    let (name, throughput_per_s): (&str, Box<dyn Fn(f64) -> f64>) = match law {
        Some(law) => ("Universal Scalability Law", Box::new(move |load| law.throughput_per_s(load))),
        None if is_rate => ("all that was offered", Box::new(|load| load)),
        None => ("", Box::new(|_| f64::NAN)),
    };
    let load = |i: usize| low * (high / low).powf(i as f64 / (LAW_POINTS - 1) as f64);
    let dots = (0..LAW_POINTS).map(|i| Dot::new(load(i), throughput_per_s(load(i)))).collect();
    Layer { name: name.to_owned(), colour: 3, form: Form::Law, dots }
}

fn latency(at: &[At<'_>], capacity: Option<&Value>) -> Option<Curves> {
    let layer = |name: &str, form: Form, of: fn(&LoadStepFigures) -> Option<f64>| {
        let dots = at.iter().filter_map(|(load, level)| Some(Dot::new(*load, of(level)?))).collect();
        Layer { name: name.to_owned(), colour: 0, form, dots }
    };
    let layers = vec![
        layer("latency p99", Form::Line, |level| level.op.latency_ms.p99),
        layer("latency p50", Form::Dashed, |level| level.op.latency_ms.p50),
    ];
    let mut curves = sheet(at, capacity, "Latency against", Unit::number("ms"), layers)?;
    curves.y.log = true;
    Some(curves)
}

fn sheet(at: &[At<'_>], capacity: Option<&Value>, title: &str, unit: Unit, layers: Vec<Layer>) -> Option<Curves> {
    let is_rate = at.iter().any(|(_, level)| level.clients.is_none());
    let (load, unit_x) = if is_rate { ("the offered rate", "offered a second") } else { ("concurrency", "clients") };
    let mark =
        |(key, name): (&str, &str)| Some(Mark { x: load_of(capacity?, key)?, label: name.to_owned(), is_fault: false });
    let curves = Curves {
        title: format!("{title} {load}"),
        about: String::new(),
        x: Axis { unit: Unit::count(unit_x), log: at[at.len() - 1].0 / at[0].0 >= LOG_FROM, to: 0.0 },
        y: Axis { unit, log: false, to: 0.0 },
        layers,
        bands: Vec::new(),
        marks: MARKS.into_iter().filter_map(mark).collect(),
        bounds: Vec::new(),
    };
    curves.or_none()
}
