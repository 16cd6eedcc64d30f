//! What players who come and go, or change their choices, can do: they learn no hands, flood no history and keep no
//! game alive.

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
    let mut fixture = TableFixture::up_to_invitation();
    let mut seen: Vec<CardSet> = Vec::new();
    let mut have = String::new();
    for step in steps {
        let n = step.unsigned_abs();
        if *step < 0 {
            fixture.play_allowed(n, ScriptedAction::Leave);
            continue;
        }
        fixture.play_allowed(n, ScriptedAction::Join);
        let hand = fixture.hand(player(n));
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

    /// Players come and go, in any order and under any id: no more hands are ever shown than seats were taken at once,
    /// so never more than there are seats in addition to the storyteller's; no two share a card; a free seat always has
    /// one.
    #[test]
    fn comers_and_goers_see_no_more_hands_than_they_held_seats(
        seed in any::<u64>(), has_told in any::<bool>(), steps in prop::collection::vec((1u8..40, any::<bool>()), 1..120)
    ) {
        let mut fixture = TableFixture::open(TableSettings::default(), seed, false);
        fixture.play_allowed(0, ScriptedAction::Choose(0));
        if has_told {
            fixture.play_allowed(0, ScriptedAction::Tell);
        }
        let mut shown = BTreeSet::new();
        let (mut at_once_max, mut all) = (0, fixture.hand(player(0)));
        for (n, leaves) in steps {
            let players = fixture.game(None).players.len();
            let is_seated = fixture.game(None).players.iter().any(|seat| seat.id == player(n));
            let done = fixture.play(n, if leaves { ScriptedAction::Leave } else { ScriptedAction::Join });
            if !leaves && !is_seated {
                prop_assert_eq!(done.is_ok(), players < 6);
            }
            at_once_max = at_once_max.max(fixture.game(None).players.len() - 1);
            let hand = fixture.hand(player(n));
            if !hand.is_empty() && shown.insert(hand.bits()) {
                prop_assert_eq!(hand.len(), 6);
                prop_assert_eq!(hand.without(all), hand, "a card was shown in two hands");
                all = all.union(hand);
            }
            prop_assert!(shown.len() <= at_once_max, "{} hands, {} seats", shown.len(), at_once_max);
        }
        prop_assert!(at_once_max <= 5);
    }
}

fn history(fixture: &TableFixture) -> Vec<EventKind> {
    let record = fixture.index.iter().rev().find_map(|index| match index {
        IndexChange::ArchiveGame { record, .. } => Some(record),
        _ => None,
    });
    let record = GameRecord::from_bytes(record.expect("the game has ended")).expect("a record is read back");
    record.history(Some(player(1))).expect("a history is read back").into_iter().map(|event| event.kind).collect()
}

