//! The server's own totals, before and after the load, and where they differ from what the lab counted. Does not know
//! how a total is read from a response.

use std::time::Duration;

use super::prepare::read_all_totals;
use super::run_context::RunContext;
use crate::aggregate::TotalsFigures;
use crate::work::reconcile;

/// Reads of the server's totals before a difference counts: a counter may lag behind the work it counts.
const RECONCILE_ATTEMPTS: usize = 3;

/// The interval between such reads.
const RECONCILE_EVERY: Duration = Duration::from_secs(1);

/// By how much the server's totals rose, for each kind of work.
pub(super) async fn totals_increase(context: &RunContext, now: Duration) -> Vec<Option<TotalsFigures>> {
    let mut rises = vec![None; context.scenario.work_specs.len()];
    for attempt in 0..RECONCILE_ATTEMPTS {
        if attempt > 0 {
            tokio::time::sleep(RECONCILE_EVERY).await;
        }
        let after = read_all_totals(&context.scenario, &context.prepared.target).await;
        let Ok(after) = after else { continue };
        let rise = |(after, before): (Option<TotalsFigures>, &Option<TotalsFigures>)| Some(after?.since((*before)?));
        rises = after.into_iter().zip(&context.prepared.totals).map(rise).collect();
        if mismatches(context, now, &rises).is_empty() {
            break;
        }
    }
    rises
}

/// Where the server's totals and the lab's differ, each in a sentence.
pub(super) fn mismatches(context: &RunContext, now: Duration, rises: &[Option<TotalsFigures>]) -> Vec<String> {
    let mut found = Vec::new();
    for (index, work) in context.scenario.work_specs.iter().enumerate() {
        let Some(totals) = &work.totals else { continue };
        let figures = context.trackers.tracker(index).figures(now, rises[index]);
        if figures.unknown > 0 {
            let work_items = format!("{} {}: the server does not know them", work.name, figures.unknown);
            found.push(format!("{work_items}, and had answered for their creation"));
        }
        found.extend(reconcile(totals, &figures).into_iter().map(|mismatch| {
            let server = mismatch.server.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
            format!("{} {}: lab {}, server {server}", work.name, mismatch.count, mismatch.lab)
        }));
    }
    found
}
