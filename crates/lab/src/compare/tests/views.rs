//! What people and programs read of a comparison.

use std::path::Path;

use serde_json::Value;

use super::super::load::read_run;
use super::super::stats::{Decision, UndecidedReason};
use super::super::view::sentence::verdict_sentence;
use super::super::{CompareOptions, Comparison, Side, compare, document, json, junit, load, markdown};
use super::fixture::{TEST_RUN, TestRun, compare_runs, side};

const SLOWER: TestRun =
    TestRun { seed: 2, latency_us: 13_200.0, stuck: 25, settings: &["workers=25"], workers: "25", ..TEST_RUN };

fn sense(comparison: &Comparison, subject: &str, name: &str, side: usize) -> Decision {
    let figure = comparison.figures.iter().find(|figure| figure.subject == subject && figure.name == name).unwrap();
    figure.outcomes[side].decision
}

#[test]
fn a_comparison_in_markdown() {
    insta::assert_snapshot!("slower", markdown(&compare_runs(&[&TEST_RUN, &SLOWER])));
}

#[test]
fn a_comparison_of_three_in_markdown() {
    let short = TestRun { seed: 3, seconds: 12, ..TEST_RUN };
    insta::assert_snapshot!("three", markdown(&compare_runs(&[&TEST_RUN, &TestRun { seed: 4, ..TEST_RUN }, &short])));
}

#[test]
fn repeats_in_markdown() {
    let repeats = |made: &TestRun, seeds: [u64; 3]| {
        let jitter = |seed: u64| made.latency_us * (1.0 + 0.004 * (seed % 3) as f64);
        seeds
            .map(|seed| TestRun { seed, latency_us: jitter(seed), rss_mib: 118 + seed, ..made.clone() }.record())
            .into()
    };
    let sides = vec![side("A", repeats(&TEST_RUN, [1, 2, 3])), side("B", repeats(&SLOWER, [4, 5, 6]))];
    insta::assert_snapshot!("repeats", markdown(&compare(sides, CompareOptions::default()).unwrap()));
}

#[test]
fn a_comparison_as_a_document() {
    let document = document(&compare_runs(&[&TEST_RUN, &SLOWER]));
    let sections = document["sections"].as_array().unwrap();
    let ids: Vec<&str> = sections.iter().map(|section| section["id"].as_str().unwrap()).collect();
    assert_eq!((ids.first(), ids.last()), (Some(&"runs"), Some(&"figures-B")), "{ids:?}");
    let text = markdown(&compare_runs(&[&TEST_RUN, &SLOWER]));
    let verdict = document["verdicts"][0].as_str().unwrap();
    assert!(text.contains(&format!("**{verdict}**")), "{verdict}");
    // Every figure is there, and a difference for the worse is marked as one.
    let blocks = sections.last().unwrap()["blocks"].as_array().unwrap();
    let rows = || blocks.iter().flat_map(|block| block["content"]["rows"].as_array().unwrap());
    let worse = rows().filter(|row| row[5]["tone"] == "bad").count();
    assert_eq!(rows().count(), compare_runs(&[&TEST_RUN, &SLOWER]).figures.len());
    assert!(worse > 0 && worse < rows().count(), "{worse}");
}

#[test]
fn a_comparison_as_junit() {
    let comparison = compare_runs(&[&TEST_RUN, &SLOWER]);
    let xml = junit(&comparison, 0.0);
    insta::assert_snapshot!("junit", xml);
    // A threshold that nothing exceeds does not affect the gates.
    assert!(!junit(&comparison, f64::INFINITY).contains("type=\"regression\""));
    assert!(junit(&comparison, f64::INFINITY).contains("type=\"gate\""));
}

#[test]
fn text_from_outside_stays_text_in_junit() {
    let mut comparison = compare_runs(&[&TEST_RUN, &SLOWER]);
    let gate = &mut comparison.sides[1].records[0].run.gates[0];
    gate.name = "it's \"a\" < b && c]]>\u{7}\tgrößer".to_owned();
    let escaped = "it's &quot;a&quot; &lt; b &amp;&amp; c]]&gt;\u{fffd} größer";
    let xml = junit(&comparison, 0.0);
    assert!(xml.contains(&format!("<testcase classname=\"gates\" name=\"{escaped} ")), "{xml}");
    assert!(xml.contains("</failure></testcase>") && xml.contains("</skipped></testcase>"));
}

#[test]
fn a_comparison_as_json() {
    let comparison = compare_runs(&[&TEST_RUN, &SLOWER]);
    let document: Value = serde_json::from_str(&json(&comparison)).unwrap();
    assert_eq!(document["format"], 1);
    assert_eq!(document["verdicts"][0], verdict_sentence(&comparison, 0));
    assert_eq!(document["settings"][0]["key"], "workers");
    assert_eq!(document["figures"].as_array().unwrap().len(), comparison.figures.len());
    for figure in document["figures"].as_array().unwrap() {
        for key in ["side", "before", "after", "ratio", "outcome", "p", "level", "change"] {
            assert!(figure["against"][0].get(key).is_some(), "{key} in {figure}");
        }
    }
}

