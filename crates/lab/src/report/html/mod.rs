//! `report.html`: the record as one page that opens anywhere, offline. The console's own components draw it from the
//! document inside; the same gates, figures and tables stand in the page for readers without JavaScript, and they are all
//! of it where the program was built without npm. Pure. Does not choose the content: it lays out the sections of every view.

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html as markup};
use sha2::{Digest as _, Sha256};

use super::Run;
use super::chart::SeriesChart;
use super::content::{
    ContentBlock, OverTime, Section, Table, TableCell, Tone, failing_gates, finding_sentences, findings_title, sections,
};
use super::document::{document, escaped_json};
use super::headline::headline;
use crate::format::sanitize_lines;
use crate::verdict::Verdict;

/// The look of a page that was not made of the console's components.
const STYLE: &str = include_str!("style.css");

/// Characters from which a text cell gets more room.
const LONG: usize = 16;

/// The page of a run.
#[must_use]
pub fn html(run: &Run, over_time: &OverTime) -> String {
    let body = sanitize_lines(&static_body(run, over_time).into_string());
    let title = sanitize_lines(&markup! { (run.scenario.name) ": " (run.verdict.name()) " · Gauntlet" }.into_string());
    let data = || escaped_json(&document(run, over_time, false));
    let filled = pages::report_template().and_then(|template| fill(&template, [&title, &body, &data()]));
    filled.unwrap_or_else(|| static_page(&title, &body))
}

/// The template with its three slots filled, in their order; none if it does not have them.
fn fill(template: &str, contents: [&str; 3]) -> Option<String> {
    let mut page = String::with_capacity(template.len() + contents.map(str::len).iter().sum::<usize>());
    let mut rest = template;
    for (slot, content) in pages::REPORT_SLOTS.into_iter().zip(contents) {
        let (before, after) = rest.split_once(slot)?;
        page.extend([before, content]);
        rest = after;
    }
    page.push_str(rest);
    Some(page)
}

/// Nothing is loaded, and no script ever runs, whatever text the page contains.
fn static_page(title: &str, body: &str) -> String {
    let style_digest = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!("default-src 'none'; style-src 'sha256-{style_digest}'; base-uri 'none'; form-action 'none'");
    let page = markup! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (PreEscaped(title)) }
                "\n"
                style { (PreEscaped(STYLE)) }
            }
            "\n"
            body { (PreEscaped(body)) }
        }
        "\n"
    };
    page.into_string()
}

fn static_body(run: &Run, over_time: &OverTime) -> Markup {
    let sections = sections(run, over_time);
    let program = if run.program.is_empty() { "an unnamed version" } else { &run.program };
    markup! {
        header { (headline_block(run)) }
        nav aria-label="Sections" {
            ul { @for section in &sections { li { a href={ "#" (section.id) } { (section.title) } } } }
        }
        main { @for section in &sections { (section_element(section)) } }
        footer { p { "Run " (run.id) ", written by gauntlet " (program) ". All figures stand in run.json." } }
    }
}

fn headline_block(run: &Run) -> Markup {
    let headline = headline(run);
    let (failing, glance, title) = (failing_gates(run), finding_sentences(run), findings_title(run));
    markup! {
        h1 { span { (run.scenario.name) } " " span class={ "verdict " (verdict_class(run.verdict)) } { (run.verdict.name()) } }
        div.figures {
            @for line in [&headline.amount, &headline.timing] {
                div {
                    p { strong { (line.value) } " " span { (line.label) } }
                    p.sentence { (line.sentence) }
                }
            }
        }
        @if let Some(total) = &headline.total { p { (total) "." } }
        p.stands { (headline.gate_status) "." }
        @if !failing.is_empty() { ul.failing aria-label="Gates that do not hold" { (items(&failing)) } }
        p.summary { (run.scenario.summary) "." }
        @if !glance.is_empty() {
            section.glance aria-label=(title) {
                h2 { a href="#findings" { (title) } }
                ul { (items(&glance)) }
            }
        }
    }
}

fn items(texts: &[String]) -> Markup {
    markup! { @for text in texts { li { (text) } } }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "good",
        Verdict::Failed => "bad",
        Verdict::Void | Verdict::Interrupted => "doubtful",
    }
}

fn section_element(section: &Section) -> Markup {
    markup! {
        "\n"
        section id=(section.id) {
            h2 { (section.title) }
            @for block in &section.blocks { (block_element(&section.title, block)) }
        }
        "\n"
    }
}

fn block_element(title: &str, block: &ContentBlock) -> Markup {
    markup! {
        "\n"
        @match block {
            ContentBlock::Heading(text) => h3 { (text) },
            ContentBlock::Text(text) => p { (text) },
            ContentBlock::List(items) => ul {
                @for item in items {
                    li { (item.text) @if let Some(quoted) = &item.quoted { " " code { (quoted) } } }
                }
            },
            ContentBlock::Table(table) => (table_element(title, table)),
            ContentBlock::Chart(chart) => (chart_element(chart)),
            // Its journey's percentiles stand in a table.
            ContentBlock::Heatmap(_) => {},
        }
    }
}

/// What a chart shows, without drawing it.
fn chart_element(chart: &SeriesChart) -> Markup {
    let rows = chart.extremes().into_iter().map(|row| row.map(TableCell::from).to_vec()).collect();
    let heading = [chart.title.as_str(), "first", "highest", "at", "last"].map(str::to_owned).to_vec();
    let notes = [chart.caption.clone()].into_iter().filter(|text| !text.is_empty()).collect();
    table_element(&chart.title, &Table { text_columns: 1, name_column: 0, heading, rows, notes })
}

/// A table scrolls in its own box, also by keyboard, so that the page never does.
fn table_element(title: &str, table: &Table) -> Markup {
    let first = table.heading.iter().find(|text| !text.is_empty());
    let name = first.map_or_else(|| title.to_owned(), |first| format!("{title}, by {first}"));
    let class = |column: usize| if column < table.text_columns { "text" } else { "number" };
    markup! {
        div.scroll role="region" aria-label=(name) tabindex="0" {
            table {
                thead {
                    tr {
                        @for (column, text) in table.heading.iter().enumerate() {
                            @if text.is_empty() { td class=(class(column)) {} }
                            @else { th scope="col" class=(class(column)) { (text) } }
                        }
                    }
                }
                tbody {
                    @for cells in &table.rows {
                        "\n"
                        tr { @for (column, cell) in cells.iter().enumerate() { (cell_element(table, column, cell)) } }
                    }
                }
            }
        }
        @if !table.notes.is_empty() { ul.notes { (items(&table.notes)) } }
    }
}

fn cell_element(table: &Table, column: usize, cell: &TableCell) -> Markup {
    let kind = match cell.text.chars().count() {
        _ if column >= table.text_columns => "number",
        0..LONG => "text",
        _ => "text long",
    };
    let tone = match cell.tone {
        Tone::Plain => "",
        Tone::Good => " good",
        Tone::Bad => " bad",
        Tone::Doubtful => " doubtful",
    };
    markup! {
        @if column == table.name_column && table.text_columns > 0 {
            th scope="row" class={ (kind) (tone) } { (cell.text) }
        } @else {
            td class={ (kind) (tone) } { (cell.text) }
        }
    }
}
