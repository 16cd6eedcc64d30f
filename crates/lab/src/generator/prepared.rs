//! Requests of the load as bytes. What is the same for every arrival is rendered once, before the first of them; what
//! differs is filled in without allocating. Does not know connections and responses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

use http::Method;

use super::framing::{Opcode, check_path};
use super::response;
use crate::scenario::{
    BackgroundLoops, Body, Journey, Message, MessagePayload, Request, Scenario, Scope, Step, Template,
};

/// A journey, ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedJourney {
    /// With the values of the run filled in.
    pub(crate) spec: Journey,
    /// Its own steps, and behind them those of its background loops.
    pub(crate) steps: Vec<PreparedStep>,
    /// Whether steps are measured separately.
    pub(crate) has_step_figures: bool,
    /// By background loops: names of the journey whose values they need for their requests.
    pub(crate) carried_names: Vec<Vec<String>>,
}

/// One step of a journey, ready to be sent.
#[derive(Debug)]
pub(crate) struct PreparedStep {
    pub(crate) step: Step,
    /// The index of the work that it starts.
    pub(crate) work_index: Option<usize>,
    pub(crate) idempotent: bool,
    /// Whether its response has no body.
    pub(crate) head_only: bool,
    /// Whether the body of an expected response is read.
    pub(crate) needs_body: bool,
    /// The index of its timeout in the scenario's list of timeouts.
    pub(crate) timeout_index: usize,
    head: Vec<RequestFragment>,
    body: Option<RequestFragment>,
    /// The whole request, if it is the same for every arrival: with the connection kept alive, and with `connection:
    /// close`.
    constant: Option<[String; 2]>,
}

/// A part of a request.
#[derive(Debug)]
enum RequestFragment {
    Text(String),
    Path(Template),
    Value { name: String, value: Template },
    Body(Template),
}

/// Buffers that requests are rendered into, reused.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    text: String,
    body: String,
    /// A message.
    pub(crate) payload: Vec<u8>,
}

/// Headers that frame a request: the lab sets them itself.
const FRAMING_HEADERS: [&str; 2] = ["content-length", "transfer-encoding"];

/// The header that ends a connection: the server then closes first and keeps the port in TIME_WAIT.
const CONNECTION_CLOSE: &str = "connection: close\r\n";

/// Every journey of a scenario, and the distinct timeouts of their steps. `headers` are those of every request.
///
/// # Errors
/// A path or a header has a value that cannot stand there.
pub(crate) fn prepare_journeys(
    scenario: &Scenario,
    headers: &[(String, String)],
    globals: &BTreeMap<String, String>,
) -> Result<(Vec<PreparedJourney>, Vec<Duration>), String> {
    let mut timeouts = Vec::new();
    let mut journeys = Vec::with_capacity(scenario.journeys.len());
    for journey in &scenario.journeys {
        let mut steps = Vec::with_capacity(journey.steps.len());
        let journey = journey.bind(globals);
        for step in &journey.steps {
            let known = timeouts.iter().position(|timeout| *timeout == step.timeout);
            let timeout = known.unwrap_or_else(|| {
                timeouts.push(step.timeout);
                timeouts.len() - 1
            });
            let work =
                step.starts_work.as_ref().and_then(|name| scenario.work_specs.iter().position(|w| w.name == *name));
            let mut prepared = PreparedStep::new(step, (&scenario.target.url.authority, headers), work, timeout)?;
            let index = steps.len();
            prepared.needs_body |= journey.repeats.iter().any(|it| it.last_step == index && it.end.condition.is_some());
            steps.push(prepared);
        }
        journeys.push(PreparedJourney {
            steps,
            has_step_figures: journey.has_step_figures(),
            carried_names: journey.background.iter().map(|loops| carried_names(&journey, loops)).collect(),
            spec: journey,
        });
    }
    Ok((journeys, timeouts))
}

/// The names of the journey that the requests of background loops use.
fn carried_names(journey: &Journey, background: &BackgroundLoops) -> Vec<String> {
    let steps = &journey.steps[background.steps.clone()];
    let mut used = BTreeSet::new();
    for mut step in steps.iter().cloned() {
        step.visit_templates(&mut |template| used.extend(template.variable_names().map(str::to_owned)));
    }
    used.into_iter().filter(|name| journey.keeps_name(name)).collect()
}

impl PreparedStep {
    fn new(
        step: &Step,
        defaults: (&str, &[(String, String)]),
        work: Option<usize>,
        timeout: usize,
    ) -> Result<Self, String> {
        let mut prepared = Self {
            work_index: work,
            idempotent: step.is_idempotent(),
            head_only: false,
            needs_body: step.message().is_none() && response::needs_body(step),
            timeout_index: timeout,
            step: step.clone(),
            head: Vec::new(),
            body: None,
            constant: None,
        };
        if let Some(request) = step.request() {
            prepared.prepare(request, defaults)?;
        }
        Ok(prepared)
    }

