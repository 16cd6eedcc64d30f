//! Classifies the body of a bot's answer: what it means for the match.

use super::call::ProbeStep;
use super::texts::{clean_shout, parse_color, parse_drawing};
use engine::health::CallFault;
use engine::matches::entry::{AnswerClass, Face};
use rules::snake::Move;
use serde_json::{Map, Value};
use wire::webhook::{IndexReply, MoveReply};

/// The class of a /move answer with status 200, its move and its shout.
pub(super) fn classify_move(body: &[u8]) -> (AnswerClass, Option<Move>, String) {
    let Ok(reply) = serde_json::from_slice::<MoveReply<'_>>(body) else {
        return (AnswerClass::Malformed, None, String::new());
    };
    let shout = reply.shout.as_deref().map(clean_shout).unwrap_or_default();
    match Move::parse(&reply.direction) {
        Some(mv) => (AnswerClass::Valid, Some(mv), shout),
        None => (AnswerClass::UnknownMove, None, shout),
    }
}

/// What is wrong with a whole response to a step of a probe, for the bot's owner; `None`: nothing.
pub(super) fn fault(step: ProbeStep, status: u16, is_declared_html: bool, body: &[u8]) -> Option<CallFault> {
    match status {
        200 => {}
        300..400 => return Some(CallFault::Redirect),
        404 | 405 => return Some(CallFault::NoSuchRoute),
        500.. => return Some(CallFault::BotError),
        _ => return Some(CallFault::BadStatus),
    }
    match step {
        // Whatever a bot answers to a notice counts for nothing.
        ProbeStep::Start | ProbeStep::End => None,
        ProbeStep::Index => match serde_json::from_slice::<Map<String, Value>>(body) {
            Ok(reply) if reply.get("apiversion").and_then(Value::as_str) == Some("1") => None,
            Ok(_) => Some(CallFault::NoApiVersion),
            Err(_) => Some(no_object(is_declared_html, body)),
        },
        ProbeStep::Move => match classify_move(body).0 {
            AnswerClass::Valid => None,
            AnswerClass::UnknownMove => Some(CallFault::UnknownMove),
            _ if serde_json::from_slice::<Map<String, Value>>(body).is_ok() => Some(CallFault::NoMove),
            _ => Some(no_object(is_declared_html, body)),
        },
    }
}

/// A body that is not a JSON object.
fn no_object(is_declared_html: bool, body: &[u8]) -> CallFault {
    if is_declared_html || body.trim_ascii_start().starts_with(b"<") { CallFault::Html } else { CallFault::NotJson }
}

/// The face in a `GET /` answer; the default for each value that is missing, or that is none.
pub(super) fn parse_face(body: &[u8]) -> Face {
    let Ok(reply) = serde_json::from_slice::<IndexReply<'_>>(body) else { return Face::default() };
    let default = Face::default();
    Face {
        color: reply.color.as_deref().and_then(parse_color).unwrap_or(default.color),
        head: reply.head.as_deref().and_then(parse_drawing).unwrap_or(default.head),
        tail: reply.tail.as_deref().and_then(parse_drawing).unwrap_or(default.tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(step: ProbeStep, status: u16, body: &str, want: Option<CallFault>) {
        assert_eq!(fault(step, status, false, body.as_bytes()), want, "{step:?} {status} {body}");
    }

    #[test]
    fn owners_are_told_what_is_wrong() {
        use ProbeStep::{End, Index, Move, Start};
        check(Move, 200, r#"{"move":"up"}"#, None);
        check(Move, 200, r#"{"move":"UP"}"#, Some(CallFault::UnknownMove));
        check(Move, 200, r#"{"mvoe":"up"}"#, Some(CallFault::NoMove));
        check(Move, 200, r#"{"move":7}"#, Some(CallFault::NoMove));
        check(Move, 200, "\n <!doctype html>", Some(CallFault::Html));
        check(Move, 200, "up", Some(CallFault::NotJson));
        check(Move, 200, "[]", Some(CallFault::NotJson));
        check(Move, 200, "", Some(CallFault::NotJson));
        check(Move, 302, "", Some(CallFault::Redirect));
        check(Move, 404, "", Some(CallFault::NoSuchRoute));
        check(Move, 405, "", Some(CallFault::NoSuchRoute));
        check(Move, 500, "", Some(CallFault::BotError));
        check(Move, 401, "", Some(CallFault::BadStatus));
        check(Move, 201, r#"{"move":"up"}"#, Some(CallFault::BadStatus));
        check(Start, 200, "ok", None);
        check(End, 200, "", None);
        check(Start, 404, "", Some(CallFault::NoSuchRoute));
        check(Index, 200, r#"{"apiversion":"1","x":{}}"#, None);
        check(Index, 200, r#"{"apiversion":1}"#, Some(CallFault::NoApiVersion));
        check(Index, 200, "{}", Some(CallFault::NoApiVersion));
        check(Index, 200, "<html>", Some(CallFault::Html));
        assert_eq!(fault(Move, 200, true, b"Welcome!"), Some(CallFault::Html));
    }
}
