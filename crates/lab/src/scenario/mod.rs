//! A trial as data: text in, a checked scenario out, or every mistake of the text at once. A wrong scenario
//! never sends a byte. Pure: refuses to know clocks, files, sockets and the values of secrets.
//!
//! Places that later keys of the format grow from: more kinds of [`Arrivals`] (ramp, closed loops, held
//! connections), and `[[fault]]`, which the plan would unroll beside the arrivals.

mod builtin;
mod document;
mod extra;
mod formula;
mod gate;
mod journey;
mod mistakes;
mod phase;
mod reader;
mod target;
mod template;
mod work;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use builtin::{Builtin, builtin, builtins};
pub use document::Document;
pub use extra::{
    Bounds, Fault, FaultAct, Feed, FeedFormat, FeedOrder, GeneratorSpec, Keys, Observe, Signals, Spread, TargetLimits,
};
pub use formula::{Formula, Join};
pub use gate::{Gate, Op};
pub use journey::{Body, Journey, Keep, Retry, Source, Statuses, Step};
pub use mistakes::{Mistake, Mistakes, Origin};
pub use phase::{Arrivals, Each, EdgeArrivals, Every, Phase, Reconnect};
pub use target::{Base, Command, Helper, Target};
pub use template::{Draw, Rows, Scope, Template};
pub use work::{Reading, State, Totals, Work};

use crate::limits::{ARRIVALS_MAX, CONNECTIONS_MAX, LAG_P99_MAX, WAIT_MAX};
use document::{Node, Value};
use mistakes::Notes;
use reader::{At, Fields, is_name};
use template::Names;

pub(crate) use template::mix;

/// The version of the format that this lab reads.
pub const FORMAT: u64 = 1;

/// A checked trial.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// The service under test.
    pub target: Target,
    /// Processes that the trial needs beside it.
    pub helpers: Vec<Helper>,
    /// Values that are never printed or written.
    pub secrets: Vec<Secret>,
    /// Lists to pick from: name and items.
    pub picks: Vec<(String, Vec<Template>)>,
    /// Requests before the first phase, in order.
    pub setup: Vec<Step>,
    /// Phases, one after the other.
    pub phases: Vec<Phase>,
    /// What arrivals do.
    pub journeys: Vec<Journey>,
    /// Work that outlives its request.
    pub works: Vec<Work>,
    /// What must hold at the end.
    pub gates: Vec<Gate>,
    /// Things that are done to processes.
    pub faults: Vec<Fault>,
    /// Figures of the target that are put on the timeline.
    pub observers: Vec<Observe>,
    /// Rows from files.
    pub feeds: Vec<Feed>,
    /// Keys to draw from.
    pub keys: Vec<Keys>,
    /// Bounds of the run.
    pub bounds: Bounds,
    /// The lab itself.
    pub generator: GeneratorSpec,
    /// Which metrics mean what.
    pub signals: Signals,
}

/// A value that is never printed or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its name in templates.
    pub name: String,
    /// The environment variable that holds it.
    pub env: Option<String>,
    /// Whether a random one is made when the environment has none.
    pub generate: bool,
}

impl Scenario {
    /// Reads a document whose free ports are filled in.
    ///
    /// # Errors
    /// Every mistake of the scenario, each with its line and key and what was expected.
    pub fn read(document: &Document) -> Result<Self, Mistakes> {
        let notes = Notes::default();
        let mut root = document.root.clone();
        let vars = vars_of(&root, &notes);
        template::fill(&mut root, &vars);
        let scenario = read_root(&At::new(&root, "", &notes));
        notes.close()?;
        scenario.ok_or_else(|| Mistakes::one(Origin::Line(1), "", "this scenario cannot be read"))
    }

    /// Whether the lab starts the service under test, or anything beside it.
    #[must_use]
    pub fn spawns(&self) -> bool {
        self.target.spawn.is_some() || self.helpers.iter().any(|helper| helper.spawn.is_some())
    }
}

fn read_root(at: &At<'_>) -> Option<Scenario> {
    let fields = at.fields()?;
    check_format(&fields);
    let name = fields.need("name", "the report calls the trial so").and_then(|at| at.text());
    let summary = fields.need("summary", "what the trial does, in a sentence").and_then(|at| at.text());
    let _ = fields.take("vars");
    let secrets = fields.take("secrets").map_or_else(Vec::new, |at| secrets_of(&at));
    let public = Names { known: ["run.id", "run.dir"].map(str::to_owned).into(), ..Names::default() };
    let mut names = public.clone();
    names.known.extend(secrets.iter().map(|secret| secret.name.clone()));

    let target = fields.need("target", "[target] with `url`").and_then(|at| Target::read(&at, &names, &public));
    let helpers = items(&fields, "process", |at| Helper::read(at, &names, &public));
    let works_at = fields.take("work").and_then(|at| at.named()).unwrap_or_default();
    let work_names: Vec<String> = works_at.iter().map(|(name, _)| (*name).to_owned()).collect();
    let works: Vec<Work> = works_at.iter().filter_map(|(name, at)| Work::read(name, at, &names)).collect();
    let setup = items(&fields, "setup", |at| setup_step(at, &mut names));
    let picks = fields.take("pick").map_or_else(Vec::new, |at| picks_of(&at, &names));
    names.picks = picks.iter().map(|(name, _)| name.clone()).collect();
    let journeys = items(&fields, "journey", |at| Journey::read(at, &names, &work_names));
    // As they are written: a journey with a mistake inside is there all the same.
    let journey_names = names_in(at.node.get("journey"));
    let phases = items(&fields, "phase", |at| Phase::read(at, &journey_names));
    let phase_names = names_in(at.node.get("phase"));
    if phase_names.is_empty() {
        at.wrong("needs at least one [[phase]]");
    }
    refuse_twins(at, &journey_names, &work_names);
    refuse_twins(at, &phase_names, &[]);
    let lag_p99_max = fields.take("generator").map_or(Some(LAG_P99_MAX), |at| lag_of(&at));
    let gates =
        fields.take("gates").map_or_else(Vec::new, |at| gates_of(&at, &journeys, &works, &journey_names, &work_names));
    fields.close();
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
        works,
        gates,
        faults: Vec::new(),
        observers: Vec::new(),
        feeds: Vec::new(),
        keys: Vec::new(),
        bounds: Bounds { time: WAIT_MAX, requests: ARRIVALS_MAX, connections: CONNECTIONS_MAX },
        generator: GeneratorSpec { lag_p99_max: lag_p99_max?, workers: None, sources: Vec::new() },
        signals: Signals::new(),
    })
}

