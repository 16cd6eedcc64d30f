//! Work that outlives its request: how to ask for its status, what the answers mean, when it counts as stuck.
//! Refuses to know how the asking is done.

use std::time::Duration;

use http::Method;

use super::formula::Formula;
use super::journey::request_of;
use super::reader::{At, Fields, is_name, pointer_of};
use super::target::get_of;
use super::template::{Names, Template};
use crate::limits::{BULK_MAX, POLLS_AT_ONCE, POLLS_AT_ONCE_MAX, WAIT_MAX};
use crate::report::words::known_names;

/// One kind of work, followed from its start to its end.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its name: figures are found under it.
    pub name: String,
    /// The method of the status request.
    pub method: Method,
    /// The path of the status request.
    pub path: Template,
    /// How many pieces one request asks for.
    pub asking: Asking,
    /// From one round of requests to the next.
    pub poll: Duration,
    /// What to read out of an answer.
    pub reading: Reading,
    /// No change of state and no progress for this long: stuck.
    pub stuck_after: Duration,
    /// How long after the last arrival the trial waits for work at all.
    pub give_up_after: Duration,
    /// Figures computed for each finished piece from its other figures.
    pub derive: Vec<(String, Formula)>,
    /// The server's own totals, to reconcile with.
    pub totals: Option<Totals>,
}

/// How many pieces a status request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asking {
    /// Many: their ids stand in the body.
    Bulk {
        /// The member of the body that lists the ids.
        ids: String,
        /// Ids in one request.
        bulk: usize,
    },
    /// One, whose id stands in the path.
    Each {
        /// Requests under way at once.
        at_once: usize,
    },
}

/// Pointers into the status of one piece of work, and the meaning of its states.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The list of statuses in the answer.
    pub items: String,
    /// The id in a status.
    pub id: String,
    /// The state in a status.
    pub state: String,
    /// What each word of the server means.
    pub states: Vec<(String, State)>,
    /// When it was created, started, finished (RFC 3339), where the server says so.
    pub times: [Option<String>; 3],
    /// Numbers that are kept.
    pub figures: Vec<(String, String)>,
    /// Figures whose change is progress, by their place in `figures`.
    pub progress: Vec<usize>,
    /// Who holds it, such as a node, where the server says so: stuck pieces are grouped by it.
    pub group: Option<String>,
}

/// The state of a piece of work in the lab's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// In the server's queue.
    Waiting,
    /// Under way.
    Running,
    /// Ended as it should.
    Finished,
    /// Ended otherwise.
    Failed,
    /// The server does not know it.
    Unknown,
}

/// The server's own counters. Several pointers of one count are added up.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// The request that reads them.
    pub path: Template,
    /// Work ever created.
    pub created: Vec<String>,
    /// Work ever finished.
    pub finished: Vec<String>,
    /// Work ever failed.
    pub failed: Vec<String>,
}

/// What stands in the path of a status request that asks for one piece.
const PIECE_ID: &str = "{{id}}";

/// Figures of every piece that a formula may use besides the scenario's own.
pub(crate) const PIECE_FIGURES: [&str; 3] = ["queue_wait_s", "run_s", "completion_s"];

impl Work {
    pub(crate) fn read(name: &str, at: &At<'_>, names: &Names) -> Option<Self> {
        if !is_name(name) {
            at.wrong("must be named with small letters, digits and _");
        }
        let fields = at.fields()?;
        let request = fields.need("status", "the request that asks for many at once, or for one by its {{id}}");
        let by_id = request.as_ref().and_then(At::text).is_some_and(|text| text.contains(PIECE_ID));
        let mut names = names.clone();
        names.known.extend(by_id.then(|| "id".to_owned()));
        let request = request.and_then(|at| request_of(&at, &names));
        let asking = if by_id { Asking::read_each(&fields) } else { Asking::read_bulk(&fields) };
        let wait = Duration::from_millis(10)..=WAIT_MAX;
        let poll = fields.take("poll").map_or(Some(Duration::from_secs(1)), |at| at.duration(wait.clone()));
        let stuck = fields.need("stuck_after", "no progress for how long is stuck, such as \"60s\"");
        let stuck_after = stuck.and_then(|at| at.duration(wait.clone()));
        let give_up = fields.take("give_up_after").map_or(Some(Duration::from_secs(30 * 60)), |at| at.duration(wait));
        let reading = Reading::read(&fields, by_id);
        let derive = fields.take("derive").map_or_else(Vec::new, |at| derive_of(&at, &reading));
        let totals = fields.take("totals").and_then(|at| Totals::read(&at, &names));
        fields.close();
        let (method, path) = request?;
        Some(Self {
            name: name.to_owned(),
            method,
            path,
            asking: asking?,
            poll: poll?,
            reading,
            stuck_after: stuck_after?,
            give_up_after: give_up?,
            derive,
            totals,
        })
    }
}

impl Asking {
    fn read_bulk(fields: &Fields<'_>) -> Option<Self> {
        let ids = fields.need("ids", "the member of its body that lists the ids").and_then(|at| at.text());
        let bulk = fields.need("bulk", "ids in one request").and_then(|at| at.int(1..=BULK_MAX));
        Some(Self::Bulk { ids: ids?.to_owned(), bulk: bulk? as usize })
    }

    fn read_each(fields: &Fields<'_>) -> Option<Self> {
        let at_once = fields.take("at_once").map_or(Some(POLLS_AT_ONCE), |at| at.int(1..=POLLS_AT_ONCE_MAX));
        Some(Self::Each { at_once: at_once? as usize })
    }
}

