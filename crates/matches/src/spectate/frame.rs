//! A frame: what a viewer is shown of a match after a turn.

use super::projection::{PlayedEntry, Projected, Projection};
use engine::matches::entry::AnswerClass;
use engine::matches::machine::MatchMachine;
use rules::snake::Point;
use std::ops::Range;
use wire::viewer::{Cell, Death, Frame, Snake};

/// The frames of these turns.
pub(super) struct Frames {
    pub(super) turns: Range<u32>,
    pub(super) encode: fn(Frame) -> String,
}

impl Projection for Frames {
    /// The board before the first frame.
    fn first_turn(&self) -> u32 {
        self.turns.start.saturating_sub(1)
    }

    fn after(&mut self, played: &PlayedEntry<'_>) -> Projected {
        if !played.is_new_board {
            return Projected::default();
        }
        let turn = played.machine.turns();
        Projected {
            text: self.turns.contains(&turn).then(|| (self.encode)(frame(played.machine))),
            is_last: turn.saturating_add(1) >= self.turns.end,
        }
    }
}

/// The match as it is after the last saved turn.
fn frame(machine: &MatchMachine) -> Frame {
    let board = machine.board();
    Frame {
        turn: board.turn,
        snakes: (0..board.snakes.len()).map(|seat| snake(machine, seat)).collect(),
        food: board.food.iter().copied().map(cell).collect(),
        hazards: board.hazards_on_board().map(cell).collect(),
    }
}

fn snake(machine: &MatchMachine, seat: usize) -> Snake {
    let (spec, snake, last) = (machine.spec(), &machine.board().snakes[seat], machine.last_move(seat));
    let id_of =
        |seat: Option<rules::snake::Seat>| seat.map(|seat| spec.snake_id(seat.index()).to_string()).unwrap_or_default();
    let face = machine.faces().get(seat).cloned().unwrap_or_default();
    let death = snake.elimination.map(|out| Death {
        cause: out.cause.as_str().to_owned(),
        turn: out.turn,
        eliminated_by: id_of(out.by),
    });
    Snake {
        id: spec.snake_id(seat).to_string(),
        name: spec.seats[seat].name.clone(),
        body: snake.body.iter().copied().map(cell).collect(),
        health: i32::from(snake.health),
        color: face.color,
        head_type: face.head,
        tail_type: face.tail,
        latency: last.map_or(0, |last| last.latency_ms).to_string(),
        shout: last.map(|last| last.shout.to_string()).unwrap_or_default(),
        squad: String::new(),
        api_version: "1".to_owned(),
        author: spec.seats[seat].owner.clone(),
        status_code: 0,
        error: last.filter(|last| last.class != AnswerClass::Valid).map_or("", |last| last.class.name()).to_owned(),
        is_bot: false,
        is_environment: false,
        eliminated_cause: death.as_ref().map(|death| death.cause.clone()).unwrap_or_default(),
        eliminated_by: death.as_ref().map(|death| death.eliminated_by.clone()).unwrap_or_default(),
        death,
    }
}

fn cell(point: Point) -> Cell {
    Cell { x: i32::from(point.x), y: i32::from(point.y) }
}
