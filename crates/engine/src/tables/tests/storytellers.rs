//! One game after the other: who tells next, and who sits there.

use super::super::*;
use super::{ScriptedAction, TableFixture, player};
use crate::ids::PlayerId;
use crate::limits::STORY_SEAT_MIN;
use std::time::Duration;

const STEP: Duration = Duration::from_secs(60);

/// Plays a game to its end: `teller` tells, the others in `players` pick and vote.
fn play(desk: &mut TableFixture, teller: u8, players: &[u8]) {
    desk.play_allowed(teller, ScriptedAction::Choose(0));
    desk.play_allowed(teller, ScriptedAction::Tell);
    for n in players {
        desk.play_allowed(*n, ScriptedAction::Join);
        desk.play_allowed(*n, ScriptedAction::Pick(0));
    }
    desk.play_allowed(teller, ScriptedAction::Open);
    for n in players {
        desk.play_allowed(*n, ScriptedAction::Vote(0));
    }
    desk.play_allowed(teller, ScriptedAction::Complete);
}

#[track_caller]
fn check_next(desk: &TableFixture, want: Option<u8>) {
    let view = desk.table.view(None);
    assert_eq!(view.next_storyteller, want.map(player));
    assert_eq!(view.next_storyteller_until.is_some(), want.is_some());
}

#[test]
fn everybody_tells_in_turn() {
    let mut desk = TableFixture::with_defaults();
    let mut teller = 0;
    let mut told = Vec::new();
    for _ in 0..6 {
        let others: Vec<u8> = (0..3).filter(|n| *n != teller).collect();
        play(&mut desk, teller, &others);
        told.push(teller);
        teller = (desk.table.view(None).next_storyteller.unwrap().0 & 0xff) as u8;
        desk.play_allowed(teller, ScriptedAction::Next);
    }
    assert_eq!(told, [0, 1, 2, 0, 1, 2]);
    assert_eq!(desk.game(None).id.number, 7);
    assert_eq!(desk.game(None).players.len(), 1, "everybody joins anew");
}

#[test]
fn only_those_who_are_here_are_named() {
    let mut desk = TableFixture::with_defaults();
    desk.present.remove(&player(1));
    play(&mut desk, 0, &[1, 2]);
    check_next(&desk, Some(2));
    desk.present.remove(&player(2));
    assert!(desk.tick());
    check_next(&desk, Some(0));
    desk.present.insert(player(2));
    assert!(!desk.tick(), "who is named stays while he is here");
    desk.present.remove(&player(0));
    desk.present.insert(player(1));
    assert!(desk.tick());
    check_next(&desk, Some(1));
    desk.present.remove(&player(1));
    assert!(!desk.tick(), "nobody else is left to be named");
    check_next(&desk, Some(1));
    desk.advance_time(STEP);
    check_next(&desk, None);
}

#[test]
fn when_nobody_was_here_anybody_may_begin() {
    let mut desk = TableFixture::with_defaults();
    desk.present.clear();
    play(&mut desk, 0, &[1, 2]);
    check_next(&desk, None);
    desk.play_allowed(9, ScriptedAction::Next);
    assert_eq!(desk.game(None).storyteller, Some(player(9)));
}

#[test]
fn a_named_storyteller_who_leaves_is_replaced() {
    let mut desk = TableFixture::with_defaults();
    play(&mut desk, 0, &[1, 2]);
    check_next(&desk, Some(1));
    desk.play_allowed(1, ScriptedAction::Leave);
    check_next(&desk, Some(2));
    desk.play_allowed(0, ScriptedAction::Leave);
    check_next(&desk, Some(2));
    desk.play_allowed(2, ScriptedAction::Leave);
    check_next(&desk, None);
    assert_eq!(desk.table.members().count(), 0);
}

