//! What those can do who come and go, and who change their minds: they learn no hands, drown no history and keep no game alive.

use super::super::*;
use super::desk::newcomer;
use super::{Desk, Scripted, player};
use crate::commands::Index;
use crate::limits::{STORY_CHANGES_MAX, STORY_LEAVES_FREE, STORY_SEAT_MIN};
use crate::time::UnixMs;
use proptest::prelude::*;
use rules::stories::CardSet;
use std::collections::BTreeSet;
use std::time::Duration;

/// Who comes and goes, one after the other: each row is a number for a join, negative for a leave; the letters name the hands that
/// the joins brought, in the order in which they were first seen.
#[track_caller]
fn check_hands(steps: &[i8], want: &str) {
    let mut desk = Desk::up_to_invitation();
    let mut seen: Vec<CardSet> = Vec::new();
    let mut have = String::new();
    for step in steps {
        let n = step.unsigned_abs();
        if *step < 0 {
            desk.must(n, Scripted::Leave);
            continue;
        }
        desk.must(n, Scripted::Join);
        let hand = desk.hand(player(n));
        let at = seen.iter().position(|other| *other == hand).unwrap_or(seen.len());
        if at == seen.len() {
            seen.push(hand);
        }
        have.push(char::from(b'a' + at as u8));
    }
    assert_eq!(have, want, "{steps:?}");
}

#[test]
fn a_hand_that_was_left_is_the_next_that_is_given() {
    check_hands(&[1, 2, 3], "abc");
    check_hands(&[1, -1, 1, -1, 1], "aaa");
    check_hands(&[1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6], "aaaaaa");
    check_hands(&[1, 2, -1, -2, 2, 1], "abba");
    check_hands(&[1, 2, -2, -1, 3, 4, 5], "abbac");
    check_hands(&[1, -1, 2, 1, -2, -1, 1, 3], "aabba");
    check_hands(&[1, 2, 3, 4, 5, -5, 6, -6, 7, -1, 8], "abcdeeea");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whoever comes and goes, in whatever order and as whoever: no more hands are ever shown than seats were taken at once, so
    /// never more than there are seats beside the storyteller's; no two share a card; a free seat always has one.
    #[test]
    fn comers_and_goers_see_no_more_hands_than_they_held_seats(
        seed in any::<u64>(), has_told in any::<bool>(), steps in prop::collection::vec((1u8..40, any::<bool>()), 1..120)
    ) {
        let mut desk = Desk::open(Settings::default(), seed, false);
        desk.must(0, Scripted::Choose(0));
        if has_told {
            desk.must(0, Scripted::Tell);
        }
        let mut shown = BTreeSet::new();
        let (mut at_once_max, mut all) = (0, desk.hand(player(0)));
        for (n, leaves) in steps {
            let players = desk.game(None).players.len();
            let is_seated = desk.game(None).players.iter().any(|seat| seat.id == player(n));
            let done = desk.play(n, if leaves { Scripted::Leave } else { Scripted::Join });
            if !leaves && !is_seated {
                prop_assert_eq!(done.is_ok(), players < 6);
            }
            at_once_max = at_once_max.max(desk.game(None).players.len() - 1);
            let hand = desk.hand(player(n));
            if !hand.is_empty() && shown.insert(hand.bits()) {
                prop_assert_eq!(hand.len(), 6);
                prop_assert!(hand.intersection(all).is_empty(), "a card was shown in two hands");
                all = all.union(hand);
            }
            prop_assert!(shown.len() <= at_once_max, "{} hands, {} seats", shown.len(), at_once_max);
        }
        prop_assert!(at_once_max <= 5);
    }
}

fn history(desk: &Desk) -> Vec<EventKind> {
    let record = desk.index.iter().rev().find_map(|index| match index {
        Index::Archive { record, .. } => Some(record),
        _ => None,
    });
    let record = GameRecord::from_bytes(record.expect("the game has ended")).expect("a record is read back");
    record.history(Some(player(1))).expect("a history is read back").into_iter().map(|event| event.kind).collect()
}

