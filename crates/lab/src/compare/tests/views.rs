//! What people and programs read of a comparison.

use std::path::Path;

use serde_json::Value;

use super::super::stats::{Call, Reason};
use super::super::{Comparison, Options, Sense, Side, compare, json, junit, load, markdown, sentence};
use super::fixture::{MADE, Made, compared, side};

const SLOWER: Made =
    Made { seed: 2, latency_us: 13_200.0, stuck: 25, settings: &["workers=25"], workers: "25", ..MADE };

fn sense(comparison: &Comparison, subject: &str, name: &str, side: usize) -> Sense {
    let figure = comparison.figures.iter().find(|figure| figure.subject == subject && figure.name == name).unwrap();
    figure.outcomes[side].sense
}

#[test]
fn a_comparison_in_markdown() {
    insta::assert_snapshot!("slower", markdown(&compared(&[&MADE, &SLOWER])));
}

#[test]
fn a_comparison_of_three_in_markdown() {
    let short = Made { seed: 3, seconds: 12, ..MADE };
    insta::assert_snapshot!("three", markdown(&compared(&[&MADE, &Made { seed: 4, ..MADE }, &short])));
}

#[test]
fn repeats_in_markdown() {
    let repeats = |made: &Made, seeds: [u64; 3]| {
        let jitter = |seed: u64| made.latency_us * (1.0 + 0.004 * (seed % 3) as f64);
        seeds.map(|seed| Made { seed, latency_us: jitter(seed), rss_mib: 118 + seed, ..made.clone() }.record()).into()
    };
    let sides = vec![side("A", repeats(&MADE, [1, 2, 3])), side("B", repeats(&SLOWER, [4, 5, 6]))];
    insta::assert_snapshot!("repeats", markdown(&compare(sides, Options::default()).unwrap()));
}

#[test]
fn a_comparison_as_junit() {
    let comparison = compared(&[&MADE, &SLOWER]);
    let xml = junit(&comparison, 0.0);
    insta::assert_snapshot!("junit", xml);
    // A threshold that nothing exceeds leaves the gates alone.
    assert!(!junit(&comparison, f64::INFINITY).contains("type=\"regression\""));
    assert!(junit(&comparison, f64::INFINITY).contains("type=\"gate\""));
}

#[test]
fn a_comparison_as_json() {
    let comparison = compared(&[&MADE, &SLOWER]);
    let document: Value = serde_json::from_str(&json(&comparison)).unwrap();
    assert_eq!(document["format"], 1);
    assert_eq!(document["verdicts"][0], sentence(&comparison, 0));
    assert_eq!(document["settings"][0]["key"], "workers");
    assert_eq!(document["figures"].as_array().unwrap().len(), comparison.figures.len());
    for figure in document["figures"].as_array().unwrap() {
        for key in ["side", "before", "after", "ratio", "outcome", "p", "level", "change"] {
            assert!(figure["against"][0].get(key).is_some(), "{key} in {figure}");
        }
    }
}

/// The figures that are called, and how many are regressions by more than five percent.
#[track_caller]
fn check(second: &Made, worse: &[(&str, &str)], regressions: usize, words: &str) {
    let comparison = compared(&[&MADE, second]);
    let found: Vec<(&str, &str)> = comparison
        .figures
        .iter()
        .filter(|figure| matches!(figure.outcomes[0].sense, Sense::Worse))
        .map(|figure| (figure.subject.as_str(), figure.name))
        .collect();
    assert_eq!(found, worse);
    assert_eq!(comparison.regressions(0.05).count(), regressions);
    assert!(sentence(&comparison, 0).contains(words), "{}", sentence(&comparison, 0));
}