#[test]
fn a_later_storyteller_is_awaited_step_by_step() {
    let mut desk = TableFixture::with_defaults();
    play(&mut desk, 0, &[1, 2]);
    desk.advance_time(STEP - Duration::from_secs(1));
    desk.play_allowed(1, ScriptedAction::Next);
    desk.play_allowed(2, ScriptedAction::Join);
    desk.advance_time(STEP - Duration::from_secs(1));
    desk.play_allowed(1, ScriptedAction::Choose(0));
    desk.advance_time(STEP - Duration::from_secs(1));
    assert_eq!(desk.game(None).phase, Phase::Create);
    desk.advance_time(Duration::from_secs(1));
    let game = desk.game(None);
    assert_eq!((game.phase, game.because), (Phase::Canceled, Some(TransitionReason::StorytellerLate)));
    check_next(&desk, Some(2));
    let mut idle = desk.clone();
    idle.advance_time(STEP);
    check_next(&idle, None);
    desk.play_allowed(2, ScriptedAction::Next);
    desk.play_allowed(2, ScriptedAction::Choose(0));
    desk.play_allowed(2, ScriptedAction::Tell);
    desk.advance_time(2 * STEP);
    assert_eq!(desk.game(None).phase, Phase::Invitation);
}

#[test]
fn a_storyteller_who_leaves_before_the_vote_ends_the_game() {
    for is_told in [false, true] {
        let mut desk = if is_told { TableFixture::up_to_invitation() } else { TableFixture::with_defaults() };
        desk.play_allowed(1, ScriptedAction::Join);
        desk.play_allowed(0, ScriptedAction::Leave);
        let game = desk.game(None);
        assert_eq!((game.phase, game.because), (Phase::Canceled, Some(TransitionReason::StorytellerLeft)));
        check_next(&desk, Some(1));
        assert_eq!(desk.table.members().collect::<Vec<_>>(), [player(1)]);
    }
}

#[test]
fn who_sits_out_a_game_is_a_visitor_again() {
    let mut desk = TableFixture::with_defaults();
    play(&mut desk, 0, &[1, 2, 3]);
    desk.play_allowed(1, ScriptedAction::Next);
    let members = |desk: &TableFixture| desk.table.members().collect::<Vec<PlayerId>>();
    assert_eq!(members(&desk), [0, 1, 2, 3].map(player));
    play(&mut desk, 1, &[0, 2]);
    desk.play_allowed(2, ScriptedAction::Next);
    assert_eq!(members(&desk), [0, 1, 2].map(player));
    assert_eq!(desk.table.view(Some(player(3))).role, ViewerRole::Visitor);
}

#[test]
fn who_comes_back_gets_cards_of_his_new_level() {
    let mut desk = TableFixture::with_defaults();
    play(&mut desk, 0, &[1, 2]);
    let standing = desk.game(Some(player(1))).players[1].standing.unwrap();
    assert_eq!((standing.score, standing.earned.len()), (u64::from(desk.game(None).players[1].points.unwrap()), 1));
    let award = desk.index.iter().find_map(|index| match index {
        crate::commands::IndexChange::Award { player: id, points, seed } if *id == player(1) => Some((*points, *seed)),
        _ => None,
    });
    let (points, seed) = award.expect("a voter is scored");
    assert_eq!(Standing::default().award(points, seed), standing, "the store comes to the same");
}

#[test]
fn a_seat_that_is_given_back_has_cards_for_the_next() {
    let mut desk = TableFixture::up_to_invitation();
    for n in 1..=5 {
        desk.play_allowed(n, ScriptedAction::Join);
    }
    for _ in 0..20 {
        let hand = desk.hand(player(5));
        desk.advance_time(STORY_SEAT_MIN);
        desk.play_allowed(5, ScriptedAction::Leave);
        desk.play_allowed(6, ScriptedAction::Join);
        assert_eq!(desk.hand(player(6)), hand);
        desk.advance_time(STORY_SEAT_MIN);
        desk.play_allowed(6, ScriptedAction::Leave);
        desk.play_allowed(5, ScriptedAction::Join);
    }
}
