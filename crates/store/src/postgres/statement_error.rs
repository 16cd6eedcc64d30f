//! Errors of PostgreSQL, classified by what a caller must do: do the batch again, report corrupt data, or wait for the database.

use crate::contract::StoreError;
use ::postgres::error::SqlState;
use std::error::Error;

/// Whether another node was in the way: the whole batch may be done again.
pub(super) fn is_conflict(error: &::postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
}

pub(super) fn store_error(error: &::postgres::Error) -> StoreError {
    let why = error_text(error);
    match error.code() {
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => StoreError::Corrupt { why },
        // Classes 22, data exception, and 23, integrity constraint violation.
        Some(state) if state.code().starts_with("22") || state.code().starts_with("23") => StoreError::Corrupt { why },
        _ => StoreError::Unavailable { why },
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
