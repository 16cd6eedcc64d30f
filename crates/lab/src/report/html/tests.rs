//! The whole page, with and without the console's components: safe, complete without a script, self-contained.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::format::sanitize;
use crate::report::tests::fixture::{FAILING, HOSTILE, full, leaderboard, over_time};

/// Elements that HTML never closes.
const VOID: [&str; 1] = ["meta"];

/// The page of a program that was built without npm.
fn page() -> String {
    static_page("full: failed · Gauntlet", &sanitize_lines(&static_body(&full(), &over_time()).into_string()))
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
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
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
fn tables_have_text_descriptions() {
    let page = page();
    let (tags, _) = parsed(&page);
    let of = |wanted: &str| tags.iter().copied().filter(|tag| name(tag) == wanted).collect::<Vec<&str>>();
    assert!(attributes(&of("th"), "scope").len() == of("th").len() && of("th").len() > 50);
    assert!(page.contains("<html lang=\"en\">") && of("h1").len() == 1);
}

#[test]
fn every_chart_that_the_figures_allow_is_there() {
    let text = escaped_json(&document(&full(), &over_time(), false));
    let titles = [
        "create_game: latency and service time",
        "create_game: throughput",
        "create_game: latency, second by second",
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
        assert!(text.contains(&format!("{title}\"")), "{title}");
    }
    for shown in [
        "\"label\":\"knee\"",
        "\"label\":\"kill server\"",
        "\"label\":\"server ready again\"",
        "Universal Scalability Law",
        "\"name\":\"whole machine\"",
        "gate: create_game",
    ] {
        assert!(text.contains(shown), "{shown}");
    }
}

#[test]
fn a_fault_that_was_not_carried_out_is_listed_and_not_drawn() {
    let text = escaped_json(&document(&full(), &over_time(), false));
    assert!(page().contains("not carried out: the process had ended") && !text.contains("\"label\":\"continue bots\""));
}

#[test]
fn without_a_timeline_there_is_a_page_without_its_charts() {
    let run = leaderboard(true, false, &FAILING);
    let body = static_body(&run, &OverTime::default()).into_string();
    assert!(body.contains("VOID") && body.contains("latency by percentile") && !body.contains("Memory</th>"));
    assert!(body.contains("how the work drained</th>"), "the record has a curve of its own");
}

#[test]
fn a_long_run_makes_no_heavy_page() {
    let bytes = html(&full(), &over_time()).len();
    assert!(bytes < 1_200_000, "{bytes}");
}

/// A page of this template, or none if a slot is missing.
#[track_caller]
fn check_filled(template: &str, expected: Option<&str>) {
    assert_eq!(fill(template, ["T", "{{report document}}", "D"]).as_deref(), expected);
}

#[test]
fn slots_are_filled_once_and_what_fills_them_is_left_alone() {
    let [title, body, data] = pages::REPORT_SLOTS;
    check_filled(&format!("a{title}b{body}c{data}d"), Some("aTb{{report document}}cDd"));
    check_filled(&format!("a{body}{title}{data}"), None);
    check_filled("", None);
}

/// What stands between the tags of each element of this name; `starts` begins its opening tag.
fn contents<'a>(page: &'a str, starts: &str, ends: &str) -> Vec<&'a str> {
    let bodies = page.split(starts).skip(1).filter_map(|rest| rest.split_once('>'));
    bodies.filter_map(|(_, body)| Some(body.split_once(ends)?.0)).collect()
}

/// Everything that the page runs and styles is what its policy names by digest, and nothing else is allowed.
#[track_caller]
fn check_policy(page: &str, scripts: usize) {
    let policy = page.split("http-equiv=\"Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let sources = |directive: &str| {
        let found = policy.split(';').find_map(|it| it.trim().strip_prefix(directive));
        found.map_or_else(Vec::new, |sources| sources.split(' ').filter(|it| !it.is_empty()).collect::<Vec<&str>>())
    };
    let digests = |bodies: &[&str]| bodies.iter().map(|body| digest(body)).collect::<Vec<_>>();
    assert_eq!(sources("style-src"), digests(&contents(page, "<style", "</style>")));
    let code: Vec<&str> = contents(page, "<script type=\"module\"", "</script>");
    assert_eq!((sources("script-src"), code.len()), (digests(&code).iter().map(String::as_str).collect(), scripts));
    assert_eq!(contents(page, "<script", "</script>").len(), scripts * 2, "code, and the data that is none");
    assert_eq!([sources("default-src"), sources("base-uri"), sources("form-action")], [["'none'"]; 3]);
    assert!(!policy.contains("unsafe") && !policy.contains("connect-src"));
}

#[test]
fn scripts_and_styles_are_allowed_by_digest_only() {
    check_policy(&page(), 0);
    if pages::report_template().is_some() {
        check_policy(&html(&full(), &over_time()), 1);
    }
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
    let palettes = palettes(STYLE);
    assert_eq!(palettes.len(), 3);
    for palette in palettes {
        for text in ["--text", "--quiet", "--link", "--good", "--bad", "--doubtful"] {
            let least = contrast(palette[text], palette["--page"]).min(contrast(palette[text], palette["--raised"]));
            assert!(least >= 4.5, "{text}: {least}");
        }
    }
}
