//! The requests: how many, how they ended, how long they took. Does not evaluate the times.

use super::{ContentBlock, Section, Table, TableCell, statistics};
use crate::aggregate::OpFigures;
use crate::report::Run;
use crate::report::charts::{TimeCharts, requests};

/// What the two times of a request are.
const TIMES_NOTE: &str = "Latency counts from the intended moment, service time from the moment of sending; both of successful \
                          responses only. A response that was waited for has neither: what counts is how late it came.";

pub(super) fn section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let mut ops: Vec<(String, &OpFigures)> = Vec::new();
    for (name, journey) in &run.results.journeys {
        ops.push((name.clone(), &journey.op));
        ops.extend(journey.steps.iter().map(|(step, op)| (format!("- {step}"), op)));
    }
    if ops.is_empty() {
        return Section::new("requests", "Requests", []);
    }
    let note = ContentBlock::Text(TIMES_NOTE.to_owned());
    let blocks = [ContentBlock::Table(counts(run, &ops)), ContentBlock::Table(times(&ops)), note];
    Section::new("requests", "Requests", blocks.into_iter().chain(ContentBlock::charts(requests::charts(sheet))))
}

fn counts(run: &Run, ops: &[(String, &OpFigures)]) -> Table {
    let row = |(name, op): &(String, &OpFigures)| {
        let not_sent = run.results.journeys.get(name).map_or(0, |journey| journey.not_sent);
        let counts = [op.count, op.ok, op.denied, op.errors, op.retries].map(TableCell::from);
        [TableCell::from(name.as_str())].into_iter().chain(counts).chain([TableCell::unless_zero(not_sent)]).collect()
    };
    let heading = ["journey", "count", "ok", "denied", "errors", "repeats", "not sent"];
    Table::new(1, &heading, ops.iter().map(row).collect()).without_empty_columns()
}

fn times(ops: &[(String, &OpFigures)]) -> Table {
    let rows = ops.iter().flat_map(|(name, op)| {
        let failed = (op.failed_ms.count > 0).then(|| statistics("· until denied or failed".to_owned(), &op.failed_ms));
        let good = match &op.waited_ms {
            None => [
                Some(statistics(format!("{name} latency"), &op.latency_ms)),
                Some(statistics("· service time".to_owned(), &op.service_ms)),
            ],
            Some(waited) => [
                Some(statistics(format!("{name} waited"), waited)),
                op.wake_ms.as_ref().map(|wake| statistics("· from what happened to its arrival".to_owned(), wake)),
            ],
        };
        good.into_iter().flatten().chain(failed)
    });
    Table::of_statistics(&["ms"], rows.collect(), Vec::new())
}
