//! Steps of a journey or of the setup: a request or a message, and what its answers mean. Refuses to know when a journey
//! is taken and over which connection.

use std::time::Duration;

use http::{HeaderName, Method};

use super::chance::{Purpose, draw, unit};
use super::denial::{Denial, statuses_of};
use super::document::Value;
use super::message::{Known, Message};
use super::reader::{At, Fields, check_template_name, is_name, name_of, pointer_of};
use super::repeat::Until;
use super::template::{Names, Template};
use super::waiting::{Follows, Waits};
use crate::limits::{REQUEST_TIMEOUT, RETRIES_MAX, WAIT_MAX};
use crate::record::ErrorKind;

/// One request or message, and what its answers mean.
#[derive(Clone, Debug)]
pub struct Step {
    /// The step's name: figures of journeys with several steps are found under it.
    pub name: String,
    /// What is asked or said.
    pub act: Act,
    /// The pause before it: from, to; drawn evenly by the arrival's seed.
    pub pause: Option<(Duration, Duration)>,
    /// Or the moment before which nobody goes on, from the start of the plan.
    pub until: Option<Duration>,
    /// Statuses that are what was hoped for.
    pub expect: Statuses,
    /// Answers that refuse politely: denied is not error.
    pub denied: Denial,
    /// Names for values of the answer.
    pub keep: Vec<Keep>,
    /// The work that this step starts; its id is the kept value of that name, or its ids are the items of the kept
    /// list.
    pub starts: Option<String>,
    /// How long connecting, sending and the whole answer may take together.
    pub timeout: Duration,
    /// What to do when no answer came.
    pub retry: Option<Retry>,
    /// Whether its answer is waited for, and what that tells.
    pub waits: Option<Waits>,
    /// The sequence that its answers follow.
    pub follows: Option<Follows>,
}

/// Where the round stands in the number of a draw: above the place of any step.
const ROUND_SHIFT: u32 = 16;

/// Where a step stands, as far as that decides what it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the first phase.
    Setup,
    /// In a journey.
    Journey,
    /// At the end of what runs beside one: it may go on for as long as the journey does.
    End,
}

/// What a step asks or says.
#[derive(Clone, Debug)]
pub enum Act {
    /// A request over HTTP.
    Request(Request),
    /// A message over a connection that speaks in frames.
    Message(Box<Message>),
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Path and query on the target.
    pub path: Template,
    /// Headers besides the target's own.
    pub headers: Vec<(HeaderName, Template)>,
    /// The body.
    pub body: Option<Body>,
}

/// The body of a request.
#[derive(Clone, Debug)]
pub enum Body {
    /// A JSON document, serialized, with its content type.
    Json(Template),
    /// Any text; its content type stands in the headers.
    Text(Template),
}

/// A value of an answer that later steps use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub from: Source,
}

/// A place in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A JSON pointer into the body (RFC 6901).
    Json(String),
    /// A header.
    Header(HeaderName),
}

/// Expected statuses; an empty list stands for any 2xx.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statuses(pub Vec<u16>);

impl Statuses {
    /// Whether `status` is one of them.
    #[must_use]
    pub fn hold(&self, status: u16) -> bool {
        if self.0.is_empty() { (200..300).contains(&status) } else { self.0.contains(&status) }
    }
}

/// Repeats of a request that got no answer at all, or one that says to come again, with the same idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Repeats after the first try.
    pub times: u64,
    /// The pause before each.
    pub backoff: Duration,
    /// Statuses after which it is repeated as well.
    pub statuses: Vec<u16>,
}

