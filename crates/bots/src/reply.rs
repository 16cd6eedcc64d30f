//! Replies to the client, and their bytes. Knows no sockets and no reasons.

use std::borrow::Cow;
use std::io::Write;
use std::time::Duration;

use wire::webhook::MoveReply;

use crate::characters::Decision;
use crate::http::{Method, Problem, Status};
use crate::limits::HUGE_BODY_BYTES;

/// An answer that is decided but not yet due. Small: thousands of them wait for the end of a thinking time.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Time to let pass before it is sent.
    pub(crate) delay: Duration,
    /// Whether the connection stays open afterwards.
    pub(crate) keep_alive: bool,
    pub(crate) content: Content,
}

/// What is sent.
#[derive(Debug)]
pub(crate) enum Content {
    /// A good move.
    Move(Decision),
    /// JSON that is ready.
    Json(Status, Cow<'static, str>),
    /// Prometheus text.
    Metrics(String),
    /// A refusal.
    Problem(Box<Problem>),
    /// A body of [`HUGE_BODY_BYTES`]; only its head is rendered, its content is [`HUGE_BODY_CHUNK`] over and over.
    Huge,
    /// Nothing: the connection closes.
    HangUp,
}

/// A piece of the body of [`Content::Huge`].
pub(crate) static HUGE_BODY_CHUNK: [u8; 16 * 1024] = [b'['; 16 * 1024];

const JSON: &str = "application/json";
const PROBLEM_JSON: &str = "application/problem+json";
const PROMETHEUS: &str = "text/plain; version=0.0.4";

impl Reply {
    /// An answer without delay that keeps the connection open.
    pub(crate) fn at_once(content: Content) -> Reply {
        Reply { delay: Duration::ZERO, keep_alive: true, content }
    }

    /// Appends the bytes to send; none for [`Content::HangUp`].
    pub(crate) fn render(&self, out: &mut Vec<u8>) {
        match &self.content {
            Content::Move(decision) => self.render_move(*decision, out),
            Content::Json(status, text) => self.render_text(*status, JSON, text, out),
            Content::Metrics(text) => self.render_text(Status::OK, PROMETHEUS, text, out),
            Content::Problem(problem) => self.render_problem(problem, out),
            Content::Huge => self.render_head(Status::OK, JSON, HUGE_BODY_BYTES, None, out),
            Content::HangUp => {}
        }
    }

    fn render_move(&self, decision: Decision, out: &mut Vec<u8>) {
        let Some(shout) = decision.shout else {
            return self.render_text(Status::OK, JSON, decision.direction.reply_json(), out);
        };
        let reply = MoveReply { direction: decision.direction.name().into(), shout: Some(shout.into()) };
        let text = serde_json::to_string(&reply).expect("two strings always serialise");
        self.render_text(Status::OK, JSON, &text, out);
    }

    fn render_problem(&self, problem: &Problem, out: &mut Vec<u8>) {
        let (Status(number, title), code, detail) = (problem.status, problem.code, &problem.detail);
        let text = serde_json::json!({ "status": number, "title": title, "code": code, "detail": detail }).to_string();
        self.render_head(problem.status, PROBLEM_JSON, text.len(), problem.allow, out);
        out.extend_from_slice(text.as_bytes());
    }

    fn render_text(&self, status: Status, kind: &str, text: &str, out: &mut Vec<u8>) {
        self.render_head(status, kind, text.len(), None, out);
        out.extend_from_slice(text.as_bytes());
    }

    fn render_head(&self, status: Status, kind: &str, length: usize, allow: Option<Method>, out: &mut Vec<u8>) {
        let Status(number, title) = status;
        write!(out, "HTTP/1.1 {number} {title}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n").expect(VEC);
        if let Some(method) = allow {
            write!(out, "allow: {}\r\n", method.name()).expect(VEC);
        }
        out.extend_from_slice(if self.keep_alive { b"\r\n" } else { b"connection: close\r\n\r\n" });
    }
}

const VEC: &str = "a Vec takes any bytes";
