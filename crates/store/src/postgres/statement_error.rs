//! Errors of PostgreSQL, classified by what a caller must do: do the batch again, report corrupt data, or wait for the database.

use crate::contract::StoreError;
use ::postgres::error::SqlState;
use std::error::Error;

/// Why a statement did not happen.
#[derive(Debug)]
pub(super) enum StatementError {
    /// Another node was in the way; the whole batch may be done again.
    Conflict(String),
    /// Anything else.
    Store(StoreError),
}

impl From<StoreError> for StatementError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<StatementError> for StoreError {
    fn from(error: StatementError) -> Self {
        match error {
            StatementError::Conflict(why) => Self::Unavailable { why },
            StatementError::Store(error) => error,
        }
    }
}

impl From<&::postgres::Error> for StatementError {
    fn from(error: &::postgres::Error) -> Self {
        let why = error_text(error);
        let Some(state) = error.code() else { return Self::Store(StoreError::Unavailable { why }) };
        match state {
            &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => Self::Conflict(why),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => Self::Store(StoreError::Corrupt { why }),
            // Classes 22, data exception, and 23, integrity constraint violation.
            state if state.code().starts_with("22") || state.code().starts_with("23") => {
                Self::Store(StoreError::Corrupt { why })
            }
            _ => Self::Store(StoreError::Unavailable { why }),
        }
    }
}

/// The database's own words, or the chain of causes. Neither holds the address or the password.
fn error_text(error: &::postgres::Error) -> String {
    if let Some(db) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", db.message(), db.code().code());
    }
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}
