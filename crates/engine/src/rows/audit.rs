//! The audit log: what operators and admins changed.

use crate::ids::{AccountId, AuditId, TokenId};
use crate::limits::AUDIT_TEXT_CHARS_MAX;
use crate::time::UnixMs;
use std::net::IpAddr;

/// One change, or an attempt that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Says when, too.
    pub id: AuditId,
    /// Who made it; `None` on the command line.
    pub account: Option<AccountId>,
    /// With which token; `None` for the bootstrap token, and on the command line.
    pub token: Option<TokenId>,
    /// From which address, if there was one.
    pub address: Option<IpAddr>,
    /// What was done: the name of the operation in the OpenAPI document, or the command of the command line.
    pub action: String,
    /// On whom or what: `account:ID`, `address:NETWORK`, `game:ID` …
    pub target: Option<String>,
    /// What else is worth knowing.
    pub detail: Option<String>,
    /// The reason that was given.
    pub reason: Option<String>,
    /// `done`, or the code of the refusal.
    pub outcome: String,
}

impl AuditEntry {
    /// What outcomes say of a change that was made.
    pub const DONE: &str = "done";

    /// The entry with its texts as long as they may be, and without control characters.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let texts = [Some(&mut self.action), self.target.as_mut(), self.detail.as_mut(), self.reason.as_mut()];
        texts.into_iter().flatten().chain([&mut self.outcome]).for_each(bound);
        self
    }
}

fn bound(text: &mut String) {
    if text.chars().nth(AUDIT_TEXT_CHARS_MAX).is_some() || text.chars().any(char::is_control) {
        *text = text.chars().filter(|c| !c.is_control()).take(AUDIT_TEXT_CHARS_MAX).collect();
    }
}

/// Which entries a page has: those for which all of these hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditFilter {
    pub account: Option<AccountId>,
    pub action: Option<String>,
    pub target: Option<String>,
    /// Not before this time.
    pub from: Option<UnixMs>,
    /// Before this time.
    pub until: Option<UnixMs>,
    /// Older than this one.
    pub before: Option<AuditId>,
    pub limit: usize,
}

impl AuditFilter {
    /// The ids of its times and of its page: from the first one on, and below the second.
    #[must_use]
    pub fn id_range(&self) -> (AuditId, AuditId) {
        let from = self.from.map_or(AuditId(0), AuditId::first_of);
        let until = self.until.map_or(AuditId(u128::MAX), AuditId::first_of);
        (from, self.before.map_or(until, |before| before.min(until)))
    }
}

impl AuditId {
    /// Below every id of this millisecond, and above those of all before it.
    #[must_use]
    pub fn first_of(time: UnixMs) -> Self {
        /// The bits behind the time.
        const RANDOM_BITS: u32 = 80;
        Self(u128::from(time.0.clamp(0, (1 << 48) - 1).unsigned_abs()) << RANDOM_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_time_are_found_by_it() {
        for ms in [0, 1, 1_700_000_000_000, (1 << 48) - 1] {
            let time = UnixMs(ms);
            let (least, most) = (AuditId::new(time, [0; 10]), AuditId::new(time, [u8::MAX; 10]));
            assert!(AuditId::first_of(time) <= least && AuditId::first_of(time).created_at() == time, "{ms}");
            assert!(ms == (1 << 48) - 1 || most < AuditId::first_of(UnixMs(ms + 1)), "{ms}");
        }
        assert_eq!(AuditId::first_of(UnixMs(-1)), AuditId(0));
        assert_eq!(AuditId::first_of(UnixMs(i64::MAX)), AuditId::first_of(UnixMs((1 << 48) - 1)));
    }

    #[track_caller]
    fn check(text: &str, want: &str) {
        let mut bounded = text.to_owned();
        bound(&mut bounded);
        assert_eq!(bounded, want);
    }

    #[test]
    fn texts_are_bounded_and_printable() {
        check("reason", "reason");
        check("a\nb\u{7f}", "ab");
        check(&"ß".repeat(AUDIT_TEXT_CHARS_MAX), &"ß".repeat(AUDIT_TEXT_CHARS_MAX));
        check(&"ß".repeat(AUDIT_TEXT_CHARS_MAX + 1), &"ß".repeat(AUDIT_TEXT_CHARS_MAX));
    }
}
