//! The bodies and statuses of the reference API, to the letter.

use super::ReferenceConfig;
use crate::rate_limit::full_response;
use crate::response_body::ResponseBody;
use http::{Response, StatusCode};

const JSON: &str = "application/json; charset=utf-8";

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It cannot be read.
    BadRequest,
    /// A check without what it needs. Its answer is empty.
    InvalidCheck,
    /// A member is not what it must be.
    InvalidField(&'static str),
    /// There is no such route, or not for this method.
    NotFound,
    /// The client does not take JSON.
    NotAcceptable,
    /// The body is too long.
    TooLarge,
    /// The body did not come in its time.
    TooSlow,
    /// As many clients are configured as may be.
    TooManyClients,
    /// The client had no configuration of its own. No client is told: resetting it is no error.
    NothingToReset,
    /// What lasts cannot be written now.
    Unavailable,
    /// A defect of ours.
    Internal,
}

impl Refusal {
    pub(super) fn into_response(self) -> Response<ResponseBody> {
        match self {
            Self::InvalidCheck => full_response(StatusCode::BAD_REQUEST, JSON, "{}"),
            Self::InvalidField(message) => error(StatusCode::BAD_REQUEST, message),
            Self::TooManyClients => {
                error(StatusCode::CONFLICT, "as many clients are configured as may be: reset one first")
            }
            Self::BadRequest => detail(StatusCode::BAD_REQUEST, "Bad Request"),
            Self::NotFound => detail(StatusCode::NOT_FOUND, "Not Found"),
            Self::NotAcceptable => detail(StatusCode::NOT_ACCEPTABLE, "Not Acceptable"),
            Self::TooLarge => detail(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"),
            Self::TooSlow => detail(StatusCode::REQUEST_TIMEOUT, "Request Timeout"),
            Self::Unavailable => detail(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
            Self::Internal | Self::NothingToReset => internal(),
        }
    }
}

/// A defect of ours.
pub(in crate::rate_limit) fn internal() -> Response<ResponseBody> {
    detail(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
}

pub(super) fn healthy() -> Response<ResponseBody> {
    full_response(StatusCode::OK, JSON, r#"{"status":"ok"}"#)
}

pub(super) fn reset() -> Response<ResponseBody> {
    full_response(StatusCode::OK, JSON, r#"{"status":"ok","message":"Client configuration reset"}"#)
}

/// The answer that is given most often by far: without the machinery of formatting.
pub(super) fn allowed(remaining: u64) -> Response<ResponseBody> {
    const HEAD: &[u8] = br#"{"allowed":true,"remaining":"#;
    let mut digits = itoa::Buffer::new();
    full_response(StatusCode::OK, JSON, [HEAD, digits.format(remaining).as_bytes(), b"}"].concat())
}

pub(super) fn denied(retry_after_s: u64) -> Response<ResponseBody> {
    const HEAD: &[u8] = br#"{"allowed":false,"remaining":0,"retry_after":"#;
    let mut digits = itoa::Buffer::new();
    full_response(StatusCode::OK, JSON, [HEAD, digits.format(retry_after_s).as_bytes(), b"}"].concat())
}

pub(super) fn config(ReferenceConfig { window_s, limit }: ReferenceConfig) -> Response<ResponseBody> {
    full_response(StatusCode::OK, JSON, format!(r#"{{"window_seconds":{window_s},"requests_per_window":{limit}}}"#))
}

/// None of our texts holds what JSON would escape.
fn error(status: StatusCode, message: &'static str) -> Response<ResponseBody> {
    full_response(status, JSON, format!(r#"{{"error":"{message}"}}"#))
}

fn detail(status: StatusCode, detail: &'static str) -> Response<ResponseBody> {
    full_response(status, JSON, format!(r#"{{"errors":{{"detail":"{detail}"}}}}"#))
}
