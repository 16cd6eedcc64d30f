//! How far a game is: the names that the wire and the stores share. Which action leads on is the table's business.

/// The phases of a game, in the order of its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The storyteller chooses a card and a sentence.
    Create,
    /// The story is told; players join and pick.
    Invitation,
    /// The picked cards lie open; players vote.
    Vote,
    /// Scored. Final.
    Complete,
    /// Called off by its timer. Final.
    Canceled,
}

impl Phase {
    /// Every phase.
    pub const ALL: [Self; 5] = [Self::Create, Self::Invitation, Self::Vote, Self::Complete, Self::Canceled];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Invitation => "invitation",
            Self::Vote => "vote",
            Self::Complete => "complete",
            Self::Canceled => "canceled",
        }
    }

    /// The phase of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.name() == name)
    }

    /// Whether the game is over.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Complete | Self::Canceled)
    }
}
