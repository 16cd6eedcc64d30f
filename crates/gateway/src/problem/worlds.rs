//! Refusals of worlds as API errors: one stable code each.

use super::ApiError;
use axum::http::StatusCode;
use worlds::VisitError;

/// The status and the stable code. An error that becomes another `ApiError` (see its `From`) is `internal` here.
pub(super) fn status_and_code(error: &VisitError) -> (StatusCode, &'static str) {
    match error {
        VisitError::NoSuchWorld => (StatusCode::NOT_FOUND, "no_such_world"),
        VisitError::Over => (StatusCode::GONE, "world_over"),
        VisitError::Elsewhere { .. } => (StatusCode::SERVICE_UNAVAILABLE, "world_elsewhere"),
        VisitError::Draining => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        VisitError::TooManyWorlds { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_worlds"),
        VisitError::YourShare => (StatusCode::TOO_MANY_REQUESTS, "your_share"),
        VisitError::WorldsFull => (StatusCode::SERVICE_UNAVAILABLE, "worlds_full"),
        VisitError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "world_busy"),
        VisitError::Damaged => (StatusCode::INTERNAL_SERVER_ERROR, "data_damaged"),
        VisitError::Store(_) | VisitError::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

impl From<VisitError> for ApiError {
    fn from(error: VisitError) -> Self {
        match error {
            VisitError::Store(error) => Self::Store(error),
            VisitError::Broken => Self::Internal("a stored world cannot be read".to_owned()),
            other => Self::World(other),
        }
    }
}
