//! Steps of a journey or of the setup: a request or a message, and what its responses mean. Does not know when a
//! journey runs and over which connection.

use std::time::Duration;

use http::{HeaderName, Method};

use super::message::{FormatStatus, Message};
use super::reader::{NodeReader, TableReader, is_valid_name, read_name};
use super::repeat::RepeatEnd;
use super::response::{
    Denial, ExpectedStatuses, KeepRule, LongPoll, SequenceCheck, read_header_name, read_keep_rules, read_statuses,
};
use super::rng::{DrawPurpose, draw, to_unit_interval};
use super::template::{Template, TemplateNames};
use crate::limits::{REQUEST_TIMEOUT, RETRIES_MAX, WAIT_MAX};
use crate::measurement::ErrorKind;

/// One request or message, and what its responses mean.
#[derive(Clone, Debug)]
pub struct Step {
    /// The step's name; figures of journeys with several steps are found under it.
    pub name: String,
    pub action: StepAction,
    /// The pause before it: from, to; drawn uniformly by the arrival's seed.
    pub pause: Option<(Duration, Duration)>,
    /// Or the moment before which no arrival continues, from the start of the plan.
    pub pause_until: Option<Duration>,
    pub expect: ExpectedStatuses,
    /// Responses that refuse politely: a denial is not an error.
    pub denied: Denial,
    /// Names for values of the response.
    pub keep: Vec<KeepRule>,
    /// The work that this step starts; its id is the kept value of that name, or its ids are the items of the kept
    /// list.
    pub starts_work: Option<String>,
    /// How long connecting, sending and the whole response may take together.
    pub timeout: Duration,
    /// What to do when no response came.
    pub retry: Option<Retry>,
    /// Whether its response is waited for, and what it reports.
    pub long_poll: Option<LongPoll>,
    /// The sequence that its responses follow.
    pub sequence_check: Option<SequenceCheck>,
}

/// The bit position of the round in the number of a draw: above the index of any step.
const ROUND_SHIFT: u32 = 16;

/// Where a step is, as far as that decides which keys it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepContext {
    /// Before the first phase.
    Setup,
    Journey,
    /// At the end of a background loop: it may repeat for as long as the journey continues.
    BackgroundEnd,
}

#[derive(Clone, Debug)]
pub enum StepAction {
    /// A request over HTTP.
    Request(Request),
    /// A message over a connection that carries frames.
    Message(Box<Message>),
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: Method,
    /// Path and query on the target.
    pub path: Template,
    /// Headers in addition to the target's own.
    pub headers: Vec<(HeaderName, Template)>,
    pub body: Option<Body>,
}

#[derive(Clone, Debug)]
pub enum Body {
    /// A JSON document, serialized, with its content type.
    Json(Template),
    /// Any text; its content type is in the headers.
    Text(Template),
}

/// Retries of a request that got no response, or one that asks to retry, with the same idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Retries after the first attempt.
    pub times: u64,
    /// The pause before each.
    pub backoff: Duration,
    /// Statuses after which it is retried as well.
    pub statuses: Vec<u16>,
}

impl Step {
    /// Reads one step and its repeat. What it keeps is known to the steps after it.
    pub(super) fn read(
        at: &NodeReader<'_>,
        names: &mut TemplateNames,
        works: &[String],
        context: StepContext,
        known: FormatStatus<'_>,
    ) -> Option<(Self, Option<RepeatEnd>)> {
        at.table(|fields| {
            let is_message = fields.has("send");
            let name = fields.optional("name", read_name);
            let frames = is_message.then_some(known);
            let kept = fields.get("keep");
            let keep = kept.as_ref().map_or_else(Vec::new, |at| read_keep_rules(at, frames));
            let starts_work = fields.optional("starts", |at| read_started_work(at, &keep, works));
            let action = match is_message {
                true => read_message(fields, context, known, names, kept.as_ref()),
                false => Request::read(fields, names).map(StepAction::Request),
            };
            let denied = fields.or_default("denied", |at| Denial::read(at, frames));
            let (pause, pause_until) = fields.or_default("pause", |at| read_pause(at, names));
            let timeout = fields.or("timeout", REQUEST_TIMEOUT, |at| at.duration(Duration::from_millis(1)..=WAIT_MAX));
            let repeat = fields.get("repeat").filter(|at| is_message || check_not_in_setup(at, context));
            let may_go_on = context == StepContext::BackgroundEnd;
            let repeat = repeat.and_then(|at| RepeatEnd::read(&at, may_go_on, frames));
            // A connection carries one frame after the other: there is nothing to retry, and nothing that only a status
            // could show.
            let of_request = |key| if is_message { None } else { fields.get(key) };
            let of_journey = |key| of_request(key).filter(|at| check_not_in_setup(at, context));
            let expect = of_request("expect").map_or_else(Vec::new, |at| read_statuses(&at));
            let retry = of_request("retry").and_then(|at| Retry::read(&at));
            let long_poll = of_journey("waits").and_then(|at| LongPoll::read(&at));
            let sequence_check = of_journey("follows").and_then(|at| SequenceCheck::read(&at, &keep));
            names.known.extend(keep.iter().map(|keep| keep.name.clone()));
            let action = action?;
            let step = Self {
                name: name.unwrap_or_else(|| default_name(at, &action)),
                action,
                pause,
                pause_until,
                expect: ExpectedStatuses(expect),
                denied,
                keep,
                starts_work,
                timeout,
                retry,
                long_poll,
                sequence_check,
            };
            if step.retry.is_some() && !step.is_idempotent() {
                at.add_error("has `retry`, but a repeat could do its work twice: give it an `idempotency-key` header");
            }
            Some((step, repeat))
        })?
    }

