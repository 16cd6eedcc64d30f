//! A phase that goes on with the connections of an earlier one (`keeps`): whose it may be, and what both must have in
//! common so that a connection that stands is what the later phase would have opened. Refuses to know how connections
//! change hands.

use super::phase::{Arrivals, Phase};
use super::reader::At;
use crate::report::words::known_names;

/// The place of the phase that is meant. One that is written and could not be read has its own mistakes.
pub(super) fn find(at: &At<'_>, own: Option<&str>, written: &[String], earlier: &[Phase]) -> Option<usize> {
    let name = at.text()?;
    let found = earlier.iter().position(|phase| phase.name == name);
    let place = |name: &str| written.iter().position(|phase| phase == name);
    match (found, place(name)) {
        (Some(found), _) => return Some(found),
        (None, Some(meant)) if own.and_then(place).is_none_or(|own| meant < own) => {}
        (None, Some(_)) => {
            at.wrong(format!("is \"{name}\", which is no earlier phase: only one before it can leave it any"));
        }
        (None, None) => {
            at.wrong(format!("is \"{name}\", but there is no such [[phase]]; known: {}", known_names(written)));
        }
    }
    None
}

/// Only a phase that holds connections, and follows the one that it has them from, can go on with some.
pub(super) fn refuse_misplaced(at: &At<'_>, holds: bool, stands_alone: bool) {
    if !holds {
        at.wrong("is for held connections alone: no other phase has any to go on with");
    }
    if stands_alone {
        at.wrong("stands beside `at`: a phase that goes on with connections begins when those who had them are over");
    }
}

/// The earlier phase leaves its connections to this one.
pub(super) fn leave(at: &At<'_>, earlier: &mut Phase, phase: &Phase) {
    let name = &earlier.name;
    let (Arrivals::Hold { connections: left, .. }, None) = (&earlier.arrivals, earlier.at) else {
        return at.wrong(format!("is \"{name}\", which must hold connections and have no `at` of its own"));
    };
    if earlier.leaves {
        return at.wrong(format!("is \"{name}\", whose connections another phase has gone on with already"));
    }
    if (earlier.journey, earlier.opening) != (phase.journey, phase.opening) {
        at.wrong(format!(
            "is \"{name}\", which must have the same `journey` and `opening`: its connections have said those"
        ));
    }
    if matches!(phase.arrivals, Arrivals::Hold { connections, .. } if connections < *left) {
        at.wrong(format!("is \"{name}\", which holds {left} connections: hold at least as many"));
    }
    earlier.leaves = true;
}
