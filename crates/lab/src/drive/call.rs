//! Requests of the load as bytes. What is the same for every arrival is written once, before the first of them; what
//! differs is filled in without memory of its own. Refuses to know connections and answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use http::{HeaderMap, Method};

use super::answer;
use crate::scenario::{Beside, Body, Journey, Repeat, Request, Scenario, Scope, Step, Template};

/// What one arrival does, ready to be sent.
#[derive(Debug)]
pub(crate) struct Route {
    /// Its own steps, and behind them those of what runs beside it.
    pub(crate) calls: Vec<Call>,
    /// How many of them are its own.
    pub(crate) own: usize,
    /// Whether steps have figures of their own.
    pub(crate) tells_steps_apart: bool,
    /// Whether they are messages over a connection of its own.
    pub(crate) speaks: bool,
    /// Names whose values the held connection has kept.
    pub(crate) inherits: Vec<String>,
    pub(crate) repeats: Vec<Repeat>,
    pub(crate) beside: Vec<Loops>,
}

/// Loops beside a journey, ready to begin.
#[derive(Debug)]
pub(crate) struct Loops {
    pub(crate) beside: Beside,
    /// Names of the journey whose values they take along: those that their requests use.
    pub(crate) carried: Vec<String>,
}

/// One step of a journey, ready to be sent.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) step: Step,
    /// The work that it starts, by its place in the scenario.
    pub(crate) work: Option<usize>,
    /// Whether a second time does no harm.
    pub(crate) repeatable: bool,
    /// Whether its answer ends with the head.
    pub(crate) head_only: bool,
    /// Whether the body of an expected answer means anything.
    pub(crate) reads_body: bool,
    /// Its place among the timeouts of the scenario.
    pub(crate) timeout: usize,
    head: Vec<Piece>,
    body: Option<Piece>,
    /// The whole request, where all of it is the same for every arrival: for a connection that is kept, and for one
    /// that is given up afterwards.
    constant: Option<[String; 2]>,
}

/// A stretch of a request.
#[derive(Debug)]
enum Piece {
    Text(String),
    Path(Template),
    Value { name: String, value: Template },
    Body(Template),
}

/// What every request of a run shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) authority: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) globals: &'a BTreeMap<String, String>,
}

/// Memory that requests are written into, used again and again.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub(super) out: String,
    body: String,
    /// A message, and the frame around it.
    pub(super) payload: Vec<u8>,
    pub(super) frame: Vec<u8>,
}

/// Headers that say where a request ends: the lab's own business.
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// The line that gives a connection up: the other side then closes it first and keeps the port that is left over.
const CLOSE: &str = "connection: close\r\n";

/// Every journey of a scenario, and the different timeouts of their steps.
///
/// # Errors
/// A header of the target is no text.
pub(crate) fn routes(scenario: &Scenario, shared: Shared<'_>) -> Result<(Vec<Route>, Vec<Duration>), String> {
    let mut timeouts = Vec::new();
    let mut routes = Vec::with_capacity(scenario.journeys.len());
    for journey in &scenario.journeys {
        let mut calls = Vec::with_capacity(journey.steps.len());
        // A message has no form that is settled before: its values are bound instead.
        let bound = journey.speaks.then(|| journey.bind(shared.globals));
        for step in &bound.as_ref().unwrap_or(journey).steps {
            let known = timeouts.iter().position(|timeout| *timeout == step.timeout);
            let timeout = known.unwrap_or_else(|| {
                timeouts.push(step.timeout);
                timeouts.len() - 1
            });
            let work = step.starts.as_ref().and_then(|name| scenario.works.iter().position(|w| w.name == *name));
            let mut call = Call::new(journey, step, shared, work, timeout)?;
            let place = calls.len();
            call.reads_body |= journey.repeats.iter().any(|it| it.last == place && it.until.says.is_some());
            calls.push(call);
        }
        routes.push(Route {
            calls,
            own: journey.own,
            tells_steps_apart: journey.tells_steps_apart(),
            speaks: journey.speaks,
            inherits: journey.inherits.clone(),
            repeats: journey.repeats.clone(),
            beside: journey.beside.iter().map(|beside| Loops::of(journey, beside)).collect(),
        });
    }
    Ok((routes, timeouts))
}

