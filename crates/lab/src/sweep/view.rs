//! A sweep for people: the best in a sentence, one row per combination, what did not hold, and its runs. Pure. Markdown
//! and the document of the console's pages are made of the same sentences, cells and lines.

use serde::Serialize;
use serde_json::Value;

use super::record::{SweepRecord, SweepRunRecord};
use super::table::{FigureSummary, Ranking, SweepRow, SweepTable};
use crate::format::{first_few, markdown_table, number, pluralize, wrap};
use crate::report::{ContentBlock, DOCUMENT_FORMAT, Section, Table, TableCell, Tone, sanitized};
use crate::verdict::Verdict;

/// Columns that a line of text may take.
const WIDTH: usize = 80;

const MIB: f64 = 1024.0 * 1024.0;

/// The sweep as Markdown.
#[must_use]
pub(crate) fn markdown(sweep: &SweepTable) -> String {
    let mut parts = vec![format!("**{}**\n", best_sentence(sweep))];
    parts.extend(other_sentences(sweep).iter().map(|text| wrap(text, WIDTH, "") + "\n"));
    parts.push(markdown_rows(sweep));
    parts.push(notes(sweep).iter().map(|note| wrap(&format!("- {note}"), WIDTH, "  ") + "\n").collect());
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn markdown_rows(sweep: &SweepTable) -> String {
    let Table { heading, rows, .. } = combinations(sweep);
    let heading: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut rows: Vec<Vec<String>> =
        rows.iter().map(|cells| cells.iter().map(|cell| cell.text.replace('|', "\\|")).collect()).collect();
    if let Some(ranking) = sweep.best.and_then(|best| rows[best].last_mut()) {
        *ranking = format!("**{ranking}**");
    }
    markdown_table(0, &heading, &rows)
}

#[derive(Serialize)]
struct Document<'a> {
    format: u64,
    kind: &'static str,
    /// The sweep's id.
    id: &'a str,
    /// The scenario's name.
    title: &'a str,
    summary: &'a str,
    /// None while it goes on.
    verdict: Option<Verdict>,
    is_running: bool,
    target: Option<&'a str>,
    started_at: &'a str,
    duration_s: f64,
    program: &'a str,
    /// The best combination first, then what else the table shows.
    sentences: Vec<String>,
    /// How many of its runs are made.
    progress: String,
    sections: Vec<Section>,
}

/// The sweep as a document that the console's pages draw.
pub(super) fn document(record: &SweepRecord) -> Value {
    let SweepRecord { table: sweep, scenario, .. } = record;
    let facts = |id: &str, title: &str, facts: Vec<String>| Section::new(id, title, [ContentBlock::facts(facts)]);
    let mut sections = vec![
        Section::new("combinations", "Combinations", [ContentBlock::Table(combinations(sweep))]),
        facts("failing", "What did not hold", notes(sweep)),
        Section::new("runs", "Runs", [ContentBlock::Table(runs(record))]),
        facts("settings", "Settings of all runs", scenario.settings.clone()),
    ];
    sections.retain(|section| !section.blocks.is_empty());
    sanitized(&Document {
        format: DOCUMENT_FORMAT,
        kind: "sweep",
        id: &record.id,
        title: &scenario.name,
        summary: &scenario.summary,
        verdict: sweep.verdict,
        is_running: sweep.verdict.is_none(),
        target: scenario.target.as_deref(),
        started_at: &record.started_at,
        duration_s: record.duration_s,
        program: &record.program,
        sentences: [best_sentence(sweep)].into_iter().chain(other_sentences(sweep)).collect(),
        progress: progress(record),
        sections,
    })
}

