//! The rules in force: those of the file of policies, overridden by those set over the API.

mod change;
mod definition;
mod file;
mod owner;
mod rule_set;
#[cfg(test)]
mod tests;

pub use change::{Change, ChangeError};
pub use definition::{
    GATEWAY_ACTIONS, GATEWAY_CALLERS, InvalidMember, REFERENCE, WINDOW_MS_MAX, check_log_capacity, definition,
    parse_policy, parse_quota, window_ms,
};
pub use file::{FileError, FileRules, parse_policies};
pub(crate) use owner::INBOX_CAPACITY;
pub use owner::{PendingChange, RuleOwner, RuleOwnerMessage, RuleSources, StartError};
pub(crate) use rule_set::stored_quota;
pub use rule_set::{LimitRuleSet, OverrideKey, RuleSource, StoredRules};
