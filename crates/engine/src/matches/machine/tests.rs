use super::*;
use crate::ids::{BotId, MatchId};
use crate::matches::spec::SeatSpec;
use proptest::prelude::*;
use rules::chance::Seed;
use rules::snake::{Map, Rules, Ruleset, Settings};

fn spec(seats: u8, turns_max: u32, seed: u64) -> MatchSpec {
    let seat = |seat: u8| SeatSpec {
        bot: BotId(u128::from(seat)),
        name: format!("bot {seat}"),
        owner: "ann".into(),
        url: "http://x".into(),
    };
    MatchSpec {
        id: MatchId(7),
        rules: Rules::for_snakes(Ruleset::Standard, Map::Standard, Settings::default(), seats),
        width: 11,
        height: 11,
        seed: Seed(seed),
        timeout_ms: 500,
        turns_max,
        is_public: false,
        origin: None,
        seats: (0..seats).map(seat).collect(),
    }
}

fn valid(mv: Move, latency_ms: u16) -> Option<BotAnswer> {
    Some(BotAnswer { class: AnswerClass::Valid, mv: Some(mv), latency_ms, shout: String::new(), response: None })
}

/// Plays to the end with the answers that `bot` gives for (turn, seat); the log, and the machine after each saved row.
fn play(spec: MatchSpec, bot: impl Fn(u32, usize) -> Option<BotAnswer>) -> (Vec<MatchLogRow>, Vec<MatchMachine>) {
    let mut machine = MatchMachine::new(spec).unwrap();
    let (mut log, mut history) = (Vec::new(), vec![machine.clone()]);
    loop {
        let step = match machine.next_action() {
            NextAction::Open => machine.record_opened(Vec::new()),
            NextAction::Notify { notice, seats } => {
                machine.record_delivery(notice, seats.iter().next().unwrap(), AnswerClass::Valid, 1)
            }
            NextAction::RequestMoves { seats } => {
                let seats_played = 0..machine.spec().seats.len();
                let answers =
                    seats_played.map(|seat| seats.contains(seat).then(|| bot(machine.turns(), seat)).flatten());
                machine.play_turn(answers.collect()).unwrap()
            }
            NextAction::Finish => return (log, history),
        };
        log.push(step.row.clone());
        machine.accept(step);
        history.push(machine.clone());
    }
}

/// A bot that survives: it circles over four cells.
fn circler(turn: u32, _seat: usize) -> Option<BotAnswer> {
    valid([Move::Up, Move::Right, Move::Down, Move::Left][turn as usize % 4], 10)
}

/// A bot that is a pure function of turn and seat, and misses one turn in eleven.
fn wanderer(turn: u32, seat: usize) -> Option<BotAnswer> {
    let at = (turn as usize / 3 + seat * 2) % 4;
    if turn % 11 == 7 { None } else { valid([Move::Up, Move::Right, Move::Down, Move::Left][at], 3) }
}

#[test]
fn the_order_of_a_match() {
    let (log, history) = play(spec(2, 3, 1), circler);
    let kinds: Vec<_> = log
        .iter()
        .map(|row| match Entry::decode(&row.bytes).unwrap() {
            Entry::Opened { .. } => "opened".to_owned(),
            Entry::Delivered { notice, seat, .. } => format!("{notice:?} {seat}"),
            Entry::Turn { turn, .. } => format!("turn {turn}"),
        })
        .collect();
    let want = ["opened", "Start 0", "Start 1", "turn 1", "turn 2", "turn 3", "End 0", "End 1"];
    assert_eq!(kinds, want);
    assert_eq!(log.iter().map(|row| row.version).collect::<Vec<_>>(), (0..8).collect::<Vec<_>>());
    assert_eq!(history.last().unwrap().next_action(), NextAction::Finish);
}

#[test]
fn the_turns_run_out_as_a_draw_among_the_living() {
    let (_, history) = play(spec(2, 2, 1), circler);
    let result = history.last().unwrap().result();
    assert_eq!((result.winner, result.is_draw, result.turns), (None, true, 2));
    assert_eq!(result.placements, [1, 1]);
}

#[test]
fn a_match_whose_bots_never_answer_ends_and_counts_them_late() {
    let (log, history) = play(spec(2, 5_000, 4), |_, _| None);
    let result = history.last().unwrap().result();
    assert!(result.turns < 20, "snakes that always go up meet the wall, not after {} turns", result.turns);
    assert_eq!(result.late_moves, log.last().unwrap().late_moves);
    assert!(result.late_moves >= result.turns);
}

/// A board without walls on which hazards heal: a snake that no bot steers would live for ever.
fn endless(turns_max: u32) -> MatchSpec {
    let settings =
        Settings { food_spawn_chance: 0, minimum_food: 0, hazard_damage_per_turn: -100, shrink_every_n_turns: 1 };
    let rules = Rules::for_snakes(Ruleset::Wrapped, Map::Royale, settings, 1);
    MatchSpec { rules, ..spec(1, turns_max, 3) }
}