impl Reading {
    /// Of an answer about one piece it is known whose it is, and there is no list.
    fn read(fields: &Fields<'_>, by_id: bool) -> Self {
        let (items, id) = match by_id {
            true => (None, None),
            false => (
                fields.take("items").and_then(|at| pointer_of(&at)),
                fields.need("id", "the pointer to the id in a status").and_then(|at| pointer_of(&at)),
            ),
        };
        let items = items.unwrap_or_default();
        let (state, states) = fields
            .need("state", "{ at, waiting, running, finished, failed, unknown }")
            .and_then(|at| states_of(&at))
            .unwrap_or_default();
        let times = fields.take("times").map(|at| times_of(&at)).unwrap_or_default();
        let figures = fields.take("figures").map_or_else(Vec::new, |at| figures_of(&at));
        let progress = fields.take("progress").map_or_else(Vec::new, |at| progress_of(&at, &figures));
        let group = fields.take("group").and_then(|at| pointer_of(&at));
        Self { items, id: id.unwrap_or_default(), state, states, times, figures, progress, group }
    }

    /// The meaning of a word of the server. `cancelled` counts as failed unless the scenario says otherwise.
    #[must_use]
    pub fn meaning(&self, word: &str) -> Option<State> {
        let listed = self.states.iter().find(|(known, _)| known == word).map(|(_, state)| *state);
        listed.or((word == "cancelled").then_some(State::Failed))
    }
}

fn states_of(at: &At<'_>) -> Option<(String, Vec<(String, State)>)> {
    let fields = at.fields()?;
    let pointer = fields.need("at", "the pointer to the state").and_then(|at| pointer_of(&at));
    let mut states: Vec<(String, State)> = Vec::new();
    let lists = [
        ("waiting", State::Waiting),
        ("running", State::Running),
        ("finished", State::Finished),
        ("failed", State::Failed),
        ("unknown", State::Unknown),
    ];
    for (key, state) in lists {
        let Some(list) = fields.take(key) else { continue };
        for word in list.one_or_many() {
            let Some(text) = word.text() else { continue };
            if states.iter().any(|(known, _)| known == text) {
                word.wrong(format!("lists \"{text}\" a second time"));
            }
            states.push((text.to_owned(), state));
        }
    }
    fields.close();
    if !states.iter().any(|(_, state)| *state == State::Finished) {
        at.wrong("needs `finished`: without it no work ever ends");
    }
    Some((pointer?, states))
}

fn times_of(at: &At<'_>) -> [Option<String>; 3] {
    let Some(fields) = at.fields() else { return [None, None, None] };
    let times = ["created", "started", "finished"].map(|key| fields.take(key).and_then(|at| pointer_of(&at)));
    fields.close();
    times
}

fn figures_of(at: &At<'_>) -> Vec<(String, String)> {
    let figure = |(name, at): (&str, At<'_>)| {
        if !is_name(name) || PIECE_FIGURES.contains(&name) {
            at.wrong(format!(
                "must be a name of small letters, digits and _, and none of {}",
                PIECE_FIGURES.join(", ")
            ));
        }
        Some((name.to_owned(), pointer_of(&at)?))
    };
    at.named().unwrap_or_default().into_iter().filter_map(figure).collect()
}

fn progress_of(at: &At<'_>, figures: &[(String, String)]) -> Vec<usize> {
    let place = |at: &At<'_>| {
        let name = at.text()?;
        let place = figures.iter().position(|(figure, _)| figure == name);
        if place.is_none() {
            at.wrong(format!("names \"{name}\", which is not one of `figures`"));
        }
        place
    };
    at.one_or_many().iter().filter_map(place).collect()
}

fn derive_of(at: &At<'_>, reading: &Reading) -> Vec<(String, Formula)> {
    let known: Vec<&str> = reading.figures.iter().map(|(name, _)| name.as_str()).chain(PIECE_FIGURES).collect();
    let mut derived = Vec::new();
    for (name, at) in at.named().unwrap_or_default() {
        if !is_name(name) || crate::aggregate::WORK_FIGURES.contains(&name) {
            at.wrong("must be a name of small letters, digits and _ that no other figure of the work has");
        }
        let Some(text) = at.text() else { continue };
        match Formula::parse(text) {
            Ok(formula) => {
                if let Some(unknown) = formula.figures().iter().find(|figure| !known.contains(figure)) {
                    at.wrong(format!("uses `{unknown}`; known here: {}", known_names(&known)));
                }
                derived.push((name.to_owned(), formula));
            }
            Err(message) => at.wrong(message),
        }
    }
    derived
}

impl Totals {
    fn read(at: &At<'_>, names: &Names) -> Option<Self> {
        let fields = at.fields()?;
        let path = fields.need("read", "\"GET /path\" of the server's totals").and_then(|at| get_of(&at, names));
        let pointers = |key| {
            let list = fields.take(key).map_or_else(Vec::new, |at| at.one_or_many());
            list.iter().filter_map(pointer_of).collect()
        };
        let totals = Self {
            path: path.unwrap_or_default(),
            created: pointers("created"),
            finished: pointers("finished"),
            failed: pointers("failed"),
        };
        fields.close();
        if totals.created.is_empty() && totals.finished.is_empty() && totals.failed.is_empty() {
            at.wrong("needs at least one of `created`, `finished`, `failed`");
        }
        Some(totals)
    }
}
