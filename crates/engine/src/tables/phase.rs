//! The state diagram of a game: which cause leads from which phase to which. `docs/lifecycles/table.md` draws it, and
//! nothing else decides it.

/// Where a game is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Phase {
    /// The storyteller chooses a card and a sentence.
    #[default]
    Create = 0,
    /// The others pick cards that might be meant.
    Invitation = 1,
    /// They vote for the card that they think is the storyteller's.
    Vote = 2,
    /// Votes are counted. Final.
    Complete = 3,
    /// Ended without a result. Final.
    Canceled = 4,
}

/// What moves a game on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PhaseEvent {
    Tell,
    /// The storyteller opened the vote, or counted the votes; enough had picked, or voted.
    Advance,
    /// A timer ran out, and enough had picked, or voted.
    TimeUpReady,
    /// A timer ran out, and too few had.
    TimeUp,
    StorytellerLeft,
}

impl Phase {
    /// Every phase, in the order of a life; the place is the code in logs and stores.
    pub const ALL: [Self; 5] = [Self::Create, Self::Invitation, Self::Vote, Self::Complete, Self::Canceled];

    /// Where `event` leads from here; `None` when it cannot happen here, or changes nothing.
    ///
    /// A storyteller who leaves during the vote changes nothing: all cards lie on the board, and the timers finish the game.
    #[must_use]
    pub fn transition(self, event: PhaseEvent) -> Option<Self> {
        match (self, event) {
            (Self::Create, PhaseEvent::Tell) => Some(Self::Invitation),
            (Self::Invitation, PhaseEvent::Advance | PhaseEvent::TimeUpReady) => Some(Self::Vote),
            (Self::Vote, PhaseEvent::Advance | PhaseEvent::TimeUpReady) => Some(Self::Complete),
            (Self::Create | Self::Invitation | Self::Vote, PhaseEvent::TimeUp)
            | (Self::Create | Self::Invitation, PhaseEvent::StorytellerLeft) => Some(Self::Canceled),
            (
                Self::Create | Self::Invitation | Self::Vote | Self::Complete | Self::Canceled,
                PhaseEvent::Tell
                | PhaseEvent::Advance
                | PhaseEvent::TimeUpReady
                | PhaseEvent::TimeUp
                | PhaseEvent::StorytellerLeft,
            ) => None,
        }
    }

    /// Whether the game is still running.
    #[must_use]
    pub fn is_live(self) -> bool {
        !matches!(self, Self::Complete | Self::Canceled)
    }

    /// Whether players may still join it.
    #[must_use]
    pub fn is_open(self) -> bool {
        matches!(self, Self::Create | Self::Invitation)
    }

    /// The code in logs and stores.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The phase of this code, if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name on the wire and in the stores.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: Phase, want: [Option<Phase>; 5]) {
        let events = [
            PhaseEvent::Tell,
            PhaseEvent::Advance,
            PhaseEvent::TimeUpReady,
            PhaseEvent::TimeUp,
            PhaseEvent::StorytellerLeft,
        ];
        assert_eq!(events.map(|event| from.transition(event)), want, "{from:?}");
    }

    #[test]
    fn the_life_of_a_game() {
        let canceled = Some(Phase::Canceled);
        check(Phase::Create, [Some(Phase::Invitation), None, None, canceled, canceled]);
        check(Phase::Invitation, [None, Some(Phase::Vote), Some(Phase::Vote), canceled, canceled]);
        check(Phase::Vote, [None, Some(Phase::Complete), Some(Phase::Complete), canceled, None]);
        check(Phase::Complete, [None; 5]);
        check(Phase::Canceled, [None; 5]);
    }

    #[test]
    fn names_and_codes_are_read_back() {
        for phase in Phase::ALL {
            assert_eq!(Phase::from_name(phase.name()), Some(phase));
            assert_eq!(Phase::from_code(phase.code()), Some(phase));
        }
        assert_eq!(Phase::from_code(5), None);
    }
}
