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

/// A status with its reason phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Status(pub(crate) u16, pub(crate) &'static str);

impl Status {
    pub(crate) const OK: Status = Status(200, "OK");
    pub(crate) const BAD_REQUEST: Status = Status(400, "Bad Request");
    pub(crate) const NOT_FOUND: Status = Status(404, "Not Found");
    pub(crate) const METHOD_NOT_ALLOWED: Status = Status(405, "Method Not Allowed");
    pub(crate) const REQUEST_TIMEOUT: Status = Status(408, "Request Timeout");
    pub(crate) const LENGTH_REQUIRED: Status = Status(411, "Length Required");
    pub(crate) const CONTENT_TOO_LARGE: Status = Status(413, "Content Too Large");
    pub(crate) const HEADER_FIELDS_TOO_LARGE: Status = Status(431, "Request Header Fields Too Large");
    pub(crate) const INTERNAL_SERVER_ERROR: Status = Status(500, "Internal Server Error");
    pub(crate) const NOT_IMPLEMENTED: Status = Status(501, "Not Implemented");
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
        let problem = Problem::new(Status::METHOD_NOT_ALLOWED, "method_not_allowed", detail);
        Problem { allow: Some(allowed), ..problem }
    }
}

pub(super) fn bad_request(detail: impl Into<Cow<'static, str>>) -> Problem {
    Problem::new(Status::BAD_REQUEST, "bad_http", detail)
}

pub(super) fn too_large_body() -> Problem {
    let detail = format!("a body has at most {BODY_BYTES_MAX} bytes");
    Problem::new(Status::CONTENT_TOO_LARGE, "body_too_large", detail)
}