    /// Renders what is the same for every arrival.
    fn prepare(&mut self, request: &Request, (authority, headers): (&str, &[(String, String)])) -> Result<(), String> {
        let mut fragments = FragmentBuilder::default();
        fragments.push_text(&format!("{} ", request.method));
        fragments.push_template(&request.path, RequestFragment::Path)?;
        fragments.push_text(" HTTP/1.1\r\n");
        if !has_header(request, headers, "host") {
            fragments.push_text(&format!("host: {authority}\r\n"));
        }
        fragments.push_headers(request, headers)?;
        let json = matches!(request.body, Some(Body::Json(_)));
        if json && !has_header(request, headers, "content-type") {
            fragments.push_text("content-type: application/json\r\n");
        }
        self.body = request.body.as_ref().map(|body| {
            let (Body::Json(template) | Body::Text(template)) = body;
            let constant = template.as_constant().map(|text| RequestFragment::Text(text.to_owned()));
            constant.unwrap_or_else(|| RequestFragment::Body(template.clone()))
        });
        self.head_only = request.method == Method::HEAD;
        self.head = fragments.0;
        self.constant = self.render_constant();
        Ok(())
    }

    fn render_constant(&self) -> Option<[String; 2]> {
        let plain = |fragment: &RequestFragment| matches!(fragment, RequestFragment::Text(_));
        if !self.head.iter().chain(&self.body).all(plain) {
            return None;
        }
        let globals = BTreeMap::new();
        let write = |close| {
            let mut scratch = Scratch::default();
            self.render_into(&Scope::for_run(&globals), close, &mut scratch).ok()?;
            Some(scratch.text)
        };
        Some([write(false)?, write(true)?])
    }

    /// The request as bytes; `close` ends the connection afterwards.
    ///
    /// # Errors
    /// A name has no value, or a value that cannot stand in its place.
    pub(crate) fn render<'a>(
        &'a self,
        scope: &Scope<'_>,
        close: bool,
        scratch: &'a mut Scratch,
    ) -> Result<&'a [u8], String> {
        if let Some(constant) = &self.constant {
            return Ok(constant[usize::from(close)].as_bytes());
        }
        self.render_into(scope, close, scratch)?;
        Ok(scratch.text.as_bytes())
    }

    fn render_into(&self, scope: &Scope<'_>, close: bool, scratch: &mut Scratch) -> Result<(), String> {
        let Scratch { text: out, body, .. } = scratch;
        out.clear();
        body.clear();
        for fragment in &self.head {
            fragment.render_into(scope, out)?;
        }
        if close {
            out.push_str(CONNECTION_CLOSE);
        }
        if let Some(fragment) = &self.body {
            fragment.render_into(scope, body)?;
        }
        // An empty body needs a length only where a body is expected (RFC 9110, section 8.6).
        let method = self.step.request().map(|request| &request.method);
        if self.body.is_some() || matches!(method, Some(&Method::POST | &Method::PUT | &Method::PATCH)) {
            let _ = write!(out, "content-length: {}\r\n", body.len());
        }
        out.push_str("\r\n");
        out.push_str(body);
        Ok(())
    }
}

/// Encodes a message into the payload of the scratch; returns the kind of frame that carries it.
///
/// # Errors
/// A name has no value, or one that its field cannot hold.
pub(crate) fn encode_message(message: &Message, scope: &Scope<'_>, scratch: &mut Scratch) -> Result<Opcode, String> {
    let Scratch { text, payload, .. } = scratch;
    payload.clear();
    match &message.payload {
        MessagePayload::Json(template) => {
            text.clear();
            template.render_into(scope, text)?;
            payload.extend_from_slice(text.as_bytes());
            Ok(Opcode::Text)
        }
        MessagePayload::Protobuf(encoder) => {
            encoder.encode(scope, payload, text)?;
            Ok(Opcode::Binary)
        }
    }
}

impl RequestFragment {
    fn render_into(&self, scope: &Scope<'_>, out: &mut String) -> Result<(), String> {
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

fn check_value(name: &str, value: &str) -> Result<(), String> {
    let plain = value.bytes().all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
    if plain { Ok(()) } else { Err(format!("header `{name}` would hold a control character")) }
}

/// Whether a request or the target sets a header itself.
fn has_header(request: &Request, headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(own_name, _)| own_name == name) || request.headers.iter().any(|(own_name, _)| own_name == name)
}

/// The head of a request: texts that are the same for every arrival become one.
#[derive(Default)]
struct FragmentBuilder(Vec<RequestFragment>);

impl FragmentBuilder {
    fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(RequestFragment::Text(last)) => last.push_str(text),
            _ => self.0.push(RequestFragment::Text(text.to_owned())),
        }
    }

    fn push_template(
        &mut self,
        template: &Template,
        fragment: impl FnOnce(Template) -> RequestFragment,
    ) -> Result<(), String> {
        let fragment = fragment(template.clone());
        match template.as_constant() {
            None => self.0.push(fragment),
            Some(text) => {
                match &fragment {
                    RequestFragment::Path(_) => check_path(text)?,
                    RequestFragment::Value { name, .. } => check_value(name, text)?,
                    RequestFragment::Text(_) | RequestFragment::Body(_) => {}
                }
                self.push_text(text);
            }
        }
        Ok(())
    }

    /// The target's headers, and the request's own, which replace those of the same name.
    fn push_headers(&mut self, request: &Request, shared: &[(String, String)]) -> Result<(), String> {
        let is_own = |name: &str| request.headers.iter().any(|(own_name, _)| own_name == name);
        for (name, value) in shared {
            if !is_own(name) && !FRAMING_HEADERS.contains(&name.as_str()) {
                self.push_text(&format!("{name}: {value}\r\n"));
            }
        }
        for (name, value) in &request.headers {
            if FRAMING_HEADERS.contains(&name.as_str()) {
                continue;
            }
            self.push_text(&format!("{name}: "));
            self.push_template(value, |value| RequestFragment::Value { name: name.to_string(), value })?;
            self.push_text("\r\n");
        }
        Ok(())
    }
}
