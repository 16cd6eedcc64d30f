//! A trial as data: text in, a validated scenario out, or every error of the text at once. An invalid scenario never
//! sends a byte. Pure: does not know clocks, files, sockets and the values of secrets.

mod bounds;
mod builtin;
mod declared_names;
mod document;
mod fault;
pub mod feed;
mod figure_names;
mod formula;
mod gate;
mod journey;
mod keys;
mod known_order;
mod load_profile;
pub mod message;
mod observer;
mod phase;
mod reader;
mod repeat;
mod response;
pub(crate) mod rng;
mod scenario_reader;
mod schedule;
mod scope;
mod step;
mod target;
mod template;
mod tree;
mod validation;
mod value_match;
mod vars;
mod work;
mod zipf;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use bounds::{Bounds, GeneratorSpec, METRIC_ROLES, MetricRoles};
pub use builtin::{BUILTIN_FILES, Builtin, builtin, builtins};
pub use document::{Document, ScenarioSource};
pub use fault::{Fault, FaultAction};
pub use feed::{Feed, FeedFormat, FeedOrder, FeedRows};
pub use figure_names::{RESERVED_NAMES, STATISTICS, WORK_FIGURES, known_figures};
pub use formula::Formula;
pub use gate::{ComparisonOp, Gate, HeadlineFigure};
pub use journey::{BackgroundLoops, Journey};
pub use keys::KeySet;
pub use known_order::{KnownOrder, KnownValues, ORDER_FIGURES, spearman};
pub use load_profile::{EdgeSearch, LoadProfile};
pub use message::{Message, MessageEndpoint, MessageFormat, MessageFraming, MessagePayload, Push, SocketTarget};
pub use observer::Observer;
pub use phase::{Phase, Reconnect};
pub use repeat::{NextStep, Repeat, RepeatEnd, RepeatState};
pub use response::{Denial, ExpectedStatuses, KeepRule, LongPoll, SequenceCheck, ValueSource};
pub(crate) use rng::mix;
pub use schedule::{OpeningSpec, PerClientLimit, Schedule};
pub use scope::{ArrivalContext, Scope};
pub use step::{Body, Request, Retry, Step, StepAction};
pub use target::{BaseUrl, Command, HelperProcess, Target, TargetLimits};
pub use template::Template;
pub use validation::{Origin, ValidationError, ValidationErrors};
pub use value_match::{PathSegment, ProtobufPath, ValueMatch, ValuePath};
pub(crate) use work::WORK_ITEM_FIGURES;
pub use work::{DerivedFigure, StatusMapping, StatusRequest, WorkSpec, WorkState, WorkTotals};

use reader::NodeReader;
use validation::ErrorCollector;

/// The version of the format that this lab reads.
pub const FORMAT: u64 = 1;

/// A validated scenario.
#[derive(Clone, Debug, Default)]
pub struct Scenario {
    pub name: String,
    /// What it does, in a sentence.
    pub summary: String,
    /// The service under test.
    pub target: Target,
    /// Processes that the trial needs besides the target.
    pub helpers: Vec<HelperProcess>,
    pub secrets: Vec<Secret>,
    /// Lists to pick from: name and items.
    pub picks: Vec<(String, Vec<Template>)>,
    /// Requests before the first phase, in order.
    pub setup: Vec<Step>,
    pub phases: Vec<Phase>,
    pub journeys: Vec<Journey>,
    /// Frames that the service sends without a request.
    pub pushes: Vec<Push>,
    /// Work that outlives its request.
    pub work_specs: Vec<WorkSpec>,
    /// What must hold at the end.
    pub gates: Vec<Gate>,
    /// Whether errors that no gate covers must not happen.
    pub gates_other_errors: bool,
    /// What a report shows first, if the scenario defines it: how much, and with which timing.
    pub headline: Option<[HeadlineFigure; 2]>,
    pub faults: Vec<Fault>,
    /// Figures of the target that are put on the timeline.
    pub observers: Vec<Observer>,
    /// Rows from files.
    pub feeds: Vec<Feed>,
    pub keys: Vec<KeySet>,
    pub bounds: Bounds,
    /// Settings of the lab itself.
    pub generator: GeneratorSpec,
    /// Which metrics mean what.
    pub metric_roles: MetricRoles,
}

/// A value that is never printed or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its name in templates.
    pub name: String,
    /// The environment variable that holds it.
    pub env: Option<String>,
    /// Whether a random value is generated if the environment has none.
    pub generate: bool,
}

impl Scenario {
    /// Whether any step treats a status as a denial, as limiters send them.
    pub(crate) fn denies_by_status(&self) -> bool {
        let mut steps = self.journeys.iter().flat_map(|journey| &journey.steps);
        steps.any(|step| !step.denied.statuses.is_empty())
    }

    /// Reads a document whose free ports are filled in.
    ///
    /// # Errors
    /// Every error of the scenario, each with its line and key and what was expected.
    pub fn read(document: &Document) -> Result<Self, ValidationErrors> {
        let errors = ErrorCollector::default();
        let root = document.with_variables(&errors);
        let scenario = scenario_reader::read_scenario(&NodeReader::new(&root, "", &errors), &document.files());
        errors.finish()?;
        scenario.ok_or_else(|| ValidationErrors::single(Origin::Line(1), "", "this scenario cannot be read"))
    }

    /// For each observer, the true values of what it lists, out of the rows of the feeds.
    ///
    /// # Errors
    /// Every row that cannot be a truth.
    pub fn known_values(&self, rows: &[FeedRows]) -> Result<Vec<KnownValues>, ValidationErrors> {
        let (mut all, mut errors) = (Vec::new(), Vec::new());
        for order in self.observers.iter().map(|observer| observer.order.as_ref()) {
            match order.map(|order| order.known_values(&self.feeds, rows)).transpose() {
                Ok(known) => all.push(known.unwrap_or_default()),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(all) } else { Err(ValidationErrors(errors)) }
    }

    /// Whether the lab starts the service under test or any other process.
    #[must_use]
    pub fn spawns_processes(&self) -> bool {
        self.target.spawn.is_some() || self.helpers.iter().any(|helper| helper.spawn.is_some())
    }

    /// The formulas of all derived figures, by the path of the figure: `game.pace`.
    #[must_use]
    pub fn derived_formulas(&self) -> BTreeMap<String, String> {
        let of_work = |work: &WorkSpec| {
            let named = |figure: &DerivedFigure| (format!("{}.{}", work.name, figure.name), figure.text.clone());
            work.derived.iter().map(named).collect::<Vec<_>>()
        };
        self.work_specs.iter().flat_map(of_work).collect()
    }
}
