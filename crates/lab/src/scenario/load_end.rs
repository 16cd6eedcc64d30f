//! When the load of a scenario is over, if the text alone determines it. Does not guess: a load whose pace the target
//! decides has no such moment.

use std::time::Duration;

use super::{Journey, LoadProfile, PerClientLimit, Phase, Step, StepAction};

/// The latest moment, from the start of the load, at which an arrival or one of its steps is due. None if that depends
/// on the target: bursts, which wait for free in-flight slots, levels, searches, journeys that wait or repeat, and
/// messages.
pub(super) fn load_end(phases: &[Phase], journeys: &[Journey]) -> Option<Duration> {
    let (mut next, mut end) = (Duration::ZERO, Duration::ZERO);
    for phase in phases {
        let start = phase.starts_at.unwrap_or_else(|| next.saturating_add(phase.pause_before));
        let over = start.saturating_add(max_duration(&phase.load_profile)?);
        let taken = [Some(phase.journey_index), phase.opening_journey].into_iter().flatten();
        for journey in taken {
            end = end.max(over.saturating_add(max_pause_total(journeys.get(journey)?)?));
        }
        if phase.starts_at.is_none() {
            next = over;
        }
    }
    Some(end)
}

/// From its start to its last arrival, at most.
fn max_duration(arrivals: &LoadProfile) -> Option<Duration> {
    match arrivals {
        LoadProfile::Rate { duration, .. }
        | LoadProfile::Ramp { duration, .. }
        | LoadProfile::Poisson { duration, .. }
        | LoadProfile::Clients { per_client: PerClientLimit::Duration(duration), .. } => Some(*duration),
        LoadProfile::Hold { opening, duration, .. } => Some(opening.timeout.saturating_add(*duration)),
        LoadProfile::Batch { .. } | LoadProfile::Clients { .. } | LoadProfile::Ladder { .. } | LoadProfile::Edge(_) => {
            None
        }
    }
}

/// What a journey itself adds: its pauses, unless something besides its responses makes it longer.
fn max_pause_total(journey: &Journey) -> Option<Duration> {
    let plain = journey.repeats.is_empty() && journey.background.is_empty() && !journey.uses_messages;
    let step_pauses = |step: &Step| {
        let request =
            matches!(step.action, StepAction::Request(_)) && step.pause_until.is_none() && step.starts_work.is_none();
        let plain = request && step.long_poll.is_none() && step.retry.is_none();
        plain.then(|| step.pause.map_or(Duration::ZERO, |(_, most)| most))
    };
    let pauses: Option<Vec<Duration>> = journey.steps.iter().map(step_pauses).collect();
    pauses.filter(|_| plain).map(|pauses| pauses.into_iter().fold(Duration::ZERO, Duration::saturating_add))
}
