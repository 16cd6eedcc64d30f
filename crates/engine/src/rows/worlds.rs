//! Rows about worlds, and about hunts as they are counted: for lists, look-ups and the leaderboard. What a world's
//! settings and the entries of its claim log mean, only its machine knows.

use super::parse_cursor;
use crate::ids::{PlayerId, WorkerId, WorldId, WorldName};
use crate::time::UnixMs;
use crate::worlds::WorldLogRow;
use rules::chance::Seed;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorldKind {
    /// A grid to walk on.
    World,
    /// A grid with chests, power-ups and rounds.
    Hunt,
}

impl WorldKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::World, Self::Hunt];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::World => "world",
            Self::Hunt => "hunt",
        }
    }

    /// The kind of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Who may come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Admission {
    /// All players; joining is not saved.
    Everybody,
    /// Those who joined; every player may join while there is room.
    Joined,
    /// Those whom the matchmaker brought together.
    Matched,
}

impl Admission {
    /// Every way in.
    pub const ALL: [Self; 3] = [Self::Everybody, Self::Joined, Self::Matched];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Everybody => "everybody",
            Self::Joined => "joined",
            Self::Matched => "matched",
        }
    }

    /// The way in of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|admission| admission.name() == name)
    }
}

/// A world as it was made: nothing of this changes, but that it may end early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldRow {
    pub id: WorldId,
    /// What it is called; unique.
    pub name: WorldName,
    pub kind: WorldKind,
    /// Its rules, as the world's machine writes them.
    pub settings: Vec<u8>,
    /// What its terrain and all its chances come from.
    pub seed: Seed,
    /// The player who made it; `None` for a built-in world.
    pub creator: Option<PlayerId>,
    pub created_at: UnixMs,
    /// When it is over: nothing enters from then on. `None` for a world that stays.
    pub ends_at: Option<UnixMs>,
    /// Who may come in.
    pub admission: Admission,
    /// How many may join, where joining is needed.
    pub players_max: u32,
}

impl WorldRow {
    /// Whether it has come to its end.
    #[must_use]
    pub fn is_over(&self, now: UnixMs) -> bool {
        self.ends_at.is_some_and(|ends_at| ends_at <= now)
    }
}

/// A worker that owns a world, or the matchmaking queue, under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldOwner {
    pub worker: WorkerId,
    /// Where it can be reached: the address in its lease.
    pub address: String,
}

/// A world as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldEntry {
    pub row: WorldRow,
    /// The worker that has it in memory under a valid lease; `None` when it is not loaded: then any worker that needs
    /// it may claim it.
    pub owner: Option<WorldOwner>,
    /// How many have joined.
    pub players: u32,
}

/// A cursor in the lobby: hunts that end last come first. It refers to no row, so it stays valid when its hunt is
/// deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HuntCursor {
    /// When the hunt ends; the end of time for one that stays.
    pub ends_at: UnixMs,
    /// The hunt, among those that end in one millisecond.
    pub id: WorldId,
}

impl HuntCursor {
    /// The place of this hunt.
    #[must_use]
    pub fn of(row: &WorldRow) -> Self {
        Self { ends_at: row.ends_at.unwrap_or(UnixMs(i64::MAX)), id: row.id }
    }
}

/// Part of a world's claim log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldLogPage {
    /// The requested entries, in order, as far as they are kept.
    pub rows: Vec<WorldLogRow>,
    /// Entries that the log had so far, the deleted ones included.
    pub version: u32,
    /// How many of them are counted in the leaderboard and the statistics.
    pub aggregated_version: u32,
}

/// A world whose log has entries that are not counted yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregationLag {
    pub id: WorldId,
    /// Entries that are counted.
    pub aggregated_version: u32,
    /// Entries that there are.
    pub version: u32,
}

