//! Reads a whole scenario, table by table, in the order in which its names become known, and checks what concerns more
//! than one table. Does not stop at the first error.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::bounds::{Bounds, GeneratorSpec, read_metric_roles};
use super::declared_names::DeclaredNames;
use super::fault::{Fault, FaultTargets, load_end};
use super::feed::Feed;
use super::gate::{KnownFigures, read_headline};
use super::journey::Journey;
use super::keys::KeySet;
use super::message::{FormatStatus, Push};
use super::observer::Observer;
use super::phase::{Phase, PhaseReferences};
use super::reader::{NodeReader, TableReader, check_template_name};
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
        let scenario = Scenario {
            name: fields.required("name", "the report calls the trial so", NodeReader::string),
            summary: fields.required("summary", "what the trial does, in a sentence", NodeReader::string),
            gates_other_errors: true,
            ..Scenario::default()
        };
        let public = ["run.id", "run.dir"].map(str::to_owned).into();
        let public = TemplateNames { known: public, ..TemplateNames::default() };
        let declared = DeclaredNames::from_document(at.node);
        let mut reader = ScenarioReader { at, fields, files, declared, names: public.clone(), public, scenario };
        reader.read_values();
        reader.read_target();
        reader.read_load();
        reader.read_bounds();
        reader.read_gates();
        check_unique_names(at);
        check_phases(at, &reader.scenario);
        reader.scenario
    })
}

/// A scenario as far as it was read, and the names that are known by then.
struct ScenarioReader<'r, 'a> {
    at: &'r NodeReader<'a>,
    fields: &'r TableReader<'a>,
    /// The files that the scenario names, with their contents.
    files: &'r BTreeMap<&'r str, &'r str>,
    declared: DeclaredNames,
    names: TemplateNames,
    /// Names whose values are no secrets.
    public: TemplateNames,
    scenario: Scenario,
}

impl ScenarioReader<'_, '_> {
    /// What templates are filled with.
    fn read_values(&mut self) {
        let Self { fields, names, scenario, .. } = self;
        fields.get("vars");
        scenario.secrets = fields.or_default("secrets", read_secrets);
        scenario.feeds = fields.or_default("feed", |at| at.entries(|name, at| Some(Feed::read(name, at))));
        scenario.keys = fields.or_default("key", |at| at.entries(|name, at| Some(KeySet::read(name, at))));
        names.keys.clone_from(&scenario.keys);
        names.known.extend(scenario.secrets.iter().map(|secret| secret.name.clone()));
        names.feeds = scenario.feeds.iter().map(feed_names).collect();
    }

    /// The service under test, what is prepared in it, and what is read from it.
    fn read_target(&mut self) {
        let Self { fields, files, names, public, scenario, .. } = self;
        let target = fields.get_required("target", "[target] with `url`");
        scenario.target = target.and_then(|at| Target::read(&at, names, public, files)).unwrap_or_default();
        scenario.helpers = fields.or_default("process", |at| at.items(|at| HelperProcess::read(at, names, public)));
        scenario.work_specs = fields.or_default("work", |at| at.entries(|name, at| WorkSpec::read(name, at, names)));
        scenario.setup = fields.or_default("setup", |at| at.items(|at| read_setup_step(at, names)));
        scenario.picks = fields.or_default("pick", |at| read_picks(at, names));
        names.picks = scenario.picks.iter().map(|(name, _)| name.clone()).collect();
        scenario.observers = fields.or_default("observe", |at| at.items(|at| Observer::read(at, names)));
    }

    /// What is done to the target, and when.
    fn read_load(&mut self) {
        let has_socket = self.has_target_key("socket");
        let Self { at, fields, declared, names, scenario, .. } = self;
        let format = FormatStatus::from_socket(has_socket, scenario.target.socket.as_ref());
        scenario.journeys =
            fields.or_default("journey", |at| at.items(|at| Journey::read(at, names, declared, format)));
        scenario.pushes = fields.or_default("push", |at| at.items(|at| Push::read(at, format)));
        let known = PhaseReferences { declared, journeys: &scenario.journeys };
        for at in fields.optional("phase", NodeReader::list).unwrap_or_default() {
            let phase = Phase::read(&at, &known, &mut scenario.phases);
            scenario.phases.extend(phase);
        }
        let Scenario { journeys, phases, .. } = scenario;
        let all_read = phases.len() == declared.phases.len() && journeys.len() == declared.journeys.len();
        let load_end = load_end(phases, journeys).filter(|_| all_read);
        let processes = FaultTargets::from_document(at.node);
        let faults = fields.optional("fault", NodeReader::list).unwrap_or_default();
        scenario.faults = faults.iter().flat_map(|at| Fault::read(at, &processes, load_end)).collect();
        for (feed, names) in scenario.feeds.iter_mut().zip(&names.feeds) {
            feed.columns.clone_from(&names.columns.borrow());
        }
    }

    /// What the run may use.
    fn read_bounds(&mut self) {
        let has_metrics = self.has_target_key("metrics");
        let Self { at, fields, scenario, .. } = self;
        scenario.generator = fields.optional("generator", GeneratorSpec::read).unwrap_or_default();
        let bounds_at = fields.get("bounds");
        if let Some(bounds) = bounds_at.as_ref().map_or_else(|| Some(Bounds::default()), Bounds::read) {
            bounds.check(bounds_at.as_ref().unwrap_or(at), &scenario.phases, &scenario.journeys);
            scenario.bounds = bounds;
        }
        scenario.metric_roles = fields.or_default("signals", |at| read_metric_roles(at, has_metrics));
    }

    /// What must hold at the end, and what a report shows first.
    fn read_gates(&mut self) {
        let Self { fields, declared, scenario, .. } = self;
        let figures = KnownFigures { paths: known_figures(scenario), unread_roots: declared.unread_roots(scenario) };
        if let Some(at) = fields.get("gates") {
            (scenario.gates, scenario.gates_other_errors) = figures.read_gates(&at);
        }
        scenario.headline = fields.optional("headline", |at| read_headline(at, &figures));
    }

    fn has_target_key(&self, key: &str) -> bool {
        self.at.node.get("target").is_some_and(|target| target.get(key).is_some())
    }
}

fn read_format(at: &NodeReader<'_>) -> Option<u64> {
    let format = at.int(0..=u64::MAX)?;
    if format != FORMAT {
        at.add_error(format!("must be {FORMAT}: this lab reads no other version"));
    }
    Some(format)
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