#[test]
fn a_match_ends_when_no_bot_moves_any_more() {
    #[track_caller]
    fn check(turn_of_move: Option<u32>, class: AnswerClass, want: u32) {
        let bot = |turn, _| match turn_of_move {
            Some(of_move) if turn == of_move => valid(Move::Up, 1),
            _ => Some(BotAnswer::without_move(class, 0)),
        };
        let (log, history) = play(endless(5_000), bot);
        let end = history.last().unwrap();
        assert_eq!((end.turns(), end.result().is_draw, end.result().winner), (want, true, None), "{class:?}");
        assert_eq!(MatchMachine::resume(endless(5_000), &log).unwrap().result(), end.result());
    }
    for class in [AnswerClass::BadStatus, AnswerClass::Late, AnswerClass::Throttled, AnswerClass::ServerFault] {
        check(None, class, TURNS_WITHOUT_MOVE_MAX);
        check(Some(100), class, 101 + TURNS_WITHOUT_MOVE_MAX);
    }
}

/// Logs of matches that were played before there was the limit go beyond it.
#[test]
fn a_log_with_more_turns_without_a_move_is_still_read() {
    let bot = |_, _| Some(BotAnswer::without_move(AnswerClass::BadStatus, 0));
    let mut machine = play(endless(5_000), bot).1.swap_remove(2);
    let mut log = Vec::new();
    while machine.turns() < 2 * TURNS_WITHOUT_MOVE_MAX {
        let step = machine.play_turn(vec![bot(0, 0)]).unwrap();
        log.push(step.row.clone());
        machine.accept(step);
    }
    let mut replayed = play(endless(5_000), bot).1.swap_remove(2);
    log.iter().for_each(|row| replayed.replay(row).unwrap());
    assert_eq!(replayed.turns(), 2 * TURNS_WITHOUT_MOVE_MAX);
    assert!(matches!(replayed.next_action(), NextAction::Notify { notice: Notice::End, .. }));
}

#[test]
fn what_is_not_a_move_is_the_previous_move_again_and_at_first_up() {
    #[track_caller]
    fn check(machine: &MatchMachine, answer: Option<BotAnswer>, want: (Move, AnswerClass)) {
        let step = machine.play_turn(vec![answer, valid(Move::Up, 1)]).unwrap();
        let Entry::Turn { played, .. } = Entry::decode(&step.row.bytes).unwrap() else { panic!("not a turn") };
        let played = played[0].clone().unwrap();
        assert_eq!((played.mv, played.class), want);
    }
    let (_, history) = play(spec(2, 2, 1), |_, _| valid(Move::Left, 9));
    let broken = |class| Some(BotAnswer::without_move(class, 500));
    let (first, second) = (&history[3], &history[4]);
    check(first, None, (Move::Up, AnswerClass::Late));
    check(first, broken(AnswerClass::Malformed), (Move::Up, AnswerClass::Malformed));
    check(second, None, (Move::Left, AnswerClass::Late));
    check(second, broken(AnswerClass::Unreachable), (Move::Left, AnswerClass::Unreachable));
    check(second, valid(Move::Down, 1), (Move::Down, AnswerClass::Valid));
}

/// A match of two: what the first bot's calls end with, turn by turn (the last for ever), against one that circles.
#[test]
fn silence_and_faults_of_the_server_are_told_apart() {
    use AnswerClass::{BadStatus, Late, Malformed, ServerFault, Unreachable, Valid};
    #[track_caller]
    fn check(classes: &[AnswerClass], want: (u32, [bool; 2])) {
        let answer = |class| BotAnswer {
            class,
            mv: (class == Valid).then_some(Move::Up),
            latency_ms: 1,
            shout: String::new(),
            response: None,
        };
        let (log, history) = play(spec(2, 5_000, 4), |turn, seat| match seat {
            0 => Some(answer(classes[(turn as usize).min(classes.len() - 1)])),
            _ => circler(turn, seat),
        });
        let last = history.last().unwrap();
        assert_eq!((last.server_faults(), [last.is_silent(0), last.is_silent(1)]), want, "{classes:?}");
        let resumed = MatchMachine::resume(last.spec().clone(), &log).unwrap();
        assert_eq!((resumed.server_faults(), resumed.is_silent(0)), (last.server_faults(), last.is_silent(0)));
    }
    check(&[Valid], (0, [false, false]));
    check(&[Late], (0, [true, false]));
    check(&[Unreachable, Malformed, BadStatus], (0, [true, false]));
    check(&[Late, Valid, Late], (0, [false, false]));
    check(&[Late, ServerFault, Late], (1, [false, false]));
}

