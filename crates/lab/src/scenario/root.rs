//! Reads a whole scenario, table by table, in the order in which its names become known, and checks what concerns more
//! than one table. Refuses to stop at the first mistake.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::bounds::{Bounds, GeneratorSpec, signals_of};
use super::document::{Node, Value};
use super::fault::{Fault, Processes};
use super::feed::Feed;
use super::gate::KnownFigures;
use super::headline;
use super::inherited::inherited;
use super::journey::{Place, Step};
use super::keys::Keys;
use super::load_end::load_end;
use super::message::{Known, Push};
use super::mistakes::Origin;
use super::observe::Observe;
use super::phase::{self, Phase};
use super::reader::{At, Fields, check_template_name};
use super::target::{Helper, Target};
use super::template::{FeedNames, Names, Template};
use super::way::Journey;
use super::work::Work;
use super::{FORMAT, Scenario, Secret, Signals};
use crate::aggregate::{RESERVED_NAMES, known_figures};
use crate::limits::{LOAD_STEPS_MAX, PHASE_OPS_MAX};

pub(super) fn read(at: &At<'_>, files: &BTreeMap<String, String>) -> Option<Scenario> {
    let fields = at.fields()?;
    check_format(&fields);
    let name = fields.need("name", "the report calls the trial so").and_then(|at| at.text());
    let summary = fields.need("summary", "what the trial does, in a sentence").and_then(|at| at.text());
    let _ = fields.take("vars");
    let secrets = fields.take("secrets").map_or_else(Vec::new, |at| secrets_of(&at));
    let mut feeds = named(&fields, "feed", Feed::read);
    let keys = named(&fields, "key", Keys::read);
    let public = Names { known: ["run.id", "run.dir"].map(str::to_owned).into(), ..Names::default() };
    let mut names = public.clone();
    names.known.extend(secrets.iter().map(|secret| secret.name.clone()));
    names.feeds = feeds.iter().map(feed_names).collect();
    names.keys.clone_from(&keys);

    let target = fields.need("target", "[target] with `url`").and_then(|at| Target::read(&at, &names, &public, files));
    let helpers = items(&fields, "process", |at| Helper::read(at, &names, &public));
    let works_at = fields.take("work").and_then(|at| at.named()).unwrap_or_default();
    let works: Vec<Work> = works_at.iter().filter_map(|(name, at)| Work::read(name, at, &names)).collect();
    let setup = items(&fields, "setup", |at| setup_step(at, &mut names));
    let picks = fields.take("pick").map_or_else(Vec::new, |at| picks_of(&at, &names));
    names.picks = picks.iter().map(|(name, _)| name.clone()).collect();
    let observers = items(&fields, "observe", |at| Observe::read(at, &names));
    let written = Written::of(at.node);
    let has_socket = at.node.get("target").is_some_and(|target| target.get("socket").is_some());
    let speech = Known::of(has_socket, target.as_ref().and_then(|target| target.socket.as_ref()));
    let inherited = inherited(at.node);
    let journeys = items(&fields, "journey", |at| Journey::read(at, &names, &inherited, &written.works, speech));
    let pushes = items(&fields, "push", |at| Push::read(at, speech));
    let known = phase::Written { names: &written.journeys, phases: &written.phases, read: &journeys };
    let mut phases: Vec<Phase> = Vec::new();
    for at in fields.take("phase").and_then(|at| at.list()).unwrap_or_default() {
        let phase = Phase::read(&at, &known, &mut phases);
        phases.extend(phase);
    }
    let processes = Processes::of(at.node);
    let all_read = phases.len() == written.phases.len() && journeys.len() == written.journeys.len();
    let load_end = load_end(&phases, &journeys).filter(|_| all_read);
    let faults = items(&fields, "fault", |at| Fault::read(at, &processes, load_end));
    let generator =
        fields.take("generator").map_or_else(|| Some(GeneratorSpec::default()), |at| GeneratorSpec::read(&at));
    let bounds = bounds_of(&fields, &phases, &journeys);
    let signals =
        fields.take("signals").map_or_else(Signals::new, |signals| signals_of(&signals, has_metrics(at.node)));
    let figures = written.figures(&journeys, &works, &phases, &observers, &pushes);
    let (gates, judges_errors) = fields.take("gates").map_or_else(|| (Vec::new(), true), |at| figures.gates(&at));
    let headline = fields.take("headline").and_then(|at| headline::read(&at, &figures));
    fields.close();
    refuse_twins(at);
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
        works,
        gates,
        judges_errors,
        headline,
        faults,
        observers,
        feeds,
        keys,
        bounds: bounds?,
        generator: generator?,
        signals,
    })
}

