//! What the parts of a trial are called where people read of them. Refuses to number them.

use super::{LoadSpec, Schedule};
use crate::report::format::{count, number};
use crate::scenario::{LoadProfile, Phase};

/// What to call `part` of a leg of a phase whose first part is `first`: `burst 2`, `50 clients`, `1,250/s`, or the phase
/// itself where it has only one.
#[must_use]
pub fn load_step_label(phase: &Phase, first: u32, leg: &LoadSpec, part: u32) -> String {
    match (&phase.load_profile, &leg.schedule) {
        (LoadProfile::Batch { times: 2.., .. }, _) => {
            format!("burst {}", count(u64::from(part.saturating_sub(first)) + 1))
        }
        (LoadProfile::Ladder { .. }, Schedule::ClosedLoop { clients: 1, .. }) => "1 client".to_owned(),
        (LoadProfile::Ladder { .. }, Schedule::ClosedLoop { clients, .. }) => format!("{} clients", count(*clients)),
        (LoadProfile::Edge(_), Schedule::ConstantRate { rate_per_s, .. } | Schedule::Poisson { rate_per_s, .. }) => {
            format!("{}/s", number(Some(*rate_per_s)))
        }
        _ => phase.name.clone(),
    }
}
