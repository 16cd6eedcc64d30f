//! `report.html`: the record as one page that opens anywhere, offline, without a script: the two numbers first, the
//! verdict, the gates, then what they rest on, with charts. Pure. Refuses to choose what is said: it lays out the
//! sections of every view.

mod blocks;
#[cfg(test)]
mod tests;

use super::charts::SeriesByName;
use super::content::{Section, Tone, failing, glance, glance_title, sections};
use super::headline::{Figure, headline};
use super::markup::Markup;
use super::{Run, words};
use crate::verdict::Verdict;

/// Nothing is loaded from anywhere, and no script ever runs, whatever the text of the page says.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The page of a run, with charts of the series of its timeline.
#[must_use]
pub fn html(run: &Run, series: &SeriesByName) -> String {
    let sections = sections(run, series);
    let mut page = Markup::default();
    page.raw("<!DOCTYPE html>\n");
    page.within("html", &[("lang", "en")], |page| {
        head(page, run);
        page.within("body", &[], |page| body(page, run, &sections));
    });
    page.line();
    page.into_string()
}

fn head(page: &mut Markup, run: &Run) {
    page.within("head", &[], |page| {
        page.raw("\n<meta charset=\"utf-8\">\n");
        page.empty("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
        page.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n");
        page.leaf("title", &[], &format!("{}: {} · Gauntlet", run.scenario.name, run.verdict.word()));
        page.raw("\n<style>\n");
        page.raw(include_str!("style.css"));
        page.raw("</style>\n");
    });
}

fn body(page: &mut Markup, run: &Run, sections: &[Section]) {
    page.line();
    page.within("header", &[], |page| top(page, run));
    page.line();
    page.within("nav", &[("aria-label", "Sections")], |page| contents(page, sections));
    page.line();
    page.within("main", &[], |page| sections.iter().for_each(|section| blocks::section(page, section)));
    page.line();
    page.within("footer", &[], |page| {
        let program = if run.program.is_empty() { "an unnamed version" } else { &run.program };
        page.leaf("p", &[], &format!("Run {}, written by gauntlet {program}. All figures stand in run.json.", run.id));
    });
    page.line();
}

fn top(page: &mut Markup, run: &Run) {
    let headline = headline(run);
    page.within("h1", &[], |page| {
        page.leaf("span", &[], &run.scenario.name);
        page.text(" ");
        page.leaf("span", &[("class", verdict_class(run.verdict))], run.verdict.word());
    });
    page.within("div", &[("class", "figures")], |page| {
        let sentences = [&headline.took, &headline.lasted];
        headline.figures.iter().zip(sentences).for_each(|(figure, sentence)| number(page, figure, sentence));
    });
    if let Some(total) = &headline.total {
        page.leaf("p", &[], &format!("{total}."));
    }
    page.leaf("p", &[("class", "stands")], &(headline.stands + "."));
    let failing = failing(run);
    if !failing.is_empty() {
        let told = &[("class", "failing"), ("aria-label", "Gates that do not hold")];
        page.within("ul", told, |page| failing.iter().for_each(|gate| page.leaf("li", &[], gate)));
    }
    page.leaf("p", &[("class", "summary")], &(run.scenario.summary.clone() + "."));
    let (glance, title) = (glance(run), glance_title(run));
    if !glance.is_empty() {
        page.within("section", &[("class", "glance"), ("aria-label", title)], |page| {
            page.within("h2", &[], |page| page.leaf("a", &[("href", "#findings")], title));
            page.within("ul", &[], |page| glance.iter().for_each(|sentence| page.leaf("li", &[], sentence)));
        });
    }
}

fn number(page: &mut Markup, figure: &Figure, sentence: &str) {
    page.within("div", &[], |page| {
        page.within("p", &[], |page| {
            page.leaf("strong", &[], &figure.value);
            page.text(" ");
            page.leaf("span", &[], &figure.of);
        });
        page.leaf("p", &[("class", "sentence")], sentence);
    });
}

fn contents(page: &mut Markup, sections: &[Section]) {
    page.within("ul", &[], |page| {
        for section in sections {
            let link = format!("#{}", section.id);
            page.within("li", &[], |page| page.leaf("a", &[("href", &link)], &words::clean(&section.title)));
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
