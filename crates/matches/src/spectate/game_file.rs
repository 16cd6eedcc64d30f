//! A finished match as the turns of a file: the board of each turn as a bot gets it, up to the one on which the match was decided, and a last
//! line behind them. That order is the official command line program's.

use super::projection::{PlayedEntry, Projected, Projection};
use bot_client::view::View;

/// The seat whose snake is `you` in every line: the file has to have one.
const SEAT: usize = 0;

/// The lines behind the first.
pub struct GameFile {
    last_turn: u32,
    last_line: String,
}

impl GameFile {
    /// Of a match that ended after this turn; `last_line` says how.
    #[must_use]
    pub fn new(last_turn: u32, last_line: String) -> Self {
        Self { last_turn, last_line }
    }
}

impl Projection for GameFile {
    fn first_turn(&self) -> u32 {
        0
    }

    fn after(&mut self, played: &PlayedEntry<'_>) -> Projected {
        if !played.is_new_board {
            return Projected::default();
        }
        let body = View::new(played.machine).body(SEAT);
        let mut text = String::from_utf8(body.to_vec()).expect("JSON is written as UTF-8");
        let is_last = played.machine.turns() >= self.last_turn;
        if is_last {
            text.push('\n');
            text.push_str(&self.last_line);
        }
        Projected { text: Some(text), is_last }
    }
}
