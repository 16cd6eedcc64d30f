//! The content of a report in order, independent of its form: every view is made from these sections, so that no two of
//! them can disagree. Pure. Contains nothing that was not measured.

mod capacity;
mod conditions;
mod findings;
mod gates;
mod held_connections;
mod load_steps;
mod processes;
mod requests;
mod time_charts;
mod work;

use serde::Serialize;

use super::Run;
use super::chart::{Heatmap, HeatmapByName, SeriesChart};
use crate::aggregate::{Series, Statistics};
use crate::format;
use std::collections::BTreeMap;
use time_charts::TimeCharts;

pub(crate) use conditions::{flatten_config, setting_text};
pub(super) use findings::{finding_sentences, findings_title};
pub(super) use gates::failing_gates;

/// A part of a report with its own title.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Section {
    /// Its name in links.
    pub id: String,
    pub title: String,
    pub blocks: Vec<ContentBlock>,
}

/// What a section is made of.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", content = "content", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    /// A title inside the section.
    Heading(String),
    Text(String),
    List(Vec<ListItem>),
    Table(Table),
    /// Only for views that can draw.
    Chart(Box<SeriesChart>),
    /// The same.
    Heatmap(Heatmap),
}

/// What a run showed over time; empty for a view that cannot draw.
#[derive(Debug, Default)]
pub struct OverTime {
    /// Figures by their names on the timeline: `op.create_game.ok_per_s`, `load.in_flight`.
    pub(in crate::report) series: BTreeMap<String, Series>,
    pub(in crate::report) heatmaps: HeatmapByName,
}

/// A line of a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ListItem {
    pub text: String,
    /// A text from outside, verbatim.
    pub quoted: Option<String>,
}

/// Rows under a heading.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Table {
    /// This many columns from the left hold text, the others numbers.
    pub text_columns: usize,
    /// The column that names the row.
    pub name_column: usize,
    pub heading: Vec<String>,
    pub rows: Vec<Vec<TableCell>>,
    /// What a reader of the table must know.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TableCell {
    pub text: String,
    pub tone: Tone,
    /// The length of a bar, in percent, for views that can draw one instead of the text.
    pub bar: Option<u8>,
    /// The run that the text names, for views that can link to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// The tone of a cell. The text says the same: no reader depends on colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Tone {
    Plain,
    Good,
    Bad,
    Doubtful,
}

/// The whole content of a report. Charts are made of what the run showed over time; a view that cannot draw passes nothing.
pub(super) fn sections(run: &Run, over_time: &OverTime) -> Vec<Section> {
    let sheet = &TimeCharts::new(run, over_time);
    let mut sections = vec![
        gates::section(run),
        requests::section(run, sheet),
        held_connections::section(run),
        requests::push_section(run, sheet),
        load_steps::section(run),
    ];
    sections.extend(capacity::sections(run));
    sections.extend(work::sections(run, sheet));
    sections.extend([
        findings::section(run, sheet),
        findings::faults(run),
        findings::errors(run),
        processes::section(run, sheet),
        conditions::section(run, sheet),
        conditions::configuration(run),
    ]);
    sections.retain(|section| !section.blocks.is_empty());
    sections
}

impl Section {
    pub(crate) fn new(id: &str, title: &str, blocks: impl IntoIterator<Item = ContentBlock>) -> Self {
        let blocks = blocks.into_iter().filter(|block| !block.is_empty()).collect();
        Self { id: id.to_owned(), title: title.to_owned(), blocks }
    }
}

impl ContentBlock {
    pub(crate) fn facts(facts: Vec<String>) -> Self {
        Self::List(facts.into_iter().map(|text| ListItem { text, quoted: None }).collect())
    }

    fn charts(charts: impl IntoIterator<Item = SeriesChart>) -> impl Iterator<Item = Self> {
        charts.into_iter().map(|chart| Self::Chart(Box::new(chart)))
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Heading(text) | Self::Text(text) => text.is_empty(),
            Self::List(items) => items.is_empty(),
            Self::Table(table) => table.rows.is_empty(),
            Self::Chart(_) | Self::Heatmap(_) => false,
        }
    }
}

impl Table {
    pub(crate) fn new(left: usize, heading: &[&str], rows: Vec<Vec<TableCell>>) -> Self {
        let heading = heading.iter().map(|text| (*text).to_owned()).collect();
        Self { text_columns: left, name_column: 0, heading, rows, notes: Vec::new() }
    }

    fn with_name_column(self, column: usize) -> Self {
        Self { name_column: column, ..self }
    }

    /// Of rows that end with [`statistics`]; explains the dash for thin percentiles, if a row has one.
    fn of_statistics(heading: &[&str], rows: Vec<Vec<TableCell>>, mut notes: Vec<String>) -> Self {
        let is_thin = |row: &Vec<TableCell>| {
            let times = &row[row.len().saturating_sub(4)..];
            times.iter().any(|cell| cell.text == "-") && times.iter().any(|cell| cell.text != "-")
        };
        notes.extend(rows.iter().any(is_thin).then(|| THIN_NOTE.to_owned()));
        Self::new(1, &[heading, &STATISTIC_NAMES[..]].concat(), rows).with_notes(notes)
    }

