//! A trial as data: text in, a checked scenario out, or every mistake of the text at once. A wrong scenario
//! never sends a byte. Pure: refuses to know clocks, files, sockets and the values of secrets.

mod arrivals;
mod beside;
mod bounds;
mod builtin;
pub(crate) mod chance;
mod denial;
mod document;
mod fault;
pub mod feed;
mod formula;
mod gate;
mod headline;
mod inherited;
mod journey;
mod keep;
mod keys;
mod load_end;
pub mod message;
mod mistakes;
mod observe;
mod phase;
mod reader;
mod recipe;
mod repeat;
mod root;
mod scope;
mod target;
mod template;
mod vars;
mod waiting;
mod way;
mod work;
mod zipf;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use beside::Beside;
pub use bounds::{Bounds, GeneratorSpec, ROLES, Signals};
pub use builtin::{Builtin, builtin, builtins};
pub(crate) use chance::mix;
pub use denial::{Denial, Word};
pub use document::Document;
pub use fault::{Fault, FaultAct};
pub use feed::{Feed, FeedFormat, FeedOrder, Rows};
pub use formula::{Formula, Join};
pub use gate::{Gate, Op};
pub use headline::Leading;
pub use journey::{Act, Body, Keep, Request, Retry, Source, Statuses, Step};
pub use keys::{Keys, Spread};
pub use message::{Door, Grammar, Language, Message, Push, Says, Socket};
pub use mistakes::{Mistake, Mistakes, Origin};
pub use observe::Observe;
pub use phase::{Arrivals, Each, EdgeArrivals, Every, Opening, Phase, Reconnect};
pub use recipe::Recipe;
pub use repeat::{Enough, Next, Repeat, Rounds, Until};
pub use scope::{Draw, Scope};
pub use target::{Base, Command, Helper, Target, TargetLimits};
pub use template::Template;
pub use waiting::{Follows, Waits};
pub use way::Journey;
pub use work::{Asking, Reading, State, Totals, Work};

use mistakes::Notes;
use reader::At;

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
    /// Frames that the service sends of its own accord.
    pub pushes: Vec<Push>,
    /// Work that outlives its request.
    pub works: Vec<Work>,
    /// What must hold at the end.
    pub gates: Vec<Gate>,
    /// Whether errors on which no gate is must not happen.
    pub judges_errors: bool,
    /// What a report says first, where the scenario says so: how much, and how long that took.
    pub headline: Option<[Leading; 2]>,
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
    /// Whether a status denies somewhere, as limiters do.
    pub(crate) fn denies_by_status(&self) -> bool {
        let mut steps = self.journeys.iter().flat_map(|journey| &journey.steps);
        steps.any(|step| !step.denied.statuses.is_empty())
    }

    /// Reads a document whose free ports are filled in.
    ///
    /// # Errors
    /// Every mistake of the scenario, each with its line and key and what was expected.
    pub fn read(document: &Document) -> Result<Self, Mistakes> {
        let notes = Notes::default();
        let root = filled(document, &notes);
        let scenario = root::read(&At::new(&root, "", &notes), document.files());
        notes.close()?;
        scenario.ok_or_else(|| Mistakes::one(Origin::Line(1), "", "this scenario cannot be read"))
    }

    /// Whether the lab starts the service under test, or anything beside it.
    #[must_use]
    pub fn spawns(&self) -> bool {
        self.target.spawn.is_some() || self.helpers.iter().any(|helper| helper.spawn.is_some())
    }

    /// The formulas of all derived figures, by the path of the figure: `game.pace`.
    #[must_use]
    pub fn formulas(&self) -> BTreeMap<String, String> {
        let of_work = |work: &Work| {
            let named =
                |(figure, formula): &(String, Formula)| (format!("{}.{figure}", work.name), formula.to_string());
            work.derive.iter().map(named).collect::<Vec<_>>()
        };
        self.works.iter().flat_map(of_work).collect()
    }
}

/// The tree of a document with its variables filled in.
fn filled(document: &Document, notes: &Notes) -> document::Node {
    let mut root = document.root.clone();
    let vars = vars::read(&root, notes);
    vars::fill(&mut root, &vars);
    root
}
