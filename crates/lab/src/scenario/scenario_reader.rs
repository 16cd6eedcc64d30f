//! Reads a whole scenario, table by table, in the order in which its names become known, and checks what concerns more
//! than one table. Does not stop at the first error.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::bounds::{Bounds, GeneratorSpec, read_metric_roles};
use super::fault::{Fault, FaultTargets, load_end};
use super::feed::Feed;
use super::gate::{KnownFigures, read_headline};
use super::journey::Journey;
use super::keys::KeySet;
use super::message::{FormatStatus, Push};
use super::observer::Observer;
use super::phase::{self, Phase};
use super::reader::{NodeReader, TableReader, check_template_name};
use super::step::{Step, StepContext};
use super::target::{HelperProcess, Target};
use super::template::{FeedColumns, Template, TemplateNames};
use super::tree::{Node, TableEntry};
use super::validation::Origin;
use super::work::WorkSpec;
use super::{FORMAT, MetricRoles, Scenario, Secret};
use crate::limits::{LOAD_STEPS_MAX, PHASE_OPS_MAX};
use crate::scenario::{RESERVED_NAMES, known_figures};

pub(super) fn read_scenario(at: &NodeReader<'_>, files: &BTreeMap<&str, &str>) -> Option<Scenario> {
    let fields = at.table()?;
    check_format(&fields);
    let name = fields.required("name", "the report calls the trial so").and_then(|at| at.text());
    let summary = fields.required("summary", "what the trial does, in a sentence").and_then(|at| at.text());
    let _ = fields.optional("vars");
    let secrets = fields.optional("secrets").map_or_else(Vec::new, |at| read_secrets(&at));
    let mut feeds = read_named(&fields, "feed", Feed::read);
    let keys = read_named(&fields, "key", KeySet::read);
    let public = TemplateNames { known: ["run.id", "run.dir"].map(str::to_owned).into(), ..TemplateNames::default() };
    let mut names = public.clone();
    names.known.extend(secrets.iter().map(|secret| secret.name.clone()));
    names.feeds = feeds.iter().map(feed_names).collect();
    names.keys.clone_from(&keys);

    let target =
        fields.required("target", "[target] with `url`").and_then(|at| Target::read(&at, &names, &public, files));
    let helpers = read_items(&fields, "process", |at| HelperProcess::read(at, &names, &public));
    let works_at = fields.optional("work").and_then(|at| at.named_entries()).unwrap_or_default();
    let works: Vec<WorkSpec> = works_at.iter().filter_map(|(name, at)| WorkSpec::read(name, at, &names)).collect();
    let setup = read_items(&fields, "setup", |at| read_setup_step(at, &mut names));
    let picks = fields.optional("pick").map_or_else(Vec::new, |at| read_picks(&at, &names));
    names.picks = picks.iter().map(|(name, _)| name.clone()).collect();
    let observers = read_items(&fields, "observe", |at| Observer::read(at, &names));
    let written = DeclaredNames::from_document(at.node);
    let has_socket = at.node.get("target").is_some_and(|target| target.get("socket").is_some());
    let speech = FormatStatus::from_socket(has_socket, target.as_ref().and_then(|target| target.socket.as_ref()));
    let inherited = inherited_names(at.node);
    let journeys = read_items(&fields, "journey", |at| Journey::read(at, &names, &inherited, &written.works, speech));
    let pushes = read_items(&fields, "push", |at| Push::read(at, speech));
    let known =
        phase::PhaseReferences { journey_names: &written.journeys, phase_names: &written.phases, journeys: &journeys };
    let mut phases: Vec<Phase> = Vec::new();
    for at in fields.optional("phase").and_then(|at| at.list()).unwrap_or_default() {
        let phase = Phase::read(&at, &known, &mut phases);
        phases.extend(phase);
    }
    let processes = FaultTargets::from_document(at.node);
    let all_read = phases.len() == written.phases.len() && journeys.len() == written.journeys.len();
    let load_end = load_end(&phases, &journeys).filter(|_| all_read);
    let faults = read_items(&fields, "fault", |at| Fault::read(at, &processes, load_end));
    let generator =
        fields.optional("generator").map_or_else(|| Some(GeneratorSpec::default()), |at| GeneratorSpec::read(&at));
    let bounds = read_bounds(&fields, &phases, &journeys);
    let signals = fields
        .optional("signals")
        .map_or_else(MetricRoles::new, |signals| read_metric_roles(&signals, has_metrics(at.node)));
    let figures = written.known_figures(&journeys, &works, &phases, &observers, &pushes);
    let (gates, judges_errors) =
        fields.optional("gates").map_or_else(|| (Vec::new(), true), |at| figures.read_gates(&at));
    let headline = fields.optional("headline").and_then(|at| read_headline(&at, &figures));
    fields.reject_unknown_keys();
    check_unique_names(at);
    check_phases(at, &written.phases, &phases, &journeys);
    for (feed, names) in feeds.iter_mut().zip(&names.feeds) {
        feed.columns.clone_from(&names.columns.borrow());
    }
    Some(Scenario {
        name: name?.to_owned(),
        summary: summary?.to_owned(),
        target: target?,
        helpers,
        secrets,
        picks,
        setup,
        phases,
        journeys,
        pushes,
        work_specs: works,
        gates,
        gates_other_errors: judges_errors,
        headline,
        faults,
        observers,
        feeds,
        keys,
        bounds: bounds?,
        generator: generator?,
        metric_roles: signals,
    })
}

