//! The oracle: decides from the bytes alone which cards a viewer may see.
//!
//! It does not use the server's code. Every number in a response counts as a card unless its name is on a list of other numbers, and every
//! card must be in a place where this viewer may see one at that moment. So a leak under a new name is found as well.

use crate::play::Stage;
use serde_json::Value;

/// Names of numbers that are not cards.
const PLAIN: [&str; 19] = [
    "seq",
    "number",
    "committed_at_us",
    "status",
    "level",
    "level_prev",
    "score",
    "score_prev",
    "score_next",
    "score_left",
    "points",
    "players_max",
    "deck",
    "picked_min",
    "voted_min",
    "countdown_ms",
    "game_timeout_ms",
    "next_storyteller_timeout_ms",
    "players",
];

/// A viewer, and the stage of the game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewer<'a> {
    /// Its id; empty for a visitor.
    pub(crate) id: &'a str,
    pub(crate) is_storyteller: bool,
    /// How far the game is.
    pub(crate) stage: Stage,
}

impl Viewer<'_> {
    /// Every card in this text that this viewer must not see.
    pub(crate) fn leaks(&self, text: &str) -> Vec<String> {
        let values = documents(text);
        let mut leaks = Vec::new();
        for value in &values {
            self.walk(value, &mut Vec::new(), None, &mut leaks);
        }
        leaks
    }

    /// `player`: the nearest `player` beside or above a number.
    fn walk<'v>(&self, value: &'v Value, path: &mut Vec<&'v str>, player: Option<&'v str>, leaks: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                let player = members.get("player").and_then(Value::as_str).or(player);
                for (name, member) in members {
                    path.push(name);
                    self.walk(member, path, player, leaks);
                    path.pop();
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.walk(item, path, player, leaks);
                }
            }
            Value::Number(number) if !self.may_see(path, player) => {
                leaks.push(format!("{number} in {} of {player:?}, to {self:?}", path.join(".")));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn may_see(&self, path: &[&str], player: Option<&str>) -> bool {
        let name = path.last().copied().unwrap_or_default();
        let is_rule = path.contains(&"settings");
        if is_rule || PLAIN.contains(&name) || self.is_storyteller {
            return true;
        }
        let is_own = !self.id.is_empty() && player == Some(self.id);
        let is_over = self.stage == Stage::Complete;
        let is_open = matches!(self.stage, Stage::Voting | Stage::Voted | Stage::Complete);
        match name {
            // `own` is the viewer's by its name; a visitor has none.
            "hand" | "picked" | "vote" if path.contains(&"own") => !self.id.is_empty(),
            "hand" => is_own,
            "picked" | "vote" => is_own || is_over,
            // Events: never another player's, not even afterwards.
            "card" => is_own,
            "board" => is_open,
            "winner_card" => is_over,
            "earned_cards" | "earned_cards_last" => is_own,
            _ => false,
        }
    }
}

/// The JSON documents of a response: its whole body, or the data of its server-sent events (a piece of a chunked response begins on a line
/// of its own).
fn documents(text: &str) -> Vec<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return vec![value];
    }
    text.lines().filter_map(|line| serde_json::from_str(line.strip_prefix("data:")?.trim()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(stage: Stage, body: &Value, leaks: usize) {
        let viewer = Viewer { id: "ben", is_storyteller: false, stage };
        for text in [body.to_string(), format!("id: 7\nevent: x\ndata: {body}\n\n")] {
            let found = viewer.leaks(&text);
            assert_eq!(found.len(), leaks, "{stage:?} {body}: {found:?}");
        }
        let storyteller = Viewer { is_storyteller: true, ..viewer };
        assert_eq!(storyteller.leaks(&body.to_string()), [""; 0], "the storyteller may see everything");
    }

    /// An oracle that finds nothing proves nothing.
    #[test]
    fn the_oracle_finds_leaks() {
        use Stage::{Complete, Picked, Voted};
        check(Picked, &json!({ "seq": 7, "game": { "own": { "hand": [1, 2], "picked": 1 } } }), 0);
        check(Picked, &json!({ "game": { "players": [{ "player": "ben", "picked": 1, "hand": [1, 2] }] } }), 0);
        check(Picked, &json!({ "game": { "players": [{ "player": "cam", "picked": 3 }] } }), 1);
        check(Voted, &json!({ "game": { "players": [{ "player": "cam", "vote": 3, "hand": [3, 4] }] } }), 3);
        check(Complete, &json!({ "game": { "players": [{ "player": "cam", "vote": 3, "picked": 4 }] } }), 0);
        check(Complete, &json!({ "game": { "players": [{ "player": "cam", "hand": [3, 4] }] } }), 2);
        check(Picked, &json!({ "game": { "winner_card": 9, "board": [9], "dealt": [9] } }), 3);
        check(Voted, &json!({ "game": { "winner_card": 9, "board": [9, 3, 4] } }), 1);
        check(Complete, &json!({ "game": { "winner_card": 9, "board": [9, 3, 4] } }), 0);
        check(Picked, &json!({ "events": [{ "type": "picked", "player": "cam", "card": 3 }] }), 1);
        check(Picked, &json!({ "events": [{ "type": "picked", "player": "ben", "card": 3 }] }), 0);
        check(Complete, &json!({ "events": [{ "type": "voted", "player": "cam", "card": 3 }] }), 1);
        check(Picked, &json!({ "events": [{ "type": "card_chosen", "card": 9 }] }), 1);
        check(Picked, &json!({ "anything": { "new": [3] } }), 1);
        check(Picked, &json!({ "members": [{ "player": "cam", "standing": { "earned_cards": [37] } }] }), 1);
    }

    #[test]
    fn a_visitor_owns_nothing() {
        let visitor = Viewer { id: "", is_storyteller: false, stage: Stage::Told };
        assert_eq!(visitor.leaks(&json!({ "game": { "own": { "hand": [1] } } }).to_string()).len(), 1);
        assert_eq!(visitor.leaks(&json!({ "player": "", "card": 3 }).to_string()).len(), 1);
    }
}
