//! The verdict of a comparison in one sentence. Pure. Says of a difference how large it is, and of none how large a one
//! could have stayed unseen.

use std::collections::BTreeMap;

use super::super::Comparison;
use super::super::figures::{Figure, Kind, Outcome, Sense};
use super::super::stats::Reason;
use super::texts::{named, reason};
use crate::report::words::first_few;

/// The figure that is named first where nothing differs, if it can be told: what users feel.
const FELT: &str = "latency p99";

/// The verdict over one side against the first, without a full stop.
#[must_use]
pub fn sentence(comparison: &Comparison, side: usize) -> String {
    let (first, second) = (&comparison.sides[0].label, &comparison.sides[side + 1].label);
    let found = Found::of(comparison, side);
    match (found.worse.as_slice(), found.better.as_slice()) {
        ([], []) if found.noise.is_empty() && !found.untold.is_empty() => {
            let broken = comparison.broken(side);
            if !broken.is_empty() {
                return broken.join("; ");
            }
            let why = found.commonest().map_or_else(String::new, |why| {
                let unit_s = comparison.sides[0].records.first().map_or(1, |record| record.times.unit_s);
                format!(": {}", reason(why, unit_s))
            });
            format!("Nothing can be told about {first} and {second}{why}")
        }
        ([], []) => format!("No difference beyond the noise between {first} and {second}{}", found.hidden()),
        (worse, []) => format!("{second} is {} than {first}: {}", adjective(worse, "slower", "worse"), list(worse)),
        ([], better) => format!("{second} is {} than {first}: {}", adjective(better, "faster", "better"), list(better)),
        (worse, better) => {
            format!("{second} is worse than {first} in {}; and better in {}", list(worse), list(better))
        }
    }
}

type Named<'a> = (&'a Figure, &'a Outcome);

/// What became of the figures.
struct Found<'a> {
    worse: Vec<Named<'a>>,
    better: Vec<Named<'a>>,
    noise: Vec<Named<'a>>,
    untold: BTreeMap<Reason, usize>,
}

impl<'a> Found<'a> {
    fn of(comparison: &'a Comparison, side: usize) -> Self {
        let mut found = Self { worse: vec![], better: vec![], noise: vec![], untold: BTreeMap::new() };
        for figure in &comparison.figures {
            let outcome = &figure.outcomes[side];
            match outcome.sense {
                Sense::Worse => found.worse.push((figure, outcome)),
                Sense::Better => found.better.push((figure, outcome)),
                Sense::Noise => found.noise.push((figure, outcome)),
                Sense::Unknown(reason) => *found.untold.entry(reason).or_default() += 1,
                Sense::Equal => {}
            }
        }
        found.worse.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        found.better.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        found
    }

    fn commonest(&self) -> Option<Reason> {
        self.untold.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| *reason)
    }

    /// How large a difference could have stayed unseen, and how many figures say nothing.
    fn hidden(&self) -> String {
        let felt = self.noise.iter().find(|(figure, _)| figure.name == FELT).or(self.noise.first());
        let could = felt.map(|(figure, outcome)| {
            let interval = super::texts::interval(figure, outcome);
            format!("; {} {} could be {interval}", figure.subject, figure.name)
        });
        let untold: usize = self.untold.values().sum();
        let silent = match untold {
            0 => String::new(),
            1 => "; 1 figure could not be told".to_owned(),
            many => format!("; {many} figures could not be told"),
        };
        could.unwrap_or_default() + &silent
    }
}

/// How far a figure went, in whichever direction.
fn distance((_, outcome): &Named<'_>) -> f64 {
    outcome.ratio().map_or(0.0, |ratio| ratio.ln().abs())
}

fn adjective(figures: &[Named<'_>], of_time: &'static str, of_all: &'static str) -> &'static str {
    let is_time = |(figure, _): &Named<'_>| matches!(figure.kind, Kind::Time | Kind::Throughput);
    if figures.iter().all(is_time) { of_time } else { of_all }
}

fn list(figures: &[Named<'_>]) -> String {
    first_few(figures.iter().map(|(figure, outcome)| named(figure, outcome)), ", ")
}