    /// Calls `visit` with every template of its request or message.
    pub(crate) fn visit_templates(&mut self, visit: &mut dyn FnMut(&mut Template)) {
        match &mut self.action {
            StepAction::Request(request) => {
                visit(&mut request.path);
                request.headers.iter_mut().for_each(|(_, value)| visit(value));
                if let Some(Body::Json(template) | Body::Text(template)) = &mut request.body {
                    visit(template);
                }
            }
            StepAction::Message(message) => message.payload.visit_templates(visit),
        }
    }

    #[must_use]
    pub fn request(&self) -> Option<&Request> {
        match &self.action {
            StepAction::Request(request) => Some(request),
            StepAction::Message(_) => None,
        }
    }

    #[must_use]
    pub fn message(&self) -> Option<&Message> {
        match &self.action {
            StepAction::Message(message) => Some(message),
            StepAction::Request(_) => None,
        }
    }

    /// The pause before it for an arrival with this seed; `number` is its index in the journey, and `round` the number
    /// of completed rounds of repeats.
    #[must_use]
    pub fn pause_duration(&self, seed: u64, number: usize, round: u64) -> Duration {
        let Some((from, to)) = self.pause else { return Duration::ZERO };
        let draw = draw(seed, DrawPurpose::Pause, round << ROUND_SHIFT | number as u64);
        from + to.saturating_sub(from).mul_f64(to_unit_interval(draw))
    }

    /// Whether sending it twice has the same effect as sending it once.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.request().is_some_and(Request::is_idempotent)
    }
}

impl Request {
    fn read(fields: &TableReader<'_>, names: &TemplateNames) -> Option<Self> {
        let request = fields.get_required("request", "method and path, such as \"POST /api/games\"");
        let request = request.and_then(|at| read_request_line(&at, names));
        let headers = fields.or_default("headers", |at| read_headers(at, names));
        let json = fields.optional("json", |at| Template::read_json(at, names)).map(Body::Json);
        let text = fields.optional("body", |at| Template::read(at, names)).map(Body::Text);
        if fields.has("json") && fields.has("body") {
            fields.reader.add_error("has `json` and `body`: a request has one body");
        }
        let (method, path) = request?;
        Some(Self { method, path, headers, body: json.or(text) })
    }

    fn is_idempotent(&self) -> bool {
        self.method.is_idempotent() || self.headers.iter().any(|(name, _)| name == "idempotency-key")
    }
}

fn read_message(
    fields: &TableReader<'_>,
    context: StepContext,
    known: FormatStatus<'_>,
    names: &TemplateNames,
    kept: Option<&NodeReader<'_>>,
) -> Option<StepAction> {
    if context == StepContext::Setup {
        let at = &fields.reader;
        at.add_error("has `send`, but the setup has no connection that speaks in frames: ask with `request`");
    }
    Message::read(fields, known, names, kept).map(|message| StepAction::Message(Box::new(message)))
}

/// The method of a request, or the only member of a message, if that is a valid name.
fn default_name(step: &NodeReader<'_>, action: &StepAction) -> String {
    let mut members = step.node.entries_of("send");
    match (action, members.next(), members.next()) {
        (StepAction::Request(request), ..) => request.method.as_str().to_ascii_lowercase(),
        (StepAction::Message(_), Some((member, _)), None) if is_valid_name(member) => member.clone(),
        (StepAction::Message(_), ..) => "send".to_owned(),
    }
}