impl Loops {
    fn of(journey: &Journey, beside: &Beside) -> Self {
        let steps = &journey.steps[beside.steps.clone()];
        let used: BTreeSet<&str> = steps.iter().flat_map(Step::templates).flat_map(Template::names).collect();
        let carried = used.into_iter().filter(|name| journey.keeps(name)).map(str::to_owned).collect();
        Self { beside: beside.clone(), carried }
    }
}

impl Call {
    fn new(
        journey: &Journey,
        step: &Step,
        shared: Shared<'_>,
        work: Option<usize>,
        timeout: usize,
    ) -> Result<Self, String> {
        let mut call = Self {
            work,
            repeatable: step.is_repeatable(),
            head_only: false,
            reads_body: answer::reads_body(step),
            timeout,
            step: step.clone(),
            head: Vec::new(),
            body: None,
            constant: None,
        };
        if let Some(request) = step.request() {
            call.prepare(request, Settled::of(journey, shared.globals), shared)?;
        }
        Ok(call)
    }

    /// Writes down what is the same for every arrival.
    fn prepare(&mut self, request: &Request, settled: Settled<'_>, shared: Shared<'_>) -> Result<(), String> {
        let mut pieces = Pieces { settled, pieces: Vec::new() };
        pieces.text(&format!("{} ", request.method));
        pieces.template(&request.path, Piece::Path)?;
        pieces.text(" HTTP/1.1\r\n");
        if !names(request, shared.headers, "host") {
            pieces.text(&format!("host: {}\r\n", shared.authority));
        }
        pieces.headers(request, shared.headers)?;
        let json = matches!(request.body, Some(Body::Json(_)));
        if json && !names(request, shared.headers, "content-type") {
            pieces.text("content-type: application/json\r\n");
        }
        self.body = request.body.as_ref().map(|body| {
            let (Body::Json(template) | Body::Text(template)) = body;
            pieces.settled.text(template).map_or_else(|| Piece::Body(template.clone()), Piece::Text)
        });
        self.head_only = request.method == Method::HEAD;
        self.head = pieces.pieces;
        self.constant = self.constant();
        Ok(())
    }

    fn constant(&self) -> Option<[String; 2]> {
        let plain = |piece: &Piece| matches!(piece, Piece::Text(_));
        if !self.head.iter().chain(&self.body).all(plain) {
            return None;
        }
        let globals = BTreeMap::new();
        let write = |close| {
            let mut scratch = Scratch::default();
            self.fill(&Scope::of_run(&globals), close, &mut scratch).ok()?;
            Some(scratch.out)
        };
        Some([write(false)?, write(true)?])
    }

    /// The request as bytes; `close` gives the connection up afterwards.
    ///
    /// # Errors
    /// A name has no value, or a value that cannot stand where it should.
    pub(crate) fn bytes<'a>(
        &'a self,
        scope: &Scope<'_>,
        close: bool,
        scratch: &'a mut Scratch,
    ) -> Result<&'a [u8], String> {
        if let Some(constant) = &self.constant {
            return Ok(constant[usize::from(close)].as_bytes());
        }
        self.fill(scope, close, scratch)?;
        Ok(scratch.out.as_bytes())
    }

    fn fill(&self, scope: &Scope<'_>, close: bool, scratch: &mut Scratch) -> Result<(), String> {
        let Scratch { out, body, .. } = scratch;
        out.clear();
        body.clear();
        for piece in &self.head {
            piece.fill(scope, out)?;
        }
        if close {
            out.push_str(CLOSE);
        }
        if let Some(piece) = &self.body {
            piece.fill(scope, body)?;
        }
        // An empty body is worth a word only where one is expected (RFC 9110, section 8.6).
        let method = self.step.request().map(|request| &request.method);
        if self.body.is_some() || matches!(method, Some(&Method::POST | &Method::PUT | &Method::PATCH)) {
            let _ = write!(out, "content-length: {}\r\n", body.len());
        }
        out.push_str("\r\n");
        out.push_str(body);
        Ok(())
    }
}

