//! Phases: when how many arrivals run which journey. Does not compute the arrivals: the plan does.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::declared_names::DeclaredNames;
use super::journey::Journey;
use super::load_profile::{self, LoadProfile};
use super::reader::{NodeReader, TableReader, read_name};
use crate::format::known_names;
use crate::limits::{IN_FLIGHT_MAX, WAIT_MAX};

/// A section of the trial with one kind of load.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    pub name: String,
    pub load_profile: LoadProfile,
    /// Concurrent arrivals. An arrival that is due while as many are in flight waits in the lab, and its latency counts
    /// from the intended moment. Closed loops and held connections limit themselves.
    pub in_flight_max: u64,
    /// The journey of each arrival, by its index in the scenario.
    pub journey_index: usize,
    /// The pause after the previous phase.
    pub pause_before: Duration,
    /// Its own start, from the start of the plan, if it runs concurrently with other phases instead of after them.
    pub starts_at: Option<Duration>,
    /// When connections are closed.
    pub reconnect: Reconnect,
    /// The journey that each held connection runs first, by its index in the scenario.
    pub opening_journey: Option<usize>,
    /// The phase whose connections it takes over, by its index in the scenario.
    pub resumes_phase: Option<usize>,
    /// Whether a later phase takes over its connections.
    pub leaves_open: bool,
}

/// When a client closes its connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reconnect {
    /// It is kept alive for as long as the target keeps it.
    #[default]
    Never,
    Journey,
    Request,
}

impl Phase {
    /// Reads one; the phases before it have been read.
    pub(super) fn read(at: &NodeReader<'_>, known: &PhaseReferences<'_>, earlier: &mut [Self]) -> Option<Self> {
        let moment = |at: &NodeReader<'_>| at.duration(Duration::ZERO..=WAIT_MAX);
        at.table(|fields| {
            let name = fields.required("name", "the report calls it so", read_name);
            let arrivals = fields.get_required("arrivals", load_profile::EXPECTED_FORMS);
            let is_self_limiting = arrivals.as_ref().is_some_and(load_profile::is_self_limiting);
            let resumes = fields.get("keeps");
            let resumes_phase =
                resumes.as_ref().and_then(|at| find_resumed_phase(at, &name, &known.declared.phases, earlier));
            let inherited = resumes_phase.and_then(|index| earlier[index].load_profile.concurrency());
            let load_profile = arrivals.and_then(|at| load_profile::read(&at, inherited.unwrap_or(0)));
            let in_flight_max = read_in_flight_max(fields, is_self_limiting);
            let journey = fields.get_required("journey", "what each arrival does");
            let journey = journey.and_then(|at| known.find_journey(&at));
            let holds = load_profile.as_ref().is_some_and(|profile| profile.held().is_some());
            let opening_journey = fields.optional("opening", |at| known.find_opening_journey(at, journey, holds));
            let pause_before = fields.optional("after", moment);
            let starts_at = fields.optional("at", |at| {
                if pause_before.is_some() {
                    at.add_error("excludes `after`: a phase has its own start time, or follows the previous one");
                }
                moment(at)
            });
            let sends_messages = journey.is_some_and(|journey| known.uses_messages(journey)) && !holds;
            let reconnect = fields.optional("reconnect", |at| read_reconnect(at, sends_messages));
            if let Some(at) = &resumes {
                check_resume_allowed(at, holds, fields.has("at"));
            }
            let load_profile = load_profile?;
            let phase = Self {
                name,
                in_flight_max: load_profile.concurrency().unwrap_or(in_flight_max),
                load_profile,
                journey_index: journey?,
                pause_before: pause_before.unwrap_or_default(),
                starts_at,
                reconnect: if sends_messages { Reconnect::Journey } else { reconnect.unwrap_or_default() },
                opening_journey,
                resumes_phase,
                leaves_open: false,
            };
            if let (Some(at), Some(index), true) = (&resumes, resumes_phase, fields.is_complete()) {
                mark_left_open(at, &mut earlier[index], &phase);
            }
            Some(phase)
        })?
    }
}

