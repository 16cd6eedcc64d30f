//! Work that outlives its request: how to request its status, what the responses mean, when it counts as stuck. Does
//! not know how the status is polled.

use std::time::Duration;

use http::Method;

use super::formula::Formula;
use super::reader::{NodeReader, TableReader, check_name, is_valid_name, read_pointer};
use super::step::read_request_line;
use super::target::read_get_path;
use super::template::{Template, TemplateNames};
use crate::format::known_names;
use crate::limits::{BULK_MAX, POLLS_AT_ONCE, POLLS_AT_ONCE_MAX, WAIT_MAX};

/// One kind of work, followed from its start to its end.
#[derive(Clone, Debug)]
pub struct WorkSpec {
    /// Its name; figures are found under it.
    pub name: String,
    /// The method of the status request.
    pub method: Method,
    /// The path of the status request.
    pub path: Template,
    pub status_request: StatusRequest,
    /// From one round of requests to the next.
    pub poll_interval: Duration,
    /// What to read out of a response.
    pub status_mapping: StatusMapping,
    /// Work without a change of state or progress for this long is stuck.
    pub stuck_after: Duration,
    /// How long after the last arrival the trial waits for work at all.
    pub give_up_after: Duration,
    /// Figures computed for each finished work item from its other figures.
    pub derived: Vec<DerivedFigure>,
    /// The server's own totals, to reconcile with.
    pub totals: Option<WorkTotals>,
}

/// A figure of a work item that is computed from its others.
#[derive(Clone, Debug)]
pub struct DerivedFigure {
    pub name: String,
    /// As it was written.
    pub text: String,
    pub formula: Formula,
}

/// How many work items a status request covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusRequest {
    /// Many: their ids are in the body.
    Bulk {
        /// The member of the body that lists the ids.
        ids_member: String,
        /// Ids in one request, at most.
        ids_max: usize,
    },
    /// One, whose id is in the path.
    Single { concurrency: usize },
}

/// Pointers into the status of one work item, and the meaning of its states.
#[derive(Clone, Debug, Default)]
pub struct StatusMapping {
    /// The list of statuses in the response.
    pub items: String,
    /// The id in a status.
    pub id: String,
    /// The state in a status.
    pub state: String,
    /// What each state name of the server means.
    pub states: Vec<(String, WorkState)>,
    /// When it was created, started, finished (RFC 3339), if the server reports it.
    pub times: [Option<String>; 3],
    /// Numbers that are kept.
    pub figures: Vec<(String, String)>,
    /// Figures whose change is progress, by their index in `figures`.
    pub progress: Vec<usize>,
    /// What holds it, such as a node, if the server reports it: stuck work items are grouped by it.
    pub holder: Option<String>,
}

/// The state of a work item in the lab's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkState {
    /// In the server's queue.
    Waiting,
    Running,
    Finished,
    Failed,
    /// The server does not know it.
    Unknown,
}

/// The server's own counters. Several pointers of one count are added up.
#[derive(Clone, Debug, Default)]
pub struct WorkTotals {
    /// The request that reads them.
    pub path: Template,
    /// Work ever created.
    pub created: Vec<String>,
    /// Work ever finished.
    pub finished: Vec<String>,
    /// Work ever failed.
    pub failed: Vec<String>,
}

/// The placeholder in the path of a status request that covers one work item.
const WORK_ITEM_ID: &str = "{{id}}";

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const GIVE_UP_AFTER: Duration = Duration::from_mins(30);

/// Figures of every work item that a formula may use in addition to the scenario's own: from its creation to its start, from
/// there to its end, and from its creation to its end.
pub(crate) const WORK_ITEM_FIGURES: [&str; 3] = ["queue_wait_s", "run_s", "completion_s"];

impl WorkSpec {
    pub(crate) fn read(name: &str, at: &NodeReader<'_>, names: &TemplateNames) -> Option<Self> {
        check_name(at, name);
        let mut names = names.clone();
        let wait = Duration::from_millis(10)..=WAIT_MAX;
        at.table(|fields| {
            let what = "the request that asks for many at once, or for one by its {{id}}";
            let mut is_by_id = false;
            let (method, path) = fields.required("status", what, |at| {
                is_by_id = at.node.as_text().is_some_and(|text| text.contains(WORK_ITEM_ID));
                names.known.extend(is_by_id.then(|| "id".to_owned()));
                read_request_line(at, &names)
            });
            let status_request =
                if is_by_id { StatusRequest::read_single(fields) } else { StatusRequest::read_bulk(fields) };
            let poll_interval = fields.or("poll", POLL_INTERVAL, |at| at.duration(wait.clone()));
            let what = "no progress for how long is stuck, such as \"60s\"";
            let stuck_after = fields.required("stuck_after", what, |at| at.duration(wait.clone()));
            let give_up_after = fields.or("give_up_after", GIVE_UP_AFTER, |at| at.duration(wait.clone()));
            let status_mapping = StatusMapping::read(fields, is_by_id);
            let derived = fields.or_default("derive", |at| read_derived(at, &status_mapping));
            let totals = fields.optional("totals", |at| WorkTotals::read(at, &names));
            Self {
                name: name.to_owned(),
                method,
                path,
                status_request,
                poll_interval,
                status_mapping,
                stuck_after,
                give_up_after,
                derived,
                totals,
            }
        })
    }
}

