//! What `sweep.json` has at every moment of a sweep, what its document says of it, and what is refused.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::super::record::{SweepDirectory, SweepHead, SweepRecord, SweepRunRecord, SweepScenario};
use super::super::{read_document, view};
use super::*;
use crate::report::tests::schema::checker;

/// What to do when the form has changed.
const RENEW: &str = "the form of sweep.json has changed: renew docs/sweep.schema.json, and raise SweepRecord::FORMAT \
                     where a program that reads the old form would misread the new one";

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sweep.schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn record(plan: &SweepPlan, outcome: &SweepOutcome, running: Option<SweepRunRecord>) -> SweepRecord {
    let scenario = SweepScenario {
        name: "leaderboard".to_owned(),
        summary: "The leaderboard in small".to_owned(),
        settings: vec!["games=40".to_owned()],
        target: Some("http://127.0.0.1:4000".to_owned()),
        seed: 5,
    };
    let (id, started_at) = ("20260131-120000-ab12".to_owned(), "2026-01-31T12:00:00Z".to_owned());
    let head = SweepHead { id, program: "0.1.0 (abc)".to_owned(), scenario, started_at };
    let table = table(&variations(), plan, outcome, &Objective::Throughput);
    head.record(plan, outcome, table, &Objective::Throughput, running, 93.0)
}

/// The record of a sweep of two rounds when this many of its runs are made, and the next one goes on.
fn after(made: usize) -> SweepRecord {
    let (plan, mut outcome) = swept(2, &mut service);
    outcome.runs.truncate(made);
    outcome.over = made == plan.runs.len();
    let running = plan.runs.get(made).map(|planned| SweepRunRecord::running(&run_id(*planned), *planned));
    record(&plan, &outcome, running)
}

/// A directory with this record, removed at the end.
struct TestDir(PathBuf);

impl TestDir {
    fn with(name: &str, text: &str) -> Self {
        let dir = Self(std::env::temp_dir().join(format!("lab-sweep-{name}-{}", std::process::id())));
        std::fs::create_dir_all(&dir.0).unwrap();
        std::fs::write(dir.0.join("sweep.json"), text).unwrap();
        dir
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the document says when this many runs are made, of a sweep that goes on or does not.
#[track_caller]
fn check_document(made: usize, is_running: bool, want: (Option<&str>, &str, &str)) {
    let text = serde_json::to_string(&after(made)).unwrap();
    let dir = TestDir::with(&format!("document-{made}-{is_running}"), &text);
    let document = read_document(&dir.0, is_running).unwrap();
    let (verdict, first, progress) = want;
    assert_eq!(document["verdict"].as_str(), verdict, "{made}");
    assert_eq!(document["is_running"], verdict.is_none());
    let sentence = document["sentences"][0].as_str().unwrap();
    assert!(sentence.starts_with(first), "{sentence}");
    assert_eq!(document["progress"], progress);
}

#[test]
fn a_sweep_is_read_while_it_goes_on_and_after_it_was_cut_off() {
    let none = "0 of 12 runs made: 6 combinations, in 2 rounds, 0 of them complete.";
    check_document(0, true, (None, "No run is over yet.", none));
    check_document(0, false, (Some("interrupted"), "No run was made.", none));
    let some = "7 of 12 runs made: 6 combinations, in 2 rounds, 1 of them complete.";
    check_document(7, true, (None, "Best so far: workers=50 pool=55, ", some));
    check_document(7, false, (Some("interrupted"), "Best: workers=50 pool=55, ", some));
    let all = "12 of 12 runs made: 6 combinations, in 2 rounds, all of them complete.";
    check_document(12, false, (Some("passed"), "Best: workers=50 pool=55, ", all));
}

fn section<'a>(document: &'a Value, id: &str) -> &'a Value {
    let sections = document["sections"].as_array().unwrap();
    sections.iter().find(|section| section["id"] == id).unwrap_or_else(|| panic!("{id} in {document}"))
}

#[test]
fn the_document_and_the_markdown_say_the_same() {
    let record = after(7);
    let (document, markdown) = (view::document(&record), markdown(&record.table));
    let one_line = markdown.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentences = document["sentences"].as_array().unwrap();
    assert!(sentences.iter().all(|sentence| one_line.contains(sentence.as_str().unwrap())), "{sentences:?}");
    let table = &section(&document, "combinations")["blocks"][0]["content"];
    assert_eq!(table["rows"].as_array().unwrap().len(), 6);
    let mut cells = table["rows"].as_array().unwrap().iter().flat_map(|row| row.as_array().unwrap());
    assert!(cells.all(|cell| one_line.contains(cell["text"].as_str().unwrap())), "{table}");
    let notes = section(&document, "failing")["blocks"][0]["content"].as_array().unwrap();
    assert!(notes.iter().all(|note| one_line.contains(note["text"].as_str().unwrap())), "{notes:?}");
}

