//! The faults of a scenario as one list of moments. PURE. Carries nothing out.

use std::time::Duration;

use crate::scenario::{Fault, FaultAction};

/// An action on a process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduledFault {
    /// From the start of the plan.
    pub at: Duration,
    pub process: String,
    pub action: FaultAction,
}

/// Every fault as an action, plus one for its end if it has a duration, ordered by moment. At the end, a stopped
/// process continues, and one that was killed or terminated is started again.
#[must_use]
pub fn fault_schedule(faults: &[Fault]) -> Vec<ScheduledFault> {
    let mut all: Vec<ScheduledFault> = faults.iter().flat_map(scheduled_actions).collect();
    all.sort_by_key(|scheduled| scheduled.at);
    all
}

fn scheduled_actions(fault: &Fault) -> impl Iterator<Item = ScheduledFault> + use<> {
    let scheduled = |at, act| ScheduledFault { at, process: fault.process.clone(), action: act };
    let end = match fault.action {
        FaultAction::Stop => Some(FaultAction::Continue),
        FaultAction::Kill | FaultAction::Term => Some(FaultAction::Restart),
        FaultAction::Continue | FaultAction::Restart => None,
    };
    let end = fault.duration.zip(end).map(|(duration, act)| scheduled(fault.at.saturating_add(duration), act));
    [Some(scheduled(fault.at, fault.action)), end].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(faults: &[(u64, FaultAction, Option<u64>)], expected: &[(u64, &str)]) {
        let fault = |(at, act, duration): &(u64, FaultAction, Option<u64>)| Fault {
            at: Duration::from_secs(*at),
            action: *act,
            process: "server".to_owned(),
            duration: duration.map(Duration::from_secs),
        };
        let found = fault_schedule(&faults.iter().map(fault).collect::<Vec<_>>());
        let found: Vec<_> = found.iter().map(|scheduled| (scheduled.at.as_secs(), scheduled.action.name())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn faults_become_moments() {
        check(&[], &[]);
        check(&[(9, FaultAction::Kill, None)], &[(9, "kill")]);
        check(&[(9, FaultAction::Kill, Some(2))], &[(9, "kill"), (11, "restart")]);
        check(&[(9, FaultAction::Term, Some(2))], &[(9, "term"), (11, "restart")]);
        check(&[(9, FaultAction::Restart, Some(2))], &[(9, "restart")]);
        let two = [(9, FaultAction::Stop, Some(5)), (1, FaultAction::Kill, Some(10))];
        check(&two, &[(1, "kill"), (9, "stop"), (11, "restart"), (14, "continue")]);
        // Of actions at one moment, the one written first comes first.
        check(
            &[(5, FaultAction::Continue, None), (2, FaultAction::Stop, Some(3))],
            &[(2, "stop"), (5, "continue"), (5, "continue")],
        );
    }
}