impl Piece {
    fn fill(&self, scope: &Scope<'_>, out: &mut String) -> Result<(), String> {
        let from = out.len();
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Body(template) => template.render_into(scope, out)?,
            Self::Path(template) => {
                template.render_into(scope, out)?;
                check_path(&out[from..])?;
            }
            Self::Value { name, value } => {
                value.render_into(scope, out)?;
                check_value(name, &out[from..])?;
            }
        }
        Ok(())
    }
}

/// A path must not end the line that it stands in.
fn check_path(path: &str) -> Result<(), String> {
    let whole = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic() || byte >= 0x80);
    if whole { Ok(()) } else { Err(format!("`{path}` is not a path")) }
}

fn check_value(name: &str, value: &str) -> Result<(), String> {
    let plain = value.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
    if plain { Ok(()) } else { Err(format!("header `{name}` would hold a control character")) }
}

/// Whether a request or the target says a header itself.
fn names(request: &Request, headers: &HeaderMap, name: &str) -> bool {
    headers.contains_key(name) || request.headers.iter().any(|(own, _)| own == name)
}

/// Texts that are the same for every arrival: those without names, and those whose names the run has settled and no
/// step of the journey keeps a value under.
struct Settled<'a> {
    globals: Option<&'a BTreeMap<String, String>>,
}

impl<'a> Settled<'a> {
    fn of(journey: &Journey, globals: &'a BTreeMap<String, String>) -> Self {
        let shadowed = globals.keys().any(|name| journey.keeps(name));
        Self { globals: (!shadowed).then_some(globals) }
    }

    fn text(&self, template: &Template) -> Option<String> {
        match (template.constant(), self.globals) {
            (Some(text), _) => Some(text.to_owned()),
            (None, Some(globals)) => template.render(&Scope::of_run(globals)).ok(),
            (None, None) => None,
        }
    }
}

struct Pieces<'a> {
    settled: Settled<'a>,
    pieces: Vec<Piece>,
}

impl Pieces<'_> {
    fn text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    fn template(&mut self, template: &Template, piece: impl FnOnce(Template) -> Piece) -> Result<(), String> {
        let piece = piece(template.clone());
        match self.settled.text(template) {
            None => self.pieces.push(piece),
            Some(text) => {
                match &piece {
                    Piece::Path(_) => check_path(&text)?,
                    Piece::Value { name, .. } => check_value(name, &text)?,
                    Piece::Text(_) | Piece::Body(_) => {}
                }
                self.text(&text);
            }
        }
        Ok(())
    }

    /// The target's headers, and the request's own, which replace those of the same name.
    fn headers(&mut self, request: &Request, shared: &HeaderMap) -> Result<(), String> {
        let own = |name: &str| request.headers.iter().any(|(own, _)| own == name);
        for (name, value) in shared {
            if own(name.as_str()) || FRAMING.contains(&name.as_str()) {
                continue;
            }
            let value = std::str::from_utf8(value.as_bytes()).map_err(|_| format!("header `{name}` is no text"))?;
            self.text(&format!("{name}: {value}\r\n"));
        }
        for (name, value) in &request.headers {
            if FRAMING.contains(&name.as_str()) {
                continue;
            }
            self.text(&format!("{name}: "));
            self.template(value, |value| Piece::Value { name: name.to_string(), value })?;
            self.text("\r\n");
        }
        Ok(())
    }
}