/// The names that a scenario declares, as they are written: an entry with an error inside is included.
struct DeclaredNames {
    journeys: Vec<String>,
    works: Vec<String>,
    phases: Vec<String>,
    observers: Vec<String>,
    pushes: Vec<String>,
}

impl DeclaredNames {
    fn from_document(root: &Node) -> Self {
        let names =
            |list| root.items_of(list).iter().map(|item| item.text_at("name").unwrap_or("").to_owned()).collect();
        Self {
            journeys: names("journey"),
            works: root.entries_of("work").iter().map(|entry| entry.key.clone()).collect(),
            phases: names("phase"),
            observers: names("observe"),
            pushes: names("push"),
        }
    }

    /// The figures that gates may use; for what could not be read, every figure that it could have.
    fn known_figures(
        &self,
        journeys: &[Journey],
        works: &[WorkSpec],
        phases: &[Phase],
        observers: &[Observer],
        pushes: &[Push],
    ) -> KnownFigures {
        let mut unread = unread_names(&self.journeys, journeys.iter().map(|journey| &journey.name));
        unread.append(&mut unread_names(&self.works, works.iter().map(|work| &work.name)));
        unread.append(&mut unread_names(&self.phases, phases.iter().map(|phase| &phase.name)));
        if !unread_names(&self.observers, observers.iter().map(|observer| &observer.name)).is_empty() {
            unread.insert("observe".to_owned());
        }
        if !unread_names(&self.pushes, pushes.iter().map(|push| &push.name)).is_empty() {
            unread.insert("push".to_owned());
        }
        KnownFigures { paths: known_figures(journeys, works, phases, observers, pushes), unread_roots: unread }
    }
}

