//! One game after the other: who is the next storyteller, and who is a member.

use super::super::*;
use super::{ScriptedAction, TableFixture, player};
use crate::ids::PlayerId;
use crate::limits::STORY_SEAT_MIN;
use std::time::Duration;

const STEP: Duration = Duration::from_secs(60);

/// Plays a game to its end: `storyteller` tells, the others in `players` pick and vote.
fn play(fixture: &mut TableFixture, storyteller: u8, players: &[u8]) {
    fixture.play_allowed(storyteller, ScriptedAction::Choose(0));
    fixture.play_allowed(storyteller, ScriptedAction::Tell);
    for n in players {
        fixture.play_allowed(*n, ScriptedAction::Join);
        fixture.play_allowed(*n, ScriptedAction::Pick(0));
    }
    fixture.play_allowed(storyteller, ScriptedAction::Open);
    for n in players {
        fixture.play_allowed(*n, ScriptedAction::Vote(0));
    }
    fixture.play_allowed(storyteller, ScriptedAction::Complete);
}

#[track_caller]
fn check_next(fixture: &TableFixture, want: Option<u8>) {
    let view = fixture.table.view(None);
    assert_eq!(view.next_storyteller, want.map(player));
    assert_eq!(view.next_storyteller_until.is_some(), want.is_some());
}

#[test]
fn all_members_become_storyteller_in_turn() {
    let mut fixture = TableFixture::with_defaults();
    let mut storyteller = 0;
    let mut storytellers = Vec::new();
    for _ in 0..6 {
        let others: Vec<u8> = (0..3).filter(|n| *n != storyteller).collect();
        play(&mut fixture, storyteller, &others);
        storytellers.push(storyteller);
        storyteller = (fixture.table.view(None).next_storyteller.unwrap().0 & 0xff) as u8;
        fixture.play_allowed(storyteller, ScriptedAction::Next);
    }
    assert_eq!(storytellers, [0, 1, 2, 0, 1, 2]);
    assert_eq!(fixture.game(None).id.number, 7);
    assert_eq!(fixture.game(None).players.len(), 1, "all join anew");
}

#[test]
fn only_those_who_are_here_are_named() {
    let mut fixture = TableFixture::with_defaults();
    fixture.present.remove(&player(1));
    play(&mut fixture, 0, &[1, 2]);
    check_next(&fixture, Some(2));
    fixture.present.remove(&player(2));
    assert!(fixture.tick());
    check_next(&fixture, Some(0));
    fixture.present.insert(player(2));
    assert!(!fixture.tick(), "who is named stays while he is here");
    fixture.present.remove(&player(0));
    fixture.present.insert(player(1));
    assert!(fixture.tick());
    check_next(&fixture, Some(1));
    fixture.present.remove(&player(1));
    assert!(!fixture.tick(), "no other player is left to be named");
    check_next(&fixture, Some(1));
    fixture.advance_time(STEP);
    check_next(&fixture, None);
}

#[test]
fn any_player_may_begin_when_none_was_present() {
    let mut fixture = TableFixture::with_defaults();
    fixture.present.clear();
    play(&mut fixture, 0, &[1, 2]);
    check_next(&fixture, None);
    fixture.play_allowed(9, ScriptedAction::Next);
    assert_eq!(fixture.game(None).storyteller, Some(player(9)));
}

#[test]
fn a_named_storyteller_who_leaves_is_replaced() {
    let mut fixture = TableFixture::with_defaults();
    play(&mut fixture, 0, &[1, 2]);
    check_next(&fixture, Some(1));
    fixture.play_allowed(1, ScriptedAction::Leave);
    check_next(&fixture, Some(2));
    fixture.play_allowed(0, ScriptedAction::Leave);
    check_next(&fixture, Some(2));
    fixture.play_allowed(2, ScriptedAction::Leave);
    check_next(&fixture, None);
    assert_eq!(fixture.table.members().count(), 0);
}

