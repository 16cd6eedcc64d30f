//! The state diagram of a match: which event leads from which state to which. `docs/lifecycles/match.md` draws it, the
//! stores' CHECK constraints repeat it, and nothing else decides it.

/// Where a match is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MatchState {
    /// In the queue.
    Waiting,
    /// Claimed by a worker. A worker that dies changes nothing here: its lease ends, and another takes over.
    Running,
    /// Ended with a result. Final.
    Finished,
    /// Ended without a result, kept for study.
    Failed,
    /// Called off. Final.
    Cancelled,
}

/// What may happen to a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchEvent {
    /// A worker takes it: from the queue, or from a worker whose lease ended.
    Claim,
    /// Its worker gives it up: it stays running, without a worker.
    Release,
    /// It is over.
    Finish,
    /// It cannot go on: broken, or out of attempts.
    Fail,
    /// A client cancels it.
    Cancel,
    /// An operator gives a failed match another chance.
    Requeue,
}

impl MatchState {
    /// Every state, in the order of a life.
    pub const ALL: [Self; 5] = [Self::Waiting, Self::Running, Self::Finished, Self::Failed, Self::Cancelled];

    /// Where `event` leads from here; `None` when it cannot happen here.
    #[must_use]
    pub fn transition(self, event: MatchEvent) -> Option<Self> {
        match (self, event) {
            (Self::Waiting | Self::Running, MatchEvent::Claim) | (Self::Running, MatchEvent::Release) => {
                Some(Self::Running)
            }
            (Self::Running, MatchEvent::Finish) => Some(Self::Finished),
            (Self::Running, MatchEvent::Fail) => Some(Self::Failed),
            (Self::Waiting | Self::Running | Self::Failed, MatchEvent::Cancel) => Some(Self::Cancelled),
            (Self::Failed, MatchEvent::Requeue) => Some(Self::Waiting),
            (
                Self::Waiting | Self::Running | Self::Finished | Self::Failed | Self::Cancelled,
                MatchEvent::Claim
                | MatchEvent::Release
                | MatchEvent::Finish
                | MatchEvent::Fail
                | MatchEvent::Cancel
                | MatchEvent::Requeue,
            ) => None,
        }
    }

    /// Whether the match has ended: `ended_at` is set exactly in these states.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Finished | Self::Failed | Self::Cancelled)
    }

    /// The name on the wire and in the stores.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The state of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

impl MatchEvent {
    /// Every event.
    pub const ALL: [Self; 6] = [Self::Claim, Self::Release, Self::Finish, Self::Fail, Self::Cancel, Self::Requeue];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row a state, one column an event, in the order of the two `ALL`s.
    #[test]
    fn the_whole_table() {
        let table = MatchState::ALL.map(|state| {
            let cells = MatchEvent::ALL.map(|event| state.transition(event).map_or("-", MatchState::name));
            format!("{:<9} | {}", state.name(), cells.join(" "))
        });
        let want = [
            "waiting   | running - - - cancelled -",
            "running   | running running finished failed cancelled -",
            "finished  | - - - - - -",
            "failed    | - - - - cancelled waiting",
            "cancelled | - - - - - -",
        ];
        assert_eq!(table, want);
    }

    #[test]
    fn names_are_read_back() {
        assert!(MatchState::ALL.into_iter().all(|state| MatchState::from_name(state.name()) == Some(state)));
        assert_eq!(MatchState::from_name("pending"), None);
    }
}
