//! A sweep for people: the best in a sentence, one row per combination, and what did not hold. Pure.

use super::table::{FigureSummary, Ranking, SweepRow, SweepTable};
use crate::format::{first_few, markdown_table, number, wrap};

/// Columns that a line of text may take.
const WIDTH: usize = 80;

const MIB: f64 = 1024.0 * 1024.0;

/// The sweep as Markdown.
#[must_use]
pub(crate) fn markdown(sweep: &SweepTable) -> String {
    let mut parts = vec![format!("**{}.**\n", best_sentence(sweep))];
    parts.extend(cheaper_sentence(sweep).map(|text| wrap(&text, WIDTH, "") + "\n"));
    parts.extend(caveat(sweep).map(|text| wrap(&text, WIDTH, "") + "\n"));
    parts.push(rows(sweep));
    parts.push(notes(sweep));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// The best, and what it cost.
fn best_sentence(sweep: &SweepTable) -> String {
    let Some(best) = sweep.best.map(|index| &sweep.rows[index]) else {
        let made: usize = sweep.rows.iter().map(|row| row.runs).sum();
        return match made {
            0 => "No run was made".to_owned(),
            _ => "In no combination do the gates hold in every run, so none is the best".to_owned(),
        };
    };
    let median = number(best.objective.median);
    format!("Best: {}, with {} {median}; it cost {}", row_label(sweep, best), sweep.objective, cost(best))
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
        sweep.interrupted.then_some("The sweep was ended before all runs were made: this is what there is."),
        unknown.then_some(
            "A single run of a combination does not say how far its runs scatter, so whether the others are behind the \
             best beyond the noise is not known: --repeat 3 would tell.",
        ),
    ];
    let texts: Vec<&str> = texts.into_iter().flatten().collect();
    (!texts.is_empty()).then(|| texts.join(" "))
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

fn rows(sweep: &SweepTable) -> String {
    let mut heading: Vec<&str> = sweep.keys.iter().map(String::as_str).collect();
    heading.extend([sweep.objective.as_str(), "gates", "CPU, s", "RSS peak, MiB", ""]);
    let rows: Vec<Vec<String>> = sweep.rows.iter().map(|row| cells(sweep, row)).collect();
    markdown_table(0, &heading, &rows)
}

fn cells(sweep: &SweepTable, row: &SweepRow) -> Vec<String> {
    let gates = match row.runs {
        0 => "-".to_owned(),
        1 if sweep.repeats == 1 => if row.has_passed() { "hold" } else { "FAIL" }.to_owned(),
        runs => format!("hold in {} of {runs}", row.passed),
    };
    let word = match row.ranking {
        Ranking::Best => "**best**",
        Ranking::Tied => "as good",
        Ranking::Behind => "behind",
        Ranking::Unknown | Ranking::Failed => "",
    };
    let mebibytes = |bytes: f64| format!("{:.1}", bytes / MIB);
    let plain = |value: f64| number(Some(value));
    let figures =
        [cell(row.objective, &plain), gates, cell(row.cpu_s, &plain), cell(row.rss_bytes, &mebibytes), word.to_owned()];
    row.values.iter().map(|value| value.replace('|', "\\|")).chain(figures).collect()
}

/// The median, with the range if there is one.
fn cell(cell: FigureSummary, text: &dyn Fn(f64) -> String) -> String {
    match (cell.median, cell.range) {
        (None, _) => "-".to_owned(),
        (Some(median), None) => text(median),
        (Some(median), Some((low, high))) => format!("{} ({} .. {})", text(median), text(low), text(high)),
    }
}

fn notes(sweep: &SweepTable) -> String {
    let of = |row: &SweepRow| {
        let name = row_label(sweep, row);
        row.notes.iter().map(|note| wrap(&format!("- {name}: {note}"), WIDTH, "  ") + "\n").collect::<String>()
    };
    sweep.rows.iter().map(of).collect()
}
