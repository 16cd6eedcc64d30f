//! The audit log.

use crate::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What an operator or admin changed, or tried to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AuditEntryView {
    /// Its id.
    pub id: String,
    /// When.
    pub at: Timestamp,
    /// The account that did it; null where it was done on the command line.
    #[schema(required)]
    pub account: Option<String>,
    /// The name of that account; null where it was done on the command line, or there is no such account any more.
    #[schema(required)]
    pub account_name: Option<String>,
    /// The id of the token that was used; null for the bootstrap token, and on the command line.
    #[schema(required)]
    pub token: Option<String>,
    /// The address of the client; null on the command line.
    #[schema(required)]
    pub address: Option<String>,
    /// What was done: the operation's `operationId` in this document.
    #[schema(example = "create_ban")]
    pub action: String,
    /// On whom or what: `account:ID`, `guest:ID`, `address:NETWORK`, `game:ID` and so on; null where it is on this server.
    #[schema(required, example = "address:192.0.2.0/24")]
    pub target: Option<String>,
    /// What else is known of it, as words such as `role:player`.
    #[schema(required)]
    pub detail: Option<String>,
    /// The reason that was given; null where none was.
    #[schema(required)]
    pub reason: Option<String>,
    /// `done`, or the `code` of the refusal.
    #[schema(example = "done")]
    pub outcome: String,
}
