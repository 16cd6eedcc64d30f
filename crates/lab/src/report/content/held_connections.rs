//! The connections that phases held: how many were open, how long opening them took, what happened to them. Does not
//! explain losses.

use super::{ContentBlock, Section, Table, TableCell, statistics};
use crate::aggregate::HeldFigures;
use crate::measurement::HeldCounts;
use crate::report::Run;

/// What the figures of a connection are.
const OPENING_NOTE: &str = "Opening counts from the moment at which a connection was due to the moment at which it was open, its first \
                            messages included. No request is sent over any of them before all of them are open. None of it counts as a request.";

pub(super) fn section(run: &Run) -> Section {
    let mut held: Vec<(&String, &HeldFigures)> =
        run.results.phases.iter().filter_map(|(name, phase)| Some((name, phase.connections.as_ref()?))).collect();
    // In order of time: levels are ordered from the lowest to the highest.
    held.sort_by(|(_, one), (_, other)| one.from_s.total_cmp(&other.from_s));
    let held = || held.iter().copied();
    let heading = [
        "phase",
        "planned",
        "opened",
        "kept",
        "failed tries",
        "opened in, s",
        "opened/s",
        "closed by the target",
        "dropped",
        "reopened",
    ];
    let counts = Table::new(1, &heading, held().map(|(name, figures)| row(name, figures)).collect());
    let times = held().filter(|(_, figures)| figures.opening_ms.count > 0);
    let times: Vec<_> =
        times.map(|(name, figures)| statistics(format!("{name} opening"), &figures.opening_ms)).collect();
    let note = if held().next().is_some() { OPENING_NOTE.to_owned() } else { String::new() };
    let times = Table::of_statistics(&["ms"], times, Vec::new());
    let tables = [counts, between_phases(run), times].map(ContentBlock::Table);
    let blocks = tables.into_iter().chain([ContentBlock::Text(note)]);
    Section::new("connections", "Held connections", blocks)
}

/// What happened to connections between the phase that left them open and the one that took them over.
fn between_phases(run: &Run) -> Table {
    let held = |name: &str| run.results.phases.get(name)?.connections.as_ref();
    let pairs = run.results.phases.iter().filter_map(|(later, phase)| {
        let kept = phase.connections.as_ref()?;
        let earlier = kept.keeps.as_ref()?;
        let left = held(earlier)?;
        let when = left.lost_after_s.map_or_else(|| "-".to_owned(), |(from, to)| format!("{from:.0} - {to:.0}"));
        let head = [TableCell::from(format!("{earlier} to {later}")), left.counts.left.into()];
        let lost = [left.counts.closed_after, left.counts.dropped_after].map(TableCell::from);
        Some((left.counts.left, head.into_iter().chain(lost).chain([when.into(), kept.counts.kept.into()]).collect()))
    });
    let mut rows: Vec<(u64, Vec<TableCell>)> = pairs.collect();
    rows.sort_by_key(|(left, _)| *left);
    let heading = ["between", "left open", "closed by the target", "dropped", "lost at s", "kept"];
    Table::new(1, &heading, rows.into_iter().map(|(_, row)| row).collect())
}

fn row(name: &str, held: &HeldFigures) -> Vec<TableCell> {
    let HeldCounts { opened, kept, failed, closed, dropped, reopened, .. } = held.counts;
    let head = [TableCell::from(name), held.planned.into(), opened.into(), kept.into(), failed.into()];
    let times = [held.opening_s, held.opened_per_s].map(TableCell::from);
    let later = [closed, dropped, reopened].map(TableCell::from);
    head.into_iter().chain(times).chain(later).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::fixture::full;

    #[test]
    fn levels_are_in_order_of_time() {
        let mut run = full();
        let few = run.results.phases.get_mut("few").and_then(|phase| phase.connections.as_mut()).unwrap();
        few.from_s = 99.0;
        let shown = section(&run);
        let Some(ContentBlock::Table(table)) = shown.blocks.first() else { panic!("{shown:?}") };
        let names: Vec<&str> = table.rows.iter().map(|row| row[0].text.as_str()).collect();
        assert_eq!(names, ["viewers", "few"]);
    }
}