/// What one hunter did in all hunts together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunterRow {
    pub player: PlayerId,
    /// The last name used.
    pub name: String,
    pub points: u64,
    /// Chests dug.
    pub chests: u64,
    /// Power-ups grabbed.
    pub power_ups: u64,
    /// Rounds at whose end the hunter was among the best that are named.
    pub rounds: u64,
    /// Rounds of those in which the hunter had the most points.
    pub rounds_won: u64,
    /// When that was last added to.
    pub last_at: UnixMs,
}

/// A place on the leaderboard, most points first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HunterCursor {
    pub points: u64,
    /// Who, among those with as many.
    pub player: PlayerId,
}

impl HunterCursor {
    /// The place of this hunter.
    #[must_use]
    pub fn of(row: &HunterRow) -> Self {
        Self { points: row.points, player: row.player }
    }
}

/// A round of a hunt that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundRow {
    /// Which of the hunt's rounds.
    pub number: u32,
    pub ended_at: UnixMs,
    /// The winner, if it is a signed-in player.
    pub winner: Option<PlayerId>,
    /// The winner's name; empty when no hunter had a point.
    pub winner_name: String,
    /// The winner's points.
    pub points: u32,
    /// How many had points.
    pub hunters: u32,
}

/// Everything that was counted, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HuntTotals {
    /// Players who ever had a claim counted.
    pub hunters: u64,
    pub points: u64,
    /// Chests dug.
    pub chests: u64,
    /// Power-ups grabbed.
    pub power_ups: u64,
    /// Rounds ended.
    pub rounds: u64,
}

/// A text that is not a place in a list about hunts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of a list about hunts: use one that such a list gave")]
pub struct ParseHuntCursorError;

impl fmt::Display for HuntCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.ends_at.0, self.id)
    }
}

impl FromStr for HuntCursor {
    type Err = ParseHuntCursorError;
    fn from_str(text: &str) -> Result<Self, ParseHuntCursorError> {
        let (ends_at, id) = parse_cursor(text).ok_or(ParseHuntCursorError)?;
        Ok(Self { ends_at: UnixMs(ends_at), id })
    }
}

impl fmt::Display for HunterCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.points, self.player)
    }
}

impl FromStr for HunterCursor {
    type Err = ParseHuntCursorError;
    fn from_str(text: &str) -> Result<Self, ParseHuntCursorError> {
        let (points, player) = parse_cursor(text).ok_or(ParseHuntCursorError)?;
        Ok(Self { points, player })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<T: FromStr<Err = ParseHuntCursorError> + fmt::Display + fmt::Debug + PartialEq>(
        text: &str,
        want: Option<&T>,
    ) {
        let read = text.parse::<T>().ok();
        assert_eq!(read.as_ref(), want, "{text}");
        assert!(read.is_none_or(|cursor| cursor.to_string() == text), "{text}");
    }

    #[test]
    fn cursors_are_read_back() {
        let id = "00000000-0000-0000-0000-00000000000a";
        check(&format!("-5_{id}"), Some(&HuntCursor { ends_at: UnixMs(-5), id: WorldId(10) }));
        check(&format!("7_{id}"), Some(&HunterCursor { points: 7, player: PlayerId(10) }));
        check::<HunterCursor>(&format!("-7_{id}"), None);
        check::<HunterCursor>(&format!("7{id}"), None);
        check::<HuntCursor>("7_", None);
        check::<HuntCursor>("", None);
    }

    #[test]
    fn a_world_is_over_at_its_end() {
        let row = |ends_at| WorldRow {
            id: WorldId(1),
            name: "hunt".parse().expect("a name"),
            kind: WorldKind::Hunt,
            settings: Vec::new(),
            seed: Seed(1),
            creator: None,
            created_at: UnixMs(0),
            ends_at,
            admission: Admission::Everybody,
            players_max: 0,
        };
        assert!(!row(None).is_over(UnixMs(i64::MAX)));
        assert!(!row(Some(UnixMs(5))).is_over(UnixMs(4)));
        assert!(row(Some(UnixMs(5))).is_over(UnixMs(5)));
    }
}