#[test]
fn only_what_is_beyond_the_noise_is_a_difference() {
    let same = Made { seed: 2, ..MADE };
    check(&same, &[], 0, "No difference beyond the noise between A and B; create_game latency p99 could be");
    let all = [
        ("create_game", "latency p50"),
        ("create_game", "latency p90"),
        ("create_game", "latency p99"),
        ("create_game", "service p50"),
        ("create_game", "service p99"),
    ];
    check(&Made { latency_us: 14_400.0, ..same.clone() }, &all, 5, "B is slower than A: create_game");
    check(&Made { stuck: 25, ..same.clone() }, &[("game", "stuck")], 1, "B is worse than A: game stuck +25");
    // Two are no surprise, and an improvement is no regression.
    check(&Made { stuck: 2, ..same.clone() }, &[], 0, "No difference");
    check(&Made { latency_us: 6_000.0, ..same }, &[], 0, "B is faster than A: create_game");
}

#[test]
fn a_small_regression_is_called_and_stays_below_the_threshold() {
    let comparison = compared(&[&MADE, &Made { seed: 2, latency_us: 12_400.0, ..MADE }]);
    let beyond = |threshold| comparison.regressions(threshold).any(|(_, figure)| figure.name == "service p50");
    assert_eq!(sense(&comparison, "create_game", "service p50", 0), Sense::Worse);
    assert_eq!([0.0, 0.02, 0.05].map(beyond), [true, true, false]);
}

#[test]
fn a_short_run_tells_nothing_however_slow_it_was() {
    let short = Made { seed: 2, seconds: 12, latency_us: 120_000.0, ..MADE };
    let comparison = compared(&[&MADE, &short]);
    for name in ["latency p50", "service p99"] {
        assert_eq!(sense(&comparison, "create_game", name, 0), Sense::Unknown(Reason::TooShort));
    }
    let figures = comparison.figures.iter().filter(|figure| figure.subject == "create_game");
    assert!(figures.clone().count() > 0);
    assert!(figures.into_iter().all(|figure| !figure.outcomes[0].answer.call.is_different()));
}

#[test]
fn one_figure_a_run_is_shown_and_not_judged() {
    let comparison = compared(&[&MADE, &Made { seed: 2, rss_mib: 1200, ..MADE }]);
    assert_eq!(sense(&comparison, "server", "RSS peak", 0), Sense::Unknown(Reason::OneRun));
    let figure = comparison.figures.iter().find(|figure| figure.name == "RSS peak").unwrap();
    assert_eq!((figure.before(), figure.outcomes[0].answer.after), (Some(120.0), Some(1200.0)));
    assert_eq!(figure.outcomes[0].answer.call, Call::Unknown(Reason::OneRun));
}

#[test]
fn what_is_on_the_disk_gives_the_same_comparison() {
    let (first, second) = (Made { seed: 21, ..MADE }, Made { seed: 22, ..SLOWER });
    let dirs = [first.written(), second.written()];
    let records = load(&[vec![dirs[0].clone()], vec![dirs[1].join("run.json")]]).unwrap();
    let sides: Vec<Side> = ["A", "B"].iter().zip(records).map(|(label, records)| side(label, records)).collect();
    let found = compare(sides, Options::default()).unwrap();
    assert_eq!(markdown(&found), markdown(&compared(&[&first, &second])));
    dirs.iter().for_each(|dir| std::fs::remove_dir_all(dir).unwrap());
}

#[track_caller]
fn check_unreadable(name: &str, text: Option<&str>, words: &[&str]) {
    let dir = std::env::temp_dir().join(format!("lab-compare-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    text.iter().for_each(|text| std::fs::write(dir.join("run.json"), text).unwrap());
    let message = super::super::read_run(Path::new(&dir)).unwrap_err();
    words.iter().for_each(|word| assert!(message.contains(word), "{message} has no {word}"));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn what_is_no_record_is_named() {
    check_unreadable("none", None, &["run.json"]);
    check_unreadable("text", Some("hello"), &["run.json", "no record of a run"]);
    let mut newer = MADE.run_json();
    newer["format"] = 99.into();
    check_unreadable("newer", Some(&newer.to_string()), &["format 99", "again"]);
}