#[test]
fn a_start_that_the_server_could_not_send_is_its_fault() {
    let mut machine = MatchMachine::new(spec(2, 30, 5)).unwrap();
    let step = machine.record_opened(Vec::new());
    machine.accept(step);
    for (seat, class) in [AnswerClass::ServerFault, AnswerClass::Late].into_iter().enumerate() {
        let step = machine.record_delivery(Notice::Start, seat, class, 0);
        machine.accept(step);
    }
    assert_eq!(machine.server_faults(), 1);
}

#[test]
fn shouts_are_cut_to_the_limit() {
    let (_, history) = play(spec(2, 1, 1), |_, _| valid(Move::Up, 9));
    let answer = BotAnswer { shout: "é".repeat(300), ..valid(Move::Up, 1).unwrap() };
    let step = history[3].play_turn(vec![Some(answer), None]).unwrap();
    let Entry::Turn { played, .. } = Entry::decode(&step.row.bytes).unwrap() else { panic!("not a turn") };
    assert_eq!(played[0].as_ref().unwrap().shout.chars().count(), SHOUT_CHARS_MAX);
}

/// A bot that never answers well, on a board without walls: the log has so many of its responses, also where the match is resumed.
#[test]
fn the_first_responses_without_a_move_are_kept() {
    let wrong = |turn: u32| {
        let response = ResponseExcerpt::new(500, format!("error {turn}").as_bytes());
        BotAnswer { response: Some(Box::new(response)), ..BotAnswer::without_move(AnswerClass::BadStatus, 1) }
    };
    let mut spec = spec(1, 40, 5);
    spec.rules = Rules::for_snakes(Ruleset::Wrapped, Map::Standard, Settings::default(), 1);
    let (log, history) = play(spec.clone(), |turn, _| Some(wrong(turn)));
    let kept: Vec<Option<String>> = log
        .iter()
        .filter_map(|row| match Entry::decode(&row.bytes).unwrap() {
            Entry::Turn { played, .. } => {
                Some(played[0].as_ref()?.response.as_ref().map(|kept| kept.text().to_owned()))
            }
            Entry::Opened { .. } | Entry::Delivered { .. } => None,
        })
        .collect();
    let limit = u32::from(RESPONSE_EXCERPTS_PER_SEAT_MAX);
    assert!(kept.len() as u32 > limit + 1, "it lives for {} turns", kept.len());
    let want = (0..kept.len() as u32).map(|turn| (turn < limit).then(|| format!("error {turn}")));
    assert_eq!(kept, want.collect::<Vec<_>>());
    // Resumed in between, it keeps no more.
    let machine = MatchMachine::resume(spec, &log[..log.len() / 2]).unwrap();
    let next = machine.play_turn(vec![Some(wrong(99))]).unwrap();
    assert_eq!(next.row, log[log.len() / 2]);
    assert_eq!(history.last().unwrap().last_move(0).unwrap().response, None);
}

#[test]
fn a_log_that_does_not_fit_is_refused() {
    #[track_caller]
    fn check(log: &[MatchLogRow], want: &str) {
        let refused = MatchMachine::resume(spec(2, 30, 5), log).unwrap_err();
        assert_eq!(refused.to_string(), want);
    }
    let (log, _) = play(spec(2, 30, 5), wanderer);
    let mut gap = log.clone();
    gap.remove(2);
    check(&gap, "log entry 2 does not fit the match: it is not the next one");
    let mut cut = log.clone();
    cut[4].bytes.pop();
    check(&cut, "log entry 4 cannot be read: it ends too early");
    let mut hash = log.clone();
    *hash[3].bytes.last_mut().unwrap() ^= 1;
    check(&hash, "log entry 3 does not fit the match: the board after it is another one than when it was written");
    let mut counters = log.clone();
    counters[5].late_moves += 1;
    check(&counters, "log entry 5 does not fit the match: its counters are not those of the replay");
    let mut twice = log.clone();
    twice[2].bytes = log[1].bytes.clone();
    check(&twice, "log entry 2 does not fit the match: it is not what comes next");
    let mut future = log.clone();
    future[0].bytes[2] = 9;
    check(&future, "the match was begun under version 9 of the rules and cannot be continued under version 1");
    let other_seed = MatchMachine::resume(spec(2, 30, 6), &log).unwrap_err();
    assert!(matches!(other_seed, MatchError::Log { .. }), "another seed gives other boards: {other_seed}");
}

proptest! {
    /// A crash is a pause: whatever prefix was saved, the resumed machine is the one that was lost.
    #[test]
    fn every_prefix_resumes_to_the_same_machine(seats in 1u8..=8, seed: u64, turns_max in 1u32..60) {
        let (log, history) = play(spec(seats, turns_max, seed), wanderer);
        for (cut, lost) in history.iter().enumerate() {
            let resumed = MatchMachine::resume(spec(seats, turns_max, seed), &log[..cut]).unwrap();
            prop_assert_eq!(resumed.next_action(), lost.next_action());
            prop_assert_eq!(format!("{resumed:?}"), format!("{lost:?}"));
        }
    }
}