#[test]
fn a_later_storyteller_is_awaited_step_by_step() {
    let mut fixture = TableFixture::with_defaults();
    play(&mut fixture, 0, &[1, 2]);
    fixture.advance_time(STEP - Duration::from_secs(1));
    fixture.play_allowed(1, ScriptedAction::Next);
    fixture.play_allowed(2, ScriptedAction::Join);
    fixture.advance_time(STEP - Duration::from_secs(1));
    fixture.play_allowed(1, ScriptedAction::Choose(0));
    fixture.advance_time(STEP - Duration::from_secs(1));
    assert_eq!(fixture.game(None).phase, Phase::Create);
    fixture.advance_time(Duration::from_secs(1));
    let game = fixture.game(None);
    assert_eq!((game.phase, game.because), (Phase::Canceled, Some(TransitionReason::StorytellerLate)));
    check_next(&fixture, Some(2));
    let mut idle = fixture.clone();
    idle.advance_time(STEP);
    check_next(&idle, None);
    fixture.play_allowed(2, ScriptedAction::Next);
    fixture.play_allowed(2, ScriptedAction::Choose(0));
    fixture.play_allowed(2, ScriptedAction::Tell);
    fixture.advance_time(2 * STEP);
    assert_eq!(fixture.game(None).phase, Phase::Invitation);
}

#[test]
fn a_storyteller_who_leaves_before_the_vote_ends_the_game() {
    for is_told in [false, true] {
        let mut fixture = if is_told { TableFixture::up_to_invitation() } else { TableFixture::with_defaults() };
        fixture.play_allowed(1, ScriptedAction::Join);
        fixture.play_allowed(0, ScriptedAction::Leave);
        let game = fixture.game(None);
        assert_eq!((game.phase, game.because), (Phase::Canceled, Some(TransitionReason::StorytellerLeft)));
        check_next(&fixture, Some(1));
        assert_eq!(fixture.table.members().collect::<Vec<_>>(), [player(1)]);
    }
}

#[test]
fn who_sits_out_a_game_is_a_visitor_again() {
    let mut fixture = TableFixture::with_defaults();
    play(&mut fixture, 0, &[1, 2, 3]);
    fixture.play_allowed(1, ScriptedAction::Next);
    let members = |fixture: &TableFixture| fixture.table.members().collect::<Vec<PlayerId>>();
    assert_eq!(members(&fixture), [0, 1, 2, 3].map(player));
    play(&mut fixture, 1, &[0, 2]);
    fixture.play_allowed(2, ScriptedAction::Next);
    assert_eq!(members(&fixture), [0, 1, 2].map(player));
    assert_eq!(fixture.table.view(Some(player(3))).role, ViewerRole::Visitor);
}

#[test]
fn who_comes_back_gets_cards_of_his_new_level() {
    let mut fixture = TableFixture::with_defaults();
    play(&mut fixture, 0, &[1, 2]);
    let standing = fixture.game(Some(player(1))).players[1].standing.unwrap();
    assert_eq!((standing.score, standing.earned.len()), (u64::from(fixture.game(None).players[1].points.unwrap()), 1));
    let award = fixture.index.iter().find_map(|index| match index {
        IndexChange::Award { player: id, points, seed } if *id == player(1) => Some((*points, *seed)),
        _ => None,
    });
    let (points, seed) = award.expect("a voter is scored");
    assert_eq!(Standing::default().award(points, seed), standing, "the store comes to the same");
}

#[test]
fn a_seat_that_is_given_back_has_cards_for_the_next() {
    let mut fixture = TableFixture::up_to_invitation();
    for n in 1..=5 {
        fixture.play_allowed(n, ScriptedAction::Join);
    }
    for _ in 0..20 {
        let hand = fixture.hand(player(5));
        fixture.advance_time(STORY_SEAT_MIN);
        fixture.play_allowed(5, ScriptedAction::Leave);
        fixture.play_allowed(6, ScriptedAction::Join);
        assert_eq!(fixture.hand(player(6)), hand);
        fixture.advance_time(STORY_SEAT_MIN);
        fixture.play_allowed(6, ScriptedAction::Leave);
        fixture.play_allowed(5, ScriptedAction::Join);
    }
}