/// Names of what a scenario has several of, as they are written: what has a mistake inside is there all the same.
struct Written {
    journeys: Vec<String>,
    works: Vec<String>,
    phases: Vec<String>,
    observers: Vec<String>,
    pushes: Vec<String>,
}

impl Written {
    fn of(root: &Node) -> Self {
        let works = match root.get("work").map(|node| &node.value) {
            Some(Value::Table(entries)) => entries.iter().map(|entry| entry.key.clone()).collect(),
            _ => Vec::new(),
        };
        Self {
            journeys: names_in(root.get("journey")),
            works,
            phases: names_in(root.get("phase")),
            observers: names_in(root.get("observe")),
            pushes: names_in(root.get("push")),
        }
    }

    /// The figures that gates may use; of what could not be read, all that one could think of.
    fn figures(
        &self,
        journeys: &[Journey],
        works: &[Work],
        phases: &[Phase],
        observers: &[Observe],
        pushes: &[Push],
    ) -> KnownFigures {
        let mut unread = lacking(&self.journeys, journeys.iter().map(|journey| &journey.name));
        unread.append(&mut lacking(&self.works, works.iter().map(|work| &work.name)));
        unread.append(&mut lacking(&self.phases, phases.iter().map(|phase| &phase.name)));
        if !lacking(&self.observers, observers.iter().map(|observer| &observer.name)).is_empty() {
            unread.insert("observe".to_owned());
        }
        if !lacking(&self.pushes, pushes.iter().map(|push| &push.name)).is_empty() {
            unread.insert("push".to_owned());
        }
        KnownFigures { paths: known_figures(journeys, works, phases, observers, pushes), unread }
    }
}

