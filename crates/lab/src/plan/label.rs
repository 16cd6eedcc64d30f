//! The labels of load steps for people. Does not number them.

use super::{LoadSpec, Schedule};
use crate::format::{count, number};
use crate::scenario::{LoadProfile, Phase};

/// The label of `load_step` in a load of a phase whose first load step is `first`: `burst 2`, `50 clients`, `1,250/s`,
/// or the phase's name if it has only one.
#[must_use]
pub fn load_step_label(phase: &Phase, first: u32, spec: &LoadSpec, load_step: u32) -> String {
    match (&phase.load_profile, &spec.schedule) {
        (
            LoadProfile::BurstsInTurn { times: 2.., .. } | LoadProfile::Single(Schedule::Bursts { times: 2.., .. }),
            _,
        ) => {
            format!("burst {}", count(u64::from(load_step.saturating_sub(first)) + 1))
        }
        (LoadProfile::Ladder { .. }, Schedule::ClosedLoop { clients: 1, .. }) => "1 client".to_owned(),
        (LoadProfile::Ladder { .. }, Schedule::ClosedLoop { clients, .. }) => format!("{} clients", count(*clients)),
        (LoadProfile::Edge(_), Schedule::ConstantRate { rate_per_s, .. } | Schedule::Poisson { rate_per_s, .. }) => {
            format!("{}/s", number(Some(*rate_per_s)))
        }
        _ => phase.name.clone(),
    }
}
