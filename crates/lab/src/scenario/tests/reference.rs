//! The reference of the format against the reader: every example is valid, every key that the reader knows is in an
//! example and in the text, and so is every word that it accepts.

use std::collections::{BTreeMap, BTreeSet};

use super::super::load_profile::LOAD_KINDS;
use super::super::reader::NodeReader;
use super::super::validation::ErrorCollector;
use super::super::{Document, METRIC_ROLES, Scenario, scenario_reader};

const REFERENCE: &str = include_str!("../../../../../docs/scenario.md");

/// The files that examples name.
const FILES: [(&str, &str); 2] = [
    ("world.proto", include_str!("../../../../wire/proto/world.proto")),
    ("hunt.proto", include_str!("../../../../wire/proto/hunt.proto")),
];

/// What examples leave out.
const REST: [(&str, &str); 3] = [
    ("target", "[target]\nurl = \"http://127.0.0.1:8080\"\n"),
    (
        "phase",
        "[[phase]]\nname = \"steady\"\narrivals = { rate = 1, for = \"1s\" }\nin_flight_max = 1\njourney = \"visit\"\n",
    ),
    ("journey", "[[journey]]\nname = \"visit\"\n[[journey.step]]\nrequest = \"GET /\"\n"),
];

/// The reference without its examples, and each example with its line.
fn text_and_examples() -> (String, Vec<(usize, String)>) {
    let (mut prose, mut examples, mut inside) = (String::new(), Vec::new(), false);
    for (number, line) in (1..).zip(REFERENCE.lines()) {
        match (line, inside) {
            ("```toml", false) => examples.push((number, String::new())),
            ("```", true) => {}
            (_, true) => examples.last_mut().unwrap().1 += &format!("{line}\n"),
            (_, false) => prose += &format!("{line}\n"),
        }
        inside = if inside { line != "```" } else { line == "```toml" };
    }
    (prose, examples)
}

fn completed(example: &str) -> String {
    let document = Document::parse(example).unwrap();
    if document.root.get("format").is_some() {
        return example.to_owned();
    }
    let missing = REST.iter().filter(|(key, _)| document.root.get(key).is_none()).map(|(_, text)| *text);
    format!("format = 1\nname = \"example\"\nsummary = \"An example\"\n{example}\n{}", missing.collect::<String>())
}

fn placed(example: &str) -> Document {
    let mut document = Document::parse(&completed(example)).unwrap();
    document.free_port_variables().iter().for_each(|variable| document.set_port(variable, 5000));
    FILES.iter().for_each(|(name, text)| document.add_file(name, text));
    document
}

#[test]
fn every_example_is_right() {
    let (_, examples) = text_and_examples();
    assert!(examples.len() > 15, "the examples are found");
    for (line, example) in examples {
        if let Err(errors) = Scenario::read(&placed(&example)) {
            panic!("the example at line {line} of docs/scenario.md:\n{errors}");
        }
    }
}

/// The keys that each table may have, and those of them that an example uses. A table is identified by the list of all
/// its keys. A table is only read if the key that leads to it is used, so none is left out.
fn known_and_used() -> BTreeMap<Vec<&'static str>, BTreeSet<&'static str>> {
    let mut tables: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (_, example) in text_and_examples().1 {
        let notes = ErrorCollector::default();
        let document = placed(&example);
        let root = document.with_variables(&notes);
        let _ = scenario_reader::read_scenario(&NodeReader::new(&root, "", &notes), &document.files());
        for (known, used) in notes.tables.into_inner() {
            tables.entry(known).or_default().extend(used);
        }
    }
    tables
}

#[test]
fn every_key_that_the_reader_knows_is_explained_and_used() {
    let (prose, _) = text_and_examples();
    let words: BTreeSet<&str> = prose
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
        .collect();
    let tables = known_and_used();
    assert!(tables.len() > 30, "the tables are found");
    for (known, used) in &tables {
        for key in known {
            assert!(used.contains(key), "no example of docs/scenario.md uses `{key}` of {known:?}");
            assert!(words.contains(key), "docs/scenario.md does not explain `{key}` of {known:?}");
        }
    }
    let used: BTreeSet<&str> = tables.values().flatten().copied().collect();
    assert!(LOAD_KINDS.iter().all(|kind| used.contains(kind)), "every kind of load has an example");
    let acts = ["kill", "stop", "continue", "term", "restart"];
    for word in METRIC_ROLES.iter().chain(&crate::scenario::STATISTICS).chain(&acts) {
        assert!(words.contains(word), "docs/scenario.md does not explain `{word}`");
    }
}

#[test]
fn every_kind_of_figure_is_listed() {
    let (prose, examples) = text_and_examples();
    for (_, example) in examples {
        let scenario = Scenario::read(&placed(&example)).unwrap();
        let paths = crate::scenario::known_figures(&scenario);
        let derived: BTreeSet<&str> =
            scenario.work_specs.iter().flat_map(|work| &work.derived).map(|figure| figure.name.as_str()).collect();
        for path in paths {
            let index = if path.starts_with("push.") { 2 } else { 1 };
            let figure = path.split('.').nth(index).unwrap();
            let is_listed =
                path.starts_with("observe.") || derived.contains(figure) || prose.contains(&format!(".{figure}"));
            assert!(is_listed, "docs/scenario.md does not list `{path}`");
        }
    }
}
