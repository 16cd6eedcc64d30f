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
use super::phase::{Phase, PhaseReferences};
use super::reader::{NodeReader, check_template_name};
use super::step::{Step, StepContext};
use super::target::{HelperProcess, Target};
use super::template::{FeedColumns, Template, TemplateNames};
use super::tree::Node;
use super::validation::Origin;
use super::work::WorkSpec;
use super::{FORMAT, Scenario, Secret};
use crate::limits::{LOAD_STEPS_MAX, PHASE_OPS_MAX};
use crate::scenario::{RESERVED_NAMES, known_figures};

pub(super) fn read_scenario(at: &NodeReader<'_>, files: &BTreeMap<&str, &str>) -> Option<Scenario> {
    at.table(|fields| {
        fields.required("format", "the version of the format: format = 1", read_format);
        let name = fields.required("name", "the report calls the trial so", NodeReader::string);
        let summary = fields.required("summary", "what the trial does, in a sentence", NodeReader::string);
        fields.get("vars");
        let secrets = fields.or_default("secrets", read_secrets);
        let mut feeds = fields.or_default("feed", |at| at.entries(|name, at| Some(Feed::read(name, at))));
        let keys = fields.or_default("key", |at| at.entries(|name, at| Some(KeySet::read(name, at))));
        let run = ["run.id", "run.dir"].map(str::to_owned);
        let public = TemplateNames { known: run.into(), ..TemplateNames::default() };
        let mut names = TemplateNames { keys: keys.clone(), ..public.clone() };
        names.known.extend(secrets.iter().map(|secret| secret.name.clone()));
        names.feeds = feeds.iter().map(feed_names).collect();

        let target = fields.get_required("target", "[target] with `url`");
        let target = target.and_then(|at| Target::read(&at, &names, &public, files));
        let helpers = fields.or_default("process", |at| at.items(|at| HelperProcess::read(at, &names, &public)));
        let work_specs = fields.or_default("work", |at| at.entries(|name, at| WorkSpec::read(name, at, &names)));
        let setup = fields.or_default("setup", |at| at.items(|at| read_setup_step(at, &mut names)));
        let picks = fields.or_default("pick", |at| read_picks(at, &names));
        names.picks = picks.iter().map(|(name, _)| name.clone()).collect();
        let observers = fields.or_default("observe", |at| at.items(|at| Observer::read(at, &names)));
        let written = DeclaredNames::from_document(at.node);
        let has_target = |key| at.node.get("target").is_some_and(|target| target.get(key).is_some());
        let socket = target.as_ref().and_then(|target| target.socket.as_ref());
        let format = FormatStatus::from_socket(has_target("socket"), socket);
        let inherited = inherited_names(at.node);
        let journeys: Vec<Journey> = fields
            .or_default("journey", |at| at.items(|at| Journey::read(at, &names, &inherited, &written.works, format)));
        let pushes = fields.or_default("push", |at| at.items(|at| Push::read(at, format)));
        let known =
            PhaseReferences { journey_names: &written.journeys, phase_names: &written.phases, journeys: &journeys };
        let mut phases: Vec<Phase> = Vec::new();
        for at in fields.optional("phase", NodeReader::list).unwrap_or_default() {
            let phase = Phase::read(&at, &known, &mut phases);
            phases.extend(phase);
        }
        let processes = FaultTargets::from_document(at.node);
        let all_read = phases.len() == written.phases.len() && journeys.len() == written.journeys.len();
        let load_end = load_end(&phases, &journeys).filter(|_| all_read);
        let faults = fields.or_default("fault", |at| at.items(|at| Fault::read(at, &processes, load_end)));
        let generator = fields.optional("generator", GeneratorSpec::read).unwrap_or_default();
        let bounds_at = fields.get("bounds");
        let bounds = bounds_at.as_ref().map_or_else(|| Some(Bounds::default()), Bounds::read);
        let metric_roles = fields.or_default("signals", |at| read_metric_roles(at, has_target("metrics")));
        for (feed, names) in feeds.iter_mut().zip(&names.feeds) {
            feed.columns.clone_from(&names.columns.borrow());
        }
        let mut scenario = Scenario {
            name,
            summary,
            target: target.unwrap_or_default(),
            helpers,
            secrets,
            picks,
            setup,
            phases,
            journeys,
            pushes,
            work_specs,
            gates: Vec::new(),
            gates_other_errors: true,
            headline: None,
            faults,
            observers,
            feeds,
            keys,
            bounds: bounds.unwrap_or_default(),
            generator,
            metric_roles,
        };
        let figures = KnownFigures { paths: known_figures(&scenario), unread_roots: written.unread_roots(&scenario) };
        if let Some(at) = fields.get("gates") {
            (scenario.gates, scenario.gates_other_errors) = figures.read_gates(&at);
        }
        scenario.headline = fields.optional("headline", |at| read_headline(at, &figures));
        if let Some(bounds) = bounds {
            bounds.check(bounds_at.as_ref().unwrap_or(at), &scenario.phases, &scenario.journeys);
        }
        check_unique_names(at);
        check_phases(at, &scenario);
        scenario
    })
}