#[test]
fn every_run_that_has_a_directory_is_named() {
    let names = |record: &SweepRecord| -> Vec<(Option<String>, String)> {
        let document = view::document(record);
        let rows = section(&document, "runs")["blocks"][0]["content"]["rows"].as_array().unwrap().clone();
        let text = |cell: &Value| cell.as_str().map(str::to_owned);
        rows.iter().map(|row| (text(&row[0]["run"]), text(&row[2]["text"]).unwrap())).collect()
    };
    let of = |planned: &PlannedRun| Some(run_id(*planned));
    let plan = plan(&variations(), 2, 5).unwrap();
    let going_on = after(2);
    assert_eq!(names(&going_on).len(), 3);
    assert_eq!(names(&going_on)[2], (of(&plan.runs[2]), "goes on".to_owned()));
    assert_eq!(names(&going_on.cut_off())[2], (of(&plan.runs[2]), "cut off".to_owned()));
    // One that could not run has none; one that was ended at once has what it recorded.
    let mut ended = |planned: PlannedRun, values: &[String]| match values[0].as_str() {
        "25" => Err(CliError::failed("the server refused its settings".to_owned())),
        _ if planned.round == 1 => Err(CliError { code: EXIT_INTERRUPTED, message: "ended at once".to_owned() }),
        _ => service(planned, values),
    };
    let (plan, outcome) = swept(2, &mut ended);
    let record = record(&plan, &outcome, None);
    assert_eq!((record.table.verdict, record.rounds_made), (Some(Verdict::Interrupted), 1));
    let mut want: Vec<Option<String>> = outcome.runs.iter().map(|made| of(&made.planned)).collect();
    for (made, name) in outcome.runs.iter().zip(&mut want) {
        if plan.combinations[made.planned.combination_index][0] == "25" {
            *name = None;
        }
    }
    assert_eq!(names(&record).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), want);
    assert_eq!(want.iter().flatten().count(), 5);
}

#[test]
fn a_record_takes_the_place_of_the_previous_one() {
    let out = std::env::temp_dir().join(format!("lab-sweep-out-{}", std::process::id()));
    let directory = SweepDirectory::create(&out, "20260131-120000-ab12").unwrap();
    for made in [0, 7, 12] {
        directory.write(&after(made)).unwrap();
        let dir = out.join("20260131-120000-ab12");
        assert_eq!(SweepRecord::read(&dir).unwrap().runs.len(), made);
        let files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files, ["sweep.json"]);
    }
    std::fs::remove_dir_all(out).unwrap();
}

#[track_caller]
fn check_refused(name: &str, change: impl FnOnce(&mut Value), want: &str) {
    let mut record = serde_json::to_value(after(7)).unwrap();
    change(&mut record);
    let dir = TestDir::with(name, &record.to_string());
    let error = read_document(&dir.0, false).unwrap_err();
    assert!(error.contains("sweep.json: ") && error.contains(want), "{error}");
}

#[test]
fn what_is_no_record_of_a_sweep_is_refused() {
    check_refused("newer", |record| record["format"] = json!(2), "written in format 2, and this program reads 1");
    check_refused("best", |record| record["best"] = json!(6), "do not fit together");
    check_refused("values", |record| record["rows"][3]["values"] = json!(["25"]), "do not fit together");
    check_refused("rows", |record| record["rows"] = json!({}), "no record of a sweep");
    check_refused("empty", |record| *record = json!({}), "no record of a sweep");
}

/// Records that together have every possible member.
fn records() -> [Value; 3] {
    let mut failing = |planned, values: &[String]| match values[0].as_str() {
        "25" => Err(CliError::failed("the server refused its settings".to_owned())),
        _ => service(planned, values),
    };
    let (plan, outcome) = swept(1, &mut failing);
    [after(7), after(12), record(&plan, &outcome, None)].map(|record| serde_json::to_value(record).unwrap())
}

#[test]
fn what_is_written_is_described() {
    checker::check_described(&schema(), &records(), RENEW);
}

#[test]
fn what_is_described_is_written() {
    checker::check_written(&schema(), &records(), RENEW);
}