/// Two hundred strangers join, pick, pick again and leave; the history of the others' game is complete.
#[test]
fn a_history_is_complete_however_many_came_and_went() {
    let mut fixture = TableFixture::up_to_invitation();
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Join);
        fixture.play_allowed(n, ScriptedAction::Pick(0));
    }
    for n in 3..=202 {
        fixture.act(player(0), &Action::SetCountdown(Duration::from_secs(86_000))).ok();
        fixture.play_allowed(n, ScriptedAction::Join);
        fixture.play_allowed(n, ScriptedAction::Pick(0));
        fixture.play_allowed(n, ScriptedAction::Pick(1));
        fixture.advance_time(STORY_SEAT_MIN);
        fixture.play_allowed(n, ScriptedAction::Leave);
    }
    fixture.play_allowed(1, ScriptedAction::Pick(2));
    fixture.play_allowed(203, ScriptedAction::Join);
    fixture.play_allowed(203, ScriptedAction::Pick(0));
    fixture.play_allowed(0, ScriptedAction::Open);
    for n in [1, 2, 203] {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    fixture.play_allowed(0, ScriptedAction::Complete);
    let history = history(&fixture);
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

/// Seats that change hands all the time do so slowly, whichever players take them; players who have sat for a while may always
/// leave.
#[test]
fn seats_change_hands_slowly_after_a_while() {
    let mut fixture = TableFixture::up_to_invitation();
    fixture.play_allowed(1, ScriptedAction::Join);
    fixture.advance_time(STORY_SEAT_MIN);
    for n in 10..10 + STORY_LEAVES_FREE {
        fixture.play_allowed(n, ScriptedAction::Join);
        fixture.play_allowed(n, ScriptedAction::Leave);
    }
    fixture.play_allowed(2, ScriptedAction::Join);
    let until = fixture.now.plus(STORY_SEAT_MIN);
    assert_eq!(fixture.play(2, ScriptedAction::Leave), Err(Refusal::LeaveTooSoon { until }));
    fixture.play_allowed(1, ScriptedAction::Leave);
    fixture.now = UnixMs(until.0 - 1);
    assert_eq!(fixture.play(2, ScriptedAction::Leave), Err(Refusal::LeaveTooSoon { until }));
    fixture.now = until;
    fixture.play_allowed(2, ScriptedAction::Leave);
    fixture.play_allowed(3, ScriptedAction::Join);
    fixture.play_allowed(0, ScriptedAction::Leave);
    assert_eq!(fixture.game(None).phase, Phase::Canceled, "a storyteller may always go");
    fixture.play_allowed(3, ScriptedAction::Leave);
}

/// Changes are bounded, and the first action of each kind is always allowed.
#[test]
fn minds_are_changed_so_often() {
    let refused = Err(Refusal::TooManyChanges { max: STORY_CHANGES_MAX });
    let mut fixture = TableFixture::up_to_vote(3);
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        fixture.play_allowed(1, ScriptedAction::Vote(place % 2));
    }
    assert_eq!(fixture.play(1, ScriptedAction::Vote(1)), refused);
    fixture.play_allowed(2, ScriptedAction::Vote(0));

    let mut fixture = TableFixture::up_to_invitation();
    fixture.play_allowed(1, ScriptedAction::Join);
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        fixture.play_allowed(1, ScriptedAction::Pick(place % 2));
    }
    assert_eq!(fixture.play(1, ScriptedAction::Pick(1)), refused);
    for on in 0..STORY_CHANGES_MAX {
        fixture.act(player(0), &Action::SetBots(on % 2 == 0)).unwrap();
    }
    assert_eq!(fixture.act(player(0), &Action::SetBots(true)), refused);
    assert_eq!(fixture.act(player(0), &Action::SetCountdown(Duration::from_secs(5))), refused);
    assert_eq!(fixture.act(player(0), &Action::Invite(vec![player(9)])), refused);
    fixture.play_allowed(2, ScriptedAction::Join);
    fixture.play_allowed(2, ScriptedAction::Pick(0));
    fixture.play_allowed(0, ScriptedAction::Open);
    fixture.play_allowed(1, ScriptedAction::Vote(0));
    assert_eq!(fixture.play(1, ScriptedAction::Vote(1)), refused);

    let mut fixture = TableFixture::with_defaults();
    for place in 0..=usize::from(STORY_CHANGES_MAX) {
        fixture.play_allowed(0, ScriptedAction::Choose(place % 2));
    }
    assert_eq!(fixture.play(0, ScriptedAction::Choose(1)), refused);
    fixture.play_allowed(0, ScriptedAction::Tell);
}

/// A game in which nothing gets on ends, however busy those are who come, pick and go.
#[test]
fn coming_and_going_keeps_no_game_alive() {
    let mut fixture = TableFixture::up_to_invitation();
    let timeout = TableSettings::default().game_timeout;
    fixture.play_allowed(1, ScriptedAction::Join);
    fixture.play_allowed(1, ScriptedAction::Pick(0));
    let ends = fixture.now.plus(timeout);
    for n in 2..40_usize {
        fixture.play_allowed(1, ScriptedAction::Leave);
        fixture.act(player(1), &Action::Join(newcomer(player(1)))).unwrap();
        fixture.play_allowed(1, ScriptedAction::Pick(n % 2));
        fixture.advance_time(STORY_SEAT_MIN);
        assert_eq!(fixture.game(None).inactive_at, Some(ends));
    }
    fixture.play_allowed(2, ScriptedAction::Join);
    assert_eq!(
        fixture.game(None).inactive_at,
        Some(fixture.now.plus(timeout)),
        "who sits down for the first time gets it on"
    );
}
