//! Sections, tables, lists and figures of the page. Does not know their content.

use super::tone_class;
use crate::report::content::{ContentBlock, ListItem, Section, Table, TableCell};
use crate::report::markup::Markup;
use crate::report::svg::SeriesChart;

/// Characters from which a text cell gets more room.
const LONG: usize = 16;

pub(super) fn section(page: &mut Markup, section: &Section) {
    page.newline();
    page.element("section", &[("id", &section.id)], |page| {
        page.text_element("h2", &[], &section.title);
        // Charts in a row share a grid.
        let is_chart = |block: &ContentBlock| matches!(block, ContentBlock::Chart(_));
        for run in section.blocks.chunk_by(|one, next| is_chart(one) && is_chart(next)) {
            let each = |page: &mut Markup| run.iter().for_each(|one| block(page, section, one));
            if is_chart(&run[0]) { page.element("div", &[("class", "charts")], each) } else { each(page) }
        }
    });
    page.newline();
}

fn block(page: &mut Markup, section: &Section, block: &ContentBlock) {
    page.newline();
    match block {
        ContentBlock::Heading(text) => page.text_element("h3", &[], text),
        ContentBlock::Text(text) => page.text_element("p", &[], text),
        ContentBlock::List(items) => page.element("ul", &[], |page| items.iter().for_each(|line| item(page, line))),
        ContentBlock::Table(grid) => table(page, &section.title, grid),
        ContentBlock::Chart(chart) => figure(page, chart),
    }
}

fn item(page: &mut Markup, item: &ListItem) {
    page.element("li", &[], |page| {
        page.text(&item.text);
        if let Some(quoted) = &item.quoted {
            page.text(" ");
            page.text_element("code", &[], quoted);
        }
    });
}

/// A table scrolls in its own box, also by keyboard, so that the page never does.
fn table(page: &mut Markup, title: &str, table: &Table) {
    let name = match table.heading.iter().find(|text| !text.is_empty()) {
        Some(first) => format!("{title}, by {first}"),
        None => title.to_owned(),
    };
    let scroll = [("class", "scroll"), ("role", "region"), ("aria-label", name.as_str()), ("tabindex", "0")];
    page.element("div", &scroll, |page| {
        page.element("table", &[], |page| {
            page.element("thead", &[], |page| page.element("tr", &[], |page| heading(page, table)));
            page.element("tbody", &[], |page| {
                for cells in &table.rows {
                    page.newline();
                    page.element("tr", &[], |page| row(page, table, cells));
                }
            });
        });
    });
    if !table.notes.is_empty() {
        page.element("ul", &[("class", "notes")], |page| {
            table.notes.iter().for_each(|note| page.text_element("li", &[], note));
        });
    }
}

fn heading(page: &mut Markup, table: &Table) {
    for (i, text) in table.heading.iter().enumerate() {
        let class = if i < table.text_columns { "text" } else { "number" };
        let attributes = [("scope", "col"), ("class", class)];
        page.text_element(if text.is_empty() { "td" } else { "th" }, &attributes, text);
    }
}

fn row(page: &mut Markup, table: &Table, cells: &[TableCell]) {
    for (i, cell) in cells.iter().enumerate() {
        let kind = match cell.text.chars().count() {
            _ if i >= table.text_columns => "number",
            0..LONG => "text",
            _ => "text long",
        };
        let class = format!("{kind} {}", tone_class(cell.tone));
        let class = class.trim_end();
        if i == table.name_column && table.text_columns > 0 {
            page.text_element("th", &[("scope", "row"), ("class", class)], &cell.text);
        } else if let Some(percent) = cell.bar {
            page.element("td", &[("class", "bar")], |page| bar(page, percent));
        } else {
            page.text_element("td", &[("class", class)], &cell.text);
        }
    }
}

/// The numbers in its row say the same.
fn bar(page: &mut Markup, percent: u8) {
    page.element("svg", &[("viewBox", "0 0 100 14"), ("aria-hidden", "true")], |page| {
        page.void_element("rect", &[("class", "odd"), ("width", "100"), ("height", "14")]);
        page.void_element("rect", &[("class", "area c2"), ("width", &percent.to_string()), ("height", "14")]);
    });
}

fn figure(page: &mut Markup, chart: &SeriesChart) {
    page.element("figure", &[], |page| {
        page.element("figcaption", &[], |page| {
            page.text_element("strong", &[], &chart.title);
            page.element("ul", &[("class", "legend")], |page| {
                for key in chart.legend() {
                    page.element("li", &[], |page| {
                        page.element("span", &[("class", &key.class)], |_| {});
                        page.text(key.name);
                    });
                }
            });
        });
        page.append(&chart.draw());
        if !chart.caption.is_empty() {
            page.text_element("p", &[("class", "about")], &chart.caption);
        }
    });
}
