//! Bots that are functions: the same request gets the same answer after the same time, so that a match depends on
//! nothing but its seed. Some answer late, some answer nonsense, all by a hash of the request.

use crate::dice::hash;
use bot_client::{BotCall, Webhook};
use engine::matches::entry::{AnswerClass, Face};
use engine::matches::machine::BotAnswer;
use engine::matches::response_excerpt::ResponseExcerpt;
use rules::snake::Move;
use std::time::Duration;
use wire::webhook::{Coord, Request};

/// What the bot answers, and how long it takes.
pub(crate) fn answer(call: &BotCall) -> (BotAnswer, Duration) {
    let hash = hash(&call.body);
    let timeout_ms = call.timeout.as_millis() as u64;
    let (class, latency_ms) = match hash % 97 {
        0 => (AnswerClass::Late, timeout_ms),
        1 => (AnswerClass::Unreachable, 1 + hash / 97 % 5),
        2 => (AnswerClass::Malformed, 1 + hash / 97 % 40),
        3 => (AnswerClass::UnknownMove, 1 + hash / 97 % 40),
        _ => (AnswerClass::Valid, 1 + hash / 97 % timeout_ms),
    };
    let mv = (class == AnswerClass::Valid && call.webhook == Webhook::Move).then(|| choose(&call.body, hash));
    let shout = if hash.is_multiple_of(13) && mv.is_some() { format!("{hash:x}") } else { String::new() };
    // What a resumed match keeps of wrong answers has to be what an undisturbed one keeps.
    let is_wrong = matches!(class, AnswerClass::Malformed | AnswerClass::UnknownMove) && call.webhook == Webhook::Move;
    let response = is_wrong.then(|| Box::new(ResponseExcerpt::new(200, format!("<html>{hash:x}").as_bytes())));
    (BotAnswer { class, latency_ms: latency_ms as u16, mv, shout, response }, Duration::from_millis(latency_ms))
}

/// The looks of a bot.
pub(crate) fn face(url: &str) -> Face {
    Face { color: format!("#{:06x}", hash(url.as_bytes()) & 0xff_ffff), ..Face::default() }
}

/// The turn that a request is about, and the id of the match.
pub(crate) fn read(body: &[u8]) -> (String, u32, String) {
    let request: Request<'_> = serde_json::from_slice(body).expect("the runner sends requests that can be read");
    (request.game.id.into_owned(), request.turn, request.you.id.into_owned())
}

/// A move onto a free cell, if there is one: matches should last.
fn choose(body: &[u8], hash: u64) -> Move {
    let request: Request<'_> = serde_json::from_slice(body).expect("the runner sends requests that can be read");
    let (width, height) = (request.board.width as i32, request.board.height as i32);
    let is_free = |mv: &Move| {
        let at = step(request.you.head, *mv);
        let is_inside = (0..width).contains(&at.x) && (0..height).contains(&at.y);
        is_inside && !request.board.snakes.iter().any(|snake| snake.body.contains(&at))
    };
    let free: Vec<Move> = Move::ALL.into_iter().filter(is_free).collect();
    free.get(hash as usize % free.len().max(1)).copied().unwrap_or(Move::Up)
}

fn step(from: Coord, mv: Move) -> Coord {
    match mv {
        Move::Up => Coord { x: from.x, y: from.y + 1 },
        Move::Down => Coord { x: from.x, y: from.y - 1 },
        Move::Left => Coord { x: from.x - 1, y: from.y },
        Move::Right => Coord { x: from.x + 1, y: from.y },
    }
}
