//! What a scenario will need from the machine, estimated from above, so that what cannot work is reported before the
//! first byte is sent. Does not read the machine's state: the preflight does.

use std::net::SocketAddr;
use std::path::Path;

use super::Trial;
use crate::preflight::{Facts, Requirements, check, raise_open_files};
use crate::safety::is_loopback;
use crate::scenario::{Journey, LoadProfile, Phase, Reconnect, Scenario, Schedule};

/// Memory of the lab apart from its connections.
const BASE_BYTES: u64 = 64 * 1024 * 1024;

/// Memory of the lab for a connection with a request in flight.
const BUSY_CONNECTION_BYTES: u64 = 8 * 1024;

/// Memory of the lab for a held connection.
const HELD_CONNECTION_BYTES: u64 = 2 * 1024;

/// Bytes that a second of a trial adds to its record.
const RECORD_BYTES_PER_S: u64 = 16 * 1024;

/// Bytes of a row of samples.
const SAMPLE_ROW_BYTES: u64 = 96;

/// Rejects what cannot work; returns the warnings that the report must repeat.
///
/// # Errors
/// Every reason why the run cannot be right, each with what to do.
pub(crate) fn check_preflight(trial: &Trial, addresses: &[SocketAddr], dir: &Path) -> Result<Vec<String>, String> {
    let _ = raise_open_files();
    let complaints = check(&estimate_requirements(trial, addresses), &Facts::gather(dir));
    let sentences = |refusing: bool| -> Vec<String> {
        let some = complaints.iter().filter(|complaint| complaint.is_refusal() == refusing);
        some.map(|complaint| complaint.message().to_owned()).collect()
    };
    let refusals = sentences(true);
    match refusals.as_slice() {
        [] => Ok(sentences(false)),
        refusals => Err(refusals.join("\n")),
    }
}

fn estimate_requirements(trial: &Trial, addresses: &[SocketAddr]) -> Requirements {
    let scenario = &trial.scenario;
    let connections = peak_connections(scenario);
    let held: u64 = scenario.phases.iter().map(held_connections).max().unwrap_or(0);
    let local = addresses.iter().all(|address| is_loopback(address.ip()));
    let rows = |phase: &Phase| {
        let each = scenario.journeys.get(phase.journey_index).map_or(1, Journey::request_count);
        phase.load_profile.max_count().unwrap_or(0).saturating_mul(each)
    };
    let requests: u64 = scenario.phases.iter().map(rows).sum();
    let seconds = scenario.bounds.duration_max.as_secs().min(3600);
    let samples = if trial.writes_samples { requests * SAMPLE_ROW_BYTES } else { 0 };
    Requirements {
        connections,
        processes_max: trial.worker_program.as_ref().map_or(1, |_| u64::MAX),
        connects_per_s: scenario.phases.iter().map(connects_per_s).fold(0.0, f64::max),
        burst: scenario.phases.iter().map(burst_connections).max().unwrap_or(0),
        source_addresses: match scenario.generator.source_addresses.as_slice() {
            [] if local => u64::MAX,
            [] => 1,
            sources => sources.len() as u64,
        },
        endpoints: endpoint_count(scenario),
        is_loopback: local,
        spawns_target: scenario.target.spawn.is_some(),
        limits: scenario.target.limits,
        memory_bytes: BASE_BYTES + (connections - held) * BUSY_CONNECTION_BYTES + held * HELD_CONNECTION_BYTES,
        record_bytes: seconds * RECORD_BYTES_PER_S + samples,
        samples_bytes: samples,
    }
}

/// Over how many endpoints all connections are divided. Requests go to one.
fn endpoint_count(scenario: &Scenario) -> u64 {
    let speaks =
        |phase: &Phase| scenario.journeys.get(phase.journey_index).is_some_and(|journey| journey.uses_messages);
    let socket = scenario.target.socket.as_ref().filter(|_| scenario.phases.iter().all(speaks));
    socket.map_or(1, |socket| socket.endpoints.len() as u64)
}

/// Connections that the busiest phase holds at once. Phases that overlap share what they leave open.
pub(crate) fn peak_connections(scenario: &Scenario) -> u64 {
    let needed = |phase: &Phase| {
        let each = scenario.journeys.get(phase.journey_index).map_or(1, Journey::connection_count);
        phase_connections(phase).saturating_mul(each)
    };
    let beside: u64 = scenario.phases.iter().filter(|phase| phase.starts_at.is_some()).map(needed).sum();
    let in_turn = scenario.phases.iter().filter(|phase| phase.starts_at.is_none()).map(needed).max().unwrap_or(0);
    beside + in_turn
}

fn phase_connections(phase: &Phase) -> u64 {
    phase.load_profile.concurrency().unwrap_or_else(|| {
        let count = phase.load_profile.max_count();
        count.map_or(phase.in_flight_max, |count| phase.in_flight_max.min(count))
    })
}

fn held_connections(phase: &Phase) -> u64 {
    phase.load_profile.held().map_or(0, |(connections, _)| connections)
}

fn burst_connections(phase: &Phase) -> u64 {
    match &phase.load_profile {
        LoadProfile::Single(Schedule::Bursts { batch, .. }) | LoadProfile::BurstsInTurn { batch, .. } => {
            phase.in_flight_max.min(*batch)
        }
        LoadProfile::Single(Schedule::Hold { connections, opening, .. }) if opening.per_s.is_none() => {
            opening.concurrency.min(opening.new_connections(*connections))
        }
        LoadProfile::Single(Schedule::ClosedLoop { .. }) | LoadProfile::Ladder { .. } => phase_connections(phase),
        _ => 0,
    }
}

fn connects_per_s(phase: &Phase) -> f64 {
    if phase.reconnect == Reconnect::Never {
        return 0.0;
    }
    match phase.load_profile {
        LoadProfile::Single(Schedule::ConstantRate { rate_per_s, .. } | Schedule::Poisson { rate_per_s, .. }) => {
            rate_per_s
        }
        LoadProfile::Single(Schedule::Ramp { from_per_s, to_per_s, .. }) => from_per_s.max(to_per_s),
        LoadProfile::Single(Schedule::Bursts { batch, .. }) | LoadProfile::BurstsInTurn { batch, .. } => batch as f64,
        // A closed loop, a search: the rate is unknown before it runs.
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Document;

    #[track_caller]
    fn check(steps: &str, expected: u64) {
        let text = format!(
            "format = 1\nname = \"doors\"\nsummary = \"What a test wants\"\n[target]\nurl = \"http://127.0.0.1:1\"\n\
             [target.socket]\nurl = \"ws://127.0.0.1:4001-4053/play\"\n\
             [[phase]]\nname = \"p\"\narrivals = {{ hold = {{ connections = 1000000 }}, rate = 1, for = \"1s\" }}\n\
             journey = \"turn\"\n[[journey]]\nname = \"turn\"\n[[journey.step]]\n{steps}"
        );
        let scenario = Scenario::read(&Document::parse(&text).unwrap()).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!((peak_connections(&scenario), endpoint_count(&scenario)), (1_000_000, expected), "{steps}");
    }

    #[test]
    fn messages_are_divided_over_endpoints_and_requests_are_not() {
        check("send = { move = \"N\" }\nanswer = \"/moved\"\n", 53);
        check("request = \"GET /\"\n", 1);
    }
}