fn read_items<T>(
    fields: &TableReader<'_>,
    key: &'static str,
    read: impl FnMut(&NodeReader<'_>) -> Option<T>,
) -> Vec<T> {
    fields.optional(key).and_then(|at| at.list()).unwrap_or_default().iter().filter_map(read).collect()
}

fn read_named<T>(fields: &TableReader<'_>, key: &'static str, read: impl Fn(&str, &NodeReader<'_>) -> T) -> Vec<T> {
    let tables = fields.optional(key).and_then(|at| at.named_entries()).unwrap_or_default();
    tables.iter().map(|(name, at)| read(name, at)).collect()
}

fn feed_names(feed: &Feed) -> FeedColumns {
    FeedColumns { name: feed.name.clone(), order: feed.order, columns: Rc::new(RefCell::default()) }
}

fn check_format(fields: &TableReader<'_>) {
    let Some(at) = fields.required("format", "the version of the format: format = 1") else { return };
    if at.int(0..=u64::MAX).is_some_and(|format| format != FORMAT) {
        at.add_error(format!("must be {FORMAT}: this lab reads no other version"));
    }
}

fn read_bounds(fields: &TableReader<'_>, phases: &[Phase], journeys: &[Journey]) -> Option<Bounds> {
    let written = fields.optional("bounds");
    let bounds = written.as_ref().map_or_else(|| Some(Bounds::default()), Bounds::read)?;
    bounds.check(written.as_ref().unwrap_or(&fields.reader), phases, journeys);
    Some(bounds)
}

fn has_metrics(root: &Node) -> bool {
    root.get("target").is_some_and(|target| target.get("metrics").is_some())
}

fn check_phases(at: &NodeReader<'_>, names: &[String], phases: &[Phase], journeys: &[Journey]) {
    if names.is_empty() {
        at.add_error("needs at least one [[phase]]");
    }
    let parts = phases.iter().map(|phase| phase.load_profile.load_step_count()).fold(0, u32::saturating_add);
    if parts > LOAD_STEPS_MAX {
        at.add_error(format!(
            "has {parts} bursts and levels in its phases, each with figures of its own: at most {LOAD_STEPS_MAX}"
        ));
    }
    let journeys_of = |phase: &Phase| [Some(phase.journey_index), phase.opening_journey].into_iter().flatten();
    let taken = phases.iter().flat_map(journeys_of).filter_map(|index| journeys.get(index));
    let ops: usize = taken.map(|journey| 1 + journey.steps.len()).sum();
    if ops > PHASE_OPS_MAX {
        at.add_error(format!(
            "has phases that take {ops} journeys and steps, each with figures of its own in each phase: at most {PHASE_OPS_MAX}"
        ));
    }
}

/// Names that are written but could not be read: their own errors have been added, and they cause no others.
fn unread_names<'a>(written: &[String], read: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let read: BTreeSet<&String> = read.collect();
    written.iter().filter(|name| !read.contains(name)).cloned().collect()
}

fn read_secrets(at: &NodeReader<'_>) -> Vec<Secret> {
    let mut secrets = Vec::new();
    for (name, at) in at.named_entries().unwrap_or_default() {
        let Some(fields) = at.table() else { continue };
        let env = fields.optional("env").and_then(|at| at.text()).map(str::to_owned);
        let generate = fields.optional("generate").and_then(|at| at.bool()).unwrap_or(false);
        fields.reject_unknown_keys();
        if env.is_none() && !generate {
            at.add_error("needs `env`, the environment variable that holds it, or generate = true");
        }
        check_template_name(&at, name);
        secrets.push(Secret { name: name.to_owned(), env, generate });
    }
    secrets
}

fn read_setup_step(at: &NodeReader<'_>, names: &mut TemplateNames) -> Option<Step> {
    let (step, _) = Step::read(at, names, &[], StepContext::Setup, FormatStatus::Absent)?;
    if !step.denied.is_never() {
        at.add_error("has `denied`, but a setup that is denied has failed: use `expect`");
    }
    Some(step)
}

fn read_picks(at: &NodeReader<'_>, names: &TemplateNames) -> Vec<(String, Vec<Template>)> {
    let pick = |(name, at): (&str, NodeReader<'_>)| {
        let items = at.list()?;
        if items.is_empty() {
            at.add_error("must list something to pick from");
        }
        Some((name.to_owned(), items.iter().filter_map(|at| Template::read(at, names)).collect()))
    };
    at.named_entries().unwrap_or_default().into_iter().filter_map(pick).collect()
}

/// Figures are found by name, so two entries with figures of the same kind must not share one.
fn check_unique_names(at: &NodeReader<'_>) {
    let kinds: [(&[&str], &[&str]); 5] = [
        (&["journey", "work"], &RESERVED_NAMES),
        (&["phase"], &RESERVED_NAMES),
        (&["process"], &RESERVED_NAMES),
        (&["observe"], &[]),
        (&["push"], &[]),
    ];
    for (tables, reserved) in kinds {
        let mut seen: BTreeMap<&str, (&str, &Origin)> = BTreeMap::new();
        for (table, name, key, origin) in tables.iter().flat_map(|table| named_tables(at.node, table)) {
            if reserved.contains(&name) {
                let reserved = reserved.join(", ");
                at.errors.add(
                    origin,
                    &key,
                    format!("is \"{name}\", which the lab calls figures of its own: {reserved}"),
                );
            } else if let Some((other, first)) = seen.get(name) {
                let message = format!(
                    "is \"{name}\" as well, like a [[{other}]] before it ({first}): each needs a name of its own"
                );
                at.errors.add(origin, &key, message);
            } else {
                seen.insert(name, (table, origin));
            }
        }
    }
}

/// The named entries of a table or a list of tables: table, name, key, and where the name is written.
fn named_tables<'a>(root: &'a Node, table: &'a str) -> Vec<(&'a str, &'a str, String, &'a Origin)> {
    let by_key =
        |entry: &'a TableEntry| (table, entry.key.as_str(), format!("{table}.{}", entry.key), &entry.node.origin);
    let by_name = |item: &'a Node| {
        let (node, name) = (item.get("name")?, item.text_at("name").filter(|name| !name.is_empty())?);
        Some((table, name, format!("{table}.{name}.name"), &node.origin))
    };
    let keyed = root.entries_of(table).iter().map(by_key);
    keyed.chain(root.items_of(table).iter().filter_map(by_name)).collect()
}

/// By journey: the names that it may use without keeping them itself. A held connection has kept those that its
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
        names.extend(step.entries_of("keep").iter().map(|entry| entry.key.as_str()));
        names.append(&mut kept_names(step));
    }
    names
}
