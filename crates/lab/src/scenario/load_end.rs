//! When the load of a scenario is over, where its text alone says so. Refuses to guess: what the target's own pace decides
//! has no such moment.

use std::time::Duration;

use super::{Act, Arrivals, Each, Journey, Phase, Step};

/// The latest moment, from the start of the load, at which an arrival or a step of one is due. None where that depends
/// on the target: bursts, which wait for places in flight, levels, searches, journeys that wait or repeat, and messages.
pub(super) fn load_end(phases: &[Phase], journeys: &[Journey]) -> Option<Duration> {
    let (mut next, mut end) = (Duration::ZERO, Duration::ZERO);
    for phase in phases {
        let start = phase.at.unwrap_or_else(|| next.saturating_add(phase.after));
        let over = start.saturating_add(lasting_max(&phase.arrivals)?);
        let taken = [Some(phase.journey), phase.opening].into_iter().flatten();
        for journey in taken {
            end = end.max(over.saturating_add(pauses_max(journeys.get(journey)?)?));
        }
        if phase.at.is_none() {
            next = over;
        }
    }
    Some(end)
}

/// From its first moment to its last arrival, at most.
fn lasting_max(arrivals: &Arrivals) -> Option<Duration> {
    match arrivals {
        Arrivals::Rate { lasting, .. }
        | Arrivals::Ramp { lasting, .. }
        | Arrivals::Poisson { lasting, .. }
        | Arrivals::Clients { each: Each::Lasting(lasting), .. } => Some(*lasting),
        Arrivals::Hold { opening, lasting, .. } => Some(opening.within.saturating_add(*lasting)),
        Arrivals::Batch { .. } | Arrivals::Clients { .. } | Arrivals::Ladder { .. } | Arrivals::Edge(_) => None,
    }
}

/// What a journey itself adds: its pauses, where nothing else makes it longer than its answers do.
fn pauses_max(journey: &Journey) -> Option<Duration> {
    let plain = journey.repeats.is_empty() && journey.beside.is_empty() && !journey.speaks;
    let step_pauses = |step: &Step| {
        let request = matches!(step.act, Act::Request(_)) && step.until.is_none() && step.starts.is_none();
        let plain = request && step.waits.is_none() && step.retry.is_none();
        plain.then(|| step.pause.map_or(Duration::ZERO, |(_, most)| most))
    };
    let pauses: Option<Vec<Duration>> = journey.steps.iter().map(step_pauses).collect();
    pauses.filter(|_| plain).map(|pauses| pauses.into_iter().fold(Duration::ZERO, Duration::saturating_add))
}
