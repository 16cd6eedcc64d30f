//! The request body for a bot: a match as the webhook API describes it, seen from one seat.
//!
//! Only living snakes are in `board.snakes` (as in the official engine; a widely used server lists the dead, too), and hazards that wait
//! off the board stay hidden. Everything is a function of the machine, so a resumed match sends the same bytes.

use bytes::Bytes;
use engine::matches::entry::AnswerClass;
use engine::matches::machine::MatchMachine;
use rules::snake::Point;
use std::borrow::Cow;
use wire::webhook::{
    Board, Coord, Customizations, Game, RequestRef, RoyaleShape, RulesetShape, SettingsShape, Snake, SquadShape,
};

/// The version of the official rules, as sent to bots.
const RULESET_VERSION: &str = "v1.2.3";
/// Where matches come from: one of the webhook API's five values.
const SOURCE: &str = "custom";

/// The state of a machine, ready to be sent to each of its seats.
pub struct View<'a> {
    machine: &'a MatchMachine,
    game: Game<'a>,
    board: Board<'a>,
    /// The index of each seat in `board.snakes`; `None` for those that are out.
    board_indexes: Vec<Option<usize>>,
}

impl<'a> View<'a> {
    #[must_use]
    pub fn new(machine: &'a MatchMachine) -> Self {
        let now = machine.board();
        let mut snakes = Vec::with_capacity(now.snakes.len());
        let board_indexes = (0..now.snakes.len()).map(|seat| {
            now.snakes[seat].is_alive().then(|| {
                snakes.push(snake_of(machine, seat));
                snakes.len() - 1
            })
        });
        let board_indexes = board_indexes.collect();
        let board = Board {
            height: u32::from(now.height),
            width: u32::from(now.width),
            food: now.food.iter().copied().map(coord).collect(),
            hazards: now.hazards_on_board().map(coord).collect(),
            snakes,
        };
        Self { machine, game: game_of(machine), board, board_indexes }
    }

    /// The game, as every request has it.
    #[must_use]
    pub fn game(&self) -> &Game<'a> {
        &self.game
    }

    /// The JSON body of a call to this seat's bot.
    #[must_use]
    pub fn body(&self, seat: usize) -> Bytes {
        let out_snake;
        let you = match self.board_indexes.get(seat).copied().flatten() {
            Some(index) => &self.board.snakes[index],
            None => {
                out_snake = snake_of(self.machine, seat);
                &out_snake
            }
        };
        let request = RequestRef { game: &self.game, turn: self.machine.turns(), board: &self.board, you };
        let mut bytes = Vec::with_capacity(1_536);
        serde_json::to_writer(&mut bytes, &request).expect("plain shapes always become JSON in memory");
        bytes.into()
    }
}

fn game_of(machine: &MatchMachine) -> Game<'_> {
    let spec = machine.spec();
    let settings = spec.rules.settings;
    let number = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
    Game {
        id: spec.id.to_string().into(),
        ruleset: RulesetShape {
            name: spec.rules.ruleset.name().into(),
            version: RULESET_VERSION.into(),
            settings: SettingsShape {
                food_spawn_chance: number(settings.food_spawn_chance),
                minimum_food: number(settings.minimum_food),
                hazard_damage_per_turn: settings.hazard_damage_per_turn,
                hazard_map: Cow::default(),
                hazard_map_author: Cow::default(),
                royale: RoyaleShape { shrink_every_n_turns: number(settings.shrink_every_n_turns) },
                squad: SquadShape::default(),
            },
        },
        map: spec.rules.map.name().into(),
        timeout: u32::from(spec.timeout_ms),
        source: SOURCE.into(),
    }
}

/// A seat's snake, alive or out.
fn snake_of(machine: &MatchMachine, seat: usize) -> Snake<'_> {
    let (spec, snake) = (machine.spec(), &machine.board().snakes[seat]);
    let last = machine.last_move(seat);
    let latency_ms =
        last.map_or(0, |last| if last.class == AnswerClass::Late { spec.timeout_ms } else { last.latency_ms });
    let face = machine.faces().get(seat);
    Snake {
        id: spec.snake_id(seat).to_string().into(),
        name: spec.seats[seat].name.as_str().into(),
        health: i32::from(snake.health),
        body: snake.body.iter().copied().map(coord).collect(),
        latency: latency_ms.to_string().into(),
        head: snake.head().map_or(Coord { x: 0, y: 0 }, coord),
        length: snake.length() as u32,
        shout: last.map_or("", |last| &last.shout).into(),
        squad: Cow::default(),
        customizations: Customizations {
            color: face.map_or("#888888", |face| &face.color).into(),
            head: face.map_or("default", |face| &face.head).into(),
            tail: face.map_or("default", |face| &face.tail).into(),
        },
    }
}

fn coord(point: Point) -> Coord {
    Coord { x: i32::from(point.x), y: i32::from(point.y) }
}
