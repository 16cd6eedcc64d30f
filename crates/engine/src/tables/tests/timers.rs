//! What a table does by itself: rows of a situation, a time, and what has become of the game.

use super::super::*;
use super::{ScriptedAction, TableFixture, player};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const COUNTDOWN: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

#[track_caller]
fn check(desk: &TableFixture, phase: Phase, because: Option<TransitionReason>) {
    let game = desk.game(None);
    assert_eq!((game.phase, game.because), (phase, because));
}

fn three_picks() -> TableFixture {
    let mut desk = TableFixture::up_to_invitation();
    for n in 1..=2 {
        desk.play_allowed(n, ScriptedAction::Join);
        desk.play_allowed(n, ScriptedAction::Pick(0));
    }
    desk
}

#[test]
fn a_game_that_nobody_plays_is_canceled() {
    let mut desk = TableFixture::with_defaults();
    desk.advance_time(TIMEOUT - SECOND);
    check(&desk, Phase::Create, None);
    desk.advance_time(SECOND);
    check(&desk, Phase::Canceled, Some(TransitionReason::Inactivity));
    assert_eq!(desk.game(Some(player(1))).board, None);
}

#[test]
fn an_action_keeps_a_game_alive_and_chat_does_not() {
    let mut desk = TableFixture::with_defaults();
    desk.advance_time(TIMEOUT - SECOND);
    desk.play_allowed(0, ScriptedAction::Choose(0));
    desk.advance_time(TIMEOUT - SECOND);
    check(&desk, Phase::Create, None);
    desk.act(player(0), &Action::Chat("still here".to_owned())).unwrap();
    desk.advance_time(SECOND);
    check(&desk, Phase::Canceled, Some(TransitionReason::Inactivity));
}

#[test]
fn an_invitation_goes_on_or_is_canceled() {
    let mut desk = TableFixture::up_to_invitation();
    desk.play_allowed(1, ScriptedAction::Join);
    desk.play_allowed(1, ScriptedAction::Pick(0));
    assert_eq!(desk.game(None).countdown, None, "two picks are not enough");
    desk.advance_time(TIMEOUT);
    check(&desk, Phase::Canceled, Some(TransitionReason::Inactivity));
    assert_eq!(desk.game(None).canceled_in, Some(Phase::Invitation));
    let mut desk = three_picks();
    assert_eq!(desk.game(None).countdown, Some(desk.now.plus(COUNTDOWN)));
    desk.advance_time(COUNTDOWN - SECOND);
    desk.play_allowed(3, ScriptedAction::Join);
    desk.play_allowed(3, ScriptedAction::Pick(0));
    check(&desk, Phase::Invitation, None);
    desk.advance_time(SECOND);
    check(&desk, Phase::Vote, None);
    assert_eq!(desk.game(None).countdown, None);
    assert_eq!(desk.game(None).board.map(|board| board.len()), Some(4));
}

#[test]
fn a_vote_goes_on_or_is_canceled() {
    let mut desk = TableFixture::up_to_vote(3);
    desk.play_allowed(1, ScriptedAction::Vote(0));
    desk.advance_time(TIMEOUT);
    check(&desk, Phase::Canceled, Some(TransitionReason::Inactivity));
    assert!(desk.game(None).board.is_some(), "it lay open before");
    let mut desk = TableFixture::up_to_vote(3);
    desk.play_allowed(1, ScriptedAction::Vote(0));
    assert_eq!(desk.game(None).countdown, None, "one vote is not enough");
    desk.play_allowed(2, ScriptedAction::Vote(0));
    desk.advance_time(COUNTDOWN - SECOND);
    desk.play_allowed(2, ScriptedAction::Vote(1));
    check(&desk, Phase::Vote, None);
    desk.advance_time(SECOND);
    check(&desk, Phase::Complete, Some(TransitionReason::Countdown));
}

#[test]
fn inactivity_comes_before_a_longer_countdown() {
    let settings = TableSettings { game_timeout: SECOND, ..TableSettings::default() };
    let mut desk = TableFixture::open(settings, 3, false);
    desk.play_allowed(0, ScriptedAction::Choose(0));
    desk.play_allowed(0, ScriptedAction::Tell);
    for n in 1..=2 {
        desk.play_allowed(n, ScriptedAction::Join);
        desk.play_allowed(n, ScriptedAction::Pick(0));
    }
    desk.advance_time(SECOND);
    check(&desk, Phase::Vote, None);
    for n in 1..=2 {
        desk.play_allowed(n, ScriptedAction::Vote(0));
    }
    desk.advance_time(SECOND);
    check(&desk, Phase::Complete, Some(TransitionReason::Inactivity));
}

#[test]
fn a_countdown_may_be_chosen_for_a_phase() {
    let mut desk = three_picks();
    desk.advance_time(30 * SECOND);
    desk.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    assert_eq!(desk.game(None).countdown, Some(desk.now.plus(5 * SECOND)), "it starts again from now");
    desk.act(player(0), &Action::SetCountdown(Duration::ZERO)).unwrap();
    assert_eq!(desk.game(None).countdown, Some(desk.now.plus(COUNTDOWN)), "zero is the table's own");
    desk.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    desk.advance_time(5 * SECOND);
    check(&desk, Phase::Vote, None);
    assert_eq!(desk.game(None).countdown_takes, COUNTDOWN, "the choice was for the phase before");
    desk.act(player(0), &Action::SetCountdown(7 * SECOND)).unwrap();
    assert_eq!(desk.game(None).countdown, None, "it does not run before enough have voted");
    for n in 1..=2 {
        desk.play_allowed(n, ScriptedAction::Vote(0));
    }
    assert_eq!(desk.game(None).countdown, Some(desk.now.plus(7 * SECOND)));
}

