//! What one phase asks, folded: its journey, and what its connections say first, apart from what other phases ask in the same words.
//! Distributions are kept while the phase goes on; afterwards only their figures stay. Refuses to know when that is.

use super::journey::JourneyAggregate;
use super::op::Basis;
use super::results::JourneyFigures;
use crate::record::OpStats;

/// What a phase asks.
#[derive(Clone, Debug)]
pub(crate) enum PhaseAggregate {
    /// It goes on: its journey by its place in the scenario, and behind it what its connections say first, if anything.
    Open(Vec<(usize, JourneyAggregate)>),
    /// It is over.
    Closed(Box<[PhaseJourneyFigures; 2]>),
}

/// Figures of what a phase has asked, without rates.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseJourneyFigures {
    pub(crate) journey: JourneyFigures,
    pub(crate) opening: Option<JourneyFigures>,
}

impl PhaseAggregate {
    /// Takes a cell of one of its parts in.
    pub(crate) fn add(&mut self, cell: &OpStats) {
        let Self::Open(folds) = self else { return };
        let own = folds.iter_mut().filter(|(place, _)| *place == cell.op.journey);
        own.for_each(|(_, fold)| fold.add(cell));
    }

    /// The figures so far.
    pub(crate) fn figures(&self, basis: Basis) -> PhaseJourneyFigures {
        match self {
            Self::Open(folds) => {
                let mut figures = folds.iter().map(|(_, fold)| fold.figures(basis));
                PhaseJourneyFigures { journey: figures.next().unwrap_or_default(), opening: figures.next() }
            }
            Self::Closed(asked) => asked[usize::from(basis == Basis::WithoutLab)].clone(),
        }
    }

    /// It is over: nothing more comes.
    pub(crate) fn close(&mut self) {
        *self = Self::Closed(Box::new([Basis::Measured, Basis::WithoutLab].map(|basis| self.figures(basis))));
    }
}
