//! Games of sample bots in this process: the real rules, the bots' own decisions, no network.

use bots::{Character, Decision};
use rules::chance::Seed;
use rules::snake::{Board, Map, Move, MoveOrder, Point, Rules, Ruleset, Settings, is_over, outcome, setup, turn};
use wire::webhook;

const TURNS_MAX: u32 = 2_000;
/// Cells of a side.
const SIDE: u8 = 11;

/// Plays one game of floods that are as careless as this, by seat. Their places, and the turns.
pub(crate) fn play(careless: &[f64], game: u64) -> (Vec<u8>, u32) {
    let settings = Settings { hazard_damage_per_turn: 0, ..Settings::default() };
    let snakes = careless.len() as u8;
    let rules = Rules::for_snakes(Ruleset::Standard, Map::Standard, settings, snakes);
    let seed = Seed(game);
    let mut board = setup(&rules, SIDE, SIDE, snakes, seed).expect("a usual board");
    while !is_over(&rules, &board) && board.turn < TURNS_MAX {
        let orders = orders(&board, careless, game);
        board = turn(&rules, &board, &orders, seed).expect("every living snake moves");
    }
    (outcome(&board).placements, board.turn)
}

fn orders(board: &Board, careless: &[f64], game: u64) -> Vec<MoveOrder> {
    let snakes: Vec<_> = board.living().map(|(seat, snake)| shape(seat.index(), snake)).collect();
    let move_of = |(at, (seat, _)): (usize, (rules::snake::Seat, _))| {
        let request = request(board, &snakes, at, game);
        let decision = Decision::careless(&request, game, careless[seat.index()])
            .unwrap_or_else(|| Character::Flood.decide(&request, game));
        MoveOrder { seat, direction: Move::parse(decision.direction.name()) }
    };
    board.living().enumerate().map(move_of).collect()
}

fn request(board: &Board, snakes: &[webhook::Snake<'static>], you: usize, game: u64) -> webhook::Request<'static> {
    let ruleset = webhook::RulesetShape {
        name: "standard".into(),
        version: "".into(),
        settings: webhook::SettingsShape::default(),
    };
    let game =
        webhook::Game { id: game.to_string().into(), ruleset, map: "standard".into(), timeout: 500, source: "".into() };
    let shape = webhook::Board {
        height: board.height.into(),
        width: board.width.into(),
        food: board.food.iter().copied().map(coord).collect(),
        hazards: vec![],
        snakes: snakes.to_vec(),
    };
    webhook::Request { game, turn: board.turn, board: shape, you: snakes[you].clone() }
}

fn shape(seat: usize, snake: &rules::snake::Snake) -> webhook::Snake<'static> {
    let look = webhook::Customizations { color: "".into(), head: "".into(), tail: "".into() };
    webhook::Snake {
        id: seat.to_string().into(),
        name: "".into(),
        health: snake.health.into(),
        body: snake.body.iter().copied().map(coord).collect(),
        latency: "0".into(),
        head: snake.head().map_or(webhook::Coord { x: 0, y: 0 }, coord),
        length: snake.body.len() as u32,
        shout: "".into(),
        squad: "".into(),
        customizations: look,
    }
}

fn coord(point: Point) -> webhook::Coord {
    webhook::Coord { x: point.x.into(), y: point.y.into() }
}
