use super::*;
use engine::ids::{BotId, MatchId};
use engine::matches::machine::{BotAnswer, NextAction, PendingStep};
use engine::matches::spec::{MatchSpec, SeatSpec};
use proptest::prelude::*;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};
use std::sync::{Arc, Mutex};

/// A request as it was rendered when it was sent: seat, call, turn, body.
type Sent = (usize, Webhook, u32, Bytes);

fn spec(seats: u8, ruleset: Ruleset, seed: u64) -> MatchSpec {
    let seat = |seat: u8| SeatSpec {
        bot: BotId(u128::from(seat)),
        name: format!("b'o\"t {seat}"),
        owner: "ann".to_owned(),
        url: "http://x".into(),
    };
    MatchSpec {
        id: MatchId(7),
        rules: Rules::for_snakes(ruleset, Map::Standard, Settings::default(), seats),
        width: 11,
        height: 11,
        seed: Seed(seed),
        timeout_ms: 500,
        turns_max: 40,
        is_public: false,
        origin: None,
        seats: (0..seats).map(seat).collect(),
    }
}

/// A match and everything that was sent in it.
struct Played {
    spec: MatchSpec,
    log: Vec<MatchLogRow>,
    sent: Vec<Sent>,
}

/// Plays a match as a room does; `bot` answers for (turn, seat).
fn play(spec: MatchSpec, bot: impl Fn(u32, usize) -> BotAnswer) -> Played {
    let mut machine = MatchMachine::new(spec.clone()).unwrap();
    let (mut log, mut sent) = (Vec::new(), Vec::new());
    let mut save = |machine: &mut MatchMachine, step: PendingStep| {
        log.push(step.row.clone());
        machine.accept(step);
    };
    loop {
        let view_of = |machine: &MatchMachine, seat| View::new(machine).body(seat);
        match machine.next_action() {
            NextAction::Open => {
                let step = machine.record_opened(Vec::new());
                save(&mut machine, step);
            }
            NextAction::Notify { notice, seats } => {
                let webhook = if notice == Notice::Start { Webhook::Start } else { Webhook::End };
                // All are notified at once; the last answers first.
                let turn = machine.turns();
                sent.extend(seats.iter().map(|seat| (seat, webhook, turn, view_of(&machine, seat))));
                for seat in seats.iter().collect::<Vec<_>>().into_iter().rev() {
                    let step = machine.record_delivery(notice, seat, AnswerClass::Valid, 3);
                    save(&mut machine, step);
                }
            }
            NextAction::RequestMoves { seats } => {
                let turn = machine.turns();
                sent.extend(seats.iter().map(|seat| (seat, Webhook::Move, turn, view_of(&machine, seat))));
                let answers = (0..machine.spec().seats.len()).map(|seat| seats.contains(seat).then(|| bot(turn, seat)));
                let step = machine.play_turn(answers.collect()).unwrap();
                save(&mut machine, step);
            }
            NextAction::Finish => return Played { spec, log, sent },
        }
    }
}

fn answer(class: AnswerClass, mv: Option<Move>, shout: &str) -> BotAnswer {
    BotAnswer { class, mv, latency_ms: 12, shout: shout.to_owned(), response: None }
}

/// What the projection makes of the first `entries` of a log, and whether it said that nothing follows.
fn project(played: &Played, entries: usize, seat: usize, filter: CallFilter) -> (Vec<Call>, bool) {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let kept = calls.clone();
    let mut projection = Calls::new(seat, filter, true, move |_, call| {
        kept.lock().unwrap().push(call);
        String::new()
    });
    let mut machine = MatchMachine::new(played.spec.clone()).unwrap();
    let mut is_over = false;
    for row in played.log.iter().take(entries) {
        let turn_before = machine.turns();
        projection.before(&machine, row);
        machine.replay(row).unwrap();
        let is_new_board = row.version == 0 || machine.turns() != turn_before;
        if projection.after(&PlayedEntry { machine: &machine, row, is_new_board }).is_last {
            is_over = true;
            break;
        }
    }
    let calls = calls.lock().unwrap().clone();
    (calls, is_over)
}

