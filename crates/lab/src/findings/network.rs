//! What the machine's network dropped before any program received it: packets for which a CPU's backlog had no room,
//! and connections for which a listener's queue had none. Does not know whose packets they were: the machine counts all
//! of them together.

use super::Candidate;
use super::format::{count, pluralize};
use super::refusals::errors_matching;
use super::series::sum_of_counts;
use super::thresholds::{PACKETS_DROPPED_MIN, SYN_RETRANSMIT_MS};
use super::view::RunView;
use crate::aggregate::Statistics;

/// Error texts of a connection whose packets were lost for too long, or that was never accepted.
const LOST_CONNECTION_TEXTS: [&str; 5] = ["reset by peer", "os error 104", "was lost", "no answer within", "timed out"];

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    [packet_backlog(view), accept_queue(view)].into_iter().flatten().collect()
}

/// A CPU had more packets waiting than its backlog holds. Kernel timers that fire together are enough: each idle
/// connection sends keepalive probes, and three lost probes end it.
fn packet_backlog(view: &RunView<'_>) -> Option<Candidate> {
    let dropped = sum_of_figure(view, "machine.packets_dropped").filter(|sum| *sum >= PACKETS_DROPPED_MIN)?;
    let sentence = format!(
        "The machine dropped {}, because more arrived at the same time than a CPU's backlog holds.",
        pluralize(dropped as u64, "packet")
    );
    let timed_out = sum_of_figure(view, "machine.timed_out").filter(|sum| *sum > 0.0);
    let timed_out = timed_out.map(|sum| format!("{} ended by timeout", pluralize(sum as u64, "connection")));
    let case = lost_connections_case(view, "packets_dropped", sentence)
        .evidence("machine.packets_dropped", pluralize(dropped as u64, "packet"))
        .evidence("machine.timed_out", timed_out);
    let refuted_by = "With a larger net.core.netdev_max_backlog nothing is dropped, and as many connections are lost.";
    let advice = "Raise net.core.netdev_max_backlog, or let idle connections send keepalive probes less often.";
    Some(case.with_advice(refuted_by, advice))
}

/// A listener had more connections waiting to be accepted than its queue holds. The machine counts those of all
/// programs: if nothing of this trial failed or came a retransmission late, it was another program's queue.
fn accept_queue(view: &RunView<'_>) -> Option<Candidate> {
    let refused = sum_of_figure(view, "machine.listen_overflows").filter(|sum| *sum > 0.0 && has_impact(view))?;
    let connections = pluralize(refused as u64, "connection");
    let sentence = format!(
        "A listener's queue was full: {connections} arrived while it held the maximum number of connections that were not accepted yet."
    );
    let case = lost_connections_case(view, "accept_queue_full", sentence).evidence(
        "machine.listen_overflows",
        format!("{} on this machine, of the target or another program", count(refused as u64)),
    );
    let refuted_by =
        "With a longer queue (the listener's backlog, net.core.somaxconn) as many connections are refused.";
    let advice = "Spread connections more evenly, lengthen the listener's queue, or accept them sooner.";
    Some(case.with_advice(refuted_by, advice))
}

/// Whether anything failed, or took as long as a connection whose first packet was lost.
fn has_impact(view: &RunView<'_>) -> bool {
    let is_late = |times: &Statistics| times.max.is_some_and(|max| max >= SYN_RETRANSMIT_MS);
    let results = view.input.results;
    let has_failed = results.journeys.values().any(|journey| journey.op.errors > 0);
    // The duration of a paced journey depends on the journey itself.
    let whole = results.journeys.values().filter(|journey| !journey.paced).map(|journey| &journey.op);
    let mut ops = whole.chain(results.journeys.values().flat_map(|journey| journey.steps.values()));
    let mut held = results.phases.values().filter_map(|phase| phase.connections.as_ref());
    has_failed
        || ops.any(|op| op.errors > 0 || is_late(&op.latency_ms))
        || held.any(|held| held.counts.failed > 0 || is_late(&held.opening_ms))
}

/// What was lost, as far as errors show it.
fn lost_connections_case(view: &RunView<'_>, code: &str, sentence: String) -> Candidate {
    let (errors, groups) = errors_matching(view, &LOST_CONNECTION_TEXTS);
    Candidate::new(code, view.arrivals().share(errors), sentence).error_evidence(&groups)
}

fn sum_of_figure(view: &RunView<'_>, figure: &str) -> Option<f64> {
    view.series(figure).map(sum_of_counts)
}
