//! Aggregates journeys: in the whole trial, and in one phase, apart from other phases with the same journeys; as a whole,
//! and step by step if the steps are measured separately. Does not know how long a journey was driven.

use std::collections::BTreeMap;

use super::results::{JourneyFigures, LoadStepFigures, PhaseFigures};
use crate::measurement::{Basis, OpId, OpStats, OutcomeCounts};
use crate::scenario::{Journey, Phase, Scenario};

/// A journey, in the whole trial or in a phase.
#[derive(Clone, Debug, Default)]
pub(crate) struct JourneyAggregate {
    pub(super) name: String,
    pub(super) total: OpStats,
    pub(super) not_sent: u64,
    /// Those of them that a pause of the generator had held up.
    pub(super) not_sent_behind_pauses: u64,
    paced: bool,
    /// Empty if the steps are not measured separately.
    pub(super) steps: Vec<(String, OpStats)>,
}

impl JourneyAggregate {
    pub(crate) fn new(journey: &Journey) -> Self {
        Self {
            name: journey.name.clone(),
            paced: journey.is_paced(),
            steps: match journey.has_step_figures() {
                false => Vec::new(),
                true => journey.steps.iter().map(|step| (step.name.clone(), OpStats::default())).collect(),
            },
            ..Self::default()
        }
    }

    /// Adds an operation of this journey.
    pub(super) fn add(&mut self, op: OpId, stats: &OpStats) {
        match op.step {
            None => self.total.merge(stats),
            Some(step) => {
                if let Some((_, known)) = self.steps.get_mut(step) {
                    known.merge(stats);
                }
            }
        }
    }

    /// Its requests that have ended.
    pub(super) fn requests(&self) -> OutcomeCounts {
        match self.steps.is_empty() {
            true => self.total.counts,
            false => self.steps.iter().map(|(_, step)| step.counts).sum(),
        }
    }

    /// The figures, without rates. On the basis without the generator's delays, arrivals that it held up do not count
    /// as not sent.
    pub(super) fn figures(&self, basis: Basis) -> JourneyFigures {
        let held_up = if basis == Basis::WithoutLab { self.not_sent_behind_pauses } else { 0 };
        JourneyFigures {
            op: self.total.figures(basis).with_more_ok(held_up),
            throughput_per_s: None,
            requests: self.requests().total(),
            answered_per_s: None,
            paced: self.paced,
            not_sent: self.not_sent - held_up,
            steps: self.steps.iter().map(|(name, op)| (name.clone(), op.figures(basis))).collect(),
        }
    }
}

/// What one phase requests: its journey and its opening journey. Distributions are kept while the phase runs; afterwards
/// only their figures are kept.
#[derive(Clone, Debug)]
pub(crate) enum PhaseAggregate {
    /// It runs: its journey by the index in the scenario, and behind it the opening journey, if there is one.
    Open(Vec<(usize, JourneyAggregate)>),
    /// It is over.
    Closed(Box<[PhaseFigures; 2]>),
}

impl PhaseAggregate {
    pub(crate) fn add(&mut self, op: OpId, stats: &OpStats) {
        let Self::Open(aggregates) = self else { return };
        let matching = aggregates.iter_mut().filter(|(index, _)| *index == op.journey);
        matching.for_each(|(_, aggregate)| aggregate.add(op, stats));
    }

    /// Arrivals of its journey were due and never sent, some because a pause of the generator held them up.
    pub(crate) fn count_not_sent(&mut self, not_sent: u64, behind_pauses: u64) {
        let Self::Open(aggregates) = self else { return };
        if let Some((_, journey)) = aggregates.first_mut() {
            journey.not_sent += not_sent;
            journey.not_sent_behind_pauses += behind_pauses;
        }
    }

