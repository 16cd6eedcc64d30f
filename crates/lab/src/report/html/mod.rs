//! `report.html`: the record as one page that opens anywhere, offline, without a script: the two numbers first, the
//! verdict, the gates, then the details, with charts. Pure. Does not choose the content: it lays out the sections of
//! every view.

mod blocks;
#[cfg(test)]
mod tests;

use super::Run;
use super::charts::SeriesByName;
use super::content::{Section, Tone, failing_gates, finding_sentences, findings_title, sections};
use super::headline::{HeadlineValue, headline};
use super::markup::Markup;
use crate::format;
use crate::verdict::Verdict;

/// Nothing is loaded, and no script ever runs, whatever text the page contains.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page of a run, with charts of the series of its timeline.
#[must_use]
pub fn html(run: &Run, series: &SeriesByName) -> String {
    let sections = sections(run, series);
    let mut page = Markup::default();
    page.raw("<!DOCTYPE html>\n");
    page.element("html", &[("lang", "en")], |page| {
        head(page, run);
        page.element("body", &[], |page| body(page, run, &sections));
    });
    page.newline();
    page.into_string()
}

fn head(page: &mut Markup, run: &Run) {
    page.element("head", &[], |page| {
        page.raw("\n<meta charset=\"utf-8\">\n");
        page.void_element("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
        page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
        page.text_element("title", &[], &format!("{}: {} · Gauntlet", run.scenario.name, run.verdict.name()));
        page.raw("\n<style>\n");
        page.raw(include_str!("style.css"));
        page.raw("</style>\n");
    });
}

fn body(page: &mut Markup, run: &Run, sections: &[Section]) {
    page.newline();
    page.element("header", &[], |page| headline_block(page, run));
    page.newline();
    page.element("nav", &[("aria-label", "Sections")], |page| contents(page, sections));
    page.newline();
    page.element("main", &[], |page| sections.iter().for_each(|section| blocks::section(page, section)));
    page.newline();
    page.element("footer", &[], |page| {
        let program = if run.program.is_empty() { "an unnamed version" } else { &run.program };
        page.text_element(
            "p",
            &[],
            &format!("Run {}, written by gauntlet {program}. All figures stand in run.json.", run.id),
        );
    });
    page.newline();
}

fn headline_block(page: &mut Markup, run: &Run) {
    let headline = headline(run);
    page.element("h1", &[], |page| {
        page.text_element("span", &[], &run.scenario.name);
        page.text(" ");
        page.text_element("span", &[("class", verdict_class(run.verdict))], run.verdict.name());
    });
    page.element("div", &[("class", "figures")], |page| {
        let sentences = [&headline.amount, &headline.timing];
        headline.figures.iter().zip(sentences).for_each(|(figure, sentence)| number(page, figure, sentence));
    });
    if let Some(total) = &headline.total {
        page.text_element("p", &[], &format!("{total}."));
    }
    page.text_element("p", &[("class", "stands")], &(headline.gate_status + "."));
    let failing = failing_gates(run);
    if !failing.is_empty() {
        let told = &[("class", "failing"), ("aria-label", "Gates that do not hold")];
        page.element("ul", told, |page| failing.iter().for_each(|gate| page.text_element("li", &[], gate)));
    }
    page.text_element("p", &[("class", "summary")], &(run.scenario.summary.clone() + "."));
    let (glance, title) = (finding_sentences(run), findings_title(run));
    if !glance.is_empty() {
        page.element("section", &[("class", "glance"), ("aria-label", title)], |page| {
            page.element("h2", &[], |page| page.text_element("a", &[("href", "#findings")], title));
            page.element("ul", &[], |page| glance.iter().for_each(|sentence| page.text_element("li", &[], sentence)));
        });
    }
}

fn number(page: &mut Markup, figure: &HeadlineValue, sentence: &str) {
    page.element("div", &[], |page| {
        page.element("p", &[], |page| {
            page.text_element("strong", &[], &figure.value);
            page.text(" ");
            page.text_element("span", &[], &figure.label);
        });
        page.text_element("p", &[("class", "sentence")], sentence);
    });
}

fn contents(page: &mut Markup, sections: &[Section]) {
    page.element("ul", &[], |page| {
        for section in sections {
            let link = format!("#{}", section.id);
            page.element("li", &[], |page| {
                page.text_element("a", &[("href", &link)], &format::sanitize(&section.title));
            });
        }
    });
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Passed => "verdict good",
        Verdict::Failed => "verdict bad",
        Verdict::Void | Verdict::Interrupted => "verdict doubtful",
    }
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Doubtful => "doubtful",
    }
}
