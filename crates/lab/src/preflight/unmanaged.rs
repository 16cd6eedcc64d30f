//! Faults and limits of a scenario for processes that the lab does not start. PURE. Does not inspect processes.

use super::PreflightIssue;
use crate::scenario::{Scenario, TargetLimits};

/// Faults and limits for processes that already run: the lab has neither their command nor their group.
#[must_use]
pub fn unmanaged_process_issues(scenario: &Scenario) -> Vec<PreflightIssue> {
    let helpers = scenario.helpers.iter().filter(|helper| helper.spawn.is_some()).map(|helper| helper.name.as_str());
    let target = scenario.target.spawn.is_some().then_some("server");
    let started: Vec<&str> = target.into_iter().chain(helpers).collect();
    let strange = scenario.faults.iter().filter(|fault| !started.contains(&fault.process.as_str()));
    let faults = strange.map(|fault| {
        let process = &fault.process;
        format!(
            "a fault is for `{process}`, which the lab does not start: let it start `{process}`, or take the fault out"
        )
    });
    let limits = (target.is_none() && scenario.target.limits != TargetLimits::default()).then(|| {
        "[target.limits] hold a target that the lab starts: leave --target out, or take the limits out".to_owned()
    });
    faults.chain(limits).map(PreflightIssue::Refusal).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::scenario::{Document, Fault, FaultAction};

    fn scenario() -> Scenario {
        let text = r#"
            format = 1
            name = "faults"
            summary = "One step"
            [target]
            url = "http://127.0.0.1:4000"
            spawn = ["server"]
            ready = "/ready"
            [[phase]]
            name = "p"
            arrivals = { batch = 5 }
            in_flight_max = 5
            journey = "visit"
            [[journey]]
            name = "visit"
            [[journey.step]]
            request = "GET /"
        "#;
        Scenario::read(&Document::parse(text).unwrap()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    #[track_caller]
    fn check(change: impl Fn(&mut Scenario), expected: &[&str]) {
        let mut scenario = scenario();
        change(&mut scenario);
        let found = unmanaged_process_issues(&scenario);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, part) in found.iter().zip(expected) {
            assert!(found.is_refusal() && found.message().contains(part), "{part} in: {found:?}");
        }
    }

    #[test]
    fn unmanaged_processes_get_neither_faults_nor_limits() {
        let at = Duration::from_secs(1);
        let fault =
            |process: &str| Fault { at, action: FaultAction::Kill, process: process.to_owned(), duration: None };
        let limits = TargetLimits { open_files: Some(9), ..TargetLimits::default() };
        check(|s| (s.faults, s.target.limits) = (vec![fault("server")], limits), &[]);
        check(|s| s.faults = vec![fault("server"), fault("bots")], &["a fault is for `bots`"]);
        let away = |s: &mut Scenario| {
            (s.target.spawn, s.faults, s.target.limits) = (None, vec![fault("server")], limits);
        };
        check(away, &["a fault is for `server`", "[target.limits]"]);
    }
}
