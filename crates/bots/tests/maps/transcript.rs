//! Reads what the official program writes with `--output`: the game, then a request for every turn, then the result; JSON, a line each.

use super::referee::{Frame, Game};
use rules::snake::{Map, Point, Rules, Ruleset, Settings};
use std::path::Path;
use wire::webhook::{Coord, Request};

pub(crate) fn read(file: &Path) -> Game {
    let text = std::fs::read_to_string(file).unwrap();
    let is_request = |line: &&str| line.starts_with(r#"{"game":"#);
    let requests: Vec<Request<'_>> =
        text.lines().filter(is_request).map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = requests.first().unwrap_or_else(|| panic!("{} has no turn", file.display()));
    let ids: Vec<&str> = first.board.snakes.iter().map(|snake| &*snake.id).collect();
    let settings = &first.game.ruleset.settings;
    let settings = Settings {
        food_spawn_chance: settings.food_spawn_chance.try_into().unwrap(),
        minimum_food: settings.minimum_food.try_into().unwrap(),
        hazard_damage_per_turn: settings.hazard_damage_per_turn,
        shrink_every_n_turns: settings.royale.shrink_every_n_turns.try_into().unwrap(),
    };
    let ruleset = Ruleset::from_name(&first.game.ruleset.name).unwrap();
    let map = Map::from_name(&first.game.map).unwrap();
    let rules = Rules::for_snakes(ruleset, map, settings, ids.len() as u8);
    rules.validate(first.board.width as u8, first.board.height as u8, ids.len() as u8).unwrap();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    Game { name, rules, frames: requests.iter().map(|request| frame(request, &ids)).collect() }
}

fn frame(request: &Request<'_>, ids: &[&str]) -> Frame {
    let board = &request.board;
    let snake = |id: &&str| {
        let snake = board.snakes.iter().find(|snake| snake.id == **id)?;
        Some((u8::try_from(snake.health).unwrap(), snake.body.iter().map(point).collect()))
    };
    Frame {
        turn: request.turn,
        width: board.width as u8,
        height: board.height as u8,
        food: board.food.iter().map(point).collect(),
        hazards: board.hazards.iter().map(point).collect(),
        snakes: ids.iter().map(snake).collect(),
    }
}

fn point(cell: &Coord) -> Point {
    Point::new(i8::try_from(cell.x).unwrap(), i8::try_from(cell.y).unwrap())
}
