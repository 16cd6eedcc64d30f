//! Rows about tables and their games, for lists and look-ups. Who may see which of it is decided elsewhere.

use super::parse_cursor;
use crate::ids::{GameId, WorkerId};
use crate::tables::{GameRole, GameRow};
use crate::time::UnixMs;
use std::fmt;
use std::str::FromStr;

/// A game in the list of a player who has a seat in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatedGame {
    pub game: GameRow,
    /// The player's role in it.
    pub role: GameRole,
    /// Whether the player won; known once the game has ended.
    pub is_won: Option<bool>,
}

/// A cursor in a list of games, newest first: the list continues with older ones. It refers to no row, so it stays
/// valid when the game that it was made from is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GameCursor {
    /// The time that the list is ordered by.
    pub at: UnixMs,
    /// The game, among those of one millisecond.
    pub id: GameId,
}

impl GameCursor {
    /// In lists ordered by when games were opened: the lobby, and a player's own games.
    #[must_use]
    pub fn by_creation(row: &GameRow) -> Self {
        Self { at: row.created_at, id: row.id }
    }

    /// In the list ordered by when games ended, the history; `None` for a game that has not.
    #[must_use]
    pub fn by_end(row: &GameRow) -> Option<Self> {
        row.ended_at.map(|at| Self { at, id: row.id })
    }
}

/// A text that is not a [`GameCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of a list of games: use one that such a list gave")]
pub struct ParseGameCursorError;

impl fmt::Display for GameCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.at.0, self.id)
    }
}

impl FromStr for GameCursor {
    type Err = ParseGameCursorError;
    fn from_str(text: &str) -> Result<Self, ParseGameCursorError> {
        let (at, id) = parse_cursor(text).ok_or(ParseGameCursorError)?;
        Ok(Self { at: UnixMs(at), id })
    }
}

/// Who answers for a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableOwner {
    /// A worker whose lease holds.
    Leased {
        worker: WorkerId,
        /// Where it can be reached: the address in its lease.
        address: String,
    },
    /// No owner: any worker that needs the table may claim it.
    Unowned,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TableId;

    #[track_caller]
    fn check(text: &str, want: Option<(i64, u128, u32)>) {
        let read = text.parse::<GameCursor>();
        assert_eq!(read.ok().map(|cursor| (cursor.at.0, cursor.id.table.0, cursor.id.number)), want, "{text}");
    }

    #[test]
    fn a_cursor_is_read_back() {
        let cursor = GameCursor { at: UnixMs(-5), id: GameId { table: TableId(10), number: 3 } };
        assert_eq!(cursor.to_string(), "-5_00000000-0000-0000-0000-00000000000a-3");
        check(&cursor.to_string(), Some((-5, 10, 3)));
        check("17_00000000-0000-0000-0000-00000000000a-0", Some((17, 10, 0)));
        check("17-00000000-0000-0000-0000-00000000000a-0", None);
        check("_00000000-0000-0000-0000-00000000000a-0", None);
        check("17_", None);
        check("", None);
    }
}
