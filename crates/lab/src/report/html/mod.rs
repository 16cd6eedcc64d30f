//! `report.html`: the record as one page that opens anywhere, offline, without a script: the two numbers first, the
//! verdict, the gates, then the details, with charts. Pure. Does not choose the content: it lays out the sections of
//! every view. Every text is escaped, and control characters are struck out of the whole page.

#[cfg(test)]
mod tests;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Run;
use super::content::{
    ContentBlock, Section, SeriesByName, Table, TableCell, Tone, failing_gates, finding_sentences, findings_title,
    sections,
};
use super::headline::headline;
use super::svg::SeriesChart;
use crate::format::sanitize_lines;
use crate::verdict::Verdict;

/// Nothing is loaded, and no script ever runs, whatever text the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Characters from which a text cell gets more room.
const LONG: usize = 16;

/// The page of a run, with charts of the series of its timeline.
#[must_use]
pub fn html(run: &Run, series: &SeriesByName) -> String {
    let sections = sections(run, series);
    let program = if run.program.is_empty() { "an unnamed version" } else { &run.program };
    let page = html! {
        (DOCTYPE) "\n"
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (run.scenario.name) ": " (run.verdict.name()) " · Gauntlet" }
                "\n"
                style { (PreEscaped(include_str!("style.css"))) }
            }
            "\n"
            body {
                header { (headline_block(run)) }
                nav aria-label="Sections" {
                    ul { @for section in &sections { li { a href={ "#" (section.id) } { (section.title) } } } }
                }
                main { @for section in &sections { (section_element(section)) } }
                footer { p { "Run " (run.id) ", written by gauntlet " (program) ". All figures stand in run.json." } }
            }
        }
        "\n"
    };
    sanitize_lines(&page.into_string())
}

fn headline_block(run: &Run) -> Markup {
    let headline = headline(run);
    let (failing, glance, title) = (failing_gates(run), finding_sentences(run), findings_title(run));
    html! {
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
    html! { @for text in texts { li { (text) } } }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "good",
        Verdict::Failed => "bad",
        Verdict::Void | Verdict::Interrupted => "doubtful",
    }
}

/// Charts in a row share a grid.
fn section_element(section: &Section) -> Markup {
    let is_chart = |block: &ContentBlock| matches!(block, ContentBlock::Chart(_));
    html! {
        "\n"
        section id=(section.id) {
            h2 { (section.title) }
            @for run in section.blocks.chunk_by(|one, next| is_chart(one) && is_chart(next)) {
                @if is_chart(&run[0]) {
                    div.charts { @for block in run { (block_element(&section.title, block)) } }
                } @else {
                    (block_element(&section.title, &run[0]))
                }
            }
        }
        "\n"
    }
}

fn block_element(title: &str, block: &ContentBlock) -> Markup {
    html! {
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
            ContentBlock::Chart(chart) => (figure(chart)),
        }
    }
}

/// A table scrolls in its own box, also by keyboard, so that the page never does.
fn table_element(title: &str, table: &Table) -> Markup {
    let first = table.heading.iter().find(|text| !text.is_empty());
    let name = first.map_or_else(|| title.to_owned(), |first| format!("{title}, by {first}"));
    let class = |column: usize| if column < table.text_columns { "text" } else { "number" };
    html! {
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
    html! {
        @if column == table.name_column && table.text_columns > 0 {
            th scope="row" class={ (kind) (tone) } { (cell.text) }
        } @else if let Some(percent) = cell.bar {
            // The numbers in its row say the same.
            td.bar {
                svg viewBox="0 0 100 14" aria-hidden="true" {
                    rect.odd width="100" height="14" {}
                    rect class="area c2" width=(percent) height="14" {}
                }
            }
        } @else {
            td class={ (kind) (tone) } { (cell.text) }
        }
    }
}

fn figure(chart: &SeriesChart) -> Markup {
    html! {
        figure {
            figcaption {
                strong { (chart.title) }
                ul.legend {
                    @for layer in &chart.layers { li { span class={ "key " (layer.class()) } {} (layer.name) } }
                }
            }
            (chart.draw())
            @if !chart.caption.is_empty() { p.about { (chart.caption) } }
        }
    }
}
