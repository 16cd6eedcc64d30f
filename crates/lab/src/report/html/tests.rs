//! The whole page: well formed, self-contained, safe, complete, and readable in light and dark mode.

use std::collections::{BTreeMap, BTreeSet};

use super::html;
use crate::format::sanitize;
use crate::report::tests::fixture::{FAILING, HOSTILE, full, leaderboard, series};

/// Elements that HTML never closes.
const VOID: [&str; 1] = ["meta"];

fn page() -> String {
    html(&full(), &series())
}

/// The tags of a page in order, without their angle brackets, and the text between them.
fn parsed(page: &str) -> (Vec<&str>, Vec<&str>) {
    let after_doctype = page.split_once('\n').unwrap().1;
    let (tags, texts): (Vec<_>, Vec<_>) =
        after_doctype.split('<').skip(1).map(|rest| rest.split_once('>').expect("every tag ends")).unzip();
    (tags, texts)
}

fn name(tag: &str) -> &str {
    tag.split([' ', '/', '\n']).next().unwrap_or_default()
}

fn attributes<'a>(tags: &[&'a str], attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    tags.iter().filter_map(|tag| tag.split_once(start.as_str())?.1.split('"').next()).collect()
}

#[test]
fn every_element_is_closed_in_order() {
    let page = page();
    let mut open = Vec::new();
    for tag in parsed(&page).0 {
        match tag.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed)),
            None if tag.ends_with('/') || VOID.contains(&name(tag)) => {}
            None => open.push(name(tag)),
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn the_page_needs_nothing_from_anywhere() {
    let page = page();
    let (tags, _) = parsed(&page);
    let names: BTreeSet<&str> = tags.iter().map(|tag| name(tag)).collect();
    for loads in ["script", "img", "link", "iframe", "object", "embed", "image", "use", "form", "base"] {
        assert!(!names.contains(loads), "{loads}");
    }
    for link in attributes(&tags, "href") {
        assert!(link.starts_with('#'), "{link}");
    }
    assert!(!tags.iter().any(|tag| tag.contains(" src=") || tag.contains(" onerror=") || tag.contains(" style=")));
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[test]
fn text_of_a_service_stays_text() {
    let page = page();
    let (_, texts) = parsed(&page);
    let said = sanitize(HOSTILE);
    let escaped = said.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let times = texts.iter().filter(|text| text.contains(escaped.as_str())).count();
    // An error, a note, a setting, and twice a finding.
    assert!(times >= 5, "{times}");
    assert!(!page.contains("<script") && !page.contains("alert(1)>"));
}

#[test]
fn links_lead_somewhere_and_names_are_given_once() {
    let page = page();
    let (tags, _) = parsed(&page);
    let ids = attributes(&tags, "id");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    for link in attributes(&tags, "href") {
        assert!(ids.contains(&&link[1..]), "{link}");
    }
}

#[test]
fn charts_and_tables_have_text_descriptions() {
    let page = page();
    let (tags, _) = parsed(&page);
    let of = |wanted: &str| tags.iter().copied().filter(|tag| name(tag) == wanted).collect::<Vec<&str>>();
    let charts = of("svg");
    let told = attributes(&charts, "aria-label").len() + attributes(&charts, "aria-hidden").len();
    assert_eq!((told, charts.len() > 30), (charts.len(), true));
    assert!(attributes(&of("th"), "scope").len() == of("th").len() && of("th").len() > 50);
    assert!(page.contains("<html lang=\"en\">") && of("h1").len() == 1);
}

#[test]
fn every_chart_that_the_figures_allow_is_there() {
    let page = page();
    let titles = [
        "create_game: latency and service time",
        "create_game: throughput",
        "create_game: latency by percentile",
        "read_game: latency p99 by step",
        "Load",
        "How every load step ended",
        "Throughput against concurrency",
        "Latency against concurrency",
        "Throughput against the offered rate",
        "game: how the work drained",
        "game: queue depth and running",
        "metric.gauntlet_pool_wait_seconds",
        "Memory",
        "Processor",
        "threads and open files",
        "Observed: stats.jobs_ready",
        "Schedule lag of the lab",
    ];
    for title in titles {
        assert!(page.contains(&format!("{title}</strong>")), "{title}");
    }
    for shown in [
        "knee</text>",
        "kill server</text>",
        "server ready again</text>",
        "Universal Scalability Law",
        "whole machine</li>",
        "gate: create_game",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
}

#[test]
fn a_fault_that_was_not_carried_out_is_listed_and_not_drawn() {
    let page = page();
    assert!(page.contains("not carried out: the process had ended") && !page.contains("continue bots</text>"));
}

#[test]
fn without_a_timeline_there_is_a_page_without_its_charts() {
    let page = html(&leaderboard(true, false, &FAILING), &BTreeMap::new());
    assert!(page.contains("VOID") && page.contains("latency by percentile") && !page.contains("Memory</strong>"));
    assert!(page.contains("how the work drained</strong>"), "the record has a curve of its own");
}

#[test]
fn a_long_run_makes_no_heavy_page() {
    let bytes = page().len();
    assert!(bytes < 1_000_000, "{bytes}");
}

/// WCAG 2.2, relative luminance and contrast ratio.
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let channel = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(channel(1)) + 0.7152 * linear(channel(3)) + 0.0722 * linear(channel(5))
    };
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The colours of each palette: light, dark, printed.
fn palettes(style: &str) -> Vec<BTreeMap<&str, &str>> {
    let blocks = style.split(":root {").skip(1).map(|rest| rest.split('}').next().unwrap());
    let pairs = |block: &'static str| block.split(';').filter_map(|pair| pair.trim().split_once(": ")).collect();
    let blocks: Vec<&'static str> = blocks.map(|block| &*block.to_owned().leak()).collect();
    blocks.into_iter().map(pairs).collect()
}

#[test]
fn every_colour_can_be_read_in_every_light() {
    let palettes = palettes(include_str!("style.css"));
    assert_eq!(palettes.len(), 3);
    for palette in palettes {
        let page = palette["--page"];
        for text in ["--text", "--quiet", "--link", "--good", "--bad", "--doubtful"] {
            let least = contrast(palette[text], page).min(contrast(palette[text], palette["--raised"]));
            assert!(least >= 4.5, "{text} on {page}: {least}");
        }
        for line in ["--c0", "--c1", "--c2", "--c3", "--c4", "--c5"] {
            let least = contrast(palette[line], page).min(contrast(palette[line], palette["--odd"]));
            assert!(least >= 3.0, "{line} on {page}: {least}");
        }
    }
}