impl Step {
    /// Reads one step, and how often it is taken. What it keeps is known to the steps after it.
    pub(super) fn read(
        at: &At<'_>,
        names: &mut Names,
        works: &[String],
        place: Place,
        known: Known<'_>,
    ) -> Option<(Self, Option<Until>)> {
        let fields = at.fields()?;
        if fields.has("send") {
            return Self::read_message(fields, names, works, place, known);
        }
        let name = fields.take("name").and_then(|at| name_of(&at));
        let request = fields.need("request", "method and path, such as \"POST /api/games\"");
        let request = request.and_then(|at| request_of(&at, names));
        let headers = fields.take("headers").map_or_else(Vec::new, |at| headers_of(&at, names));
        let json = fields.take("json").map(|at| Template::read_json(&at, names));
        let text = fields.take("body").map(|at| Template::read(&at, names));
        if json.is_some() && text.is_some() {
            at.wrong("has `json` and `body`: a request has one body");
        }
        let (pause, until) = fields.take("pause").map_or((None, None), |at| pause_of(&at, names));
        let expect = Statuses(fields.take("expect").map_or_else(Vec::new, |at| statuses_of(&at)));
        let denied = fields.take("denied").map(|at| Denial::read(&at)).unwrap_or_default();
        let keep = fields.take("keep").map_or_else(Vec::new, |at| keep_of(&at));
        let starts = fields.take("starts").and_then(|at| starts_of(&at, &keep, works));
        let timeout = fields.take("timeout").and_then(|at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
        let retry = fields.take("retry").and_then(|at| Retry::read(&at));
        let of_journey = |key| fields.take(key).filter(|at| belongs(at, place));
        let waits = of_journey("waits").and_then(|at| Waits::read(&at));
        let follows = of_journey("follows").and_then(|at| Follows::read(&at, &keep));
        let repeat = of_journey("repeat").and_then(|at| Until::read(&at, place == Place::End, None));
        fields.close();
        names.known.extend(keep.iter().map(|keep| keep.name.clone()));
        let (method, path) = request?;
        let body = json.flatten().map(Body::Json).or(text.flatten().map(Body::Text));
        let step = Self {
            name: name.unwrap_or_else(|| method.as_str().to_ascii_lowercase()),
            act: Act::Request(Request { method, path, headers, body }),
            pause,
            until,
            expect,
            denied,
            keep,
            starts,
            timeout: timeout.unwrap_or(REQUEST_TIMEOUT),
            retry,
            waits,
            follows,
        };
        if step.retry.is_some() && !step.is_repeatable() {
            at.wrong("has `retry`, but a repeat could do its work twice: give it an `idempotency-key` header");
        }
        Some((step, repeat))
    }

    /// Reads a step that says a message: a connection that speaks in frames carries one after the other, so there is
    /// nothing to try again, and nothing that only a status could tell.
    fn read_message(
        fields: Fields<'_>,
        names: &mut Names,
        works: &[String],
        place: Place,
        known: Known<'_>,
    ) -> Option<(Self, Option<Until>)> {
        let at = fields.at.clone();
        if place == Place::Setup {
            at.wrong("has `send`, but the setup has no connection that speaks in frames: ask with `request`");
        }
        let name = fields.take("name").and_then(|at| name_of(&at));
        let kept = fields.take("keep");
        let keep = kept.as_ref().map_or_else(Vec::new, keep_of);
        let starts = fields.take("starts").and_then(|at| starts_of(&at, &keep, works));
        let message = Message::read(&fields, known, names, kept.as_ref().map(|kept| (kept, keep.as_slice())));
        let (pause, until) = fields.take("pause").map_or((None, None), |at| pause_of(&at, names));
        let timeout = fields.take("timeout").and_then(|at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
        let repeat = fields.take("repeat").and_then(|at| Until::read(&at, place == Place::End, Some(known)));
        fields.close();
        names.known.extend(keep.iter().map(|keep| keep.name.clone()));
        let step = Self {
            name: name.unwrap_or_else(|| said_name(&at)),
            act: Act::Message(Box::new(message?)),
            pause,
            until,
            expect: Statuses::default(),
            denied: Denial::default(),
            keep,
            starts,
            timeout: timeout.unwrap_or(REQUEST_TIMEOUT),
            retry: None,
            waits: None,
            follows: None,
        };
        Some((step, repeat))
    }

    /// The same step with templates bound.
    pub(super) fn bind(&self, bind: &dyn Fn(&Template) -> Template) -> Self {
        let act = match &self.act {
            Act::Request(request) => Act::Request(request.bind(bind)),
            Act::Message(message) => Act::Message(Box::new(message.bind(bind))),
        };
        Self { act, ..self.clone() }
    }

    /// Every template of what it asks or says.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        match &self.act {
            Act::Request(request) => request.templates(),
            Act::Message(message) => message.templates(),
        }
    }

