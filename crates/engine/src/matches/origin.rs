//! For which competition a match is played, if it is for one.

use crate::ids::CompetitionId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompetitionKind {
    /// Ratings of bots that are paired for as long as they are entered.
    Ladder,
    Tournament,
    /// A sequential test of which bot is better.
    Duel,
}

impl CompetitionKind {
    pub const ALL: [Self; 3] = [Self::Ladder, Self::Tournament, Self::Duel];

    /// The name on the wire and in the stores.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ladder => "ladder",
            Self::Tournament => "tournament",
            Self::Duel => "duel",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// For which competition a match is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatchOrigin {
    pub kind: CompetitionKind,
    pub competition: CompetitionId,
    /// The competition's own reference, such as a pairing and the number of the game in it.
    pub key: u64,
}
