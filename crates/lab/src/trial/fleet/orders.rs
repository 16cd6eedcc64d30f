//! The faults of a scenario as one list of moments. PURE. Refuses to carry anything out.

use std::time::Duration;

use crate::scenario::{Fault, FaultAct};

/// Something to do to a process at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// From the start of the plan.
    pub at: Duration,
    /// To whom.
    pub process: String,
    /// What.
    pub act: FaultAct,
}

/// Every fault as its order, and one for its end where it lasts for a time, by moment. A stopped process goes on,
/// one that was killed or told to end starts again.
#[must_use]
pub fn orders(faults: &[Fault]) -> Vec<Order> {
    let mut all: Vec<Order> = faults.iter().flat_map(of_fault).collect();
    all.sort_by_key(|order| order.at);
    all
}

fn of_fault(fault: &Fault) -> impl Iterator<Item = Order> + use<> {
    let order = |at, act| Order { at, process: fault.process.clone(), act };
    let end = match fault.act {
        FaultAct::Stop => Some(FaultAct::Continue),
        FaultAct::Kill | FaultAct::Term => Some(FaultAct::Restart),
        FaultAct::Continue | FaultAct::Restart => None,
    };
    let end = fault.lasting.zip(end).map(|(lasting, act)| order(fault.at.saturating_add(lasting), act));
    [Some(order(fault.at, fault.act)), end].into_iter().flatten()
}

/// The word that stands in records.
pub(super) fn word(act: FaultAct) -> &'static str {
    match act {
        FaultAct::Kill => "kill",
        FaultAct::Stop => "stop",
        FaultAct::Continue => "continue",
        FaultAct::Term => "term",
        FaultAct::Restart => "restart",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(faults: &[(u64, FaultAct, Option<u64>)], expected: &[(u64, &str)]) {
        let fault = |(at, act, lasting): &(u64, FaultAct, Option<u64>)| Fault {
            at: Duration::from_secs(*at),
            act: *act,
            process: "server".to_owned(),
            lasting: lasting.map(Duration::from_secs),
        };
        let found = orders(&faults.iter().map(fault).collect::<Vec<_>>());
        let found: Vec<_> = found.iter().map(|order| (order.at.as_secs(), word(order.act))).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn faults_become_moments() {
        check(&[], &[]);
        check(&[(9, FaultAct::Kill, None)], &[(9, "kill")]);
        check(&[(9, FaultAct::Kill, Some(2))], &[(9, "kill"), (11, "restart")]);
        check(&[(9, FaultAct::Term, Some(2))], &[(9, "term"), (11, "restart")]);
        check(&[(9, FaultAct::Restart, Some(2))], &[(9, "restart")]);
        let two = [(9, FaultAct::Stop, Some(5)), (1, FaultAct::Kill, Some(10))];
        check(&two, &[(1, "kill"), (9, "stop"), (11, "restart"), (14, "continue")]);
        // Of one moment, what was written first comes first.
        check(
            &[(5, FaultAct::Continue, None), (2, FaultAct::Stop, Some(3))],
            &[(2, "stop"), (5, "continue"), (5, "continue")],
        );
    }
}
