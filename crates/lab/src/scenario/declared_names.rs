//! The names that a scenario declares, read from its text alone: what refers to a table may stand before it, and a table with an
//! error inside has its name all the same. Does not know what the tables mean.

use std::collections::{BTreeMap, BTreeSet};

use super::Scenario;
use super::tree::Node;

/// The names that a scenario declares, as they are written: an entry with an error inside is included.
#[derive(Debug)]
pub(super) struct DeclaredNames {
    pub(super) journeys: Vec<String>,
    pub(super) works: Vec<String>,
    pub(super) phases: Vec<String>,
    /// By journey: the names that it may use without keeping them itself.
    pub(super) inherited: BTreeMap<String, Vec<String>>,
    observers: Vec<String>,
    pushes: Vec<String>,
}

impl DeclaredNames {
    pub(super) fn from_document(root: &Node) -> Self {
        let names =
            |list| root.items_of(list).iter().map(|item| item.text_at("name").unwrap_or("").to_owned()).collect();
        Self {
            journeys: names("journey"),
            works: root.entries_of("work").map(|(name, _)| name.clone()).collect(),
            phases: names("phase"),
            inherited: inherited_names(root),
            observers: names("observe"),
            pushes: names("push"),
        }
    }

    /// The first segments of the figures of what is written and could not be read: its own errors have been added, and
    /// every figure that it could have counts as known.
    pub(super) fn unread_roots(&self, read: &Scenario) -> BTreeSet<String> {
        let is_read = |name: &String| {
            read.journeys.iter().any(|journey| journey.name == *name)
                || read.work_specs.iter().any(|work| work.name == *name)
                || read.phases.iter().any(|phase| phase.name == *name)
        };
        let named = self.journeys.iter().chain(&self.works).chain(&self.phases).filter(|name| !is_read(name)).cloned();
        let observe = (self.observers.len() > read.observers.len()).then(|| "observe".to_owned());
        let push = (self.pushes.len() > read.pushes.len()).then(|| "push".to_owned());
        named.chain(observe).chain(push).collect()
    }
}

/// See [`DeclaredNames::inherited`]. A held connection has kept those that its
/// `opening` journey keeps; a journey may use a name if every phase that runs it provides that name. Read from the text
/// alone, because a journey must know its names before the phases that run it can be read.
fn inherited_names(root: &Node) -> BTreeMap<String, Vec<String>> {
    let kept: BTreeMap<&str, BTreeSet<&str>> = root
        .items_of("journey")
        .iter()
        .filter_map(|journey| Some((journey.text_at("name")?, kept_names(journey))))
        .collect();
    let mut shared: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for phase in root.items_of("phase") {
        let Some(journey) = phase.text_at("journey") else { continue };
        let given = phase.text_at("opening").and_then(|opening| kept.get(opening)).cloned().unwrap_or_default();
        let known = shared.entry(journey).or_insert_with(|| given.clone());
        *known = known.intersection(&given).copied().collect();
    }
    let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
    shared.into_iter().map(|(journey, names)| (journey.to_owned(), owned(names))).collect()
}

/// Names that the steps of a journey keep, including those of groups of steps.
fn kept_names(steps: &Node) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for step in steps.items_of("step") {
        names.extend(step.entries_of("keep").map(|(name, _)| name.as_str()));
        names.append(&mut kept_names(step));
    }
    names
}