fn items<T>(fields: &Fields<'_>, key: &'static str, read: impl FnMut(&At<'_>) -> Option<T>) -> Vec<T> {
    fields.take(key).and_then(|at| at.list()).unwrap_or_default().iter().filter_map(read).collect()
}

fn named<T>(fields: &Fields<'_>, key: &'static str, read: impl Fn(&str, &At<'_>) -> T) -> Vec<T> {
    let tables = fields.take(key).and_then(|at| at.named()).unwrap_or_default();
    tables.iter().map(|(name, at)| read(name, at)).collect()
}

/// The names of the tables in a list, as they are written.
fn names_in(list: Option<&Node>) -> Vec<String> {
    let Some(Value::List(items)) = list.map(|node| &node.value) else { return Vec::new() };
    let name = |item: &Node| match item.get("name").map(|node| &node.value) {
        Some(Value::Text(name)) => name.clone(),
        _ => String::new(),
    };
    items.iter().map(name).collect()
}

fn feed_names(feed: &Feed) -> FeedNames {
    FeedNames { name: feed.name.clone(), order: feed.order, columns: Rc::new(RefCell::default()) }
}

fn check_format(fields: &Fields<'_>) {
    let Some(at) = fields.need("format", "the version of the format: format = 1") else { return };
    if at.int(0..=u64::MAX).is_some_and(|format| format != FORMAT) {
        at.wrong(format!("must be {FORMAT}: this lab reads no other version"));
    }
}

fn bounds_of(fields: &Fields<'_>, phases: &[Phase], journeys: &[Journey]) -> Option<Bounds> {
    let written = fields.take("bounds");
    let bounds = written.as_ref().map_or_else(|| Some(Bounds::default()), Bounds::read)?;
    bounds.check(written.as_ref().unwrap_or(&fields.at), phases, journeys);
    Some(bounds)
}

fn has_metrics(root: &Node) -> bool {
    root.get("target").is_some_and(|target| target.get("metrics").is_some())
}

fn check_phases(at: &At<'_>, names: &[String], phases: &[Phase], journeys: &[Journey]) {
    if names.is_empty() {
        at.wrong("needs at least one [[phase]]");
    }
    let parts = phases.iter().map(|phase| phase.arrivals.parts()).fold(0, u32::saturating_add);
    if parts > LOAD_STEPS_MAX {
        at.wrong(format!(
            "has {parts} bursts and levels in its phases, each with figures of its own: at most {LOAD_STEPS_MAX}"
        ));
    }
    let journeys_of = |phase: &Phase| [Some(phase.journey), phase.opening].into_iter().flatten();
    let taken = phases.iter().flat_map(journeys_of).filter_map(|place| journeys.get(place));
    let ops: usize = taken.map(|journey| 1 + journey.steps.len()).sum();
    if ops > PHASE_OPS_MAX {
        at.wrong(format!(
            "has phases that take {ops} journeys and steps, each with figures of its own in each phase: at most {PHASE_OPS_MAX}"
        ));
    }
}

/// Names that are written and could not be read: their own mistakes have been noted, and no other is made of them.
fn lacking<'a>(written: &[String], read: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let read: BTreeSet<&String> = read.collect();
    written.iter().filter(|name| !read.contains(name)).cloned().collect()
}

fn secrets_of(at: &At<'_>) -> Vec<Secret> {
    let mut secrets = Vec::new();
    for (name, at) in at.named().unwrap_or_default() {
        let Some(fields) = at.fields() else { continue };
        let env = fields.take("env").and_then(|at| at.text()).map(str::to_owned);
        let generate = fields.take("generate").and_then(|at| at.flag()).unwrap_or(false);
        fields.close();
        if env.is_none() && !generate {
            at.wrong("needs `env`, the environment variable that holds it, or generate = true");
        }
        check_template_name(&at, name);
        secrets.push(Secret { name: name.to_owned(), env, generate });
    }
    secrets
}

fn setup_step(at: &At<'_>, names: &mut Names) -> Option<Step> {
    let (step, _) = Step::read(at, names, &[], Place::Setup, Known::Nothing)?;
    if !step.denied.is_never() {
        at.wrong("has `denied`, but a setup that is denied has failed: use `expect`");
    }
    Some(step)
}

fn picks_of(at: &At<'_>, names: &Names) -> Vec<(String, Vec<Template>)> {
    let pick = |(name, at): (&str, At<'_>)| {
        let items = at.list()?;
        if items.is_empty() {
            at.wrong("must list something to pick from");
        }
        Some((name.to_owned(), items.iter().filter_map(|at| Template::read(at, names)).collect()))
    };
    at.named().unwrap_or_default().into_iter().filter_map(pick).collect()
}

/// Figures are found by name, so no two things that have figures of a kind share one.
fn refuse_twins(at: &At<'_>) {
    let kinds: [(&[&str], &[&str]); 5] = [
        (&["journey", "work"], &RESERVED_NAMES),
        (&["phase"], &RESERVED_NAMES),
        (&["process"], &RESERVED_NAMES),
        (&["observe"], &[]),
        (&["push"], &[]),
    ];
    for (tables, reserved) in kinds {
        let mut seen: BTreeMap<&str, (&str, &Origin)> = BTreeMap::new();
        for (table, name, key, origin) in tables.iter().flat_map(|table| named_in(at.node, table)) {
            if reserved.contains(&name) {
                let reserved = reserved.join(", ");
                at.notes.add(
                    origin,
                    &key,
                    format!("is \"{name}\", which the lab calls figures of its own: {reserved}"),
                );
            } else if let Some((other, first)) = seen.get(name) {
                let message = format!(
                    "is \"{name}\" as well, like a [[{other}]] before it ({first}): each needs a name of its own"
                );
                at.notes.add(origin, &key, message);
            } else {
                seen.insert(name, (table, origin));
            }
        }
    }
}

/// What a table or a list of tables has names for: table, name, key, and where the name stands.
fn named_in<'a>(root: &'a Node, table: &'a str) -> Vec<(&'a str, &'a str, String, &'a Origin)> {
    match root.get(table).map(|node| &node.value) {
        Some(Value::Table(entries)) => entries
            .iter()
            .map(|entry| (table, entry.key.as_str(), format!("{table}.{}", entry.key), &entry.node.origin))
            .collect(),
        Some(Value::List(items)) => {
            let named = |item: &'a Node| {
                let node = item.get("name")?;
                let Value::Text(name) = &node.value else { return None };
                (!name.is_empty()).then(|| (table, name.as_str(), format!("{table}.{name}.name"), &node.origin))
            };
            items.iter().filter_map(named).collect()
        }
        _ => Vec::new(),
    }
}
