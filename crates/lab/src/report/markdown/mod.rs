//! `report.md`: the record for people, in 80 columns. The two numbers first, then the gates, then the details. Pure.
//! Does not choose the content: it lays out the sections of every view.

mod table;

use super::Run;
use super::content::{
    ContentBlock, ListItem, OverTime, Section, failing_gates, finding_sentences, findings_title, sections,
};
use super::headline::headline;
use crate::format::{sanitize, wrap};
use table::fit_table;

/// Columns that a line may take.
const WIDTH: usize = 80;

#[must_use]
pub fn markdown(run: &Run) -> String {
    let headline = headline(run);
    let mut paragraphs = vec![
        format!("# {}: {}", escape_markdown(&run.scenario.name), run.verdict.name()),
        bold(&headline.amount.sentence),
        bold(&headline.timing.sentence),
    ];
    let sentence = |text: &String| wrap(&escape_markdown(text), WIDTH, "") + ".";
    paragraphs.extend(headline.total.iter().chain([&headline.gate_status]).map(sentence));
    let list =
        |sentences: &[String]| sentences.iter().map(|sentence| escape_line(sentence)).collect::<Vec<_>>().join("\n");
    let (failing, glance) = (failing_gates(run), finding_sentences(run));
    if !failing.is_empty() {
        paragraphs.push(list(&failing));
    }
    paragraphs.push(wrap(&escape_markdown(&run.scenario.summary), WIDTH, "") + ".");
    if !glance.is_empty() {
        paragraphs.push(format!("{}:\n\n{}", findings_title(run), list(&glance)));
    }
    paragraphs.extend(sections(run, &OverTime::default()).iter().map(section));
    paragraphs.join("\n\n") + "\n"
}

/// The two stars on either side count as well.
fn bold(text: &str) -> String {
    wrap(&format!("**{}**", escape_markdown(text)), WIDTH, "")
}

fn section(section: &Section) -> String {
    let title = format!("## {}", escape_markdown(&section.title));
    let blocks = section.blocks.iter().filter_map(block);
    [title].into_iter().chain(blocks).collect::<Vec<_>>().join("\n\n")
}

fn block(block: &ContentBlock) -> Option<String> {
    match block {
        ContentBlock::Heading(text) => Some(format!("### {}", escape_markdown(text))),
        ContentBlock::Text(text) => Some(wrap(&escape_markdown(text), WIDTH, "")),
        ContentBlock::List(items) => Some(items.iter().map(item).collect::<Vec<_>>().join("\n")),
        ContentBlock::Table(table) => Some(fit_table(table, WIDTH)),
        ContentBlock::Chart(_) | ContentBlock::Heatmap(_) => None,
    }
}

fn item(item: &ListItem) -> String {
    match &item.quoted {
        None => escape_line(&item.text),
        Some(quoted) => bullet(&format!("{} {}", escape_markdown(&item.text), code_span(quoted))),
    }
}

/// A text from outside, as a code span: nothing in it is Markdown.
fn code_span(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

fn escape_line(text: &str) -> String {
    bullet(&escape_markdown(text))
}

fn bullet(text: &str) -> String {
    wrap(&format!("- {text}"), WIDTH, "  ")
}

/// A text in which nothing is a tag, a link, an image or code: our own sentences may contain names from outside.
fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let opens_tag =
            letter == '<' && letters.peek().is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(*next));
        let ends_link_text = letter == ']' && letters.peek().is_some_and(|next| "([:".contains(*next));
        if opens_tag || ends_link_text {
            out.push('\\');
        }
        out.push(if letter == '`' { '\'' } else { letter });
    }
    sanitize(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markdown() {
        assert_eq!(escape_markdown("a <b>, </b> <!-- and `c`"), "a \\<b>, \\</b> \\<!-- and 'c'");
        assert_eq!(escape_markdown("![x](http://a) [y][z]"), "![x\\](http://a) [y\\][z]");
        assert_eq!(escape_markdown("p99 < 5, <= 6, [1]"), "p99 < 5, <= 6, [1]");
        assert_eq!(code_span("a `b` <c>"), "`a 'b' <c>`");
    }
}