    /// What it requested, without rates.
    pub(crate) fn figures(&self, basis: Basis) -> PhaseFigures {
        match self {
            Self::Open(aggregates) => {
                let mut figures = aggregates.iter().map(|(_, aggregate)| aggregate.figures(basis));
                PhaseFigures { journey: figures.next(), opening: figures.next(), ..PhaseFigures::default() }
            }
            Self::Closed(figures) => figures[usize::from(basis == Basis::WithoutLab)].clone(),
        }
    }

    /// The phase is over: nothing more is added.
    pub(crate) fn close(&mut self) {
        *self = Self::Closed(Box::new([Basis::Measured, Basis::WithoutLab].map(|basis| self.figures(basis))));
    }
}

/// The figures of every phase of the scenario, from its load steps and what it `requested`; `edge_per_s` gives what its
/// search has found.
#[must_use]
pub fn phase_figures(
    scenario: &Scenario,
    load_steps: &[LoadStepFigures],
    mut requested: BTreeMap<String, PhaseFigures>,
    edge_per_s: impl Fn(&str) -> Option<f64>,
) -> BTreeMap<String, PhaseFigures> {
    let figures = |Phase { name, .. }: &Phase| {
        let own: Vec<&LoadStepFigures> = load_steps.iter().filter(|load_step| load_step.phase == *name).collect();
        let figures = requested.remove(name).unwrap_or_default().with_load_steps(&own);
        (name.clone(), PhaseFigures { edge_per_s: edge_per_s(name), ..figures })
    };
    scenario.phases.iter().map(figures).collect()
}

impl PhaseFigures {
    /// With its rates and connections, which its load steps have.
    pub(crate) fn with_load_steps(self, load_steps: &[&LoadStepFigures]) -> Self {
        let connections = load_steps.iter().find_map(|load_step| load_step.connections.clone());
        let driven = load_steps.iter().map(|load_step| (load_step.start_s, load_step.start_s + load_step.length_s));
        let opening_s = connections.as_ref().and_then(|held| held.opening_s);
        Self {
            journey: self.journey.map(|journey| journey.with_rates(covered_s(driven.collect()))),
            opening: self.opening.map(|opening| opening.with_rates(opening_s)),
            peak_per_s: load_steps.iter().filter_map(|load_step| load_step.throughput_per_s).max_by(f64::total_cmp),
            edge_per_s: self.edge_per_s,
            connections,
        }
    }
}

/// The time that the spans cover together: they may overlap, and there may be gaps between them. None if there are
/// none.
fn covered_s(mut spans: Vec<(f64, f64)>) -> Option<f64> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut until) = (0.0, f64::NEG_INFINITY);
    for (start, end) in spans {
        sum += (end - start.max(until)).max(0.0);
        until = until.max(end);
    }
    (until > f64::NEG_INFINITY).then_some(sum)
}

/// Seconds in which a journey was driven: in load steps of its phases, or while connections were opened with it.
#[must_use]
pub fn journey_active_s(scenario: &Scenario, load_steps: &[LoadStepFigures], journey: usize) -> Option<f64> {
    let of = |takes: fn(&Phase, usize) -> bool| {
        let drives = move |load_step: &&LoadStepFigures| {
            scenario.phases.iter().any(|p| p.name == load_step.phase && takes(p, journey))
        };
        load_steps.iter().filter(drives)
    };
    let driven = of(|phase, journey| phase.journey_index == journey)
        .map(|load_step| (load_step.start_s, load_step.start_s + load_step.length_s));
    let opened = of(|phase, journey| phase.opening_journey == Some(journey)).filter_map(|load_step| {
        let held = load_step.connections.as_ref()?;
        Some((held.from_s, held.from_s + held.opening_s?))
    });
    covered_s(driven.chain(opened).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_and_overlaps_do_not_count_as_time() {
        assert_eq!(covered_s(vec![(10.0, 11.0), (0.0, 2.0), (1.0, 3.0)]), Some(4.0));
        assert_eq!((covered_s(vec![(4.0, 13.0)]), covered_s(Vec::new())), (Some(9.0), None));
    }
}
