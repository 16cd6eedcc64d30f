//! Games of our own, played by the sample bots.

use super::referee::{Frame, Game};
use bots::Character;
use bots::local_games::orders;
use rules::chance::Seed;
use rules::snake::{Board, Map, Rules, Ruleset, Seat, Settings, Snake, is_over, setup, turn};
use wire::webhook::Request;

const TURNS_MAX: u32 = 200;

/// What is played.
pub(crate) struct Setting {
    rules: Rules,
    width: u8,
    height: u8,
    snakes: u8,
    seed: u64,
}

impl Setting {
    /// Another number of snakes and other characters for every seed.
    pub(crate) fn of(map: Map, width: u8, height: u8, seed: u64) -> Self {
        let snakes = [1, map.snakes_max(), 2, 4][seed as usize % 4].min(map.snakes_max());
        let settings = Settings { shrink_every_n_turns: 4, ..Settings::default() };
        Self { rules: Rules::for_snakes(Ruleset::Standard, map, settings, snakes), width, height, snakes, seed }
    }

    fn character(&self, seat: usize) -> Character {
        if self.rules.map == Map::SoloMaze {
            return Character::Hungry;
        }
        Character::ALL[(seat + self.seed as usize) % Character::ALL.len()]
    }
}

pub(crate) fn own_game(setting: &Setting) -> Game {
    let Setting { rules, width, height, snakes, seed } = setting;
    let mut board = setup(rules, *width, *height, *snakes, Seed(*seed)).unwrap();
    let mut frames = vec![frame(&board)];
    while !is_over(rules, &board) && board.turn < TURNS_MAX {
        let decide =
            |seat: Seat, request: &Request<'_>| setting.character(seat.index()).decide(request, *seed).direction;
        board = turn(rules, &board, &orders(rules, &board, *seed, decide), Seed(*seed)).unwrap();
        frames.push(frame(&board));
    }
    Game { name: format!("seed {seed}"), rules: *rules, frames }
}

fn frame(board: &Board) -> Frame {
    let seen = |snake: &Snake| snake.is_alive().then(|| (snake.health, snake.body.clone()));
    Frame {
        turn: board.turn,
        width: board.width,
        height: board.height,
        food: board.food.clone(),
        hazards: board.hazards.to_vec(),
        snakes: board.snakes.iter().map(seen).collect(),
    }
}