/// Two hundred strangers come, pick, pick again and go; the game of the others is told as if nobody had.
#[test]
fn a_history_tells_the_game_however_many_came_and_went() {
    let mut desk = Desk::up_to_invitation();
    for n in 1..=2 {
        desk.must(n, Scripted::Join);
        desk.must(n, Scripted::Pick(0));
    }
    for n in 3..=202 {
        desk.act(player(0), &Action::SetCountdown(Duration::from_secs(86_000))).ok();
        desk.must(n, Scripted::Join);
        desk.must(n, Scripted::Pick(0));
        desk.must(n, Scripted::Pick(1));
        desk.wait(STORY_SEAT_MIN);
        desk.must(n, Scripted::Leave);
    }
    desk.must(1, Scripted::Pick(2));
    desk.must(203, Scripted::Join);
    desk.must(203, Scripted::Pick(0));
    desk.must(0, Scripted::Open);
    for n in [1, 2, 203] {
        desk.must(n, Scripted::Vote(0));
    }
    desk.must(0, Scripted::Complete);
    let history = history(&desk);
    let count = |is: &dyn Fn(&EventKind) -> bool| history.iter().filter(|kind| is(kind)).count();
    for n in [1, 2, 203] {
        let joined = count(&|kind| matches!(kind, EventKind::Joined { player: id, .. } if *id == player(n)));
        let picked = count(&|kind| matches!(kind, EventKind::Picked { player: id, .. } if *id == player(n)));
        let voted = count(&|kind| matches!(kind, EventKind::Voted { player: id, .. } if *id == player(n)));
        assert!(joined == 1 && picked >= 1 && voted == 1, "player {n}: {joined} {picked} {voted}");
    }
    assert_eq!(count(&|kind| matches!(kind, EventKind::Started { .. })), 1);
    assert_eq!(count(&|kind| matches!(kind, EventKind::StoryTold { .. })), 1);
    assert_eq!(count(&|kind| matches!(kind, EventKind::VotingOpened { .. })), 1);
    assert!(matches!(history.last(), Some(EventKind::Completed { .. })));
}

/// Seats that change hands all the time do so slowly, whoever takes them; those who have sat for a while may always go.
#[test]
fn seats_change_hands_slowly_after_a_while() {
    let mut desk = Desk::up_to_invitation();
    desk.must(1, Scripted::Join);
    desk.wait(STORY_SEAT_MIN);
    for n in 10..10 + STORY_LEAVES_FREE {
        desk.must(n, Scripted::Join);
        desk.must(n, Scripted::Leave);
    }
    desk.must(2, Scripted::Join);
    let until = desk.now.after(STORY_SEAT_MIN);
    assert_eq!(desk.play(2, Scripted::Leave), Err(Refusal::LeaveTooSoon { until }));
    desk.must(1, Scripted::Leave);
    desk.now = UnixMs(until.0 - 1);
    assert_eq!(desk.play(2, Scripted::Leave), Err(Refusal::LeaveTooSoon { until }));
    desk.now = until;
    desk.must(2, Scripted::Leave);
    desk.must(3, Scripted::Join);
    desk.must(0, Scripted::Leave);
    assert_eq!(desk.game(None).phase, Phase::Canceled, "a storyteller may always go");
    desk.must(3, Scripted::Leave);
}

/// Somebody may change his mind so often, and the first deed of each kind is always left to him.
#[test]
fn minds_are_changed_so_often() {
    let refused = Err(Refusal::TooManyChanges { max: STORY_CHANGES_MAX });
    let mut desk = Desk::up_to_vote(3);
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        desk.must(1, Scripted::Vote(place % 2));
    }
    assert_eq!(desk.play(1, Scripted::Vote(1)), refused);
    desk.must(2, Scripted::Vote(0));

    let mut desk = Desk::up_to_invitation();
    desk.must(1, Scripted::Join);
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        desk.must(1, Scripted::Pick(place % 2));
    }
    assert_eq!(desk.play(1, Scripted::Pick(1)), refused);
    for on in 0..STORY_CHANGES_MAX {
        desk.act(player(0), &Action::SetBots(on % 2 == 0)).unwrap();
    }
    assert_eq!(desk.act(player(0), &Action::SetBots(true)), refused);
    assert_eq!(desk.act(player(0), &Action::SetCountdown(Duration::from_secs(5))), refused);
    assert_eq!(desk.act(player(0), &Action::Invite(vec![player(9)])), refused);
    desk.must(2, Scripted::Join);
    desk.must(2, Scripted::Pick(0));
    desk.must(0, Scripted::Open);
    desk.must(1, Scripted::Vote(0));
    assert_eq!(desk.play(1, Scripted::Vote(1)), refused);

    let mut desk = Desk::usual();
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        desk.must(0, Scripted::Choose(place % 2));
    }
    assert_eq!(desk.play(0, Scripted::Choose(1)), refused);
    desk.must(0, Scripted::Tell);
}

/// A game in which nothing gets on ends, however busy those are who come, pick and go.
#[test]
fn coming_and_going_keeps_no_game_alive() {
    let mut desk = Desk::up_to_invitation();
    let timeout = Settings::default().game_timeout;
    desk.must(1, Scripted::Join);
    desk.must(1, Scripted::Pick(0));
    let ends = desk.now.after(timeout);
    for n in 2..40_usize {
        desk.must(1, Scripted::Leave);
        desk.act(player(1), &Action::Join(newcomer(player(1)))).unwrap();
        desk.must(1, Scripted::Pick(n % 2));
        desk.wait(STORY_SEAT_MIN);
        assert_eq!(desk.game(None).inactive_at, Some(ends));
    }
    desk.must(2, Scripted::Join);
    assert_eq!(
        desk.game(None).inactive_at,
        Some(desk.now.after(timeout)),
        "who sits down for the first time gets it on"
    );
}
