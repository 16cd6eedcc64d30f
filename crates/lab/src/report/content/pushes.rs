//! What the target sent of its own accord: how many frames, how large, how late. Refuses to call a delay good.

use super::{Block, Cell, STATISTICS, Section, Table, statistics};
use crate::report::Run;
use crate::report::charts::SeriesByName;
use crate::report::charts::pushes::charts;
use crate::report::words::number;

/// What a delay is.
const DELAYS: &str = "Delay counts from what a frame tells of to its arrival, by the clock of the machine that both run on. \
     Where connections are held, it is taken from the moment on at which all of them stand.";

pub(super) fn section(run: &Run, series: &SeriesByName) -> Section {
    let pushes = &run.results.push;
    let count = |(name, push): (&String, &crate::aggregate::PushFigures)| {
        let rates = [push.frames_per_s, push.bytes_per_s].map(|rate| Cell::from(number(rate)));
        [Cell::from(name.as_str()), push.frames.into(), push.bytes.into()].into_iter().chain(rates).collect()
    };
    let heading = ["frames", "count", "bytes", "count/s", "bytes/s"];
    let counts = Table::new(1, &heading, pushes.iter().map(count).collect());
    let told = pushes.iter().filter(|(_, push)| push.delay_ms.count > 0);
    let delays: Vec<_> = told.map(|(name, push)| statistics(format!("{name} delay"), &push.delay_ms)).collect();
    let notes = if delays.is_empty() { String::new() } else { DELAYS.to_owned() };
    let heading: Vec<&str> = ["ms"].into_iter().chain(STATISTICS).collect();
    let delays = Table::new(1, &heading, delays).thin_noted();
    let mut blocks = vec![Block::Table(counts), Block::Table(delays), Block::Text(notes)];
    blocks.extend(charts(run, series).into_iter().map(|chart| Block::Chart(Box::new(chart))));
    Section::new("pushes", "Pushes", blocks)
}
