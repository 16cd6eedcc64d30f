//! What every process used. Refuses to know whose it is.

use super::{Block, Cell, Section, Table};
use crate::fold::ProcessFigures;
use crate::report::Run;
use crate::report::charts::{SeriesByName, processes};
use crate::report::words::mebibytes;

pub(super) fn section(run: &Run, series: &SeriesByName) -> Section {
    let results = &run.results;
    let generator = ProcessFigures { rss_bytes: results.generator.rss_bytes, cpu_s: results.generator.cpu_s };
    let named = [("server", &results.server.process), ("lab", &generator)];
    let others = results.processes.iter().map(|(name, process)| (name.as_str(), process));
    let rows = named.into_iter().chain(others).filter_map(|(name, process)| row(name, process)).collect();
    let table = Table::new(1, &["process", "RSS first", "RSS peak", "RSS last", "CPU s"], rows);
    let charts = processes::charts(run, series).into_iter().map(|chart| Block::Chart(Box::new(chart)));
    Section::new("processes", "Processes", [Block::Table(table)].into_iter().chain(charts).collect())
}

fn row(name: &str, process: &ProcessFigures) -> Option<Vec<Cell>> {
    let rss = process.rss_bytes?;
    let memory = [rss.first, rss.peak, rss.last].map(|bytes| Cell::from(mebibytes(bytes)));
    Some([Cell::from(name)].into_iter().chain(memory).chain([process.cpu_s.into()]).collect())
}
