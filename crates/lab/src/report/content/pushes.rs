//! What the target pushed: how many frames, how large, how late. Does not evaluate delays.

use super::{ContentBlock, Section, Table, TableCell, statistics};
use crate::format::number;
use crate::report::Run;
use crate::report::charts::TimeCharts;
use crate::report::charts::pushes::charts;

/// What a delay is.
const DELAY_NOTE: &str = "Delay counts from the event that a frame reports to its arrival, by the clock of the machine that both run on. \
     Where connections are held, it is taken from the moment on at which all of them are open.";

pub(super) fn section(run: &Run, sheet: &TimeCharts<'_>) -> Section {
    let pushes = &run.results.push;
    let count = |(name, push): (&String, &crate::aggregate::PushFigures)| {
        let rates = [push.frames_per_s, push.bytes_per_s].map(|rate| TableCell::from(number(rate)));
        [TableCell::from(name.as_str()), push.frames.into(), push.bytes.into()].into_iter().chain(rates).collect()
    };
    let heading = ["frames", "count", "bytes", "count/s", "bytes/s"];
    let counts = Table::new(1, &heading, pushes.iter().map(count).collect());
    let told = pushes.iter().filter(|(_, push)| push.delay_ms.count > 0);
    let delays: Vec<_> = told.map(|(name, push)| statistics(format!("{name} delay"), &push.delay_ms)).collect();
    let notes = if delays.is_empty() { String::new() } else { DELAY_NOTE.to_owned() };
    let delays = Table::of_statistics(&["ms"], delays, Vec::new());
    let blocks = [ContentBlock::Table(counts), ContentBlock::Table(delays), ContentBlock::Text(notes)];
    Section::new("pushes", "Pushes", blocks.into_iter().chain(ContentBlock::charts(charts(sheet))))
}
