//! Errors as clients see them: problem details (RFC 9457) with a stable code.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The media type of a [`Problem`].
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Why a request was refused. There is no `type`: as RFC 9457 says, the title is the status then, and `code` tells problems
/// of one status apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// The HTTP status.
    #[schema(example = 400)]
    pub status: u16,
    /// What the status means.
    #[schema(example = "Bad Request")]
    pub title: String,
    /// Which problem it is: a stable name for programs.
    #[schema(example = "bad_value")]
    pub code: String,
    /// What was wrong, what was expected, what to do: for a human reader, may change.
    pub detail: String,
    /// The member of the request that is wrong, as a JSON Pointer, where one member is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "/board")]
    pub field: Option<String>,
}
