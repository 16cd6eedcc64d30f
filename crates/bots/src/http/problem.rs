//! Methods, the statuses that bots answer with, and refusals with a reason. Knows no sockets.

use std::borrow::Cow;

use crate::limits::BODY_BYTES_MAX;

/// The methods that matter to a bot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Other,
}

impl Method {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Other => "another method",
        }
    }
}

/// The statuses in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    LengthRequired,
    ContentTooLarge,
    HeaderFieldsTooLarge,
    InternalServerError,
    NotImplemented,
}

impl Status {
    /// Code and reason phrase, as in a status line.
    pub(crate) fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::RequestTimeout => "408 Request Timeout",
            Status::LengthRequired => "411 Length Required",
            Status::ContentTooLarge => "413 Content Too Large",
            Status::HeaderFieldsTooLarge => "431 Request Header Fields Too Large",
            Status::InternalServerError => "500 Internal Server Error",
            Status::NotImplemented => "501 Not Implemented",
        }
    }
}

/// Why a request is refused: for the client's program (`status`, `code`) and for its author (`detail`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: Status,
    /// Stable; for programs.
    pub(crate) code: &'static str,
    /// What was wrong and what is expected; for people.
    pub(crate) detail: Cow<'static, str>,
    /// The method that would have been right, where that is the matter.
    pub(crate) allow: Option<Method>,
}

impl Problem {
    pub(crate) fn new(status: Status, code: &'static str, detail: impl Into<Cow<'static, str>>) -> Problem {
        Problem { status, code, detail: detail.into(), allow: None }
    }

    pub(crate) fn wrong_method(allowed: Method) -> Problem {
        let detail = format!("this address answers {} only", allowed.name());
        let problem = Problem::new(Status::MethodNotAllowed, "method_not_allowed", detail);
        Problem { allow: Some(allowed), ..problem }
    }
}

pub(super) fn bad_request(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(Status::BadRequest, "bad_http", detail)
}

pub(super) fn too_large_body() -> Problem {
    let detail = format!("a body has at most {BODY_BYTES_MAX} bytes");
    Problem::new(Status::ContentTooLarge, "body_too_large", detail)
}
