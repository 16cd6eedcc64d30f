//! Compares the two encodings with each other.

use super::*;
use crate::delimited;
use proptest::prelude::*;
use prost::Message;
use serde_json::{Value, json};

const MAX: usize = 1 << 20;

fn all_client_messages() -> Vec<(ClientMessage, Value)> {
    let view = ViewOptions { radius_x: 13, radius_y: 8, per_s: 5 };
    vec![
        (
            ClientMessage::Hello(Hello { version: 1, capabilities: vec!["reasons".to_owned()] }),
            json!({"hello": {"version": 1, "capabilities": ["reasons"]}}),
        ),
        (
            ClientMessage::Register(Register {
                world: "plaza".to_owned(),
                token: "gst_x".to_owned(),
                indicator: 3,
                at: Some(Cell { x: 10, y: 11 }),
                view: Some(view),
                resume: Some(Resume { id: 9, key: u64::MAX }),
            }),
            json!({"register": {"world": "plaza", "token": "gst_x", "indicator": 3, "at": {"x": 10, "y": 11},
                "view": {"radius_x": 13, "radius_y": 8, "per_s": 5}, "resume": {"id": 9, "key": "18446744073709551615"}}}),
        ),
        (
            ClientMessage::Watch(Watch { view: Some(view) }),
            json!({"watch": {"view": {"radius_x": 13, "radius_y": 8, "per_s": 5}}}),
        ),
        (ClientMessage::Move(Move { seq: 7, step: Step::Sw.into() }), json!({"move": {"seq": 7, "step": "sw"}})),
        (ClientMessage::Dig(Dig { seq: 8 }), json!({"dig": {"seq": 8}})),
        (ClientMessage::Grab(Grab { seq: 9 }), json!({"grab": {"seq": 9}})),
        (ClientMessage::Leave(Leave {}), json!({"leave": {}})),
    ]
}

/// Every frame of a server, each field of it not its default.
fn all_server_messages() -> Vec<ServerMessage> {
    let round = Round {
        number: 1,
        phase: RoundPhase::Over.into(),
        until_ms: 2,
        chests_left: 3,
        ended: 4,
        scores: vec![Score { id: 5, name: "Ann".to_owned(), score: 6 }],
    };
    let view = View {
        tick: 1,
        is_full: true,
        x: 2,
        y: 3,
        entered: vec![Mover { id: 4, x: 5, y: 6, indicator: 7, name: "Ann".to_owned() }],
        moved: vec![MoverPosition { id: 8, x: 9, y: 10 }],
        left: vec![11, 300],
        crowd: 12,
        trees: vec![13, 14],
        items: vec![Item { x: 15, y: 16, kind: ItemKind::Magnet.into() }],
        items_gone: vec![17, 18],
        life: vec![19, 20],
        life_gone: vec![21, 22],
        oldest_change_us: 23,
        skipped: 24,
        radius_x: 25,
        radius_y: 26,
        round: Some(round.clone()),
        score: Some(0),
    };
    let options = ViewOptions { radius_x: 13, radius_y: 8, per_s: 5 };
    let texts = |text: &str| vec![text.to_owned()];
    vec![
        ServerMessage::Welcome(Welcome { version: 1, capabilities: texts("reasons"), indicators: texts("@") }),
        ServerMessage::Registered(Registered {
            id: 1,
            key: 2,
            x: 3,
            y: 4,
            next_seq: 5,
            width: 6,
            height: 7,
            view: Some(options),
            move_min_ms: 9,
            score: 10,
            is_resumed: true,
        }),
        ServerMessage::Moved(Moved { seq: 1, x: 2, y: 3 }),
        ServerMessage::Dug(Dug { seq: 1, points: 2, score: 3 }),
        ServerMessage::Grabbed(Grabbed { seq: 1, item: ItemKind::Farsight.into(), until_ms: 3 }),
        ServerMessage::View(Box::new(view)),
        ServerMessage::Refused(Refused {
            seq: 1,
            code: "blocked".to_owned(),
            reason: "a tree".to_owned(),
            expected_seq: 200,
        }),
        ServerMessage::Round(round),
        ServerMessage::Error(Error {
            code: "busy".to_owned(),
            reason: "?".to_owned(),
            close: 1013,
            address: "a:1".to_owned(),
        }),
        ServerMessage::Watched(Watched { view: Some(options) }),
    ]
}

#[test]
fn both_encodings_carry_the_same_messages() {
    for (message, json) in all_client_messages() {
        assert_eq!(serde_json::to_value(&message).unwrap(), json);
        assert_eq!(read_json(json.to_string().as_bytes()), Ok(message.clone()));
        assert_eq!(read_protobuf(&ClientFrame { what: Some(message.clone()) }.encode_to_vec()), Ok(message));
    }
}

