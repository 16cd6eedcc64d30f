//! One game after the other: who tells next, and who sits there.

use super::super::*;
use super::{Desk, Scripted, player};
use crate::ids::PlayerId;
use crate::limits::STORY_SEAT_MIN;
use std::time::Duration;

const STEP: Duration = Duration::from_secs(60);

/// Plays a game to its end: `teller` tells, the others in `players` pick and vote.
fn play(desk: &mut Desk, teller: u8, players: &[u8]) {
    desk.must(teller, Scripted::Choose(0));
    desk.must(teller, Scripted::Tell);
    for n in players {
        desk.must(*n, Scripted::Join);
        desk.must(*n, Scripted::Pick(0));
    }
    desk.must(teller, Scripted::Open);
    for n in players {
        desk.must(*n, Scripted::Vote(0));
    }
    desk.must(teller, Scripted::Complete);
}

#[track_caller]
fn check_next(desk: &Desk, want: Option<u8>) {
    let view = desk.table.view(None);
    assert_eq!(view.next_storyteller, want.map(player));
    assert_eq!(view.next_storyteller_until.is_some(), want.is_some());
}

#[test]
fn everybody_tells_in_turn() {
    let mut desk = Desk::usual();
    let mut teller = 0;
    let mut told = Vec::new();
    for _ in 0..6 {
        let others: Vec<u8> = (0..3).filter(|n| *n != teller).collect();
        play(&mut desk, teller, &others);
        told.push(teller);
        teller = (desk.table.view(None).next_storyteller.unwrap().0 & 0xff) as u8;
        desk.must(teller, Scripted::Next);
    }
    assert_eq!(told, [0, 1, 2, 0, 1, 2]);
    assert_eq!(desk.game(None).id.number, 7);
    assert_eq!(desk.game(None).players.len(), 1, "everybody joins anew");
}

#[test]
fn only_those_who_are_here_are_named() {
    let mut desk = Desk::usual();
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
    desk.wait(STEP);
    check_next(&desk, None);
}

#[test]
fn when_nobody_was_here_anybody_may_begin() {
    let mut desk = Desk::usual();
    desk.present.clear();
    play(&mut desk, 0, &[1, 2]);
    check_next(&desk, None);
    desk.must(9, Scripted::Next);
    assert_eq!(desk.game(None).storyteller, Some(player(9)));
}

#[test]
fn a_named_storyteller_who_leaves_is_replaced() {
    let mut desk = Desk::usual();
    play(&mut desk, 0, &[1, 2]);
    check_next(&desk, Some(1));
    desk.must(1, Scripted::Leave);
    check_next(&desk, Some(2));
    desk.must(0, Scripted::Leave);
    check_next(&desk, Some(2));
    desk.must(2, Scripted::Leave);
    check_next(&desk, None);
    assert_eq!(desk.table.members().count(), 0);
}

#[test]
fn a_later_storyteller_is_awaited_step_by_step() {
    let mut desk = Desk::usual();
    play(&mut desk, 0, &[1, 2]);
    desk.wait(STEP - Duration::from_secs(1));
    desk.must(1, Scripted::Next);
    desk.must(2, Scripted::Join);
    desk.wait(STEP - Duration::from_secs(1));
    desk.must(1, Scripted::Choose(0));
    desk.wait(STEP - Duration::from_secs(1));
    assert_eq!(desk.game(None).phase, Phase::Create);
    desk.wait(Duration::from_secs(1));
    let game = desk.game(None);
    assert_eq!((game.phase, game.because), (Phase::Canceled, Some(Because::StorytellerLate)));
    check_next(&desk, Some(2));
    let mut idle = desk.clone();
    idle.wait(STEP);
    check_next(&idle, None);
    desk.must(2, Scripted::Next);
    desk.must(2, Scripted::Choose(0));
    desk.must(2, Scripted::Tell);
    desk.wait(2 * STEP);
    assert_eq!(desk.game(None).phase, Phase::Invitation);
}

#[test]
fn a_storyteller_who_leaves_before_the_vote_ends_the_game() {
    for is_told in [false, true] {
        let mut desk = if is_told { Desk::up_to_invitation() } else { Desk::usual() };
        desk.must(1, Scripted::Join);
        desk.must(0, Scripted::Leave);
        let game = desk.game(None);
        assert_eq!((game.phase, game.because), (Phase::Canceled, Some(Because::StorytellerLeft)));
        check_next(&desk, Some(1));
        assert_eq!(desk.table.members().collect::<Vec<_>>(), [player(1)]);
    }
}

#[test]
fn who_sits_out_a_game_is_a_visitor_again() {
    let mut desk = Desk::usual();
    play(&mut desk, 0, &[1, 2, 3]);
    desk.must(1, Scripted::Next);
    let members = |desk: &Desk| desk.table.members().collect::<Vec<PlayerId>>();
    assert_eq!(members(&desk), [0, 1, 2, 3].map(player));
    play(&mut desk, 1, &[0, 2]);
    desk.must(2, Scripted::Next);
    assert_eq!(members(&desk), [0, 1, 2].map(player));
    assert_eq!(desk.table.view(Some(player(3))).part, Part::Visitor);
}

#[test]
fn who_comes_back_gets_cards_of_his_new_level() {
    let mut desk = Desk::usual();
    play(&mut desk, 0, &[1, 2]);
    let standing = desk.game(Some(player(1))).players[1].standing.unwrap();
    assert_eq!((standing.score, standing.earned.len()), (u64::from(desk.game(None).players[1].points.unwrap()), 1));
    let award = desk.index.iter().find_map(|index| match index {
        crate::commands::Index::Award { player: id, points, seed } if *id == player(1) => Some((*points, *seed)),
        _ => None,
    });
    let (points, seed) = award.expect("a voter is scored");
    assert_eq!(Standing::default().award(points, seed), standing, "the store comes to the same");
}

#[test]
fn a_seat_that_is_given_back_has_cards_for_the_next() {
    let mut desk = Desk::up_to_invitation();
    for n in 1..=5 {
        desk.must(n, Scripted::Join);
    }
    for _ in 0..20 {
        let hand = desk.hand(player(5));
        desk.wait(STORY_SEAT_MIN);
        desk.must(5, Scripted::Leave);
        desk.must(6, Scripted::Join);
        assert_eq!(desk.hand(player(6)), hand);
        desk.wait(STORY_SEAT_MIN);
        desk.must(6, Scripted::Leave);
        desk.must(5, Scripted::Join);
    }
}
