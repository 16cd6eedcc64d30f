//! What faults did: arrivals that were lost or answered late in the time in which each of them was felt (`disturbance`).

use super::Candidate;
use super::disturbance::Disturbance;
use super::format::{moment, pluralize, share};
use super::series::{TimeRanges, area};
use super::view::RunView;

/// Faults that are listed one by one.
const LISTED_MAX: usize = 5;

pub(super) fn candidates(view: &RunView<'_>) -> Vec<Candidate> {
    let mut felt: Vec<&Disturbance<'_>> = view.disturbances.iter().filter(|one| one.is_material()).collect();
    felt.sort_by(|a, b| b.duration_s().total_cmp(&a.duration_s()));
    let Some(worst) = felt.first() else { return Vec::new() };
    let load_steps = view.input.load_steps;
    let not_sent: u64 = felt.iter().map(|one| one.not_sent(load_steps)).max().unwrap_or(0);
    let arrivals = view.arrivals();
    // Each arrival is lost once, however many faults were active.
    let errors: f64 = felt.iter().map(|one| one.errors).sum();
    let together = TimeRanges::new(felt.iter().map(|one| one.seconds));
    let at_most: f64 = view.ops.iter().filter_map(|op| Some(area(op.errors?, &together).0)).sum();
    let lost = errors.min(at_most).round() as u64 + not_sent;
    let lost_share = lost as f64 / (arrivals.ended + not_sent).max(1) as f64;
    let sentence = format!(
        "`{}` of {} at {} had an effect: {}.",
        worst.fault.act,
        worst.fault.process,
        moment(worst.fault.t_s),
        worst.sentence(load_steps)
    );
    let code = if lost > 0 { "errors_after_fault" } else { "late_after_fault" };
    let listed = felt.iter().take(LISTED_MAX).map(|one| {
        let fault = format!("fault {} {} at {}", one.fault.act, one.fault.process, moment(one.fault.t_s));
        (fault, one.sentence(load_steps))
    });
    let all = match lost {
        0 => "every arrival was answered".to_owned(),
        lost => {
            let lost = pluralize(lost, "arrival");
            format!("{lost} without a successful response, {} of all arrivals", share(lost_share))
        }
    };
    let refuted_by = "The same load without the fault shows the same effect at the same moment.";
    let advice = "Check what clients saw in that time, and whether a retry with the same key would have been enough.";
    let case = Candidate::new(code, lost_share, sentence).all_evidence(listed).evidence("load", all);
    vec![case.with_advice(refuted_by, advice)]
}
