//! Aggregates what one phase requests: its journey and its opening journey, apart from other phases with the same
//! journeys. Distributions are kept while the phase runs; afterwards only their figures are kept. Does not know when
//! that is.

use super::journey::JourneyAggregate;
use super::op::Basis;
use super::results::JourneyFigures;
use crate::measurement::OpStats;

#[derive(Clone, Debug)]
pub(crate) enum PhaseAggregate {
    /// It runs: its journey by the index in the scenario, and behind it the opening journey, if there is one.
    Open(Vec<(usize, JourneyAggregate)>),
    /// It is over.
    Closed(Box<[PhaseJourneyFigures; 2]>),
}

/// A phase's figures, without rates.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseJourneyFigures {
    pub(crate) journey: JourneyFigures,
    pub(crate) opening: Option<JourneyFigures>,
}

impl PhaseAggregate {
    pub(crate) fn add(&mut self, stats: &OpStats) {
        let Self::Open(aggregates) = self else { return };
        let matching = aggregates.iter_mut().filter(|(index, _)| *index == stats.op.journey);
        matching.for_each(|(_, aggregate)| aggregate.add(stats));
    }

    pub(crate) fn figures(&self, basis: Basis) -> PhaseJourneyFigures {
        match self {
            Self::Open(aggregates) => {
                let mut figures = aggregates.iter().map(|(_, aggregate)| aggregate.figures(basis));
                PhaseJourneyFigures { journey: figures.next().unwrap_or_default(), opening: figures.next() }
            }
            Self::Closed(figures) => figures[usize::from(basis == Basis::WithoutLab)].clone(),
        }
    }

    /// The phase is over: nothing more is added.
    pub(crate) fn close(&mut self) {
        *self = Self::Closed(Box::new([Basis::Measured, Basis::WithoutLab].map(|basis| self.figures(basis))));
    }
}
