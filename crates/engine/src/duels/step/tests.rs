//! Duels played with made-up results: in any order, with failures, interrupted and resumed.

use super::*;
use crate::competitions::{ResultSummary, SeatSummary};
use crate::duels::definition::tests::definition;
use crate::duels::{DuelDefinition, PairCounts, Sprt};
use crate::ids::BotId;
use crate::limits::DUEL_GAME_ATTEMPTS_MAX;
use crate::matches::entry::AnswerClass;
use crate::time::UnixMs;
use proptest::prelude::*;

/// How a game ends, for the pairing's second bot.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    HalfPoints(u8),
    Failed,
    Cancelled,
    ServerFault,
}

fn result(number: u64, game: StartedGame, ending: Ending) -> CompetitionResult {
    let second_seat = usize::from(game.key.game == 0);
    let mut places = [1, 1];
    if let Ending::HalfPoints(half_points) = ending {
        match half_points {
            0 => places[second_seat] = 2,
            2 => places[1 - second_seat] = 2,
            _ => {}
        }
    }
    let seats =
        places.map(|place| SeatSummary { bot: BotId(1), place, cause: None, food_eaten: 0, is_silent: false }).to_vec();
    let is_server_fault = ending == Ending::ServerFault;
    CompetitionResult {
        number,
        match_id: game.match_id,
        key: game.key.to_u64(),
        ended_at: UnixMs(0),
        ending: match ending {
            Ending::HalfPoints(_) | Ending::ServerFault => MatchState::Finished,
            Ending::Failed => MatchState::Failed,
            Ending::Cancelled => MatchState::Cancelled,
        },
        summary: ResultSummary { is_draw: places == [1, 1], is_server_fault, turns: 9, seats },
    }
}

/// Plays a duel to its end. `pick` chooses which of so many games in flight ends next; `batch` results come together.
fn play(
    definition: DuelDefinition,
    ending: impl Fn(GameKey) -> Ending,
    mut pick: impl FnMut(usize) -> usize,
    batch: usize,
) -> (Duel, Vec<Entry>) {
    let (mut duel, mut log, mut ids, mut number) = (Duel::new(definition), Vec::new(), 0u128, 0u64);
    let mut results = Vec::new();
    loop {
        let step = duel.advance(&results, &[], false, || {
            ids += 1;
            MatchId(ids)
        });
        log.extend(step.entries);
        duel = step.duel;
        if duel.end().is_some() {
            return (duel, log);
        }
        let mut playing: Vec<StartedGame> = duel.games_in_flight().collect();
        results.clear();
        for _ in 0..batch.min(playing.len()).max(1) {
            assert!(!playing.is_empty(), "a duel that is not over plays");
            let game = playing.remove(pick(playing.len()) % playing.len());
            number += 1;
            results.push(result(number, game, ending(game.key)));
        }
    }
}