    /// Its request, where it asks one.
    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        match &self.act {
            Act::Request(request) => Some(request),
            Act::Message(_) => None,
        }
    }

    /// Its message, where it says one.
    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        match &self.act {
            Act::Message(message) => Some(message),
            Act::Request(_) => None,
        }
    }

    /// The pause before it for an arrival with this seed; `number` is its place in the journey, and `round` says how
    /// many rounds of repeats are behind the arrival.
    #[must_use]
    pub fn pause_for(&self, seed: u64, number: usize, round: u64) -> Duration {
        let Some((from, to)) = self.pause else { return Duration::ZERO };
        let draw = draw(seed, Purpose::Pause, round << ROUND_SHIFT | number as u64);
        from + to.saturating_sub(from).mul_f64(unit(draw))
    }

    /// Whether sending it twice does what sending it once does.
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.request().is_some_and(Request::is_repeatable)
    }
}

impl Request {
    fn bind(&self, bind: &dyn Fn(&Template) -> Template) -> Self {
        Self {
            method: self.method.clone(),
            path: bind(&self.path),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), bind(value))).collect(),
            body: self.body.as_ref().map(|body| match body {
                Body::Json(json) => Body::Json(bind(json)),
                Body::Text(text) => Body::Text(bind(text)),
            }),
        }
    }

    fn templates(&self) -> Vec<&Template> {
        let body = self.body.iter().map(|body| match body {
            Body::Json(template) | Body::Text(template) => template,
        });
        [&self.path].into_iter().chain(self.headers.iter().map(|(_, value)| value)).chain(body).collect()
    }

    fn is_repeatable(&self) -> bool {
        self.method.is_idempotent() || self.headers.iter().any(|(name, _)| name == "idempotency-key")
    }
}

/// What a message is called where nobody says: its only member, where that is a name.
fn said_name(step: &At<'_>) -> String {
    let member = match step.node.get("send").map(|send| &send.value) {
        Some(Value::Table(members)) if members.len() == 1 && is_name(&members[0].key) => Some(members[0].key.clone()),
        _ => None,
    };
    member.unwrap_or_else(|| "send".to_owned())
}

/// Whether what stands there belongs to a step at this place.
fn belongs(at: &At<'_>, place: Place) -> bool {
    if place == Place::Setup {
        at.wrong("has no meaning here: only the steps of a journey have it");
    }
    place != Place::Setup
}

impl Retry {
    fn read(at: &At<'_>) -> Option<Self> {
        let fields = at.fields()?;
        let times = fields.need("times", "repeats after the first try").and_then(|at| at.int(1..=RETRIES_MAX));
        let backoff = fields.need("backoff", "the pause before each repeat");
        let backoff = backoff.and_then(|at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
        let statuses = fields.take("statuses").map_or_else(Vec::new, |at| statuses_of(&at));
        fields.close();
        Some(Self { times: times?, backoff: backoff?, statuses })
    }

    /// Whether this failure is one to try again after; `status` is that of the answer, where one came.
    #[must_use]
    pub fn applies(&self, trouble: ErrorKind, status: u16) -> bool {
        trouble.is_transport() || (matches!(trouble, ErrorKind::Status(_)) && self.statuses.contains(&status))
    }
}

/// Method and path of "POST /path".
pub(crate) fn request_of(at: &At<'_>, names: &Names) -> Option<(Method, Template)> {
    let template = Template::read(at, names)?;
    let text = at.text()?;
    let parts = text.split_once(' ').filter(|(_, path)| path.starts_with('/') && !path.contains(' '));
    let Some((method, path)) = parts else {
        at.wrong("must be a method and a path, such as \"POST /api/games\"");
        return None;
    };
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].contains(&method);
    let Some(method) = Method::from_bytes(method.as_bytes()).ok().filter(|_| known) else {
        at.wrong(format!("must start with GET, HEAD, POST, PUT, PATCH or DELETE, not \"{method}\""));
        return None;
    };
    let path = template.without_prefix(text.len() - path.len());
    check_path(at, &path).then_some((method, path))
}

/// A path goes onto the network as it stands: visible ASCII (RFC 9112, section 3.2); the rest is percent-encoded.
fn check_path(at: &At<'_>, path: &Template) -> bool {
    let wrong = path.first_outside(|c| c.is_ascii_graphic());
    if let Some(wrong) = wrong {
        let mut bytes = [0; 4];
        let encoded: String = wrong.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect();
        let text = at.text().unwrap_or_default();
        at.wrong(format!("must have a path of visible ASCII: write {encoded} for {wrong:?} in {text:?}"));
    }
    wrong.is_none()
}

