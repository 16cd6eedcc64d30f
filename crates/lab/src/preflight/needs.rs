//! What a scenario is going to ask of the machine. PURE. Refuses to know whether the machine has it.

use std::net::{IpAddr, SocketAddr};

use super::Needs;
use crate::limits::{CONNECTION_BYTES, LOOPBACK_SOURCES_MAX, PROCESSES_MAX, RECORD_BYTES};
use crate::safety::is_loopback;
use crate::scenario::{Arrivals, Phase, Reconnect, Scenario, TargetLimits};

/// What one phase asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OfPhase {
    connections: u64,
    connections_max: u64,
    burst: u64,
    connects_per_s: f64,
}

impl Needs {
    /// What a scenario asks for against a target at these addresses: of phases, one after the other, the most.
    #[must_use]
    pub fn of(scenario: &Scenario, addresses: &[SocketAddr], divides: bool) -> Self {
        let phases: Vec<OfPhase> =
            scenario.phases.iter().map(|phase| of_phase(phase, steps(scenario, phase))).collect();
        let most = |count: fn(&OfPhase) -> u64| phases.iter().map(count).max().unwrap_or(0);
        let bounded = |count: u64| count.min(scenario.bounds.connections);
        let connections = bounded(most(|phase| phase.connections));
        Self {
            connections,
            connections_max: bounded(most(|phase| phase.connections_max)),
            processes_max: if divides { PROCESSES_MAX } else { 1 },
            connects_per_s: phases.iter().map(|phase| phase.connects_per_s).fold(0.0, f64::max),
            burst: most(|phase| phase.burst),
            sources: sources(scenario, addresses),
            is_loopback: addresses.iter().all(|address| is_loopback(address.ip())),
            spawns_target: scenario.target.spawn.is_some(),
            limits: scenario.target.limits,
            memory_bytes: connections.saturating_mul(CONNECTION_BYTES),
            record_bytes: RECORD_BYTES,
        }
    }
}

/// Where a scenario lists none, the lab has as many as it wants in 127.0.0.0/8, and one of everything else.
fn sources(scenario: &Scenario, addresses: &[SocketAddr]) -> u64 {
    let has_many = addresses.iter().all(|address| matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback()));
    match scenario.generator.sources.len() {
        0 if has_many => LOOPBACK_SOURCES_MAX,
        0 => 1,
        listed => listed as u64,
    }
}

fn steps(scenario: &Scenario, phase: &Phase) -> usize {
    scenario.journeys.get(phase.journey).map_or(1, |journey| journey.steps.len())
}

fn of_phase(phase: &Phase, steps: usize) -> OfPhase {
    let reconnects = match phase.reconnect {
        Reconnect::Never => 0.0,
        Reconnect::Journey => 1.0,
        Reconnect::Request => steps as f64,
    };
    let open = |burst: u64, rate_per_s: f64| OfPhase {
        connections: 0,
        connections_max: phase.in_flight_max,
        burst: burst.min(phase.in_flight_max),
        connects_per_s: rate_per_s * reconnects,
    };
    // How often a client comes depends on the target, so its reconnects are not known before.
    let closed =
        |clients: u64| OfPhase { connections: clients, connections_max: clients, burst: clients, connects_per_s: 0.0 };
    match &phase.arrivals {
        Arrivals::Batch { batch, .. } => open(*batch, 0.0),
        Arrivals::Rate { rate_per_s, .. } | Arrivals::Poisson { rate_per_s, .. } => open(0, *rate_per_s),
        Arrivals::Ramp { from_per_s, to_per_s, .. } => open(0, from_per_s.max(*to_per_s)),
        Arrivals::Edge(edge) => open(0, edge.to_per_s),
        Arrivals::Clients { clients, .. } => closed(*clients),
        Arrivals::Ladder { levels, .. } => closed(levels.iter().copied().max().unwrap_or(0)),
        Arrivals::Hold { connections, open_per_s, rate_per_s, .. } => OfPhase {
            burst: if open_per_s.is_some() { 0 } else { *connections },
            connects_per_s: rate_per_s.unwrap_or(0.0) * reconnects,
            ..closed(*connections)
        },
    }
}

