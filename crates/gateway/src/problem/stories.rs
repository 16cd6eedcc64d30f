//! Refusals of tables as API errors: one stable code each, and what could be done instead.
//!
//! 403: not for this caller, in any state of the game. 409: not in this state, or not this card. 400: never.

use super::{ApiError, Resource};
use axum::http::StatusCode;
use engine::tables::{Phase, Refusal};
use tables::{LimitScope, TableError};

pub(crate) fn status_and_code(refusal: &Refusal) -> (StatusCode, &'static str) {
    match refusal {
        Refusal::Settings(_) | Refusal::Empty { .. } | Refusal::TooLong { .. } | Refusal::Countdown { .. } => {
            (StatusCode::BAD_REQUEST, "bad_value")
        }
        Refusal::NotAMember => (StatusCode::FORBIDDEN, "not_a_member"),
        Refusal::NotAPlayer => (StatusCode::FORBIDDEN, "not_a_player"),
        Refusal::NotStoryteller => (StatusCode::FORBIDDEN, "not_storyteller"),
        Refusal::StorytellerMayNotPick => (StatusCode::FORBIDDEN, "storyteller_may_not_pick"),
        Refusal::StorytellerMayNotVote => (StatusCode::FORBIDDEN, "storyteller_may_not_vote"),
        Refusal::GameNotLive { .. } => (StatusCode::CONFLICT, "game_not_live"),
        Refusal::GameIsLive { .. } => (StatusCode::CONFLICT, "game_live"),
        Refusal::NotYourTurn { .. } => (StatusCode::CONFLICT, "not_your_turn"),
        Refusal::WrongPhase { .. } => (StatusCode::CONFLICT, "wrong_phase"),
        Refusal::AlreadyJoined => (StatusCode::CONFLICT, "already_joined"),
        Refusal::TableFull { .. } => (StatusCode::CONFLICT, "table_full"),
        Refusal::LeaveTooSoon { .. } => (StatusCode::TOO_MANY_REQUESTS, "leave_too_soon"),
        Refusal::TooManyChanges { .. } => (StatusCode::CONFLICT, "too_many_changes"),
        Refusal::NotInHand => (StatusCode::CONFLICT, "not_in_hand"),
        Refusal::NotOnBoard => (StatusCode::CONFLICT, "not_on_board"),
        Refusal::OwnCard => (StatusCode::CONFLICT, "own_card"),
        Refusal::CardNotSet => (StatusCode::CONFLICT, "card_not_set"),
        Refusal::TooFewPicks { .. } => (StatusCode::CONFLICT, "too_few_picks"),
        Refusal::TooFewVotes { .. } => (StatusCode::CONFLICT, "too_few_votes"),
        Refusal::TooManyInvited { .. } => (StatusCode::CONFLICT, "too_many_invited"),
        Refusal::ChatTooFast { .. } => (StatusCode::TOO_MANY_REQUESTS, "chat_too_fast"),
    }
}

/// The public text.
pub(crate) fn text(refusal: &Refusal) -> String {
    match refusal {
        Refusal::WrongPhase { allowed, .. } if !allowed.is_empty() => {
            let allowed: Vec<_> = allowed.iter().map(|phase| Phase::name(*phase)).collect();
            format!("{refusal}: it can be in {}", allowed.join(" and "))
        }
        refusal => refusal.to_string(),
    }
}

/// The member of the request that caused the refusal.
pub(crate) fn field(refusal: &Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::Settings(_) => Some("/settings"),
        Refusal::Empty { what: "sentence" } | Refusal::TooLong { what: "sentence", .. } => Some("/sentence"),
        Refusal::Empty { .. } | Refusal::TooLong { .. } => Some("/text"),
        Refusal::Countdown { .. } => Some("/countdown_ms"),
        _ => None,
    }
}

/// The status and the stable code of a table that is not available. An error that becomes another `ApiError` (see its `From`) is
/// `internal` here.
pub(crate) fn table_status_and_code(error: &TableError) -> (StatusCode, &'static str) {
    match error {
        TableError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "table_busy"),
        TableError::Draining => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
        TableError::NotServing | TableError::HeldByPreviousProcess { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "tables_not_served")
        }
        TableError::Elsewhere { .. } => (StatusCode::SERVICE_UNAVAILABLE, "table_elsewhere"),
        TableError::TooManyTables { scope: LimitScope::All, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "too_many_tables")
        }
        TableError::TooManyTables { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_tables"),
        TableError::TooManyWaiters { scope: LimitScope::All, .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "too_many_waiters")
        }
        TableError::TooManyWaiters { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_waiters"),
        TableError::Refused(_)
        | TableError::NoSuchTable
        | TableError::Store(_)
        | TableError::KeyReused
        | TableError::Broken => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

impl From<TableError> for ApiError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Refused(refusal) => Self::Story(refusal),
            TableError::NoSuchTable => Self::NotFound(Resource::Table),
            TableError::Store(error) => Self::Store(error),
            TableError::KeyReused => Self::KeyReused,
            TableError::Broken => Self::Internal("a table broke an invariant".to_owned()),
            TableError::Elsewhere { .. }
            | TableError::Busy
            | TableError::Draining
            | TableError::NotServing
            | TableError::HeldByPreviousProcess { .. }
            | TableError::TooManyWaiters { .. }
            | TableError::TooManyTables { .. } => Self::Tables(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_phase_names_the_allowed_ones() {
        let refusal = Refusal::WrongPhase { phase: Phase::Vote, allowed: &[Phase::Create, Phase::Invitation] };
        assert_eq!(text(&refusal), "this cannot be done in the phase `vote`: it can be in create and invitation");
        assert_eq!(status_and_code(&refusal), (StatusCode::CONFLICT, "wrong_phase"));
    }
}