    pub(crate) fn with_notes(self, notes: Vec<String>) -> Self {
        Self { notes, ..self }
    }

    /// Without the columns that are empty in every row.
    fn without_empty_columns(mut self) -> Self {
        let says = |column: usize| self.rows.iter().any(|row| !matches!(row[column].text.as_str(), "" | "-"));
        let keep: Vec<bool> =
            (0..self.heading.len()).map(|column| column <= self.name_column || says(column)).collect();
        self.text_columns = keep[..self.text_columns].iter().filter(|keep| **keep).count();
        let mut columns = keep.iter().cycle();
        self.heading.retain(|_| columns.next() == Some(&true));
        self.rows.iter_mut().for_each(|row| row.retain(|_| columns.next() == Some(&true)));
        self
    }

    /// At most this many rows: the first and the last ones, and a note about those between.
    fn limit_rows(mut self, rows_max: usize) -> Self {
        if self.rows.len() > rows_max {
            let cut = self.rows.len() - rows_max;
            self.rows.drain(rows_max / 2..rows_max / 2 + cut);
            self.notes
                .push(format!("{} rows in the middle are left out; run.json has all.", format::count(cut as u64)));
        }
        self
    }
}

impl TableCell {
    /// A count that is unusual if it is not zero.
    fn unless_zero(count: u64) -> Self {
        if count > 0 { count.into() } else { "-".into() }
    }

    pub(crate) fn with_tone(text: &str, tone: Tone) -> Self {
        Self { text: format::sanitize(text), tone, bar: None, run: None }
    }

    /// The name of a run, which views may link to it.
    pub(crate) fn run(id: &str) -> Self {
        Self { run: Some(id.to_owned()), ..id.into() }
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        Self::with_tone(&text, Tone::Plain)
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<u64> for TableCell {
    fn from(number: u64) -> Self {
        format::count(number).into()
    }
}

impl From<Option<f64>> for TableCell {
    fn from(number: Option<f64>) -> Self {
        format::number(number).into()
    }
}

/// The heading over the cells of [`statistics`].
const STATISTIC_NAMES: [&str; 5] = ["avg", "p50", "p95", "p99", "max"];

/// What a dash means in a row with other times.
const THIN_NOTE: &str = "A dash: too few for this percentile. p50 needs 2, p95 needs 20, p99 needs 100.";

fn statistics(name: String, figures: &Statistics) -> Vec<TableCell> {
    let values = [figures.avg, figures.p50, figures.p95, figures.p99, figures.max];
    [TableCell::from(name)].into_iter().chain(values.map(TableCell::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize) -> Table {
        let rows = (0..rows).map(|row| vec![TableCell::from(row.to_string()), "-".into(), TableCell::from(row as u64)]);
        Table::new(2, &["row", "silent", "n"], rows.collect())
    }

    /// Which of p50, p95 and p99 are shown for this many samples.
    #[track_caller]
    fn check_thin(count: u64, shown: [bool; 3]) {
        let row = statistics("a".to_owned(), &Statistics::of(count, [7.5; 4], |_| 7.5));
        assert_eq!([2, 3, 4].map(|position: usize| row[position].text == "7.50"), shown, "{count}");
        assert!([2, 3, 4].iter().all(|position| ["7.50", "-"].contains(&row[*position].text.as_str())));
        assert!(row[1].text == "7.50" && row[5].text == "7.50");
        let notes = Table::of_statistics(&[], vec![row], Vec::new()).notes;
        assert_eq!(!notes.is_empty(), shown.contains(&false));
    }

    #[test]
    fn percentiles_of_too_few_are_not_shown() {
        check_thin(1, [false, false, false]);
        check_thin(2, [true, false, false]);
        check_thin(19, [true, false, false]);
        check_thin(20, [true, true, false]);
        check_thin(99, [true, true, false]);
        check_thin(100, [true, true, true]);
        // An empty row needs no explanation.
        let none = statistics("a".to_owned(), &Statistics::default());
        assert!(Table::of_statistics(&[], vec![none], Vec::new()).notes.is_empty());
    }

    #[test]
    fn an_empty_column_is_left_out() {
        let table = table(2).without_empty_columns();
        assert_eq!((table.text_columns, table.heading.as_slice()), (1, &["row".to_owned(), "n".to_owned()][..]));
        assert!(table.rows.iter().all(|row| row.len() == 2));
    }

    #[test]
    fn long_tables_note_what_they_leave_out() {
        let cut = table(1000).limit_rows(10);
        let names: Vec<&str> = cut.rows.iter().map(|row| row[0].text.as_str()).collect();
        assert_eq!(names, ["0", "1", "2", "3", "4", "995", "996", "997", "998", "999"]);
        assert!(cut.notes[0].starts_with("990 rows"));
        assert!(table(10).limit_rows(10).notes.is_empty());
    }
}
