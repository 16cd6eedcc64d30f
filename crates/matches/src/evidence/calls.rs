//! The calls of one seat's bot as a projection of a match's log: `/start`, a `/move` for each turn that it lived, `/end`.

use crate::spectate::{PlayedEntry, Projected, Projection};
use bot_client::Webhook;
use bot_client::view::View;
use bytes::Bytes;
use engine::matches::entry::{AnswerClass, Entry, Notice};
use engine::matches::machine::MatchMachine;
use engine::matches::response_excerpt::ResponseExcerpt;
use engine::rows::MatchLogRow;
use rules::snake::{Elimination, Move, Snake};
use std::ops::Range;

/// Which calls of a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallFilter {
    All,
    Start,
    /// Requests for moves with these turns in their bodies.
    Moves(Range<u32>),
    End,
}

/// A call to a bot, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub webhook: Webhook,
    /// The turn in the request's body.
    pub turn: u32,
    /// The request's body as it was sent; `None` unless the projection was asked for bodies.
    pub body: Option<Bytes>,
    /// The snake's health, as the request's body has it.
    pub health: u8,
    /// The snake's length, as the request's body has it.
    pub length: usize,
    pub answer: CallAnswer,
    /// How the turn that this answer was for ended the snake, if it did.
    pub elimination: Option<Elimination>,
}

/// What an answer counted for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallAnswer {
    pub class: AnswerClass,
    /// From sending to the end of the answer, in milliseconds, at most the timeout.
    pub latency_ms: u16,
    /// The move that was played, of a `/move`: the bot's, or its previous one again.
    pub played: Option<Move>,
    /// Empty for nothing.
    pub shout: Box<str>,
    /// What came instead of a valid move, if it is kept.
    pub response: Option<Box<ResponseExcerpt>>,
}

/// Makes text of a call; it gets the match as it is after the call's answer.
type Encode = Box<dyn Fn(&MatchMachine, Call) -> String + Send>;

/// The projection.
pub struct Calls {
    seat: usize,
    filter: CallFilter,
    has_bodies: bool,
    encode: Encode,
    /// The request for the move that is played next.
    requested: Option<Requested>,
}

/// What a request has in its body.
struct Requested {
    turn: u32,
    body: Option<Bytes>,
    health: u8,
    length: usize,
}

impl Calls {
    /// The calls of a seat of the match; `encode` gets the match as it is after each.
    pub fn new(
        seat: usize,
        filter: CallFilter,
        has_bodies: bool,
        encode: impl Fn(&MatchMachine, Call) -> String + Send + 'static,
    ) -> Self {
        Self { seat, filter, has_bodies, encode: Box::new(encode), requested: None }
    }

    fn wants(&self, webhook: Webhook, turn: u32) -> bool {
        match (&self.filter, webhook) {
            (CallFilter::All, _) | (CallFilter::Start, Webhook::Start) | (CallFilter::End, Webhook::End) => true,
            (CallFilter::Moves(turns), Webhook::Move) => turns.contains(&turn),
            (CallFilter::Start | CallFilter::Moves(_) | CallFilter::End, _) => false,
        }
    }

    fn requested(&self, machine: &MatchMachine) -> Option<Requested> {
        let snake = machine.board().snakes.get(self.seat)?;
        Some(Requested {
            turn: machine.turns(),
            body: self.has_bodies.then(|| View::new(machine).body(self.seat)),
            health: snake.health,
            length: snake.length(),
        })
    }

    fn project(&self, machine: &MatchMachine, webhook: Webhook, requested: Requested, answer: CallAnswer) -> String {
        let Requested { turn, body, health, length } = requested;
        let elimination = machine.board().snakes.get(self.seat).and_then(|snake| snake.elimination);
        let elimination = elimination.filter(|out| webhook == Webhook::Move && out.turn == turn + 1);
        (self.encode)(machine, Call { webhook, turn, body, health, length, answer, elimination })
    }

    /// The answer to a request for a move, after its turn.
    fn after_turn(&mut self, machine: &MatchMachine) -> Option<String> {
        let requested = self.requested.take()?;
        let last = machine.last_move(self.seat)?;
        let answer = CallAnswer {
            class: last.class,
            latency_ms: last.latency_ms,
            played: Some(last.mv),
            shout: last.shout.clone(),
            response: last.response.clone(),
        };
        Some(self.project(machine, Webhook::Move, requested, answer))
    }

    /// A notification of the start or the end.
    fn after_notice(&self, played: &PlayedEntry<'_>) -> Option<(Webhook, Option<String>)> {
        // It was replayed, so it can be read.
        let Ok(Entry::Delivered { notice, seat, class, latency_ms }) = Entry::decode(&played.row.bytes) else {
            return None;
        };
        if usize::from(seat) != self.seat {
            return None;
        }
        let webhook = match notice {
            Notice::Start => Webhook::Start,
            Notice::End => Webhook::End,
        };
        if !self.wants(webhook, played.machine.turns()) {
            return Some((webhook, None));
        }
        let answer = CallAnswer { class, latency_ms, played: None, shout: Box::default(), response: None };
        let requested = self.requested(played.machine)?;
        Some((webhook, Some(self.project(played.machine, webhook, requested, answer))))
    }

    /// Whether a match that is like this has no further request for a move that is wanted.
    fn is_beyond_moves(&self, machine: &MatchMachine) -> bool {
        let is_out = || machine.board().snakes.get(self.seat).is_none_or(|snake| !snake.is_alive());
        match &self.filter {
            CallFilter::Moves(turns) => machine.turns() >= turns.end || is_out(),
            CallFilter::Start => machine.turns() > 0,
            CallFilter::All | CallFilter::End => false,
        }
    }
}

impl Projection for Calls {
    fn first_turn(&self) -> u32 {
        match &self.filter {
            CallFilter::All | CallFilter::Start => 0,
            CallFilter::Moves(turns) => turns.start,
            CallFilter::End => u32::MAX,
        }
    }

    fn before(&mut self, machine: &MatchMachine, next: &MatchLogRow) {
        let is_asked = machine.board().snakes.get(self.seat).is_some_and(Snake::is_alive);
        let is_turn = next.turns > machine.turns();
        self.requested = match is_turn && is_asked && self.wants(Webhook::Move, machine.turns()) {
            true => self.requested(machine),
            false => None,
        };
    }

    fn after(&mut self, played: &PlayedEntry<'_>) -> Projected {
        if played.is_new_board {
            return Projected { text: self.after_turn(played.machine), is_last: self.is_beyond_moves(played.machine) };
        }
        let Some((webhook, text)) = self.after_notice(played) else { return Projected::default() };
        let is_last = match webhook {
            Webhook::Start => self.filter == CallFilter::Start,
            Webhook::End => true,
            Webhook::Move => false,
        };
        Projected { text, is_last }
    }
}

#[cfg(test)]
mod tests;
