//! Rows of JSON text: what is read, what is written, what is refused.

use super::*;

const REQUEST: &str = r##"{"game":{"id":"g-1","ruleset":{"name":"royale","version":"v1","settings":{"foodSpawnChance":15,"minimumFood":1,"hazardDamagePerTurn":14,"hazardMap":"","hazardMapAuthor":"","royale":{"shrinkEveryNTurns":25},"squad":{"allowBodyCollisions":false,"sharedElimination":false,"sharedHealth":false,"sharedLength":false}}},"map":"royale","timeout":500,"source":"custom"},"turn":7,"board":{"height":7,"width":9,"food":[{"x":3,"y":3}],"hazards":[{"x":0,"y":0},{"x":0,"y":0},{"x":4,"y":-2}],"snakes":[{"id":"s-1","name":"One","health":93,"body":[{"x":2,"y":2},{"x":2,"y":1},{"x":2,"y":1}],"latency":"41","head":{"x":2,"y":2},"length":3,"shout":"so \"near\"","squad":"","customizations":{"color":"#0a1b2c","head":"default","tail":"default"}}]},"you":{"id":"s-1","name":"One","health":93,"body":[{"x":2,"y":2},{"x":2,"y":1},{"x":2,"y":1}],"latency":"41","head":{"x":2,"y":2},"length":3,"shout":"so \"near\"","squad":"","customizations":{"color":"#0a1b2c","head":"default","tail":"default"}}}"##;
const MOVE: &str = r#"{"move":"up","shout":"hello"}"#;
const MOVE_SILENT: &str = r#"{"move":"left"}"#;
const INDEX: &str =
    r##"{"apiversion":"1","author":"ours","color":"#123456","head":"default","tail":"bolt","version":"2"}"##;
const INDEX_SHORT: &str = r#"{"apiversion":"1"}"#;

/// `text` is read and written again without the change of a byte.
#[track_caller]
fn check_round_trip<'a, T: Serialize + Deserialize<'a>>(text: &'a str) {
    let value: T = serde_json::from_str(text).expect("the row is valid");
    assert_eq!(serde_json::to_string(&value).expect("shapes always serialise"), text);
}

/// [`REQUEST`] with one piece of its text replaced reads as `expected`.
#[track_caller]
fn check_read(from: &str, to: &str, expected: Result<(), &str>) {
    let text = REQUEST.replace(from, to);
    assert_ne!(text, REQUEST, "the row changes nothing");
    match (serde_json::from_str::<Request<'_>>(&text), expected) {
        (Ok(_), Ok(())) => {}
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (read, _) => panic!("{from} -> {to}: {read:?}"),
    }
}

#[test]
fn every_shape_round_trips() {
    check_round_trip::<Request<'_>>(REQUEST);
    check_round_trip::<MoveReply<'_>>(MOVE);
    check_round_trip::<MoveReply<'_>>(MOVE_SILENT);
    check_round_trip::<IndexReply<'_>>(INDEX);
    check_round_trip::<IndexReply<'_>>(INDEX_SHORT);
}

#[test]
fn the_borrowing_writer_writes_the_same_text() {
    let owned: Request<'_> = serde_json::from_str(REQUEST).expect("valid");
    let borrowed = RequestRef { game: &owned.game, turn: owned.turn, board: &owned.board, you: &owned.you };
    assert_eq!(serde_json::to_string(&borrowed).expect("serialises"), REQUEST);
}

#[test]
fn what_is_unknown_or_deprecated_does_not_matter() {
    check_read(r#""turn":7"#, r#""turn":7,"moon":{"full":[true]}"#, Ok(()));
    check_read(r#"{"x":3,"y":3}"#, r#"{"x":3,"y":3,"z":3}"#, Ok(()));
    check_read(r#","squad":"""#, "", Ok(()));
    check_read(r#""hazardMap":"","hazardMapAuthor":"","#, "", Ok(()));
    check_read(
        r#","squad":{"allowBodyCollisions":false,"sharedElimination":false,"sharedHealth":false,"sharedLength":false}"#,
        "",
        Ok(()),
    );
}

#[test]
fn what_a_bot_needs_is_required() {
    check_read(r#""id":"g-1","#, "", Err("missing field `id`"));
    check_read(r#""timeout":500,"#, "", Err("missing field `timeout`"));
    check_read(r#""turn":7,"#, "", Err("missing field `turn`"));
    check_read(r#""food":[{"x":3,"y":3}],"#, "", Err("missing field `food`"));
    check_read(r#""head":{"x":2,"y":2},"#, "", Err("missing field `head`"));
    check_read(r#""minimumFood":1,"#, "", Err("missing field `minimumFood`"));
    check_read(r#""turn":7"#, r#""turn":-7"#, Err("invalid value"));
    check_read(r#""health":93"#, r#""health":"93""#, Err("invalid type"));
    assert!(serde_json::from_str::<MoveReply<'_>>(r#"{"shout":"up"}"#).is_err());
    assert!(serde_json::from_str::<MoveReply<'_>>(r#"{"move":3}"#).is_err());
    assert!(serde_json::from_str::<IndexReply<'_>>(r#"{"author":"ours"}"#).is_err());
}

#[test]
fn text_is_borrowed_unless_it_holds_an_escape() {
    let request: Request<'_> = serde_json::from_str(REQUEST).expect("valid");
    assert!(matches!(request.game.id, Cow::Borrowed("g-1")));
    assert!(matches!(request.you.customizations.color, Cow::Borrowed("#0a1b2c")));
    assert!(matches!(&request.you.shout, Cow::Owned(shout) if shout == "so \"near\""));
    let reply: MoveReply<'_> = serde_json::from_str(MOVE).expect("valid");
    assert!(matches!(reply.direction, Cow::Borrowed("up")));
}

#[test]
fn an_explicit_null_is_an_absent_option() {
    let reply: MoveReply<'_> = serde_json::from_str(r#"{"move":"up","shout":null}"#).expect("valid");
    assert_eq!(reply.shout, None);
}
