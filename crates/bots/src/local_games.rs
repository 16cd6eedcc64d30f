//! Games without a network, for tests and benchmarks that play sample bots in their own process: a board as a bot would be sent it, and
//! the moves that all living snakes decide on. What a server sends besides (names, looks, latencies) is empty: no sample bot reads it.

use crate::Direction;
use rules::snake::{Board, Move, MoveOrder, Point, Rules, Seat, Snake};
use wire::webhook;

/// The orders of all living snakes. `game` is the id that bots see; `decide` is given a snake's seat and the request as it sees it.
pub fn orders(
    rules: &Rules,
    board: &Board,
    game: u64,
    mut decide: impl FnMut(Seat, &webhook::Request<'_>) -> Direction,
) -> Vec<MoveOrder> {
    let snakes: Vec<_> = board.living().map(|(seat, snake)| snake_of(seat.index(), snake)).collect();
    let Some(first) = snakes.first() else { return Vec::new() };
    let mut request = webhook::Request {
        game: game_of(rules, game),
        turn: board.turn,
        you: first.clone(),
        board: webhook::Board {
            height: board.height.into(),
            width: board.width.into(),
            food: board.food.iter().copied().map(coord).collect(),
            hazards: board.hazards_on_board().map(coord).collect(),
            snakes: snakes.clone(),
        },
    };
    let order = |((seat, _), you): ((Seat, _), webhook::Snake<'static>)| {
        request.you = you;
        MoveOrder { seat, direction: Move::parse(decide(seat, &request).name()) }
    };
    board.living().zip(snakes).map(order).collect()
}

fn game_of(rules: &Rules, id: u64) -> webhook::Game<'static> {
    let settings = webhook::SettingsShape {
        hazard_damage_per_turn: rules.settings.hazard_damage_per_turn,
        ..webhook::SettingsShape::default()
    };
    let ruleset = webhook::RulesetShape { name: "standard".into(), version: "".into(), settings };
    webhook::Game { id: id.to_string().into(), ruleset, map: rules.map.name().into(), timeout: 500, source: "".into() }
}

fn snake_of(seat: usize, snake: &Snake) -> webhook::Snake<'static> {
    let customizations = webhook::Customizations { color: "".into(), head: "".into(), tail: "".into() };
    webhook::Snake {
        id: seat.to_string().into(),
        name: "".into(),
        health: snake.health.into(),
        body: snake.body.iter().copied().map(coord).collect(),
        latency: "0".into(),
        head: snake.head().map_or(webhook::Coord { x: 0, y: 0 }, coord),
        length: snake.length() as u32,
        shout: "".into(),
        squad: "".into(),
        customizations,
    }
}

fn coord(point: Point) -> webhook::Coord {
    webhook::Coord { x: point.x.into(), y: point.y.into() }
}
