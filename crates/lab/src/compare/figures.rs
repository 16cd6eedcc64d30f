//! A figure that is compared: its name, its unit, which way is worse, and what became of it. Refuses to know where it
//! comes from.

use super::Side;
use super::asking::ask;
use super::stats::{Answer, Call, Change, Family, Reason, Scale};

/// A figure that is compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The operation, the work, or the process that it is of.
    pub subject: String,
    /// What it is called.
    pub name: &'static str,
    /// Its unit; empty for a number.
    pub unit: &'static str,
    /// What kind of figure it is.
    pub kind: Kind,
    /// Which way is worse.
    pub worse: Worse,
    /// One for each side after the first.
    pub outcomes: Vec<Outcome>,
}

/// What kind of figure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// How long something takes.
    Time,
    /// How much is done in a time.
    Throughput,
    /// A part of a whole, in percent.
    Share,
    /// How often something happened.
    Count,
    /// What it took of the machine.
    Cost,
}

/// Which way is worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Worse {
    Higher,
    Lower,
}

/// What one side's figure is, held against the first side's.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In figures.
    pub answer: Answer,
    /// In a word.
    pub sense: Sense,
}

/// An outcome in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// A difference beyond the noise, for the worse.
    Worse,
    /// A difference beyond the noise, for the better.
    Better,
    /// None beyond the noise.
    Noise,
    /// The same, without noise.
    Equal,
    /// There is no telling.
    Unknown(Reason),
}

impl Figure {
    /// By what share a side's figure is worse, where a difference for the worse was called; infinite from nothing to
    /// something.
    #[must_use]
    pub fn worsening(&self, side: usize) -> Option<f64> {
        let outcome = self.outcomes.get(side).filter(|outcome| outcome.sense == Sense::Worse)?;
        let ratio = outcome.ratio()?;
        Some(if self.worse == Worse::Higher { ratio - 1.0 } else { 1.0 - ratio })
    }

    /// The first side's figure.
    #[must_use]
    pub fn before(&self) -> Option<f64> {
        self.outcomes.iter().find_map(|outcome| outcome.answer.before)
    }

    fn is_empty(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.answer.before.or(outcome.answer.after).is_none())
    }
}

impl Outcome {
    fn new(answer: Answer, worse: Worse) -> Self {
        let sense = match (answer.call, worse) {
            (Call::Higher, Worse::Higher) | (Call::Lower, Worse::Lower) => Sense::Worse,
            (Call::Higher, Worse::Lower) | (Call::Lower, Worse::Higher) => Sense::Better,
            (Call::Noise, _) => Sense::Noise,
            (Call::Equal, _) => Sense::Equal,
            (Call::Unknown(reason), _) => Sense::Unknown(reason),
        };
        Self { answer, sense }
    }

    /// This side's figure over the first side's; infinite from nothing to something.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        match (self.answer.change, self.answer.before.zip(self.answer.after)) {
            (Some(Change { scale: Scale::Ratio, point, .. }), _) => Some(point),
            (_, Some((before, after))) if before > 0.0 => Some(after / before),
            (_, Some((_, after))) => Some(if after > 0.0 { f64::INFINITY } else { 1.0 }),
            (_, None) => None,
        }
    }
}

/// Asks about every figure of every side against the first, and decides all of them together.
pub(super) fn judge(sides: &[Side], mut family: Family) -> Vec<Figure> {
    let mut figures = ask(sides, &mut family);
    let count = figures.len().max(1);
    for (place, answer) in family.decide().into_iter().enumerate() {
        let figure = &mut figures[place % count];
        figure.outcomes.push(Outcome::new(answer, figure.worse));
    }
    figures.retain(|figure| !figure.is_empty());
    figures
}
