use super::*;
use proptest::prelude::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of each kind are fixed for ever: logs written today must be read by every later version.
#[track_caller]
fn check(entry: &Entry, want: &str) {
    assert_eq!(hex(&entry.encode()), want);
    assert_eq!(Entry::decode(&entry.encode()).as_ref(), Ok(entry));
}

fn played(mv: Move, class: AnswerClass, latency_ms: u16, shout: &str) -> Option<PlayedMove> {
    Some(PlayedMove { mv, class, latency_ms, shout: shout.into(), response: None })
}

#[test]
fn golden_bytes() {
    let face = Face { color: "#ff0000".into(), head: "a".into(), tail: String::new() };
    check(&Entry::Opened { rules_version: 1, faces: vec![face] }, "01010100010723666630303030016100");
    let delivered = Entry::Delivered { notice: Notice::End, seat: 3, class: AnswerClass::Unreachable, latency_ms: 500 };
    check(&delivered, "0102010302f401");
    let turn = Entry::Turn {
        turn: 200,
        played: vec![
            played(Move::Right, AnswerClass::Valid, 203, ""),
            None,
            played(Move::Down, AnswerClass::Late, 500, "hi"),
        ],
        state_hash: 0xdead_beef,
    };
    check(&turn, "0103c8010303cb00ff45f401026869efbeadde");
    let response = |status, body| Some(Box::new(ResponseExcerpt::new(status, body)));
    let wrong =
        PlayedMove { response: response(404, b"?"), ..played(Move::Up, AnswerClass::BadStatus, 3, "").unwrap() };
    let shouted =
        PlayedMove { response: response(200, b""), ..played(Move::Up, AnswerClass::UnknownMove, 3, "hi").unwrap() };
    let turn = Entry::Turn { turn: 1, played: vec![Some(wrong), Some(shouted)], state_hash: 0 };
    check(&turn, "010301028c03009401013fd803000268 69c8000000000000".replace(' ', "").as_str());
    let fault = Entry::Delivered { notice: Notice::Start, seat: 0, class: AnswerClass::ServerFault, latency_ms: 0 };
    check(&fault, "01020000080000");
    let throttled = Entry::Delivered { notice: Notice::End, seat: 1, class: AnswerClass::Throttled, latency_ms: 0 };
    check(&throttled, "01020101090000");
}

#[test]
fn what_is_not_an_entry_is_refused() {
    #[track_caller]
    fn refuse(bytes: &[u8], want: &str) {
        assert_eq!(Entry::decode(bytes), Err(DecodeError(Box::leak(want.to_owned().into_boxed_str()))));
    }
    refuse(&[], "it ends too early");
    refuse(&[2, 1], "written in another format: by a newer version?");
    refuse(&[1, 9], "an unknown kind");
    refuse(&[1, 2, 0, 0, 10, 0, 0], "an unknown class of answer");
    refuse(&[1, 2, 2, 0, 0, 0, 0], "an unknown kind of Notice");
    refuse(&[1, 2, 0, 0, 0, 0, 0, 0], "something follows its end");
    refuse(&[1, 3, 1, 17], "more seats than any match has");
    refuse(&[1, 3, 0x81, 0, 0], "a number not in its shortest form");
    refuse(&[1, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 1], "a number beyond 32 bits");
    refuse(&[1, 3, 1, 1, 0x80, 0, 0], "it ends too early");
    refuse(&[1, 3, 1, 1, 0x80, 0, 0, 200, 0, 1, 0xc3], "a text that is not UTF-8");
    refuse(&[1, 3, 1, 1, 0x40, 0, 0, 0], "an empty shout that says it is there");
    refuse(&[1, 1, 1, 0, 1, 1, 0xc3], "a text that is not UTF-8");
}

fn any_move() -> impl Strategy<Value = Move> {
    (0u8..4).prop_map(move_from_code)
}

fn any_class() -> impl Strategy<Value = AnswerClass> {
    (0..AnswerClass::ALL.len()).prop_map(|at| AnswerClass::ALL[at])
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let face = (".{0,9}", ".{0,5}", ".{0,5}").prop_map(|(color, head, tail)| Face { color, head, tail });
    let response = prop::option::of((any::<u16>(), ".{0,20}"))
        .prop_map(|kept| kept.map(|(status, body)| Box::new(ResponseExcerpt::new(status, body.as_bytes()))));
    let seat = (any_move(), any_class(), any::<u16>(), ".{0,20}", response).prop_map(
        |(mv, class, latency_ms, shout, response)| PlayedMove { mv, class, latency_ms, shout: shout.into(), response },
    );
    prop_oneof![
        (any::<u16>(), prop::collection::vec(face, 0..=SEATS_MAX))
            .prop_map(|(rules_version, faces)| Entry::Opened { rules_version, faces }),
        (any::<bool>(), any::<u8>(), any_class(), any::<u16>()).prop_map(|(is_end, seat, class, latency_ms)| {
            let notice = if is_end { Notice::End } else { Notice::Start };
            Entry::Delivered { notice, seat, class, latency_ms }
        }),
        (any::<u32>(), prop::collection::vec(prop::option::of(seat), 0..=SEATS_MAX), any::<u32>())
            .prop_map(|(turn, played, state_hash)| Entry::Turn { turn, played, state_hash }),
    ]
}

proptest! {
    #[test]
    fn every_entry_is_read_back(entry in any_entry()) {
        prop_assert_eq!(Entry::decode(&entry.encode()), Ok(entry));
    }

    #[test]
    fn an_entry_cut_short_is_refused(entry in any_entry(), cut in any::<prop::sample::Index>()) {
        let bytes = entry.encode();
        prop_assert!(Entry::decode(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn what_is_read_from_any_bytes_is_written_the_same(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        if let Ok(entry) = Entry::decode(&bytes) {
            prop_assert_eq!(entry.encode(), bytes);
        }
    }
}