fn requests(calls: &[Call]) -> Vec<(Webhook, u32, Bytes)> {
    calls.iter().map(|call| (call.webhook, call.turn, call.body.clone().unwrap())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever is played, the calls of each seat are those that were sent, byte for byte and in their order; a part of the log gives the
    /// calls that are saved in it; and a single turn is the same as that turn of all.
    #[test]
    fn what_was_sent_is_rendered_again(
        seats in 1u8..=4,
        ruleset in prop::sample::select(Ruleset::ALL.as_slice()),
        seed: u64,
        moves in prop::collection::vec((0usize..4, 0usize..8), 1..60),
        cut in 0usize..80,
        turn in 0u32..40,
    ) {
        let ruleset = if seats == 1 { Ruleset::Solo } else { ruleset };
        let played = play(spec(seats, ruleset, seed), |turn, seat| {
            let (mv, class) = moves[(turn as usize * 5 + seat * 3) % moves.len()];
            let class = AnswerClass::ALL[class];
            answer(class, (class == AnswerClass::Valid).then_some(Move::ALL[mv]), "it's \u{1b}[31m")
        });
        for seat in 0..usize::from(seats) {
            let sent: Vec<_> = played.sent.iter().filter(|sent| sent.0 == seat)
                .map(|(_, webhook, turn, body)| (*webhook, *turn, body.clone())).collect();
            let (all, is_over) = project(&played, usize::MAX, seat, CallFilter::All);
            prop_assert!(is_over, "the /end is the last");
            prop_assert_eq!(requests(&all), sent.clone());
            let (saved, _) = project(&played, cut, seat, CallFilter::All);
            prop_assert_eq!(&requests(&saved)[..], &sent[..saved.len()]);
            let (one, _) = project(&played, usize::MAX, seat, CallFilter::Moves(turn..turn + 1));
            let want: Vec<_> = all.iter().filter(|call| call.webhook == Webhook::Move && call.turn == turn).cloned().collect();
            prop_assert_eq!(one, want);
            for (filter, webhook) in [(CallFilter::Start, Webhook::Start), (CallFilter::End, Webhook::End)] {
                let (one, is_over) = project(&played, usize::MAX, seat, filter);
                prop_assert!(is_over);
                prop_assert_eq!(one.iter().map(|call| call.webhook).collect::<Vec<_>>(), [webhook]);
            }
        }
    }
}

/// The body's own numbers are those beside it, and the last request of a snake that dies names its end.
#[test]
fn the_last_request_of_a_snake_tells_how_it_ended() {
    let played = play(spec(2, Ruleset::Standard, 1), |_, seat| match seat {
        0 => answer(AnswerClass::Valid, Some(Move::Up), "up!"),
        _ => answer(AnswerClass::Malformed, None, ""),
    });
    let (calls, _) = project(&played, usize::MAX, 0, CallFilter::Moves(0..u32::MAX));
    let (last, before) = calls.split_last().unwrap();
    assert!(before.iter().all(|call| call.elimination.is_none()));
    let out = last.elimination.unwrap();
    assert_eq!((out.cause.as_str(), out.turn), ("wall-collision", last.turn + 1));
    for call in &calls {
        let body: serde_json::Value = serde_json::from_slice(call.body.as_ref().unwrap()).unwrap();
        assert_eq!(body["turn"], call.turn);
        assert_eq!((&body["you"]["health"], &body["you"]["length"]), (&call.health.into(), &call.length.into()));
        assert_eq!((call.answer.played, &*call.answer.shout, call.answer.latency_ms), (Some(Move::Up), "up!", 12));
    }
    let (calls, _) = project(&played, usize::MAX, 1, CallFilter::Moves(0..1));
    assert_eq!((calls[0].answer.class, calls[0].answer.played), (AnswerClass::Malformed, Some(Move::Up)));
}

/// Bodies that no caller asked for are not rendered.
#[test]
fn a_list_has_no_bodies() {
    let played = play(spec(1, Ruleset::Solo, 1), |_, _| answer(AnswerClass::Valid, Some(Move::Up), ""));
    let mut projection = Calls::new(0, CallFilter::Moves(0..9), false, |_, call| format!("{:?}", call.body));
    let mut machine = MatchMachine::new(played.spec.clone()).unwrap();
    for row in &played.log[..3] {
        projection.before(&machine, row);
        machine.replay(row).unwrap();
        let made = projection.after(&PlayedEntry { machine: &machine, row, is_new_board: row.version != 1 });
        assert!(made.text.is_none_or(|text| text == "None"));
    }
    assert_eq!(machine.turns(), 1);
}