/// The best, and what it cost.
fn best_sentence(sweep: &SweepTable) -> String {
    let goes_on = sweep.verdict.is_none();
    let Some(best) = sweep.best.map(|index| &sweep.rows[index]) else {
        let made: usize = sweep.rows.iter().map(|row| row.runs).sum();
        return match (made, goes_on) {
            (0, false) => "No run was made.".to_owned(),
            (0, true) => "No run is over yet.".to_owned(),
            (_, false) => "In no combination do the gates hold in every run, so none is the best.".to_owned(),
            (_, true) => "So far, in no combination do the gates hold in every run.".to_owned(),
        };
    };
    let (best_is, median) = (if goes_on { "Best so far" } else { "Best" }, number(best.objective.median));
    format!("{best_is}: {}, with {} {median}; it cost {}.", row_label(sweep, best), sweep.objective, cost(best))
}

/// What else a reader of the table must know.
fn other_sentences(sweep: &SweepTable) -> Vec<String> {
    cheaper_sentence(sweep).into_iter().chain(caveat(sweep)).collect()
}

/// What is as good as the best, and uses less of the target's CPU time.
fn cheaper_sentence(sweep: &SweepTable) -> Option<String> {
    let best = &sweep.rows[sweep.best?];
    let as_good: Vec<&SweepRow> = sweep.rows.iter().filter(|row| row.ranking == Ranking::Tied).collect();
    let cheapest = as_good.iter().filter(|row| row.cpu_s.median < best.cpu_s.median && row.cpu_s.median.is_some());
    let cheapest = cheapest.min_by(|a, b| a.cpu_s.median.unwrap_or(0.0).total_cmp(&b.cpu_s.median.unwrap_or(0.0)));
    let all = first_few(as_good.iter().map(|row| row_label(sweep, row)), "; ");
    match (as_good.as_slice(), cheapest) {
        ([], _) => None,
        ([row], Some(_)) => {
            Some(format!("As good within the noise, and cheaper: {}, at {}.", row_label(sweep, row), cost(row)))
        }
        (_, Some(row)) => {
            let name = row_label(sweep, row);
            Some(format!("As good within the noise: {all}. The cheapest is {name}, at {}.", cost(row)))
        }
        (_, None) => Some(format!("As good within the noise, and no cheaper: {all}.")),
    }
}