/// What a scenario wants to do to processes that the lab does not start, each in a sentence: the lab has neither
/// their command nor their group.
pub(super) fn strangers(scenario: &Scenario) -> Vec<String> {
    let helpers = scenario.helpers.iter().filter(|helper| helper.spawn.is_some()).map(|helper| helper.name.as_str());
    let target = scenario.target.spawn.is_some().then_some("server");
    let started: Vec<&str> = target.into_iter().chain(helpers).collect();
    let faults = scenario.faults.iter().filter(|fault| !started.contains(&fault.process.as_str())).map(|fault| {
        let process = &fault.process;
        format!(
            "a fault is for `{process}`, which the lab does not start: let it start `{process}`, or take the fault out"
        )
    });
    let limits = (target.is_none() && scenario.target.limits != TargetLimits::default()).then(|| {
        "[target.limits] hold a target that the lab starts: leave --target out, or take the limits out".to_owned()
    });
    faults.chain(limits).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::scenario::{Document, Each, Every, Fault, FaultAct};

    fn scenario() -> Scenario {
        let text = r#"
            format = 1
            name = "needs"
            summary = "Two steps"
            [target]
            url = "http://127.0.0.1:4000"
            spawn = ["server"]
            ready = "/ready"
            [[phase]]
            name = "p"
            arrivals = { batch = 5 }
            in_flight_max = 100
            journey = "visit"
            [[journey]]
            name = "visit"
            [[journey.step]]
            request = "GET /"
            [[journey.step]]
            request = "GET /more"
        "#;
        Scenario::read(&Document::parse(text).unwrap()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    /// In any case, possibly, in one moment, per second.
    #[track_caller]
    fn check(arrivals: Arrivals, reconnect: Reconnect, expected: (u64, u64, u64, f64)) {
        let mut scenario = scenario();
        (scenario.phases[0].arrivals, scenario.phases[0].reconnect) = (arrivals, reconnect);
        let needs = Needs::of(&scenario, &[], false);
        let found = (needs.connections, needs.connections_max, needs.burst, needs.connects_per_s);
        assert_eq!(found, expected, "{:?}", scenario.phases[0]);
    }

    const LASTING: Duration = Duration::from_secs(1);

    #[test]
    fn open_loops() {
        let batch = |batch| Arrivals::Batch { batch, every: Every::Done, times: 1 };
        check(batch(50), Reconnect::Never, (0, 100, 50, 0.0));
        check(batch(5_000), Reconnect::Never, (0, 100, 100, 0.0));
        let rate = Arrivals::Rate { rate_per_s: 10.0, lasting: LASTING };
        check(rate.clone(), Reconnect::Never, (0, 100, 0, 0.0));
        check(rate.clone(), Reconnect::Journey, (0, 100, 0, 10.0));
        check(rate, Reconnect::Request, (0, 100, 0, 20.0));
        let ramp = Arrivals::Ramp { from_per_s: 30.0, to_per_s: 1.0, lasting: LASTING };
        check(ramp, Reconnect::Journey, (0, 100, 0, 30.0));
    }

    #[test]
    fn closed_loops_and_held_connections() {
        let each = Each::Requests(1);
        check(Arrivals::Clients { clients: 7, each }, Reconnect::Request, (7, 7, 7, 0.0));
        let ladder = Arrivals::Ladder { levels: vec![5, 50, 20], each, pause: LASTING };
        check(ladder, Reconnect::Never, (50, 50, 50, 0.0));
        let hold =
            |open_per_s, rate_per_s| Arrivals::Hold { connections: 900, open_per_s, rate_per_s, lasting: LASTING };
        check(hold(None, None), Reconnect::Never, (900, 900, 900, 0.0));
        check(hold(Some(5.0), Some(3.0)), Reconnect::Request, (900, 900, 0, 6.0));
    }

    #[track_caller]
    fn check_place(addresses: &[&str], listed: &[&str], expected: (u64, bool)) {
        let mut scenario = scenario();
        scenario.generator.sources = listed.iter().map(|source| source.parse().unwrap()).collect();
        let addresses: Vec<SocketAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        let needs = Needs::of(&scenario, &addresses, true);
        assert_eq!((needs.sources, needs.is_loopback), expected, "{addresses:?}");
    }

    #[test]
    fn addresses() {
        check_place(&["127.0.0.1:80"], &[], (250, true));
        check_place(&["127.0.0.1:80", "[::1]:80"], &[], (1, true));
        check_place(&["127.0.0.1:80"], &["127.0.0.1", "127.0.0.2"], (2, true));
        check_place(&["203.0.113.7:80"], &[], (1, false));
        check_place(&["127.0.0.1:80", "203.0.113.7:80"], &[], (1, false));
    }

    #[test]
    fn bounds_and_memory() {
        let mut scenario = scenario();
        scenario.phases[0].arrivals = Arrivals::Clients { clients: 5_000, each: Each::Requests(1) };
        scenario.bounds.connections = 1_000;
        let needs = Needs::of(&scenario, &[], true);
        assert_eq!((needs.connections, needs.connections_max, needs.memory_bytes), (1_000, 1_000, 12_288_000));
        assert!(needs.processes_max > 1 && needs.spawns_target);
    }

    #[track_caller]
    fn check_strangers(change: impl Fn(&mut Scenario), expected: &[&str]) {
        let mut scenario = scenario();
        change(&mut scenario);
        let found = strangers(&scenario);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        found.iter().zip(expected).for_each(|(found, part)| assert!(found.contains(part), "{part} in: {found}"));
    }

    #[test]
    fn what_the_lab_does_not_start_it_neither_faults_nor_limits() {
        let fault =
            |process: &str| Fault { at: LASTING, act: FaultAct::Kill, process: process.to_owned(), lasting: None };
        let limits = TargetLimits { open_files: Some(9), ..TargetLimits::default() };
        check_strangers(|s| (s.faults, s.target.limits) = (vec![fault("server")], limits), &[]);
        check_strangers(|s| s.faults = vec![fault("server"), fault("bots")], &["a fault is for `bots`"]);
        let away = |s: &mut Scenario| {
            (s.target.spawn, s.faults, s.target.limits) = (None, vec![fault("server")], limits);
        };
        check_strangers(away, &["a fault is for `server`", "[target.limits]"]);
    }
}
