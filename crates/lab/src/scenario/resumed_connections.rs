//! A phase that takes over the connections of an earlier one (`keeps`): which phase that may be, and what both must
//! have in common so that an open connection is what the later phase would have opened. Does not know how connections
//! are handed over.

use super::phase::{LoadProfile, Phase};
use super::reader::NodeReader;
use crate::format::known_names;

/// The index of the phase that is meant. If it is written but could not be read, its own errors were already added.
pub(super) fn find_resumed_phase(
    at: &NodeReader<'_>,
    own: Option<&str>,
    written: &[String],
    earlier: &[Phase],
) -> Option<usize> {
    let name = at.text()?;
    let found = earlier.iter().position(|phase| phase.name == name);
    let index = |name: &str| written.iter().position(|phase| phase == name);
    match (found, index(name)) {
        (Some(found), _) => return Some(found),
        (None, Some(meant)) if own.and_then(index).is_none_or(|own| meant < own) => {}
        (None, Some(_)) => {
            at.add_error(format!("is \"{name}\", which is no earlier phase: only one before it can leave it any"));
        }
        (None, None) => {
            at.add_error(format!("is \"{name}\", but there is no such [[phase]]; known: {}", known_names(written)));
        }
    }
    None
}

/// Only a phase that holds connections, and follows the phase that had them, can take connections over.
pub(super) fn check_resume_allowed(at: &NodeReader<'_>, holds: bool, stands_alone: bool) {
    if !holds {
        at.add_error("is for held connections alone: no other phase has connections to take over");
    }
    if stands_alone {
        at.add_error("excludes `at`: a phase that takes connections over begins when the phase that had them is over");
    }
}

/// Marks that the earlier phase leaves its connections open for this one.
pub(super) fn mark_left_open(at: &NodeReader<'_>, earlier: &mut Phase, phase: &Phase) {
    let name = &earlier.name;
    let (LoadProfile::Hold { connections: left, .. }, None) = (&earlier.load_profile, earlier.starts_at) else {
        return at.add_error(format!("is \"{name}\", which must hold connections and have no `at` of its own"));
    };
    if earlier.leaves_open {
        return at.add_error(format!("is \"{name}\", whose connections another phase has gone on with already"));
    }
    if (earlier.journey_index, earlier.opening_journey) != (phase.journey_index, phase.opening_journey) {
        at.add_error(format!(
            "is \"{name}\", which must have the same `journey` and `opening`: its connections have said those"
        ));
    }
    if matches!(phase.load_profile, LoadProfile::Hold { connections, .. } if connections < *left) {
        at.add_error(format!("is \"{name}\", which holds {left} connections: hold at least as many"));
    }
    earlier.leaves_open = true;
}