fn items<T>(fields: &Fields<'_>, key: &'static str, read: impl FnMut(&At<'_>) -> Option<T>) -> Vec<T> {
    fields.take(key).and_then(|at| at.list()).unwrap_or_default().iter().filter_map(read).collect()
}

/// Gates may use every figure that the trial will have. Nothing is known about the figures of a journey or a work
/// that could not be read; its own mistake has been noted.
fn gates_of(
    at: &At<'_>,
    journeys: &[Journey],
    works: &[Work],
    journey_names: &[String],
    work_names: &[String],
) -> Vec<Gate> {
    let figures = crate::fold::known_figures(journeys, works);
    let unread = |first: &str| {
        let read = journeys.iter().any(|journey| journey.name == first) || works.iter().any(|work| work.name == first);
        !read && journey_names.iter().chain(work_names).any(|name| name == first)
    };
    let known = |path: &str| match path.split('.').next() {
        Some(first) if unread(first) => Ok(()),
        _ => known_figure(path, &figures),
    };
    at.named().unwrap_or_default().iter().flat_map(|(name, at)| Gate::read(name, at, &known)).collect()
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

fn check_format(fields: &Fields<'_>) {
    let Some(at) = fields.need("format", "the version of the format: format = 1") else { return };
    if at.int(0..=u64::MAX).is_some_and(|format| format != FORMAT) {
        at.wrong(format!("must be {FORMAT}: this lab reads no other version"));
    }
}

fn vars_of(root: &Node, notes: &Notes) -> BTreeMap<String, Value> {
    let Some(node) = root.get("vars") else { return BTreeMap::new() };
    let mut vars = BTreeMap::new();
    for (name, at) in At::new(node, "vars", notes).named().unwrap_or_default() {
        match &at.node.value {
            Value::List(_) | Value::Table(_) => at.wrong(format!("must be a text or a number, not {}", at.node.kind())),
            Value::Text(text) if text.contains("{{") => at.wrong("must not use other names: variables are plain"),
            _ if !is_name(name) => at.wrong("must be named with small letters, digits and _"),
            value => {
                vars.insert(name.to_owned(), value.clone());
            }
        }
    }
    vars
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
        if !is_name(name) {
            at.wrong("must be named with small letters, digits and _");
        }
        secrets.push(Secret { name: name.to_owned(), env, generate });
    }
    secrets
}

fn setup_step(at: &At<'_>, names: &mut Names) -> Option<Step> {
    let step = Step::read(at, names, &[])?;
    if !step.denied.is_empty() {
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

fn lag_of(at: &At<'_>) -> Option<Duration> {
    let fields = at.fields()?;
    let bound = fields.need("lag_p99_max", "the schedule lag beyond which a failed gate is void");
    let bound = bound.and_then(|at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
    fields.close();
    bound
}

/// Figures are found by name, so no two things that have figures share one.
fn refuse_twins(at: &At<'_>, names: &[String], others: &[String]) {
    let mut seen: BTreeSet<&str> = crate::fold::RESERVED.into();
    for name in names.iter().chain(others) {
        if !name.is_empty() && !seen.insert(name) {
            at.wrong(format!("has two things called \"{name}\", or the name is reserved"));
        }
    }
}

fn known_figure(path: &str, figures: &BTreeSet<String>) -> Result<(), String> {
    if figures.contains(path) {
        return Ok(());
    }
    let first = path.split('.').next().unwrap_or_default();
    let near: Vec<&str> =
        figures.iter().map(String::as_str).filter(|figure| figure.split('.').next() == Some(first)).collect();
    if near.is_empty() {
        let mut roots: Vec<&str> = figures.iter().filter_map(|figure| figure.split('.').next()).collect();
        roots.dedup();
        return Err(format!(
            "is a figure that this trial does not have: `{path}` must start with {}",
            roots.join(", ")
        ));
    }
    let mut parts: Vec<&str> = near.iter().filter_map(|figure| figure.split('.').nth(1)).collect();
    parts.dedup();
    Err(format!("is a figure that this trial does not have: `{path}`; `{first}` has {}", parts.join(", ")))
}