/// What is so already is nothing to write, unless it begins anew.
#[test]
fn a_countdown_of_the_same_length_is_no_change_while_none_runs() {
    let mut desk = TableFixture::up_to_invitation();
    let mut check = |takes: Duration, writes: bool| {
        let before = desk.table.seq(None);
        desk.act(player(0), &Action::SetCountdown(takes)).unwrap();
        assert_eq!(desk.table.seq(None) > before, writes, "{takes:?}");
    };
    check(Duration::ZERO, false);
    check(5 * SECOND, true);
    check(5 * SECOND, false);
    check(Duration::ZERO, true);
    let mut desk = three_picks();
    desk.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    desk.advance_time(SECOND);
    desk.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    assert_eq!(desk.game(None).countdown, Some(desk.now.plus(5 * SECOND)), "it runs, and starts again");
}

#[test]
fn a_countdown_stops_when_too_few_picks_are_left() {
    let mut desk = three_picks();
    desk.play_allowed(1, ScriptedAction::Leave);
    assert_eq!(desk.game(None).countdown, None);
    desk.play_allowed(3, ScriptedAction::Join);
    desk.play_allowed(3, ScriptedAction::Pick(0));
    assert_eq!(desk.game(None).countdown, Some(desk.now.plus(COUNTDOWN)));
    desk.play_allowed(4, ScriptedAction::Join);
    desk.play_allowed(4, ScriptedAction::Leave);
    assert!(desk.game(None).countdown.is_some(), "who has not picked takes none away");
}

#[test]
fn a_vote_stays_when_its_voter_leaves() {
    let mut desk = TableFixture::up_to_vote(3);
    for n in 1..=2 {
        desk.play_allowed(n, ScriptedAction::Vote(0));
    }
    desk.play_allowed(1, ScriptedAction::Leave);
    assert!(desk.game(None).countdown.is_some());
    desk.play_allowed(0, ScriptedAction::Complete);
    assert!(desk.game(None).players[1].points.is_some());
}

#[test]
fn time_that_steps_back_moves_nothing_back() {
    let mut desk = TableFixture::with_defaults();
    desk.now = desk.now.minus(TIMEOUT);
    desk.play_allowed(0, ScriptedAction::Choose(0));
    let times: Vec<_> = desk.written.iter().map(|logged| logged.at).collect();
    assert!(times.is_sorted());
}

#[test]
fn bots_play() {
    let mut desk = TableFixture::open(TableSettings::default(), 11, true);
    desk.play_allowed(0, ScriptedAction::Choose(0));
    desk.advance_time(60 * SECOND);
    assert_eq!(desk.game(None).players.len(), 1, "they come when the story is told");
    desk.play_allowed(0, ScriptedAction::Tell);
    for bots in 1..=5 {
        desk.advance_time(2 * SECOND);
        assert_eq!(desk.game(None).players.len(), 1 + bots);
    }
    desk.advance_time(22 * SECOND);
    assert_eq!(desk.game(None).players.iter().filter(|player| player.picked != CardView::Nothing).count(), 6);
    desk.play_allowed(0, ScriptedAction::Open);
    desk.advance_time(Duration::from_millis(9_999));
    assert!(!desk.game(None).is_ready, "nobody votes before he has looked");
    desk.advance_time(16 * SECOND);
    assert_eq!(desk.game(None).players.iter().filter(|player| player.vote != CardView::Nothing).count(), 5);
    desk.play_allowed(0, ScriptedAction::Complete);
    assert_eq!(desk.table.view(None).next_storyteller, Some(player(0)), "no bot tells a story");
    let awards = desk.index.iter().filter(|index| matches!(index, crate::commands::IndexChange::Award { .. }));
    assert_eq!(awards.count(), 1, "bots gather no points");
    desk.play_allowed(0, ScriptedAction::Next);
    assert_eq!(desk.table.members().collect::<Vec<_>>(), [player(0)]);
}

#[test]
fn there_are_five_bots() {
    let rules = rules::stories::GameSettings { players_max: 12, hand: 3, ..Default::default() };
    let mut desk = TableFixture::open(TableSettings { rules, ..TableSettings::default() }, 13, true);
    desk.play_allowed(0, ScriptedAction::Choose(0));
    desk.play_allowed(0, ScriptedAction::Tell);
    desk.advance_time(30 * SECOND);
    assert_eq!(desk.game(None).players.len(), 1 + BOTS.len());
}

#[test]
fn bots_leave_seats_alone_that_people_take() {
    let mut desk = TableFixture::open(TableSettings::default(), 12, false);
    desk.play_allowed(0, ScriptedAction::Choose(0));
    desk.play_allowed(0, ScriptedAction::Tell);
    for n in 1..=4 {
        desk.play_allowed(n, ScriptedAction::Join);
    }
    desk.advance_time(60 * SECOND);
    assert_eq!(desk.game(None).players.len(), 5, "they come when they are let in");
    desk.act(player(0), &Action::SetBots(true)).unwrap();
    desk.advance_time(60 * SECOND);
    assert_eq!(desk.game(None).players.len(), 6);
    desk.act(player(0), &Action::SetBots(false)).unwrap();
    desk.play_allowed(4, ScriptedAction::Leave);
    desk.advance_time(SECOND);
    assert_eq!(desk.game(None).players.len(), 5);
}