#[test]
fn what_has_its_default_may_be_left_out() {
    let check = |json: &str, want: ClientMessage| assert_eq!(read_json(json.as_bytes()), Ok(want), "{json}");
    check(r#"{"register":{}}"#, ClientMessage::Register(Register::default()));
    check(r#"{"move":{"seq":1}}"#, ClientMessage::Move(Move { seq: 1, step: 0 }));
    check(r#"{"watch":{"later":[1]}}"#, ClientMessage::Watch(Watch::default()));
}

#[track_caller]
fn check_malformed(read: Result<ClientMessage, Malformed>, want: &str) {
    let Malformed(why) = read.unwrap_err();
    assert!(why.contains(want), "{why}");
}

#[test]
fn what_is_no_frame_is_refused_in_words() {
    check_malformed(read_protobuf(&[]), "nothing that version 1 knows");
    check_malformed(read_protobuf(&[0x7a, 0]), "nothing that version 1 knows");
    check_malformed(read_protobuf(&[0x22, 9, 8]), "not a ClientFrame");
    check_malformed(read_json(b"{}"), "hello");
    check_malformed(read_json(br#"{"move":{"seq":1,"step":"up"}}"#), "unknown variant `up`");
    check_malformed(read_json(br#"{"move":{"seq":-1}}"#), "invalid value");
    check_malformed(read_json(br#"{"register":{"resume":{"id":1,"key":1}}}"#), "invalid type");
    check_malformed(read_json(br#"{"fly":{}}"#), "unknown variant `fly`");
    check_malformed(read_json(&[b'['; 4_000]), "");
}

/// What [`encode`] appends to what is there.
fn encoded(message: &ServerMessage, framing: Framing) -> Vec<u8> {
    let (mut out, format) = (b"before".to_vec(), FrameFormat { framing, has_reasons: true });
    match message {
        ServerMessage::Welcome(message) => encode(message, format, &mut out),
        ServerMessage::Registered(message) => encode(message, format, &mut out),
        ServerMessage::Moved(message) => encode(message, format, &mut out),
        ServerMessage::Dug(message) => encode(message, format, &mut out),
        ServerMessage::Grabbed(message) => encode(message, format, &mut out),
        ServerMessage::View(message) => encode(message.as_ref(), format, &mut out),
        ServerMessage::Refused(message) => encode(message, format, &mut out),
        ServerMessage::Round(message) => encode(message, format, &mut out),
        ServerMessage::Error(message) => encode(message, format, &mut out),
        ServerMessage::Watched(message) => encode(message, format, &mut out),
    }
    assert_eq!(&out[..6], b"before");
    out.split_off(6)
}

#[test]
fn frames_are_encoded_as_the_library_does_it() {
    let long = View { left: (0..70_000).collect(), ..View::default() };
    for sent in all_server_messages()
        .into_iter()
        .chain([ServerMessage::View(Box::default()), ServerMessage::View(Box::new(long))])
    {
        let frame = ServerFrame { what: Some(sent.clone()) };
        assert_eq!(encoded(&sent, Framing::Delimited), frame.encode_length_delimited_to_vec());
        let delimited = encoded(&sent, Framing::Delimited);
        let place = delimited::first_frame(&delimited, MAX).unwrap().unwrap();
        assert_eq!((place.end, &delimited[place]), (delimited.len(), &*frame.encode_to_vec()));

        let binary = encoded(&sent, Framing::Binary);
        assert_eq!(message(&binary), (0x82, &*frame.encode_to_vec()));
        let text = encoded(&sent, Framing::Text);
        let (opcode, json) = message(&text);
        assert_eq!((opcode, serde_json::from_slice::<ServerMessage>(json).unwrap()), (0x81, sent));
    }
}

/// The first byte and the body of a server's one WebSocket frame.
fn message(bytes: &[u8]) -> (u8, &[u8]) {
    let (len, start) = match bytes[1] {
        126 => (usize::from(u16::from_be_bytes(*bytes[2..].first_chunk().unwrap())), 4),
        127 => (usize::try_from(u64::from_be_bytes(*bytes[2..].first_chunk().unwrap())).unwrap(), 10),
        short => (usize::from(short), 2),
    };
    assert_eq!(bytes.len(), start + len);
    (bytes[0], &bytes[start..])
}

proptest! {
    #[test]
    fn a_refusal_that_borrows_is_a_refusal(
        seq in any::<u32>(), code in "[a-z_]{0,20}", reason in ".{0,200}", expected_seq in any::<u32>(), zero in 0_u8..4,
    ) {
        let (seq, expected_seq) = (if zero & 1 > 0 { 0 } else { seq }, if zero & 2 > 0 { 0 } else { expected_seq });
        let refusal = Refusal { seq, code: &code, reason: &reason, expected_seq };
        let refused = Refused { seq, code: code.clone(), reason: reason.clone(), expected_seq };
        for framing in [Framing::Delimited, Framing::Binary, Framing::Text] {
            let (format, mut out) = (FrameFormat { framing, has_reasons: true }, Vec::new());
            encode(&refusal, format, &mut out);
            prop_assert_eq!(out, encoded(&ServerMessage::Refused(refused.clone()), framing));
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = (read_protobuf(&bytes), read_json(&bytes), delimited::first_frame(&bytes, 100));
    }
}
