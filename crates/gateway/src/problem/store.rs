//! Errors of the store as API errors: what may be said of them, and one stable code each.

use ::store::StoreError;
use axum::http::StatusCode;

pub(super) fn public_text(error: &StoreError) -> &'static str {
    match error {
        StoreError::Unavailable { .. } => {
            "the server cannot reach its database or write to it now; nothing is known to be saved: try again, with an Idempotency-Key where the route takes one"
        }
        StoreError::Overloaded { .. } => {
            "more requests wait to be saved than allowed; nothing was saved: try again later"
        }
        StoreError::WrongSchema { .. } | StoreError::Corrupt { .. } => {
            "the server cannot read its own data; its log says more under this request's id"
        }
        StoreError::Damaged(_) => {
            "what the server keeps of this is damaged, and cannot be read until its operator has restored it; nothing else is concerned"
        }
    }
}

pub(super) fn status_and_code(error: &StoreError) -> (StatusCode, &'static str) {
    match error {
        StoreError::Unavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, "store_unavailable"),
        StoreError::Overloaded { .. } => (StatusCode::SERVICE_UNAVAILABLE, "store_overloaded"),
        StoreError::WrongSchema { .. } | StoreError::Corrupt { .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "store_unreadable")
        }
        StoreError::Damaged(_) => (StatusCode::INTERNAL_SERVER_ERROR, "data_damaged"),
    }
}