pub(crate) fn headers_of(at: &At<'_>, names: &Names) -> Vec<(HeaderName, Template)> {
    let header = |(name, at): (&str, At<'_>)| {
        let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
            at.wrong("is not the name of a header");
            return None;
        };
        let value = Template::read(&at, names)?;
        // RFC 9110, section 5.5: a line break would end the header, and begin another one.
        if let Some(wrong) = value.first_outside(|c| c.is_ascii_graphic() || matches!(c, ' ' | '\t')) {
            at.wrong(format!("must be a value of printable ASCII, without line breaks: it has {wrong:?}"));
            return None;
        }
        Some((name, value))
    };
    at.named().unwrap_or_default().into_iter().filter_map(header).collect()
}

/// `"1s"`, or `{ from, to }` for one that is drawn evenly; or `{ until }`, a moment that all wait for.
fn pause_of(at: &At<'_>, names: &Names) -> (Option<(Duration, Duration)>, Option<Duration>) {
    let moment = at.node.get("until").and_then(|_| at.fields());
    let Some(fields) = moment else { return (length_of(at, names), None) };
    let until = fields.take("until").and_then(|at| at.duration(Duration::ZERO..=WAIT_MAX));
    fields.close();
    if !names.arrival {
        at.wrong("has no meaning here: only the steps of a journey pause");
    }
    (None, until)
}

fn length_of(at: &At<'_>, names: &Names) -> Option<(Duration, Duration)> {
    if !names.arrival {
        at.wrong("has no meaning here: only the steps of a journey pause");
    }
    let range = Duration::ZERO..=WAIT_MAX;
    if !matches!(at.node.value, Value::Table(_)) {
        return at.duration(range).map(|pause| (pause, pause));
    }
    let fields = at.fields()?;
    let from = fields.need("from", "the shortest pause").and_then(|at| at.duration(range.clone()));
    let to = fields.need("to", "the longest pause").and_then(|at| at.duration(range));
    fields.close();
    let (from, to) = (from?, to?);
    if from > to {
        at.wrong("must have a `from` that is not above its `to`");
    }
    Some((from, to))
}

fn keep_of(at: &At<'_>) -> Vec<Keep> {
    let kept = |(name, at): (&str, At<'_>)| {
        check_template_name(&at, name);
        Some(Keep { name: name.to_owned(), from: source_of(&at)? })
    };
    at.named().unwrap_or_default().into_iter().filter_map(kept).collect()
}

/// `"/pointer"`, or `{ header = "name" }`.
fn source_of(at: &At<'_>) -> Option<Source> {
    if !matches!(at.node.value, Value::Table(_)) {
        return pointer_of(at).map(Source::Json);
    }
    let fields = at.fields()?;
    let header = fields.need("header", "the header that holds it, such as { header = \"location\" }");
    fields.close();
    let header = header?;
    let name = HeaderName::from_bytes(header.text()?.as_bytes()).ok();
    if name.is_none() {
        header.wrong("is not the name of a header");
    }
    name.map(Source::Header)
}

fn starts_of(at: &At<'_>, keep: &[Keep], works: &[String]) -> Option<String> {
    let work = at.text()?;
    if !works.iter().any(|known| known == work) {
        at.wrong(format!("starts \"{work}\", but there is no [work.{work}]"));
    } else if !keep.iter().any(|keep| keep.name == work) {
        at.wrong(format!("needs the id of what it starts: keep = {{ {work} = \"/id\" }}"));
    }
    Some(work.to_owned())
}

/// A command line: words, the first of which is the program.
pub(crate) fn command_of(at: &At<'_>, names: &Names) -> Option<Vec<Template>> {
    let words = at.list()?;
    if words.is_empty() {
        at.wrong("must name a program");
    }
    words.iter().map(|at| Template::read(at, names)).collect()
}

/// Environment variables of a spawned process.
pub(crate) fn env_of(fields: &Fields<'_>, names: &Names) -> Vec<(String, Template)> {
    let entries = fields.take("env").and_then(|at| at.named()).unwrap_or_default();
    entries.iter().filter_map(|(name, at)| Some(((*name).to_owned(), Template::read(at, names)?))).collect()
}