fn caveat(sweep: &SweepTable) -> Option<String> {
    let unknown = sweep.rows.iter().any(|row| row.ranking == Ranking::Unknown);
    let texts = [
        (sweep.verdict == Some(Verdict::Interrupted))
            .then_some("The sweep was ended before all runs were made: this is what there is."),
        // More runs may follow of one that goes on.
        (unknown && sweep.verdict.is_some()).then_some(
            "A single run of a combination does not say how far its runs scatter, so whether the others are behind the \
             best beyond the noise is not known: --repeat 3 would tell.",
        ),
    ];
    let texts: Vec<&str> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// `5 of 12 runs made: 6 combinations, in 2 rounds, 0 of them complete.`
fn progress(record: &SweepRecord) -> String {
    let (made, rounds) = (record.runs.len(), record.table.rounds);
    let combinations = pluralize(record.table.rows.len() as u64, "combination");
    let complete = if record.rounds_made == rounds { "all".to_owned() } else { record.rounds_made.to_string() };
    let rounds = match rounds {
        1 => "once each".to_owned(),
        rounds => format!("in {rounds} rounds, {complete} of them complete"),
    };
    format!("{made} of {} made: {combinations}, {rounds}.", pluralize(record.runs_planned as u64, "run"))
}

fn row_label(sweep: &SweepTable, row: &SweepRow) -> String {
    let pairs: Vec<String> = sweep.keys.iter().zip(&row.values).map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(" ")
}

fn cost(row: &SweepRow) -> String {
    let cpu = row.cpu_s.median.map(|cpu_s| format!("{} s of the target's CPU", number(Some(cpu_s))));
    let rss = row.rss_bytes.median.map(|bytes| format!("{:.1} MiB of its memory at the peak", bytes / MIB));
    let texts: Vec<String> = [cpu, rss].into_iter().flatten().collect();
    if texts.is_empty() { "an unknown cost".to_owned() } else { texts.join(" and ") }
}

/// One row per combination.
fn combinations(sweep: &SweepTable) -> Table {
    let mut heading: Vec<&str> = sweep.keys.iter().map(String::as_str).collect();
    heading.extend([sweep.objective.as_str(), "runs", "gates", "CPU, s", "RSS peak, MiB", "against the best"]);
    Table::new(sweep.keys.len(), &heading, sweep.rows.iter().map(|row| combination_cells(sweep, row)).collect())
}

fn combination_cells(sweep: &SweepTable, row: &SweepRow) -> Vec<TableCell> {
    let gates = match row.runs {
        0 => "-".into(),
        _ if row.has_passed() => TableCell::with_tone("hold", Tone::Good),
        _ if row.failures > 0 && row.passed == row.runs => TableCell::with_tone("could not run", Tone::Bad),
        1 if sweep.rounds == 1 => TableCell::with_tone("FAIL", Tone::Bad),
        runs => TableCell::with_tone(&format!("hold in {} of {runs}", row.passed), Tone::Bad),
    };
    let ranking = match row.ranking {
        Ranking::Best => TableCell::with_tone("best", Tone::Good),
        Ranking::Tied => TableCell::with_tone("as good", Tone::Good),
        Ranking::Behind => "behind".into(),
        Ranking::Unknown => "not known".into(),
        Ranking::Failed => "-".into(),
    };
    let mebibytes = |bytes: f64| format!("{:.1}", bytes / MIB);
    let plain = |value: f64| number(Some(value));
    let figures = [
        summary_cell(row.objective, &plain),
        (row.runs as u64).into(),
        gates,
        summary_cell(row.cpu_s, &plain),
        summary_cell(row.rss_bytes, &mebibytes),
        ranking,
    ];
    row.values.iter().map(|value| value.as_str().into()).chain(figures).collect()
}

/// The median, with the range if there is one.
fn summary_cell(figure: FigureSummary, text: &dyn Fn(f64) -> String) -> TableCell {
    match (figure.median, figure.range) {
        (None, _) => "-".into(),
        (Some(median), None) => text(median).into(),
        (Some(median), Some((low, high))) => format!("{} ({} .. {})", text(median), text(low), text(high)).into(),
    }
}

/// What did not hold, combination by combination.
fn notes(sweep: &SweepTable) -> Vec<String> {
    let of = |row: &SweepRow| {
        let name = row_label(sweep, row);
        row.notes.iter().map(move |note| format!("{name}: {note}")).collect::<Vec<_>>()
    };
    sweep.rows.iter().flat_map(of).collect()
}

/// Its runs in the order in which they were made; last the one that goes on, or that was cut off with the sweep.
fn runs(record: &SweepRecord) -> Table {
    let sweep = &record.table;
    let cells = |run: &SweepRunRecord| {
        let verdict = match (run.verdict, &run.failure) {
            (Some(Verdict::Passed), _) => TableCell::with_tone("passed", Tone::Good),
            (Some(Verdict::Failed), _) => TableCell::with_tone("failed", Tone::Bad),
            (Some(Verdict::Void), _) => TableCell::with_tone("void", Tone::Doubtful),
            (Some(Verdict::Interrupted), _) => TableCell::with_tone("interrupted", Tone::Doubtful),
            (None, Some(_)) => TableCell::with_tone("could not run", Tone::Bad),
            (None, None) if sweep.verdict.is_none() => "goes on".into(),
            (None, None) => TableCell::with_tone("cut off", Tone::Doubtful),
        };
        let name = run.id.as_deref().map_or_else(|| "-".into(), TableCell::run);
        let label = sweep.rows.get(run.combination).map(|row| row_label(sweep, row)).unwrap_or_default();
        vec![name, label.into(), verdict, (run.round as u64 + 1).into(), run.objective.into()]
    };
    let rows = record.runs.iter().chain(&record.running).map(cells).collect();
    Table::new(3, &["run", "combination", "verdict", "round", sweep.objective.as_str()], rows)
}