fn read_format(at: &NodeReader<'_>) -> Option<u64> {
    let format = at.int(0..=u64::MAX)?;
    if format != FORMAT {
        at.add_error(format!("must be {FORMAT}: this lab reads no other version"));
    }
    Some(format)
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
            works: root.entries_of("work").map(|(name, _)| name.clone()).collect(),
            phases: names("phase"),
            observers: names("observe"),
            pushes: names("push"),
        }
    }

    /// The first segments of the figures of what is written and could not be read: its own errors have been added, and
    /// every figure that it could have counts as known.
    fn unread_roots(&self, read: &Scenario) -> BTreeSet<String> {
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

fn feed_names(feed: &Feed) -> FeedColumns {
    FeedColumns { name: feed.name.clone(), order: feed.order, columns: Rc::new(RefCell::default()) }
}

fn check_phases(at: &NodeReader<'_>, scenario: &Scenario) {
    let Scenario { phases, journeys, .. } = scenario;
    if at.node.items_of("phase").is_empty() {
        at.add_error("needs at least one [[phase]]");
    }
    let load_steps = phases.iter().map(|phase| phase.load_profile.load_step_count()).fold(0, u32::saturating_add);
    if load_steps > LOAD_STEPS_MAX {
        at.add_error(format!(
            "has {load_steps} bursts and levels in its phases, each with figures of its own: at most {LOAD_STEPS_MAX}"
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

fn read_secrets(at: &NodeReader<'_>) -> Vec<Secret> {
    at.entries(|name, at| {
        check_template_name(at, name);
        let secret = at.table(|fields| Secret {
            name: name.to_owned(),
            env: fields.optional("env", NodeReader::string),
            generate: fields.or("generate", false, NodeReader::bool),
        })?;
        if secret.env.is_none() && !secret.generate {
            at.add_error("needs `env`, the environment variable that holds it, or generate = true");
        }
        Some(secret)
    })
}

fn read_setup_step(at: &NodeReader<'_>, names: &mut TemplateNames) -> Option<Step> {
    let (step, _) = Step::read(at, names, &[], StepContext::Setup, FormatStatus::Absent)?;
    if !step.denied.is_never() {
        at.add_error("has `denied`, but a setup that is denied has failed: use `expect`");
    }
    Some(step)
}

fn read_picks(at: &NodeReader<'_>, names: &TemplateNames) -> Vec<(String, Vec<Template>)> {
    at.entries(|name, at| {
        let items = at.list()?;
        if items.is_empty() {
            at.add_error("must list something to pick from");
        }
        Some((name.to_owned(), items.iter().filter_map(|at| Template::read(at, names)).collect()))
    })
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
    let by_key = |(key, node): (&'a String, &'a Node)| (table, key.as_str(), format!("{table}.{key}"), &node.origin);
    let by_name = |item: &'a Node| {
        let (node, name) = (item.get("name")?, item.text_at("name").filter(|name| !name.is_empty())?);
        Some((table, name, format!("{table}.{name}.name"), &node.origin))
    };
    let keyed = root.entries_of(table).map(by_key);
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
        names.extend(step.entries_of("keep").map(|(name, _)| name.as_str()));
        names.append(&mut kept_names(step));
    }
    names
}
