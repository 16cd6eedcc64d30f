//! What a table does by itself: rows of a situation, a time, and the resulting state of the game.

use super::super::*;
use super::{ScriptedAction, TableFixture, player};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const COUNTDOWN: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

#[track_caller]
fn check(fixture: &TableFixture, phase: Phase, because: Option<TransitionReason>) {
    let game = fixture.game(None);
    assert_eq!((game.phase, game.because), (phase, because));
}

fn three_picks() -> TableFixture {
    let mut fixture = TableFixture::up_to_invitation();
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Join);
        fixture.play_allowed(n, ScriptedAction::Pick(0));
    }
    fixture
}

#[test]
fn a_game_without_players_is_canceled() {
    let mut fixture = TableFixture::with_defaults();
    fixture.advance_time(TIMEOUT - SECOND);
    check(&fixture, Phase::Create, None);
    fixture.advance_time(SECOND);
    check(&fixture, Phase::Canceled, Some(TransitionReason::Inactivity));
    assert_eq!(fixture.game(Some(player(1))).board, None);
}

#[test]
fn an_action_keeps_a_game_alive_and_chat_does_not() {
    let mut fixture = TableFixture::with_defaults();
    fixture.advance_time(TIMEOUT - SECOND);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.advance_time(TIMEOUT - SECOND);
    check(&fixture, Phase::Create, None);
    fixture.act(player(0), &Action::Chat("still here".to_owned())).unwrap();
    fixture.advance_time(SECOND);
    check(&fixture, Phase::Canceled, Some(TransitionReason::Inactivity));
}

#[test]
fn an_invitation_goes_on_or_is_canceled() {
    let mut fixture = TableFixture::up_to_invitation();
    fixture.play_allowed(1, ScriptedAction::Join);
    fixture.play_allowed(1, ScriptedAction::Pick(0));
    assert_eq!(fixture.game(None).countdown, None, "two picks are not enough");
    fixture.advance_time(TIMEOUT);
    check(&fixture, Phase::Canceled, Some(TransitionReason::Inactivity));
    assert_eq!(fixture.game(None).canceled_in, Some(Phase::Invitation));
    let mut fixture = three_picks();
    assert_eq!(fixture.game(None).countdown, Some(fixture.now.plus(COUNTDOWN)));
    fixture.advance_time(COUNTDOWN - SECOND);
    fixture.play_allowed(3, ScriptedAction::Join);
    fixture.play_allowed(3, ScriptedAction::Pick(0));
    check(&fixture, Phase::Invitation, None);
    fixture.advance_time(SECOND);
    check(&fixture, Phase::Vote, None);
    assert_eq!(fixture.game(None).countdown, None);
    assert_eq!(fixture.game(None).board.map(|board| board.len()), Some(4));
}

#[test]
fn a_vote_goes_on_or_is_canceled() {
    let mut fixture = TableFixture::up_to_vote(3);
    fixture.play_allowed(1, ScriptedAction::Vote(0));
    fixture.advance_time(TIMEOUT);
    check(&fixture, Phase::Canceled, Some(TransitionReason::Inactivity));
    assert!(fixture.game(None).board.is_some(), "it lay open before");
    let mut fixture = TableFixture::up_to_vote(3);
    fixture.play_allowed(1, ScriptedAction::Vote(0));
    assert_eq!(fixture.game(None).countdown, None, "one vote is not enough");
    fixture.play_allowed(2, ScriptedAction::Vote(0));
    fixture.advance_time(COUNTDOWN - SECOND);
    fixture.play_allowed(2, ScriptedAction::Vote(1));
    check(&fixture, Phase::Vote, None);
    fixture.advance_time(SECOND);
    check(&fixture, Phase::Complete, Some(TransitionReason::Countdown));
}

#[test]
fn inactivity_comes_before_a_longer_countdown() {
    let settings = TableSettings { game_timeout: SECOND, ..TableSettings::default() };
    let mut fixture = TableFixture::open(settings, 3, false);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Join);
        fixture.play_allowed(n, ScriptedAction::Pick(0));
    }
    fixture.advance_time(SECOND);
    check(&fixture, Phase::Vote, None);
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    fixture.advance_time(SECOND);
    check(&fixture, Phase::Complete, Some(TransitionReason::Inactivity));
}

#[test]
fn a_countdown_may_be_chosen_for_a_phase() {
    let mut fixture = three_picks();
    fixture.advance_time(30 * SECOND);
    fixture.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    assert_eq!(fixture.game(None).countdown, Some(fixture.now.plus(5 * SECOND)), "it starts again from now");
    fixture.act(player(0), &Action::SetCountdown(Duration::ZERO)).unwrap();
    assert_eq!(fixture.game(None).countdown, Some(fixture.now.plus(COUNTDOWN)), "zero is the table's own");
    fixture.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    fixture.advance_time(5 * SECOND);
    check(&fixture, Phase::Vote, None);
    assert_eq!(fixture.game(None).countdown_takes, COUNTDOWN, "the choice was for the phase before");
    fixture.act(player(0), &Action::SetCountdown(7 * SECOND)).unwrap();
    assert_eq!(fixture.game(None).countdown, None, "it does not run before enough have voted");
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    assert_eq!(fixture.game(None).countdown, Some(fixture.now.plus(7 * SECOND)));
}

