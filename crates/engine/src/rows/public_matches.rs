//! Lists of public matches: the cursor of those that have ended.

use super::parse_cursor;
use crate::ids::MatchId;
use crate::time::UnixMs;
use std::fmt;
use std::str::FromStr;

/// A position in the list of ended matches, the last ended first. As text: `<milliseconds since 1970>_<id>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedMatchCursor {
    /// When the match ended.
    pub ended_at: UnixMs,
    /// The match, among those that ended in one millisecond.
    pub id: MatchId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a place in a list of games: take it from the `Link` header of the page before")]
pub struct ParseEndedMatchCursorError;

impl fmt::Display for EndedMatchCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.ended_at.0, self.id)
    }
}

impl FromStr for EndedMatchCursor {
    type Err = ParseEndedMatchCursorError;
    fn from_str(text: &str) -> Result<Self, ParseEndedMatchCursorError> {
        let (ended_at, id) = parse_cursor(text).ok_or(ParseEndedMatchCursorError)?;
        Ok(Self { ended_at: UnixMs(ended_at), id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<(i64, u128)>) {
        let read: Option<EndedMatchCursor> = text.parse().ok();
        assert_eq!(read.map(|cursor| (cursor.ended_at.0, cursor.id.0)), want, "{text}");
        assert!(read.is_none_or(|cursor| cursor.to_string() == text), "{text}");
    }

    #[test]
    fn cursors_are_read_back() {
        check("1700000000000_00000000-0000-0000-0000-00000000000a", Some((1_700_000_000_000, 10)));
        check("-1_00000000-0000-0000-0000-00000000000a", Some((-1, 10)));
        for bad in ["", "_", "7", "7_", "7_a", "00000000-0000-0000-0000-00000000000a"] {
            check(bad, None);
        }
    }
}