/// A reproducible choice that looks random.
fn mixed(salt: u64, key: GameKey) -> u64 {
    let mut bits = (key.to_u64() ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    bits.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32
}

#[track_caller]
fn check(pairs_max: u32, ending: impl Fn(GameKey) -> Ending, want: DuelEnd, want_counts: [u32; 5]) {
    let (duel, _) = play(DuelDefinition { pairs_max, ..definition(2) }, ending, |_| 0, 1);
    assert_eq!((duel.end(), duel.pairings()[0].counts()), (Some(want), &PairCounts(want_counts)));
    assert!(duel.pairings()[0].open.len() <= 8);
}

#[test]
fn duels_end() {
    check(100, |_| Ending::HalfPoints(2), DuelEnd::H1Accepted, [0, 0, 0, 0, 23]);
    check(100, |_| Ending::HalfPoints(0), DuelEnd::H0Accepted, [20, 0, 0, 0, 0]);
    check(9, |_| Ending::HalfPoints(1), DuelEnd::GamesPlayed, [0, 0, 9, 0, 0]);
    // Seats decide: the second bot wins from seat 0 alone.
    check(9, |key| Ending::HalfPoints(2 * key.game), DuelEnd::GamesPlayed, [0, 0, 9, 0, 0]);
    check(9, |key| Ending::HalfPoints(1 + key.game), DuelEnd::GamesPlayed, [0, 0, 0, 9, 0]);
    check(100, |_| Ending::Failed, DuelEnd::TooManyVoidPairs, [0; 5]);
    check(100, |_| Ending::ServerFault, DuelEnd::TooManyVoidPairs, [0; 5]);
    check(
        100,
        |key| if key.game == 1 { Ending::Cancelled } else { Ending::HalfPoints(2) },
        DuelEnd::TooManyVoidPairs,
        [0; 5],
    );
}

#[test]
fn a_game_without_a_result_is_repeated_from_the_same_seed() {
    let first_fails = |key: GameKey| if key.attempt == 0 { Ending::ServerFault } else { Ending::HalfPoints(2) };
    let (duel, log) = play(DuelDefinition { pairs_max: 5, ..definition(2) }, first_fails, |_| 0, 1);
    assert_eq!(duel.end(), Some(DuelEnd::GamesPlayed));
    assert_eq!((duel.games_repeated(), duel.pairings()[0].games()), (10, [10, 0, 0]));
    let started = log.iter().filter_map(|entry| match entry {
        Entry::Started { games } => Some(games.len()),
        _ => None,
    });
    assert_eq!(started.sum::<usize>(), 20);
}

#[test]
fn a_game_is_tried_so_often_and_no_more() {
    let attempts = std::cell::Cell::new(0);
    let fails = |key: GameKey| {
        attempts.set(attempts.get().max(key.attempt + 1));
        if key.pair == 0 { Ending::Failed } else { Ending::HalfPoints(2) }
    };
    let (duel, _) = play(DuelDefinition { pairs_max: 3, ..definition(2) }, fails, |_| 0, 1);
    assert_eq!((attempts.get(), duel.end()), (DUEL_GAME_ATTEMPTS_MAX, Some(DuelEnd::GamesPlayed)));
    assert_eq!((duel.pairings()[0].void_pairs(), duel.pairings()[0].counts().pairs()), (1, 3));
}

#[test]
fn a_withdrawn_bot_and_the_owner_end_a_duel() {
    let ids = || MatchId(1);
    let begun = Duel::new(definition(2)).advance(&[], &[], false, ids).duel;
    assert_eq!(begun.games_in_flight().len(), 8);
    let withdrawn = begun.advance(&[], &[], true, ids);
    assert_eq!((withdrawn.duel.end(), withdrawn.start.len()), (Some(DuelEnd::BotWithdrawn), 0));
    let cancelled = begun.cancel();
    assert_eq!(cancelled.entries, [Entry::Over { end: DuelEnd::Cancelled }]);
    assert_eq!(cancelled.duel.advance(&[], &[], true, ids).entries, []);
    assert_eq!(cancelled.duel.cancel().entries, []);
}

#[test]
fn a_result_of_no_game_in_flight_is_ignored() {
    let mut ids = 0;
    let begun = Duel::new(definition(2)).advance(&[], &[], false, || {
        ids += 1;
        MatchId(ids)
    });
    let game = begun.start[0];
    let won = |game| result(1, game, Ending::HalfPoints(2));
    let other_match = won(StartedGame { match_id: MatchId(99), ..game });
    let other_game = won(StartedGame { key: GameKey { pair: 50, ..game.key }, ..game });
    let mut other_key = won(game);
    other_key.key = u64::MAX;
    let step = begun.duel.advance(&[other_match, other_game, other_key], &[], false, || MatchId(1_000));
    assert_eq!((step.entries.len(), &step.duel), (0, &begun.duel));
    // Twice the same result is one result.
    let once = begun.duel.advance(&[won(game)], &[], false, || MatchId(1_000)).duel;
    assert_eq!(once.advance(&[won(game)], &[], false, || MatchId(1_000)).entries, []);
}

#[test]
fn a_league_plays_every_pairing() {
    let definition = DuelDefinition { pairs_max: 6, ..definition(4) };
    let (duel, _) = play(definition, |_| Ending::HalfPoints(1), |_| 0, 3);
    assert_eq!(duel.end(), Some(DuelEnd::GamesPlayed));
    assert!(duel.pairings().len() == 6 && duel.pairings().iter().all(|pairing| pairing.counts().pairs() == 6));
}

fn close_question() -> DuelDefinition {
    DuelDefinition { pairs_max: 60, test: Some(Sprt { elo1: 200.0, ..Sprt::default() }), ..definition(2) }
}

/// Mostly played, sometimes not.
fn mixed_ending(salt: u64, key: GameKey) -> Ending {
    match mixed(salt, key) % 20 {
        0 => Ending::Failed,
        1 => Ending::ServerFault,
        2 => Ending::Cancelled,
        3..=5 => Ending::HalfPoints(1),
        6..=11 => Ending::HalfPoints(0),
        _ => Ending::HalfPoints(2),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is decided does not depend on the order in which games end.
    #[test]
    fn the_order_of_ends_decides_nothing(salt: u64, order: u64, batch in 1usize..6, at_once in 1u32..8) {
        let ending = |key| mixed_ending(salt, key);
        let one_by_one = DuelDefinition { pairs_at_once: 1, ..close_question() };
        let (calm, _) = play(one_by_one, ending, |_| 0, 1);
        let mut turn = order;
        let shuffled = |count: usize| {
            turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (turn >> 33) as usize % count
        };
        let (wild, _) = play(DuelDefinition { pairs_at_once: at_once, ..close_question() }, ending, shuffled, batch);
        prop_assert_eq!(calm.end(), wild.end());
        prop_assert_eq!(calm.pairings()[0].outcomes(), wild.pairings()[0].outcomes());
    }

    /// A duel that is read from its log, wherever it was interrupted, is the one that was not interrupted.
    #[test]
    fn a_resumed_duel_is_the_same(salt: u64, batch in 1usize..6) {
        let (duel, log) = play(close_question(), |key| mixed_ending(salt, key), |count| count / 2, batch);
        let mut resumed = Duel::new(close_question());
        for entry in &log {
            let entry = Entry::decode(&entry.encode()).expect("its own bytes");
            resumed.apply(&entry).expect("its own log");
        }
        prop_assert_eq!(resumed, duel);
    }

    /// Exchanging the bots exchanges the verdict: H1 "200 Elo better" becomes H0 "200 Elo worse".
    #[test]
    fn exchanging_the_bots_mirrors_the_verdict(salt: u64) {
        let ending = |key| match mixed_ending(salt, key) {
            Ending::HalfPoints(half_points) => Ending::HalfPoints(half_points),
            _ => Ending::HalfPoints(1),
        };
        let mirrored = |key: GameKey| match ending(key) {
            Ending::HalfPoints(half_points) => Ending::HalfPoints(2 - half_points),
            other => other,
        };
        let test = Sprt { elo0: 0.0, elo1: 200.0, ..Sprt::default() };
        let swapped = Sprt { elo0: -200.0, elo1: 0.0, ..test };
        let (duel, _) = play(DuelDefinition { test: Some(test), ..close_question() }, ending, |_| 0, 1);
        let (other, _) = play(DuelDefinition { test: Some(swapped), ..close_question() }, mirrored, |_| 0, 1);
        let want = match duel.end() {
            Some(DuelEnd::H1Accepted) => Some(DuelEnd::H0Accepted),
            Some(DuelEnd::H0Accepted) => Some(DuelEnd::H1Accepted),
            end => end,
        };
        prop_assert_eq!(other.end(), want);
        prop_assert_eq!(other.pairings()[0].counts().swapped(), *duel.pairings()[0].counts());
    }
}

/// Plays one game after the other; each word of `games` says how one ends: `+` it was played, `1` the first bot gave no move, `2` the second
/// one, `=` neither did.
#[track_caller]
fn check_silence(games: &str, want: Option<(usize, u8)>) {
    let mut ids = 0u128;
    let mut new_id = || {
        ids += 1;
        MatchId(ids)
    };
    let answer = SilentAnswer { class: AnswerClass::Malformed, response: None };
    let mut duel = Duel::new(definition(2)).advance(&[], &[], false, &mut new_id).duel;
    let mut log: Vec<Entry> = Vec::new();
    for (number, end) in (1..).zip(games.chars()) {
        assert_eq!(duel.end(), None, "{games} after {number}");
        let game = duel.games_in_flight().next().unwrap();
        let (first, second) = (game.key.game, 1 - game.key.game);
        let seats = match end {
            '1' => vec![first],
            '2' => vec![second],
            '=' => vec![first, second],
            _ => Vec::new(),
        };
        let silent: Vec<SilentSeat> = seats
            .into_iter()
            .map(|seat| SilentSeat { match_id: game.match_id, seat, answer: answer.clone() })
            .collect();
        let step = duel.advance(&[result(number, game, Ending::HalfPoints(1))], &silent, false, &mut new_id);
        log.extend(step.entries);
        duel = step.duel;
    }
    assert_eq!(duel.silent_bot().map(|(bot, silence)| (bot, silence.games)), want, "{games}");
    assert_eq!(duel.end(), want.map(|_| DuelEnd::BotSilent), "{games}");
    let counted: u32 = duel.pairings()[0].games().iter().sum();
    assert!(counted <= games.matches('+').count() as u32, "{games}: a game without a move counts");
    let answers = log.iter().filter(|entry| matches!(entry, Entry::Silent { .. })).count();
    assert_eq!(answers, games.chars().map(|end| usize::from(end != '+') + usize::from(end == '=')).sum(), "{games}");
}

#[test]
fn a_bot_that_gives_no_move_ends_the_duel_and_nothing_counts() {
    check_silence("222", Some((1, 3)));
    check_silence("111", Some((0, 3)));
    check_silence("===", Some((0, 3)));
    // One that is being restarted goes on.
    check_silence("22+22+", None);
    check_silence("2+2+2+2+", None);
    check_silence("+++22", None);
}
