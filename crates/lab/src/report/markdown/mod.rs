//! `report.md`: the record for people, in 80 columns. The two numbers first, then the gates, then what they rest
//! on. Pure. Refuses to choose what is said: it lays out the sections of every view.

mod table;

use std::collections::BTreeMap;

use super::Run;
use super::content::{Block, Item, Section, failing, glance, glance_title, sections};
use super::headline::headline;
use super::words::{clean, wrapped};
use table::fitted;

/// Columns that a line may take.
const WIDTH: usize = 80;

/// The report of a run.
#[must_use]
pub fn markdown(run: &Run) -> String {
    let headline = headline(run);
    let mut paragraphs = vec![
        format!("# {}: {}", plain(&run.scenario.name), run.verdict.word()),
        strong(&headline.took),
        strong(&headline.lasted),
    ];
    let sentence = |text: &String| wrapped(&plain(text), WIDTH, "") + ".";
    paragraphs.extend(headline.total.iter().chain([&headline.stands]).map(sentence));
    let list = |sentences: &[String]| sentences.iter().map(|sentence| line(sentence)).collect::<Vec<_>>().join("\n");
    let (failing, glance) = (failing(run), glance(run));
    if !failing.is_empty() {
        paragraphs.push(list(&failing));
    }
    paragraphs.push(wrapped(&plain(&run.scenario.summary), WIDTH, "") + ".");
    if !glance.is_empty() {
        paragraphs.push(format!("{}:\n\n{}", glance_title(run), list(&glance)));
    }
    paragraphs.extend(sections(run, &BTreeMap::new()).iter().map(section));
    paragraphs.join("\n\n") + "\n"
}

/// The two stars on either side count as well.
fn strong(text: &str) -> String {
    wrapped(&format!("**{}**", plain(text)), WIDTH, "")
}

fn section(section: &Section) -> String {
    let title = format!("## {}", plain(&section.title));
    let blocks = section.blocks.iter().filter_map(block);
    [title].into_iter().chain(blocks).collect::<Vec<_>>().join("\n\n")
}

fn block(block: &Block) -> Option<String> {
    match block {
        Block::Heading(text) => Some(format!("### {}", plain(text))),
        Block::Text(text) => Some(wrapped(&plain(text), WIDTH, "")),
        Block::List(items) => Some(items.iter().map(item).collect::<Vec<_>>().join("\n")),
        Block::Table(table) => Some(fitted(table, WIDTH)),
        Block::Chart(_) => None,
    }
}

fn item(item: &Item) -> String {
    match &item.quoted {
        None => line(&item.text),
        Some(quoted) => bullet(&format!("{} {}", plain(&item.text), verbatim(quoted))),
    }
}

/// What somebody outside said, as a code span: nothing in it is Markdown.
fn verbatim(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

fn line(text: &str) -> String {
    bullet(&plain(text))
}

fn bullet(text: &str) -> String {
    wrapped(&format!("- {text}"), WIDTH, "  ")
}

/// A text in which nothing is a tag, a link, an image or code: sentences of ours may name what is not ours.
fn plain(text: &str) -> String {
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
    clean(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_becomes_markdown() {
        assert_eq!(plain("a <b>, </b> <!-- and `c`"), "a \\<b>, \\</b> \\<!-- and 'c'");
        assert_eq!(plain("![x](http://a) [y][z]"), "![x\\](http://a) [y\\][z]");
        assert_eq!(plain("p99 < 5, <= 6, [1]"), "p99 < 5, <= 6, [1]");
        assert_eq!(verbatim("a `b` <c>"), "`a 'b' <c>`");
    }
}
