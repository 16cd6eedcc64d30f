//! How a match ended, with ties reported as ties.

use rules::snake::Cause;

/// The result of a finished match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchResult {
    /// The winner's seat, if one snake is best alone.
    pub winner: Option<u8>,
    /// There is no winner: several share the best place, or the turns ran out.
    pub is_draw: bool,
    /// Place of each seat, 1 is best; equals share a place.
    pub placements: Vec<u8>,
    /// Why each seat is out; `None` for the living.
    pub causes: Vec<Option<Cause>>,
    /// The turn that put each seat out; `None` for the living.
    pub death_turns: Vec<Option<u32>>,
    /// Turns played.
    pub turns: u32,
    /// Moves, over all seats, that came after the deadline or never.
    pub late_moves: u32,
    /// What each seat's snake has eaten; 0 where snakes grow without food.
    pub food_eaten: Vec<u32>,
    /// This server failed to call a bot, through no fault of the bot.
    pub is_server_fault: bool,
    /// Seats whose bots were called and gave no valid move in the whole match. The result of a competition keeps them; a match that is read
    /// from the store has none.
    pub silent_seats: Vec<u8>,
}

/// How a match ended for one seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeatOutcome {
    /// It was best alone.
    Won,
    /// It shared the best place of a draw.
    Drawn,
    /// Everything else; also a snake that was alone and died.
    Lost,
}

impl SeatOutcome {
    pub const ALL: [Self; 3] = [Self::Won, Self::Drawn, Self::Lost];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Won => "won",
            Self::Drawn => "drawn",
            Self::Lost => "lost",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

impl MatchResult {
    /// How it ended for this seat.
    #[must_use]
    pub fn outcome(&self, seat: usize) -> SeatOutcome {
        if self.winner.is_some_and(|winner| usize::from(winner) == seat) {
            SeatOutcome::Won
        } else if self.is_draw && self.placements.get(seat) == Some(&1) {
            SeatOutcome::Drawn
        } else {
            SeatOutcome::Lost
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(winner: Option<u8>, is_draw: bool, placements: &[u8], want: &str) {
        let seats = placements.len();
        let result = MatchResult {
            winner,
            is_draw,
            placements: placements.to_vec(),
            causes: vec![None; seats],
            death_turns: vec![None; seats],
            turns: 1,
            late_moves: 0,
            food_eaten: vec![0; seats],
            is_server_fault: false,
            silent_seats: Vec::new(),
        };
        let have: Vec<_> = (0..seats).map(|seat| result.outcome(seat).name()).collect();
        assert_eq!(have.join(" "), want);
    }

    #[test]
    fn outcomes_of_seats() {
        check(Some(1), false, &[2, 1], "lost won");
        check(None, true, &[1, 1, 3], "drawn drawn lost");
        // Alone and dead; alone when the turns ran out.
        check(None, false, &[1], "lost");
        check(None, true, &[1], "drawn");
    }
}