/// What is so already is nothing to write, unless it begins anew.
#[test]
fn a_countdown_of_the_same_length_is_no_change_while_none_runs() {
    let mut fixture = TableFixture::up_to_invitation();
    let mut check = |takes: Duration, writes: bool| {
        let before = fixture.table.seq(None);
        fixture.act(player(0), &Action::SetCountdown(takes)).unwrap();
        assert_eq!(fixture.table.seq(None) > before, writes, "{takes:?}");
    };
    check(Duration::ZERO, false);
    check(5 * SECOND, true);
    check(5 * SECOND, false);
    check(Duration::ZERO, true);
    let mut fixture = three_picks();
    fixture.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    fixture.advance_time(SECOND);
    fixture.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    assert_eq!(fixture.game(None).countdown, Some(fixture.now.plus(5 * SECOND)), "it runs, and starts again");
}

#[test]
fn a_countdown_stops_when_too_few_picks_are_left() {
    let mut fixture = three_picks();
    fixture.play_allowed(1, ScriptedAction::Leave);
    assert_eq!(fixture.game(None).countdown, None);
    fixture.play_allowed(3, ScriptedAction::Join);
    fixture.play_allowed(3, ScriptedAction::Pick(0));
    assert_eq!(fixture.game(None).countdown, Some(fixture.now.plus(COUNTDOWN)));
    fixture.play_allowed(4, ScriptedAction::Join);
    fixture.play_allowed(4, ScriptedAction::Leave);
    assert!(fixture.game(None).countdown.is_some(), "who has not picked takes none away");
}

#[test]
fn a_vote_stays_when_its_voter_leaves() {
    let mut fixture = TableFixture::up_to_vote(3);
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    fixture.play_allowed(1, ScriptedAction::Leave);
    assert!(fixture.game(None).countdown.is_some());
    fixture.play_allowed(0, ScriptedAction::Complete);
    assert!(fixture.game(None).players[1].points.is_some());
}

#[test]
fn time_that_steps_back_moves_nothing_back() {
    let mut fixture = TableFixture::with_defaults();
    fixture.now = fixture.now.minus(TIMEOUT);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    let times: Vec<_> = fixture.written.iter().map(|logged| logged.at).collect();
    assert!(times.is_sorted());
}

#[test]
fn bots_play() {
    let mut fixture = TableFixture::open(TableSettings::default(), 11, true);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.advance_time(60 * SECOND);
    assert_eq!(fixture.game(None).players.len(), 1, "they come when the story is told");
    fixture.play_allowed(0, ScriptedAction::Tell);
    for bots in 1..=5 {
        fixture.advance_time(2 * SECOND);
        assert_eq!(fixture.game(None).players.len(), 1 + bots);
    }
    fixture.advance_time(14 * SECOND);
    assert_eq!(fixture.game(None).players.iter().filter(|player| player.picked != CardView::Nothing).count(), 6);
    fixture.play_allowed(0, ScriptedAction::Open);
    fixture.advance_time(Duration::from_millis(4_999));
    assert!(!fixture.game(None).is_ready, "no bot votes before its delay");
    fixture.advance_time(11 * SECOND);
    assert_eq!(fixture.game(None).players.iter().filter(|player| player.vote != CardView::Nothing).count(), 5);
    assert_eq!(fixture.game(None).phase, Phase::Vote, "a person who tells counts the votes");
    fixture.play_allowed(0, ScriptedAction::Complete);
    let awards = fixture.index.iter().filter(|index| matches!(index, IndexChange::Award { .. }));
    assert_eq!(awards.count(), 1, "bots gather no points");
}

#[test]
fn there_are_five_bots() {
    let rules = rules::stories::GameSettings { players_max: 12, hand: 3, ..Default::default() };
    let mut fixture = TableFixture::open(TableSettings { rules, ..TableSettings::default() }, 13, true);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    fixture.advance_time(30 * SECOND);
    assert_eq!(fixture.game(None).players.len(), 1 + BOTS.len());
}

#[test]
fn bots_leave_seats_alone_that_people_take() {
    let mut fixture = TableFixture::open(TableSettings::default(), 12, false);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    for n in 1..=4 {
        fixture.play_allowed(n, ScriptedAction::Join);
    }
    fixture.advance_time(60 * SECOND);
    assert_eq!(fixture.game(None).players.len(), 5, "they come when they are let in");
    fixture.act(player(0), &Action::SetBots(true)).unwrap();
    fixture.advance_time(60 * SECOND);
    assert_eq!(fixture.game(None).players.len(), 6);
    fixture.act(player(0), &Action::SetBots(false)).unwrap();
    fixture.play_allowed(4, ScriptedAction::Leave);
    fixture.advance_time(SECOND);
    assert_eq!(fixture.game(None).players.len(), 5);
}
