//! Games as a client sees them: created, awaited, checked for what must never change.

use super::bots::{Bots, Call};
use super::{Server, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Time for an answer in these tests, in milliseconds: no machine is so busy that a bot is late by accident.
const TIMEOUT_MS: u32 = 10_000;

/// A game as it was seen: its frames, latencies included, and when it began.
#[derive(Clone, Debug)]
pub(crate) struct ObservedGame {
    pub(crate) frames: Vec<Value>,
    started_at: Value,
}

/// What was visible of some games at a moment, and the calls of their bots by then: it must never change again.
#[derive(Debug)]
pub(crate) struct ObservedGames {
    games: BTreeMap<String, ObservedGame>,
    calls: BTreeMap<Call, u32>,
}

impl Server {
    /// Registers these bots; their ids.
    pub(crate) fn register(&self, bots: &Bots, names: &[&str]) -> Vec<String> {
        let snake = |name: &&str| self.request_ok("POST /api/snakes", &json!({"name": name, "url": bots.url(name)}));
        names.iter().map(snake).map(|snake| text(&snake["id"])).collect()
    }

    /// Makes one game for each seed.
    pub(crate) fn create(&self, snakes: &[String], seeds: impl IntoIterator<Item = u64>) -> Vec<String> {
        let game = |seed| json!({"snakes": snakes, "seed": seed, "timeout_ms": TIMEOUT_MS});
        let games: Vec<Value> = seeds.into_iter().map(game).collect();
        let items = self.request_ok("POST /api/games/batch", &json!({ "games": games }));
        items["items"].as_array().unwrap().iter().map(|item| text(&item["id"])).collect()
    }

    /// Where these games are, in this order.
    pub(crate) fn statuses(&self, ids: &[String]) -> Vec<Value> {
        let Value::Array(statuses) = self.request_ok("POST /api/games/status", &json!({ "game_ids": ids })) else {
            panic!()
        };
        assert_eq!(statuses.len(), ids.len(), "every game is known");
        statuses
    }

    /// Waits until each of these games has come so far, or is over.
    pub(crate) fn wait_for_turns(&self, ids: &[String], turns: u64) {
        until(&format!("every game has {turns} turns"), || {
            let has_come = |game: &Value| game["turns"].as_u64() >= Some(turns) || game["status"] == "finished";
            self.statuses(ids).iter().all(has_come).then_some(())
        });
    }

    /// Waits until all of these games are finished.
    pub(crate) fn wait_for_the_end(&self, ids: &[String]) {
        until("every game is finished", || {
            let statuses = self.statuses(ids);
            let gone_wrong = statuses.iter().find(|game| game["status"] == "failed");
            assert_eq!(gone_wrong, None, "no game fails");
            statuses.iter().all(|game| game["status"] == "finished").then_some(())
        });
    }

    pub(crate) fn frames(&self, id: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            let page = self.request_ok(&format!("GET /api/games/{id}/frames?offset={}", frames.len()), &Value::Null);
            let Value::Array(page) = page["frames"].clone() else { panic!("{page}") };
            if page.is_empty() {
                return frames;
            }
            frames.extend(page);
        }
    }

    /// The game as an operator sees it.
    pub(crate) fn inspect(&self, id: &str) -> Value {
        self.request_ok(&format!("GET /api/admin/games/{id}"), &Value::Null)
    }

    /// The server's statistics of games.
    pub(crate) fn counts(&self) -> Value {
        self.request_ok("GET /api/admin/stats", &Value::Null)["game_counts"].clone()
    }
}

impl ObservedGames {
    /// What is to be seen now.
    pub(crate) fn record(server: &Server, bots: &Bots, ids: &[String]) -> Self {
        let statuses = server.statuses(ids);
        let seen = |(id, status): (&String, &Value)| {
            (id.clone(), ObservedGame { frames: server.frames(id), started_at: status["started_at"].clone() })
        };
        Self { games: ids.iter().zip(&statuses).map(seen).collect(), calls: bots.calls() }
    }

    pub(crate) fn game(&self, id: &str) -> &ObservedGame {
        &self.games[id]
    }

    /// How often each seat of this game had received this call.
    pub(crate) fn calls_by_seat(&self, id: &str, call: &str) -> Vec<u32> {
        let count = |snake: &String| {
            let mine = self.calls.iter().filter(|((name, _, whose, _), _)| name == call && whose == snake);
            mine.map(|(_, count)| count).sum()
        };
        snakes_of(self.game(id)).iter().map(count).collect()
    }

    /// Everything seen before is unchanged, at the beginning of what is seen now; nothing is left out; and no bot got a
    /// call again for anything that had been saved.
    #[track_caller]
    pub(crate) fn check_kept(&self, now: &Self) {
        for (id, then) in &self.games {
            then.check_kept(id, now.game(id));
        }
        for ((call, game, snake, turn), count) in &self.calls {
            let Some(then) = self.games.get(game) else { continue };
            let is_saved = if call == "move" { *turn < then.turns() } else { call == "start" && then.turns() > 0 };
            let count_now = now.calls[&(call.clone(), game.clone(), snake.clone(), *turn)];
            assert!(
                !is_saved || *count == count_now,
                "snake {snake} of game {game} was called again: {call}, turn {turn}"
            );
        }
    }
}

impl ObservedGame {
    /// Turns that were saved when this was seen.
    fn turns(&self) -> u32 {
        (self.frames.len() as u32).saturating_sub(1)
    }

    #[track_caller]
    fn check_kept(&self, id: &str, now: &Self) {
        assert!(now.turns() >= self.turns(), "game {id} went back from {} turns to {}", self.turns(), now.turns());
        for (then, now) in self.frames.iter().zip(&now.frames) {
            assert_eq!(then, now, "game {id} has another past");
        }
        assert_eq!(self.started_at, now.started_at, "game {id} began twice");
        let turns: Vec<u64> = now.frames.iter().filter_map(|frame| frame["Turn"].as_u64()).collect();
        assert_eq!(turns, (0..now.frames.len() as u64).collect::<Vec<_>>(), "game {id} has a gap");
    }
}

/// The ids of a game's snakes, by seat.
fn snakes_of(seen: &ObservedGame) -> Vec<String> {
    seen.frames[0]["Snakes"].as_array().unwrap().iter().map(|snake| text(&snake["ID"])).collect()
}

/// What happened on the board, without what two games with the same seed may differ in: ids and latencies.
pub(crate) fn story(frames: &[Value]) -> Vec<Value> {
    let snake = |snake: &Value| json!([snake["Body"], snake["Health"], snake["EliminatedCause"], snake["Shout"]]);
    let snakes = |frame: &Value| frame["Snakes"].as_array().unwrap().iter().map(snake).collect::<Vec<_>>();
    frames.iter().map(|frame| json!([frame["Turn"], frame["Food"], frame["Hazards"], snakes(frame)])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