fn read_in_flight_max(fields: &TableReader<'_>, is_self_limiting: bool) -> u64 {
    if !is_self_limiting {
        let what = "how many arrivals may be under way at once";
        return fields.required("in_flight_max", what, |at| at.int(1..=IN_FLIGHT_MAX));
    }
    if let Some(at) = fields.get("in_flight_max") {
        at.add_error("is for open loops alone: clients and held connections bound themselves");
    }
    0
}

/// A connection that carries frames belongs to one client: no other arrival uses it after its arrival has ended.
fn read_reconnect(at: &NodeReader<'_>, sends_messages: bool) -> Option<Reconnect> {
    let reconnects = [("never", Reconnect::Never), ("journey", Reconnect::Journey), ("request", Reconnect::Request)];
    let reconnect = at.choice(&reconnects)?;
    if sends_messages && reconnect != Reconnect::Journey {
        at.add_error("must be \"journey\": messages go over a connection of the arrival's own; to keep one, hold it");
    }
    Some(reconnect)
}

/// What phases refer to: journeys and other phases as they are written, and which journeys send messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseReferences<'a> {
    pub(super) declared: &'a DeclaredNames,
    pub(super) journeys: &'a [Journey],
}

impl PhaseReferences<'_> {
    fn find_journey(&self, at: &NodeReader<'_>) -> Option<usize> {
        let name = at.text()?;
        let found = self.declared.journeys.iter().position(|journey| journey == name);
        found.or_else(|| {
            let known = known_names(&self.declared.journeys);
            at.reject(format!("is \"{name}\", but there is no such [[journey]]; known: {known}"))
        })
    }

    fn uses_messages(&self, journey: usize) -> bool {
        let named =
            self.declared.journeys.get(journey).and_then(|name| self.journeys.iter().find(|read| read.name == *name));
        named.is_some_and(|journey| journey.uses_messages)
    }

    /// The journey that each held connection runs first.
    fn find_opening_journey(&self, at: &NodeReader<'_>, journey: Option<usize>, holds: bool) -> Option<usize> {
        if !holds {
            at.add_error("is for held connections alone: elsewhere each arrival takes all of its steps");
        }
        let opening = self.find_journey(at)?;
        if let Some(journey) = journey {
            if self.uses_messages(opening) != self.uses_messages(journey) {
                at.add_error("must be a journey of the same kind as `journey`: both of messages, or both of requests");
            }
            if opening == journey {
                at.add_error("must not be `journey` itself: what a connection says first, it says once");
            }
        }
        Some(opening)
    }
}

/// The index of the phase that is meant. If it is written but could not be read, its own errors were already added.
fn find_resumed_phase(at: &NodeReader<'_>, own: &str, written: &[String], earlier: &[Phase]) -> Option<usize> {
    let name = at.text()?;
    let index = |name: &str| written.iter().position(|phase| phase == name);
    let found = earlier.iter().position(|phase| phase.name == name);
    match index(name) {
        _ if found.is_some() => {}
        Some(meant) if index(own).is_none_or(|own| meant < own) => {}
        Some(_) => {
            at.add_error(format!("is \"{name}\", which is no earlier phase: only one before it can leave it any"));
        }
        None => {
            at.add_error(format!("is \"{name}\", but there is no such [[phase]]; known: {}", known_names(written)));
        }
    }
    found
}

/// Only a phase that holds connections, and follows the phase that had them, can take connections over.
fn check_resume_allowed(at: &NodeReader<'_>, holds: bool, stands_alone: bool) {
    if !holds {
        at.add_error("is for held connections alone: no other phase has connections to take over");
    }
    if stands_alone {
        at.add_error("excludes `at`: a phase that takes connections over begins when the phase that had them is over");
    }
}

/// Marks that the earlier phase leaves its connections open for this one.
fn mark_left_open(at: &NodeReader<'_>, earlier: &mut Phase, phase: &Phase) {
    let name = &earlier.name;
    let (Some((left, _)), None) = (earlier.load_profile.held(), earlier.starts_at) else {
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
    if phase.load_profile.held().is_some_and(|(connections, _)| connections < left) {
        at.add_error(format!("is \"{name}\", which holds {left} connections: hold at least as many"));
    }
    earlier.leaves_open = true;
}