/// The figures that are reported, and how many are regressions by more than five percent.
#[track_caller]
fn check(second: &TestRun, worse: &[(&str, &str)], regressions: usize, words: &str) {
    let comparison = compare_runs(&[&TEST_RUN, second]);
    let found: Vec<(&str, &str)> = comparison
        .figures
        .iter()
        .filter(|figure| figure.is_worse(&figure.outcomes[0]))
        .map(|figure| (figure.subject.as_str(), figure.name))
        .collect();
    assert_eq!(found, worse);
    assert_eq!(comparison.regressions(0.05).count(), regressions);
    assert!(verdict_sentence(&comparison, 0).contains(words), "{}", verdict_sentence(&comparison, 0));
}

#[test]
fn only_what_is_beyond_the_noise_is_a_difference() {
    let same = TestRun { seed: 2, ..TEST_RUN };
    check(&same, &[], 0, "No difference beyond the noise between A and B; create_game latency p99 could be");
    let all = [
        ("create_game", "latency p50"),
        ("create_game", "latency p90"),
        ("create_game", "latency p99"),
        ("create_game", "service p50"),
        ("create_game", "service p99"),
    ];
    check(&TestRun { latency_us: 14_400.0, ..same.clone() }, &all, 5, "B is slower than A: create_game");
    check(&TestRun { stuck: 25, ..same.clone() }, &[("game", "stuck")], 1, "B is worse than A: game stuck +25");
    // Two are not significant, and an improvement is no regression.
    check(&TestRun { stuck: 2, ..same.clone() }, &[], 0, "No difference");
    // A verdict that turned is said, whatever the noise hides.
    check(&TestRun { stuck: 2, ..same.clone() }, &[], 0, "; but B failed where A passed");
    check(&TestRun { latency_us: 6_000.0, ..same }, &[], 0, "B is faster than A: create_game");
}

#[test]
fn a_small_regression_is_called_and_stays_below_the_threshold() {
    let comparison = compare_runs(&[&TEST_RUN, &TestRun { seed: 2, latency_us: 12_400.0, ..TEST_RUN }]);
    let beyond = |threshold| comparison.regressions(threshold).any(|(_, figure)| figure.name == "service p50");
    assert_eq!(sense(&comparison, "create_game", "service p50", 0), Decision::Higher);
    assert_eq!([0.0, 0.02, 0.05].map(beyond), [true, true, false]);
}

#[test]
fn a_short_run_is_undecided_however_slow_it_was() {
    let short = TestRun { seed: 2, seconds: 12, latency_us: 120_000.0, ..TEST_RUN };
    let comparison = compare_runs(&[&TEST_RUN, &short]);
    for name in ["latency p50", "service p99"] {
        assert_eq!(sense(&comparison, "create_game", name, 0), Decision::Unknown(UndecidedReason::TooShort));
    }
    let figures = comparison.figures.iter().filter(|figure| figure.subject == "create_game");
    assert!(figures.clone().count() > 0);
    assert!(figures.into_iter().all(|figure| !figure.outcomes[0].decision.is_different()));
}

#[test]
fn one_figure_a_run_is_shown_and_not_judged() {
    let comparison = compare_runs(&[&TEST_RUN, &TestRun { seed: 2, rss_mib: 1200, ..TEST_RUN }]);
    assert_eq!(sense(&comparison, "server", "RSS peak", 0), Decision::Unknown(UndecidedReason::OneRun));
    let figure = comparison.figures.iter().find(|figure| figure.name == "RSS peak").unwrap();
    assert_eq!((figure.outcomes[0].before, figure.outcomes[0].after), (Some(120.0), Some(1200.0)));
    assert_eq!(figure.outcomes[0].decision, Decision::Unknown(UndecidedReason::OneRun));
}

#[test]
fn what_is_on_the_disk_gives_the_same_comparison() {
    let (first, second) = (TestRun { seed: 21, ..TEST_RUN }, TestRun { seed: 22, ..SLOWER });
    let dirs = [first.write(), second.write()];
    let records = load(&[vec![dirs[0].clone()], vec![dirs[1].join("run.json")]]).unwrap();
    let sides: Vec<Side> = ["A", "B"].iter().zip(records).map(|(label, records)| side(label, records)).collect();
    let found = compare(sides, CompareOptions::default()).unwrap();
    assert_eq!(markdown(&found), markdown(&compare_runs(&[&first, &second])));
    dirs.iter().for_each(|dir| std::fs::remove_dir_all(dir).unwrap());
}

#[track_caller]
fn check_unreadable(name: &str, text: Option<&str>, words: &[&str]) {
    let dir = std::env::temp_dir().join(format!("lab-compare-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    text.iter().for_each(|text| std::fs::write(dir.join("run.json"), text).unwrap());
    let message = read_run(Path::new(&dir)).unwrap_err();
    words.iter().for_each(|word| assert!(message.contains(word), "{message} has no {word}"));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_is_no_record_is_named() {
    check_unreadable("none", None, &["run.json"]);
    check_unreadable("text", Some("hello"), &["run.json", "no record of a run"]);
    let mut newer = TEST_RUN.run_json();
    newer["format"] = 99.into();
    check_unreadable("newer", Some(&newer.to_string()), &["format 99", "again"]);
}
