//! Sections, tables, lists and figures of the page. Refuses to know what they say.

use super::tone_class;
use crate::report::content::{Block, Cell, Item, Section, Table};
use crate::report::markup::Markup;
use crate::report::svg::Chart;

/// Characters from which a cell of text is given more room.
const LONG: usize = 16;

pub(super) fn section(page: &mut Markup, section: &Section) {
    page.line();
    page.within("section", &[("id", &section.id)], |page| {
        page.leaf("h2", &[], &section.title);
        // Charts in a row share a grid.
        let is_chart = |block: &Block| matches!(block, Block::Chart(_));
        for run in section.blocks.chunk_by(|one, next| is_chart(one) && is_chart(next)) {
            let each = |page: &mut Markup| run.iter().for_each(|one| block(page, section, one));
            if is_chart(&run[0]) { page.within("div", &[("class", "charts")], each) } else { each(page) }
        }
    });
    page.line();
}

fn block(page: &mut Markup, section: &Section, block: &Block) {
    page.line();
    match block {
        Block::Heading(text) => page.leaf("h3", &[], text),
        Block::Text(text) => page.leaf("p", &[], text),
        Block::List(items) => page.within("ul", &[], |page| items.iter().for_each(|line| item(page, line))),
        Block::Table(grid) => table(page, &section.title, grid),
        Block::Chart(chart) => figure(page, chart),
    }
}

fn item(page: &mut Markup, item: &Item) {
    page.within("li", &[], |page| {
        page.text(&item.text);
        if let Some(quoted) = &item.quoted {
            page.text(" ");
            page.leaf("code", &[], quoted);
        }
    });
}

/// A table scrolls in a box of its own, by keyboard as well, so that the page never does.
fn table(page: &mut Markup, title: &str, table: &Table) {
    let name = match table.heading.iter().find(|text| !text.is_empty()) {
        Some(first) => format!("{title}, by {first}"),
        None => title.to_owned(),
    };
    let scroll = [("class", "scroll"), ("role", "region"), ("aria-label", name.as_str()), ("tabindex", "0")];
    page.within("div", &scroll, |page| {
        page.within("table", &[], |page| {
            page.within("thead", &[], |page| page.within("tr", &[], |page| heading(page, table)));
            page.within("tbody", &[], |page| {
                for cells in &table.rows {
                    page.line();
                    page.within("tr", &[], |page| row(page, table, cells));
                }
            });
        });
    });
    if !table.notes.is_empty() {
        page.within("ul", &[("class", "notes")], |page| table.notes.iter().for_each(|note| page.leaf("li", &[], note)));
    }
}

fn heading(page: &mut Markup, table: &Table) {
    for (i, text) in table.heading.iter().enumerate() {
        let class = if i < table.left { "text" } else { "number" };
        let attributes = [("scope", "col"), ("class", class)];
        page.leaf(if text.is_empty() { "td" } else { "th" }, &attributes, text);
    }
}

fn row(page: &mut Markup, table: &Table, cells: &[Cell]) {
    for (i, cell) in cells.iter().enumerate() {
        let kind = match cell.text.chars().count() {
            _ if i >= table.left => "number",
            0..LONG => "text",
            _ => "text long",
        };
        let class = format!("{kind} {}", tone_class(cell.tone));
        let class = class.trim_end();
        if i == table.named_by && table.left > 0 {
            page.leaf("th", &[("scope", "row"), ("class", class)], &cell.text);
        } else if let Some(percent) = cell.bar {
            page.within("td", &[("class", "bar")], |page| bar(page, percent));
        } else {
            page.leaf("td", &[("class", class)], &cell.text);
        }
    }
}

/// The numbers in its row say the same.
fn bar(page: &mut Markup, percent: u8) {
    page.within("svg", &[("viewBox", "0 0 100 14"), ("aria-hidden", "true")], |page| {
        page.empty("rect", &[("class", "odd"), ("width", "100"), ("height", "14")]);
        page.empty("rect", &[("class", "area c2"), ("width", &percent.to_string()), ("height", "14")]);
    });
}

fn figure(page: &mut Markup, chart: &Chart) {
    page.within("figure", &[], |page| {
        page.within("figcaption", &[], |page| {
            page.leaf("strong", &[], chart.title());
            page.within("ul", &[("class", "legend")], |page| {
                for key in chart.legend() {
                    page.within("li", &[], |page| {
                        page.within("span", &[("class", &key.class)], |_| {});
                        page.text(key.name);
                    });
                }
            });
        });
        page.append(&chart.draw());
        if !chart.about().is_empty() {
            page.leaf("p", &[("class", "about")], chart.about());
        }
    });
}
