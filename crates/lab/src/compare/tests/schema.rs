//! docs/compare.schema.json against the comparison that programs read: what is written is described there, and what is
//! described there is written.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::super::{CompareOptions, Side, compare, json};
use super::fixture::{TEST_RUN, TestRun, side};
use crate::report::tests::schema::checker;

/// What to do when the form has changed.
const RENEW: &str = "the form of a comparison's JSON has changed: renew docs/compare.schema.json, and raise FORMAT where a \
                     program that reads the old form would misread the new one";

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compare.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Shared by all tests: making them is most of the work.
static DOCUMENTS: LazyLock<Vec<Value>> = LazyLock::new(documents);

/// Comparisons that together have every possible member: of single runs, and of repeats; with undecided figures, and
/// with settings that differ.
fn documents() -> Vec<Value> {
    let other =
        TestRun { seed: 2, latency_us: 13_200.0, stuck: 25, settings: &["workers=25"], workers: "25", ..TEST_RUN };
    let short = TestRun { seed: 3, seconds: 12, ..TEST_RUN };
    let once = |made: &[&TestRun]| -> Vec<Side> {
        ["A", "B", "C"].iter().zip(made).map(|(label, made)| side(label, vec![made.record()])).collect()
    };
    let again = |seeds: [u64; 3]| seeds.map(|seed| TestRun { seed, rss_mib: 118 + seed, ..TEST_RUN }.record()).into();
    let all = [
        once(&[&TEST_RUN, &other]),
        once(&[&TEST_RUN, &short, &other]),
        vec![side("A", again([1, 2, 3])), side("B", again([4, 5, 6]))],
    ];
    let written = |sides| serde_json::from_str(&json(&compare(sides, CompareOptions::default()).unwrap())).unwrap();
    all.into_iter().map(written).collect()
}

#[test]
fn what_is_written_is_described() {
    checker::check_described(&schema(), &DOCUMENTS, RENEW);
}

#[test]
fn what_is_described_is_written() {
    checker::check_written(&schema(), &DOCUMENTS, RENEW);
}

#[track_caller]
fn check_refused(pointer: &str, change: impl FnOnce(&mut Value), expected: &str) {
    checker::check_refused(&schema(), DOCUMENTS[0].clone(), pointer, change, expected);
}

#[test]
fn what_is_no_comparison_is_refused() {
    let unknown = |value: &mut Value| drop(value.as_object_mut().unwrap().insert("unknown".to_owned(), json!(1)));
    check_refused("", unknown, "/unknown is not described");
    check_refused("/figures/0/against/0", unknown, "/figures/0/against/0/unknown is not described");
    let without = |value: &mut Value| drop(value.as_object_mut().unwrap().remove("side"));
    check_refused("/figures/0/against/0", without, "/figures/0/against/0/side is missing");
    check_refused("/format", |value| *value = json!(2), "/format is not 1");
    check_refused("/figures/0/kind", |value| *value = json!("speed"), "/figures/0/kind is none of its words");
    check_refused(
        "/sides/0/runs/0/verdict",
        |value| *value = json!("fine"),
        "/sides/0/runs/0/verdict is none of its words",
    );
}