/// Checks that the key belongs to a step in this context.
fn check_not_in_setup(at: &NodeReader<'_>, context: StepContext) -> bool {
    if context == StepContext::Setup {
        at.add_error("has no meaning here: only the steps of a journey have it");
    }
    context != StepContext::Setup
}

impl Retry {
    fn read(at: &NodeReader<'_>) -> Option<Self> {
        let pause = |at: &NodeReader<'_>| at.duration(Duration::from_millis(1)..=WAIT_MAX);
        at.table(|fields| Self {
            times: fields.required("times", "repeats after the first try", |at| at.int(1..=RETRIES_MAX)),
            backoff: fields.required("backoff", "the pause before each repeat", pause),
            statuses: fields.or_default("statuses", read_statuses),
        })
    }

    /// Whether a request is retried after this failure; `status` is that of the response, if one came.
    #[must_use]
    pub fn applies(&self, kind: ErrorKind, status: u16) -> bool {
        kind.is_transport() || (matches!(kind, ErrorKind::Status(_)) && self.statuses.contains(&status))
    }
}

/// Method and path of "POST /path".
pub(crate) fn read_request_line(at: &NodeReader<'_>, names: &TemplateNames) -> Option<(Method, Template)> {
    let template = Template::read(at, names)?;
    let text = at.text()?;
    let parts = text.split_once(' ').filter(|(_, path)| path.starts_with('/') && !path.contains(' '));
    let Some((method, path)) = parts else {
        return at.reject("must be a method and a path, such as \"POST /api/games\"");
    };
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].contains(&method);
    let Some(method) = Method::from_bytes(method.as_bytes()).ok().filter(|_| known) else {
        return at.reject(format!("must start with GET, HEAD, POST, PUT, PATCH or DELETE, not \"{method}\""));
    };
    let path = template.without_prefix(text.len() - path.len());
    check_path(at, &path).then_some((method, path))
}

/// A path is sent as it is written: visible ASCII (RFC 9112, section 3.2); the rest is percent-encoded.
fn check_path(at: &NodeReader<'_>, path: &Template) -> bool {
    let wrong = path.first_disallowed_char(|c| c.is_ascii_graphic());
    if let Some(wrong) = wrong {
        let mut bytes = [0; 4];
        let encoded: String = wrong.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02X}")).collect();
        let text = at.text().unwrap_or_default();
        at.add_error(format!("must have a path of visible ASCII: write {encoded} for {wrong:?} in {text:?}"));
    }
    wrong.is_none()
}

pub(crate) fn read_headers(at: &NodeReader<'_>, names: &TemplateNames) -> Vec<(HeaderName, Template)> {
    at.entries(|name, at| {
        let name = read_header_name(at, name)?;
        let value = Template::read(at, names)?;
        // RFC 9110, section 5.5: a line break would end the header and begin another one.
        if let Some(wrong) = value.first_disallowed_char(|c| c.is_ascii_graphic() || matches!(c, ' ' | '\t')) {
            return at.reject(format!("must be a value of printable ASCII, without line breaks: it has {wrong:?}"));
        }
        Some((name, value))
    })
}

/// `"1s"`, or `{ from, to }` for a pause drawn uniformly; or `{ until }`, a moment that all arrivals wait for.
fn read_pause(at: &NodeReader<'_>, names: &TemplateNames) -> (Option<(Duration, Duration)>, Option<Duration>) {
    if !names.has_arrival {
        at.add_error("has no meaning here: only the steps of a journey pause");
    }
    let duration = |at: &NodeReader<'_>| at.duration(Duration::ZERO..=WAIT_MAX);
    if at.node.get("until").is_some() {
        return (None, at.table(|fields| fields.optional("until", duration)).flatten());
    }
    if !at.is_table() {
        return (duration(at).map(|pause| (pause, pause)), None);
    }
    let range = at.table(|fields| {
        let from = fields.required("from", "the shortest pause", duration);
        (from, fields.required("to", "the longest pause", duration))
    });
    if range.is_some_and(|(from, to)| from > to) {
        at.add_error("must have a `from` that is not above its `to`");
    }
    (range, None)
}

fn read_started_work(at: &NodeReader<'_>, keep: &[KeepRule], works: &[String]) -> Option<String> {
    let work = at.text()?;
    if !works.iter().any(|known| known == work) {
        at.add_error(format!("starts \"{work}\", but there is no [work.{work}]"));
    } else if !keep.iter().any(|keep| keep.name == work) {
        at.add_error(format!("needs the id of what it starts: keep = {{ {work} = \"/id\" }}"));
    }
    Some(work.to_owned())
}
