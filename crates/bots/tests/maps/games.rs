//! Games of our own, played by the sample bots.

use super::referee::{Frame, Game};
use bots::Character;
use rules::chance::Seed;
use rules::snake::{Board, Map, Move, MoveOrder, Point, Rules, Ruleset, Settings, Snake, is_over, setup, turn};
use wire::webhook;

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
        board = turn(rules, &board, &orders(setting, &board), Seed(*seed)).unwrap();
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

fn orders(setting: &Setting, board: &Board) -> Vec<MoveOrder> {
    let snakes: Vec<_> = board.living().map(|(seat, snake)| shape(seat.index(), snake)).collect();
    let mut request = webhook::Request {
        game: game(setting),
        turn: board.turn,
        board: webhook::Board {
            height: board.height.into(),
            width: board.width.into(),
            food: board.food.iter().copied().map(coord).collect(),
            hazards: board.hazards_on_board().map(coord).collect(),
            snakes: snakes.clone(),
        },
        you: snakes[0].clone(),
    };
    let order = |((seat, _), you): ((rules::snake::Seat, _), webhook::Snake<'static>)| {
        request.you = you;
        let decision = setting.character(seat.index()).decide(&request, setting.seed);
        MoveOrder { seat, direction: Move::parse(decision.direction.name()) }
    };
    board.living().zip(snakes).map(order).collect()
}

fn game(setting: &Setting) -> webhook::Game<'static> {
    let settings = webhook::SettingsShape {
        hazard_damage_per_turn: setting.rules.settings.hazard_damage_per_turn,
        ..webhook::SettingsShape::default()
    };
    let ruleset = webhook::RulesetShape { name: "standard".into(), version: "".into(), settings };
    let (id, map) = (setting.seed.to_string().into(), setting.rules.map.name().into());
    webhook::Game { id, ruleset, map, timeout: 500, source: "".into() }
}

fn shape(seat: usize, snake: &Snake) -> webhook::Snake<'static> {
    let customizations = webhook::Customizations { color: "".into(), head: "".into(), tail: "".into() };
    webhook::Snake {
        id: seat.to_string().into(),
        name: "".into(),
        health: snake.health.into(),
        body: snake.body.iter().copied().map(coord).collect(),
        latency: "0".into(),
        head: coord(snake.body[0]),
        length: snake.body.len() as u32,
        shout: "".into(),
        squad: "".into(),
        customizations,
    }
}

fn coord(point: Point) -> webhook::Coord {
    webhook::Coord { x: point.x.into(), y: point.y.into() }
}
