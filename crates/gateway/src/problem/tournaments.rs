//! Refusals of tournaments as API errors: one stable code each.

use super::{ApiError, Resource};
use arena::tournaments::TournamentError;
use axum::http::StatusCode;
use engine::tournaments::Refusal;

/// Why something cannot be done with a tournament.
#[derive(Debug, thiserror::Error)]
pub enum TournamentRefusal {
    /// Another account organizes it.
    #[error("only the organizer of this tournament may do this")]
    NotOrganizer,
    /// Others change it again and again.
    #[error("this tournament is being changed by others at this moment: try again")]
    Busy,
    #[error(transparent)]
    Refused(Refusal),
}

impl TournamentRefusal {
    /// The status and the stable code.
    pub(super) fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::NotOrganizer => (StatusCode::FORBIDDEN, "not_organizer"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "tournament_busy"),
            Self::Refused(refusal) => match refusal {
                Refusal::NotInvited => (StatusCode::FORBIDDEN, "not_invited"),
                Refusal::NotEntered => (StatusCode::NOT_FOUND, "no_such_snake"),
                Refusal::InvalidSeeds => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_seeds"),
                Refusal::EntriesClosed => (StatusCode::CONFLICT, "entries_closed"),
                Refusal::Ended => (StatusCode::CONFLICT, "tournament_ended"),
                Refusal::AlreadyStarted => (StatusCode::CONFLICT, "already_started"),
                Refusal::Full { .. } => (StatusCode::CONFLICT, "tournament_full"),
                Refusal::AccountFull { .. } => (StatusCode::CONFLICT, "account_full"),
                Refusal::AlreadyEntered => (StatusCode::CONFLICT, "already_entered"),
                Refusal::UrlAlreadyEntered => (StatusCode::CONFLICT, "duplicate_url"),
                Refusal::TooFewEntrants { .. } => (StatusCode::CONFLICT, "too_few_entrants"),
                Refusal::NotSeededByHand => (StatusCode::CONFLICT, "not_seeded_by_hand"),
                Refusal::TooManyInvited => (StatusCode::CONFLICT, "too_many_invited"),
                Refusal::TooManyEntries { .. } => (StatusCode::CONFLICT, "too_many_entries"),
                Refusal::TooManyChanges => (StatusCode::CONFLICT, "too_many_changes"),
                Refusal::TooManySeeds => (StatusCode::CONFLICT, "too_many_seeds"),
                Refusal::Inconsistent(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            },
        }
    }
}

impl From<TournamentError> for ApiError {
    fn from(error: TournamentError) -> Self {
        match error {
            TournamentError::NotFound => Self::NotFound(Resource::Tournament),
            TournamentError::TooMany => Self::TooMany(Resource::Tournament),
            TournamentError::KeyReused => Self::KeyReused,
            TournamentError::NoSuchAccount => Self::NotFound(Resource::Account),
            TournamentError::Refused(Refusal::Inconsistent(what)) => Self::Internal(what.to_owned()),
            TournamentError::Refused(refusal) => Self::Tournament(TournamentRefusal::Refused(refusal)),
            TournamentError::Busy => Self::Tournament(TournamentRefusal::Busy),
            TournamentError::Store(error) => Self::Store(error),
            TournamentError::Unreadable(error) => Self::Internal(error.to_string()),
            TournamentError::Unexpected(outcome) => Self::Internal(outcome),
        }
    }
}
