//! What those can do who come and go, and who change their minds: they learn no hands, drown no history and keep no game alive.

use super::super::*;
use super::fixture::newcomer;
use super::{ScriptedAction, TableFixture, player};
use crate::commands::IndexChange;
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
    let mut desk = TableFixture::up_to_invitation();
    let mut seen: Vec<CardSet> = Vec::new();
    let mut have = String::new();
    for step in steps {
        let n = step.unsigned_abs();
        if *step < 0 {
            desk.play_allowed(n, ScriptedAction::Leave);
            continue;
        }
        desk.play_allowed(n, ScriptedAction::Join);
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
        let mut desk = TableFixture::open(TableSettings::default(), seed, false);
        desk.play_allowed(0, ScriptedAction::Choose(0));
        if has_told {
            desk.play_allowed(0, ScriptedAction::Tell);
        }
        let mut shown = BTreeSet::new();
        let (mut at_once_max, mut all) = (0, desk.hand(player(0)));
        for (n, leaves) in steps {
            let players = desk.game(None).players.len();
            let is_seated = desk.game(None).players.iter().any(|seat| seat.id == player(n));
            let done = desk.play(n, if leaves { ScriptedAction::Leave } else { ScriptedAction::Join });
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

fn history(desk: &TableFixture) -> Vec<EventKind> {
    let record = desk.index.iter().rev().find_map(|index| match index {
        IndexChange::ArchiveGame { record, .. } => Some(record),
        _ => None,
    });
    let record = GameRecord::from_bytes(record.expect("the game has ended")).expect("a record is read back");
    record.history(Some(player(1))).expect("a history is read back").into_iter().map(|event| event.kind).collect()
}

/// Two hundred strangers come, pick, pick again and go; the game of the others is told as if nobody had.
#[test]
fn a_history_tells_the_game_however_many_came_and_went() {
    let mut desk = TableFixture::up_to_invitation();
    for n in 1..=2 {
        desk.play_allowed(n, ScriptedAction::Join);
        desk.play_allowed(n, ScriptedAction::Pick(0));
    }
    for n in 3..=202 {
        desk.act(player(0), &Action::SetCountdown(Duration::from_secs(86_000))).ok();
        desk.play_allowed(n, ScriptedAction::Join);
        desk.play_allowed(n, ScriptedAction::Pick(0));
        desk.play_allowed(n, ScriptedAction::Pick(1));
        desk.advance_time(STORY_SEAT_MIN);
        desk.play_allowed(n, ScriptedAction::Leave);
    }
    desk.play_allowed(1, ScriptedAction::Pick(2));
    desk.play_allowed(203, ScriptedAction::Join);
    desk.play_allowed(203, ScriptedAction::Pick(0));
    desk.play_allowed(0, ScriptedAction::Open);
    for n in [1, 2, 203] {
        desk.play_allowed(n, ScriptedAction::Vote(0));
    }
    desk.play_allowed(0, ScriptedAction::Complete);
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
    let mut desk = TableFixture::up_to_invitation();
    desk.play_allowed(1, ScriptedAction::Join);
    desk.advance_time(STORY_SEAT_MIN);
    for n in 10..10 + STORY_LEAVES_FREE {
        desk.play_allowed(n, ScriptedAction::Join);
        desk.play_allowed(n, ScriptedAction::Leave);
    }
    desk.play_allowed(2, ScriptedAction::Join);
    let until = desk.now.plus(STORY_SEAT_MIN);
    assert_eq!(desk.play(2, ScriptedAction::Leave), Err(Refusal::LeaveTooSoon { until }));
    desk.play_allowed(1, ScriptedAction::Leave);
    desk.now = UnixMs(until.0 - 1);
    assert_eq!(desk.play(2, ScriptedAction::Leave), Err(Refusal::LeaveTooSoon { until }));
    desk.now = until;
    desk.play_allowed(2, ScriptedAction::Leave);
    desk.play_allowed(3, ScriptedAction::Join);
    desk.play_allowed(0, ScriptedAction::Leave);
    assert_eq!(desk.game(None).phase, Phase::Canceled, "a storyteller may always go");
    desk.play_allowed(3, ScriptedAction::Leave);
}

/// Somebody may change his mind so often, and the first deed of each kind is always left to him.
#[test]
fn minds_are_changed_so_often() {
    let refused = Err(Refusal::TooManyChanges { max: STORY_CHANGES_MAX });
    let mut desk = TableFixture::up_to_vote(3);
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        desk.play_allowed(1, ScriptedAction::Vote(place % 2));
    }
    assert_eq!(desk.play(1, ScriptedAction::Vote(1)), refused);
    desk.play_allowed(2, ScriptedAction::Vote(0));

    let mut desk = TableFixture::up_to_invitation();
    desk.play_allowed(1, ScriptedAction::Join);
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        desk.play_allowed(1, ScriptedAction::Pick(place % 2));
    }
    assert_eq!(desk.play(1, ScriptedAction::Pick(1)), refused);
    for on in 0..STORY_CHANGES_MAX {
        desk.act(player(0), &Action::SetBots(on % 2 == 0)).unwrap();
    }
    assert_eq!(desk.act(player(0), &Action::SetBots(true)), refused);
    assert_eq!(desk.act(player(0), &Action::SetCountdown(Duration::from_secs(5))), refused);
    assert_eq!(desk.act(player(0), &Action::Invite(vec![player(9)])), refused);
    desk.play_allowed(2, ScriptedAction::Join);
    desk.play_allowed(2, ScriptedAction::Pick(0));
    desk.play_allowed(0, ScriptedAction::Open);
    desk.play_allowed(1, ScriptedAction::Vote(0));
    assert_eq!(desk.play(1, ScriptedAction::Vote(1)), refused);

    let mut desk = TableFixture::with_defaults();
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        desk.play_allowed(0, ScriptedAction::Choose(place % 2));
    }
    assert_eq!(desk.play(0, ScriptedAction::Choose(1)), refused);
    desk.play_allowed(0, ScriptedAction::Tell);
}

/// A game in which nothing gets on ends, however busy those are who come, pick and go.
#[test]
fn coming_and_going_keeps_no_game_alive() {
    let mut desk = TableFixture::up_to_invitation();
    let timeout = TableSettings::default().game_timeout;
    desk.play_allowed(1, ScriptedAction::Join);
    desk.play_allowed(1, ScriptedAction::Pick(0));
    let ends = desk.now.plus(timeout);
    for n in 2..40_usize {
        desk.play_allowed(1, ScriptedAction::Leave);
        desk.act(player(1), &Action::Join(newcomer(player(1)))).unwrap();
        desk.play_allowed(1, ScriptedAction::Pick(n % 2));
        desk.advance_time(STORY_SEAT_MIN);
        assert_eq!(desk.game(None).inactive_at, Some(ends));
    }
    desk.play_allowed(2, ScriptedAction::Join);
    assert_eq!(
        desk.game(None).inactive_at,
        Some(desk.now.plus(timeout)),
        "who sits down for the first time gets it on"
    );
}