impl StatusRequest {
    fn read_bulk(fields: &TableReader<'_>) -> Self {
        let ids_member = fields.required("ids", "the member of its body that lists the ids", NodeReader::string);
        let ids_max = fields.required("bulk", "ids in one request", |at| at.int(1..=BULK_MAX));
        Self::Bulk { ids_member, ids_max: ids_max as usize }
    }

    fn read_single(fields: &TableReader<'_>) -> Self {
        let concurrency = fields.or("at_once", POLLS_AT_ONCE, |at| at.int(1..=POLLS_AT_ONCE_MAX));
        Self::Single { concurrency: concurrency as usize }
    }
}

impl StatusMapping {
    /// The response about one work item needs no id and no list. What is wrong here has no effect on figures.
    fn read(fields: &TableReader<'_>, is_by_id: bool) -> Self {
        let (items, id) = match is_by_id {
            true => (None, None),
            false => (
                fields.optional("items", read_pointer),
                fields.get_required("id", "the pointer to the id in a status").and_then(|at| read_pointer(&at)),
            ),
        };
        let states = fields.get_required("state", "{ at, waiting, running, finished, failed, unknown }");
        let (state, states) = states.and_then(|at| read_states(&at)).unwrap_or_default();
        let times = fields.optional("times", read_times).unwrap_or_default();
        let figures = fields.or_default("figures", read_figures);
        let progress = fields.or_default("progress", |at| read_progress(at, &figures));
        let holder = fields.optional("group", read_pointer);
        let (items, id) = (items.unwrap_or_default(), id.unwrap_or_default());
        Self { items, id, state, states, times, figures, progress, holder }
    }

    /// The meaning of a state name of the server. `cancelled` counts as failed unless the scenario says otherwise.
    #[must_use]
    pub fn state_of(&self, word: &str) -> Option<WorkState> {
        let listed = self.states.iter().find(|(known, _)| known == word).map(|(_, state)| *state);
        listed.or((word == "cancelled").then_some(WorkState::Failed))
    }
}

fn read_states(at: &NodeReader<'_>) -> Option<(String, Vec<(String, WorkState)>)> {
    let lists = [
        ("waiting", WorkState::Waiting),
        ("running", WorkState::Running),
        ("finished", WorkState::Finished),
        ("failed", WorkState::Failed),
        ("unknown", WorkState::Unknown),
    ];
    at.table(|fields| {
        let pointer = fields.required("at", "the pointer to the state", read_pointer);
        let mut states: Vec<(String, WorkState)> = Vec::new();
        for (key, state) in lists {
            for word in fields.or_default(key, NodeReader::one_or_many) {
                let Some(text) = word.text() else { continue };
                if states.iter().any(|(known, _)| known == text) {
                    word.add_error(format!("lists \"{text}\" a second time"));
                }
                states.push((text.to_owned(), state));
            }
        }
        if !states.iter().any(|(_, state)| *state == WorkState::Finished) {
            at.add_error("needs `finished`: without it no work ever ends");
        }
        (pointer, states)
    })
}

fn read_times(at: &NodeReader<'_>) -> Option<[Option<String>; 3]> {
    at.table(|fields| ["created", "started", "finished"].map(|key| fields.optional(key, read_pointer)))
}

fn read_figures(at: &NodeReader<'_>) -> Vec<(String, String)> {
    at.entries(|name, at| {
        if !is_valid_name(name) || WORK_ITEM_FIGURES.contains(&name) {
            let taken = WORK_ITEM_FIGURES.join(", ");
            at.add_error(format!("must be a name of small letters, digits and _, and none of {taken}"));
        }
        Some((name.to_owned(), read_pointer(at)?))
    })
}

fn read_progress(at: &NodeReader<'_>, figures: &[(String, String)]) -> Vec<usize> {
    let index = |at: &NodeReader<'_>| {
        let name = at.text()?;
        let index = figures.iter().position(|(figure, _)| figure == name);
        index.or_else(|| at.reject(format!("names \"{name}\", which is not one of `figures`")))
    };
    at.one_or_many().iter().filter_map(index).collect()
}

fn read_derived(at: &NodeReader<'_>, status_mapping: &StatusMapping) -> Vec<DerivedFigure> {
    let own = status_mapping.figures.iter().map(|(name, _)| name.as_str());
    let known: Vec<&str> = own.chain(WORK_ITEM_FIGURES).collect();
    at.entries(|name, at| {
        if !is_valid_name(name) || crate::scenario::WORK_FIGURES.contains(&name) {
            at.add_error("must be a name of small letters, digits and _ that no other figure of the work has");
        }
        let text = at.string()?;
        let formula = at.accept(Formula::parse(&text))?;
        if let Some(unknown) = formula.figure_paths().iter().find(|figure| !known.contains(figure)) {
            at.add_error(format!("uses `{unknown}`; known here: {}", known_names(&known)));
        }
        Some(DerivedFigure { name: name.to_owned(), text, formula })
    })
}

impl WorkTotals {
    fn read(at: &NodeReader<'_>, names: &TemplateNames) -> Option<Self> {
        let pointers = |at: &NodeReader<'_>| at.one_or_many().iter().filter_map(read_pointer).collect();
        at.table(|fields| {
            let path = "\"GET /path\" of the server's totals";
            let totals = Self {
                path: fields.required("read", path, |at| read_get_path(at, names)),
                created: fields.or_default("created", pointers),
                finished: fields.or_default("finished", pointers),
                failed: fields.or_default("failed", pointers),
            };
            if totals.created.is_empty() && totals.finished.is_empty() && totals.failed.is_empty() {
                at.add_error("needs at least one of `created`, `finished`, `failed`");
            }
            totals
        })
    }
}
