//! docs/run.schema.json against the record that the lab writes: what the lab writes is described there, and what is
//! described there is written.

pub(crate) mod checker;

use serde_json::{Value, json};

use super::fixture::{FAILING, full, leaderboard};
use crate::report::Run;
use crate::scenario::HeadlineFigure;

/// What to do when the record has changed.
const RENEW: &str = "the form of run.json has changed: renew docs/run.schema.json, and raise Run::FORMAT where a \
                     program that reads the old form would misread the new one";

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs that together have every member that a record can have.
fn records() -> [Value; 2] {
    let mut void = leaderboard(true, false, &FAILING);
    void.results.server.config = None;
    let leading = |figure: &str| HeadlineFigure { figure: figure.to_owned(), of: "of something".to_owned() };
    void.scenario.headline = Some([leading("game.finished"), leading("game.drain_s")]);
    [full(), void].map(|run| serde_json::from_str(&run.to_json_text()).unwrap())
}

#[test]
fn what_the_lab_writes_is_described() {
    checker::check_described(&schema(), &records(), RENEW);
}

#[test]
fn what_is_described_is_written() {
    checker::check_written(&schema(), &records(), RENEW);
}

#[test]
fn the_schema_is_of_this_format() {
    assert_eq!(schema().pointer("/properties/format/const"), Some(&json!(Run::FORMAT)), "{RENEW}");
}

#[track_caller]
fn check_refused(pointer: &str, change: impl FnOnce(&mut Value), expected: &str) {
    let [record, _] = records();
    checker::check_refused(&schema(), record, pointer, change, expected);
}

#[test]
fn what_is_not_a_record_is_refused() {
    let unknown = |value: &mut Value| drop(value.as_object_mut().unwrap().insert("strange".to_owned(), json!(1)));
    check_refused("", unknown, "/strange is not described");
    check_refused("/machine", unknown, "/machine/strange is not described");
    check_refused("/load_steps/0", unknown, "/load_steps/0/strange is not described");
    // A figure that a scenario derives may have any name, but not any form.
    let game = format!("{}/game", "/work");
    check_refused(&game, unknown, &format!("{game}/strange is no object"));
    check_refused(
        "/journeys/create_game/latency_ms",
        unknown,
        "/journeys/create_game/latency_ms/strange is not described",
    );
    let without = |value: &mut Value| drop(value.as_object_mut().unwrap().remove("name"));
    check_refused("/scenario", without, "/scenario/name is missing");
    check_refused("/format", |value| *value = json!(1), "/format is not 3");
    check_refused("/verdict", |value| *value = json!("fine"), "/verdict is none of its words");
    check_refused("/duration_s", |value| *value = json!("171"), "/duration_s is no number");
    check_refused("/scenario/seed", |value| *value = json!(-1), "/scenario/seed is below 0");
    check_refused("/load_steps/0/count", |value| *value = json!(1.5), "/load_steps/0/count is no integer");
    check_refused("/server/rss_bytes", |value| *value = json!(7), "/server/rss_bytes is none of what it may be");
}
