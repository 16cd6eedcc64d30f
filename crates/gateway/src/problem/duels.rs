//! Why a change of a duel is not made, as API errors.

use super::ApiError;
use arena::AdvanceError;

impl From<AdvanceError> for ApiError {
    fn from(error: AdvanceError) -> Self {
        match error {
            AdvanceError::Store(error) => Self::Store(error),
            AdvanceError::Unreadable(error) => Self::Internal(error.to_string()),
            AdvanceError::Unexpected(why) => Self::Internal(why),
        }
    }
}
