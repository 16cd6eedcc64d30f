//! Classifies the body of a bot's answer: what it means for the match.

use engine::matches::entry::{AnswerClass, Face};
use rules::snake::Move;
use wire::webhook::{IndexReply, MoveReply};

/// Longest name of a drawing or a colour that is kept, in characters.
const FACE_CHARS_MAX: usize = 64;

/// The class of a /move answer with status 200, its move and its shout.
pub(super) fn classify_move(body: &[u8]) -> (AnswerClass, Option<Move>, String) {
    let Ok(reply) = serde_json::from_slice::<MoveReply<'_>>(body) else {
        return (AnswerClass::Malformed, None, String::new());
    };
    let shout = reply.shout.unwrap_or_default().into_owned();
    match Move::parse(&reply.direction) {
        Some(mv) => (AnswerClass::Valid, Some(mv), shout),
        None => (AnswerClass::UnknownMove, None, shout),
    }
}

/// The face in a `GET /` answer; the default for each value that is missing.
pub(super) fn parse_face(body: &[u8]) -> Face {
    let Ok(reply) = serde_json::from_slice::<IndexReply<'_>>(body) else { return Face::default() };
    let default = Face::default();
    let or = |value: Option<&str>, default: String| match value {
        Some(value) if !value.is_empty() => value.chars().take(FACE_CHARS_MAX).collect(),
        _ => default,
    };
    Face {
        color: or(reply.color.as_deref(), default.color),
        head: or(reply.head.as_deref(), default.head),
        tail: or(reply.tail.as_deref(), default.tail),
    }
}
