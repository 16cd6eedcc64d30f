//! What a table does by itself: rows of a situation, a time, and what has become of the game.

use super::super::*;
use super::{Desk, Scripted, player};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const COUNTDOWN: Duration = Duration::from_secs(60);
const TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

#[track_caller]
fn check(desk: &Desk, phase: Phase, because: Option<Because>) {
    let game = desk.game(None);
    assert_eq!((game.phase, game.because), (phase, because));
}

fn three_picks() -> Desk {
    let mut desk = Desk::up_to_invitation();
    for n in 1..=2 {
        desk.must(n, Scripted::Join);
        desk.must(n, Scripted::Pick(0));
    }
    desk
}

#[test]
fn a_game_that_nobody_plays_is_canceled() {
    let mut desk = Desk::usual();
    desk.wait(TIMEOUT - SECOND);
    check(&desk, Phase::Create, None);
    desk.wait(SECOND);
    check(&desk, Phase::Canceled, Some(Because::Inactivity));
    assert_eq!(desk.game(Some(player(1))).board, None);
}

#[test]
fn an_action_keeps_a_game_alive_and_chat_does_not() {
    let mut desk = Desk::usual();
    desk.wait(TIMEOUT - SECOND);
    desk.must(0, Scripted::Choose(0));
    desk.wait(TIMEOUT - SECOND);
    check(&desk, Phase::Create, None);
    desk.act(player(0), &Action::Chat("still here".to_owned())).unwrap();
    desk.wait(SECOND);
    check(&desk, Phase::Canceled, Some(Because::Inactivity));
}

#[test]
fn an_invitation_goes_on_or_is_canceled() {
    let mut desk = Desk::up_to_invitation();
    desk.must(1, Scripted::Join);
    desk.must(1, Scripted::Pick(0));
    assert_eq!(desk.game(None).countdown, None, "two picks are not enough");
    desk.wait(TIMEOUT);
    check(&desk, Phase::Canceled, Some(Because::Inactivity));
    assert_eq!(desk.game(None).canceled_in, Some(Phase::Invitation));
    let mut desk = three_picks();
    assert_eq!(desk.game(None).countdown, Some(desk.now.after(COUNTDOWN)));
    desk.wait(COUNTDOWN - SECOND);
    desk.must(3, Scripted::Join);
    desk.must(3, Scripted::Pick(0));
    check(&desk, Phase::Invitation, None);
    desk.wait(SECOND);
    check(&desk, Phase::Vote, None);
    assert_eq!(desk.game(None).countdown, None);
    assert_eq!(desk.game(None).board.map(|board| board.len()), Some(4));
}

#[test]
fn a_vote_goes_on_or_is_canceled() {
    let mut desk = Desk::up_to_vote(3);
    desk.must(1, Scripted::Vote(0));
    desk.wait(TIMEOUT);
    check(&desk, Phase::Canceled, Some(Because::Inactivity));
    assert!(desk.game(None).board.is_some(), "it lay open before");
    let mut desk = Desk::up_to_vote(3);
    desk.must(1, Scripted::Vote(0));
    assert_eq!(desk.game(None).countdown, None, "one vote is not enough");
    desk.must(2, Scripted::Vote(0));
    desk.wait(COUNTDOWN - SECOND);
    desk.must(2, Scripted::Vote(1));
    check(&desk, Phase::Vote, None);
    desk.wait(SECOND);
    check(&desk, Phase::Complete, Some(Because::Countdown));
}

#[test]
fn inactivity_comes_before_a_longer_countdown() {
    let settings = Settings { game_timeout: SECOND, ..Settings::default() };
    let mut desk = Desk::open(settings, 3, false);
    desk.must(0, Scripted::Choose(0));
    desk.must(0, Scripted::Tell);
    for n in 1..=2 {
        desk.must(n, Scripted::Join);
        desk.must(n, Scripted::Pick(0));
    }
    desk.wait(SECOND);
    check(&desk, Phase::Vote, None);
    for n in 1..=2 {
        desk.must(n, Scripted::Vote(0));
    }
    desk.wait(SECOND);
    check(&desk, Phase::Complete, Some(Because::Inactivity));
}

#[test]
fn a_countdown_may_be_chosen_for_a_phase() {
    let mut desk = three_picks();
    desk.wait(30 * SECOND);
    desk.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    assert_eq!(desk.game(None).countdown, Some(desk.now.after(5 * SECOND)), "it starts again from now");
    desk.act(player(0), &Action::SetCountdown(Duration::ZERO)).unwrap();
    assert_eq!(desk.game(None).countdown, Some(desk.now.after(COUNTDOWN)), "zero is the table's own");
    desk.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    desk.wait(5 * SECOND);
    check(&desk, Phase::Vote, None);
    assert_eq!(desk.game(None).countdown_takes, COUNTDOWN, "the choice was for the phase before");
    desk.act(player(0), &Action::SetCountdown(7 * SECOND)).unwrap();
    assert_eq!(desk.game(None).countdown, None, "it does not run before enough have voted");
    for n in 1..=2 {
        desk.must(n, Scripted::Vote(0));
    }
    assert_eq!(desk.game(None).countdown, Some(desk.now.after(7 * SECOND)));
}

/// What is so already is nothing to write, unless it begins anew.
#[test]
fn a_countdown_of_the_same_length_is_no_change_while_none_runs() {
    let mut desk = Desk::up_to_invitation();
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
    desk.wait(SECOND);
    desk.act(player(0), &Action::SetCountdown(5 * SECOND)).unwrap();
    assert_eq!(desk.game(None).countdown, Some(desk.now.after(5 * SECOND)), "it runs, and starts again");
}

#[test]
fn a_countdown_stops_when_too_few_picks_are_left() {
    let mut desk = three_picks();
    desk.must(1, Scripted::Leave);
    assert_eq!(desk.game(None).countdown, None);
    desk.must(3, Scripted::Join);
    desk.must(3, Scripted::Pick(0));
    assert_eq!(desk.game(None).countdown, Some(desk.now.after(COUNTDOWN)));
    desk.must(4, Scripted::Join);
    desk.must(4, Scripted::Leave);
    assert!(desk.game(None).countdown.is_some(), "who has not picked takes none away");
}

#[test]
fn a_vote_stays_when_its_voter_leaves() {
    let mut desk = Desk::up_to_vote(3);
    for n in 1..=2 {
        desk.must(n, Scripted::Vote(0));
    }
    desk.must(1, Scripted::Leave);
    assert!(desk.game(None).countdown.is_some());
    desk.must(0, Scripted::Complete);
    assert!(desk.game(None).players[1].points.is_some());
}

#[test]
fn time_that_steps_back_moves_nothing_back() {
    let mut desk = Desk::usual();
    desk.now = desk.now.before(TIMEOUT);
    desk.must(0, Scripted::Choose(0));
    let times: Vec<_> = desk.written.iter().map(|logged| logged.at).collect();
    assert!(times.is_sorted());
}

#[test]
fn bots_play() {
    let mut desk = Desk::open(Settings::default(), 11, true);
    desk.must(0, Scripted::Choose(0));
    desk.wait(60 * SECOND);
    assert_eq!(desk.game(None).players.len(), 1, "they come when the story is told");
    desk.must(0, Scripted::Tell);
    for bots in 1..=5 {
        desk.wait(2 * SECOND);
        assert_eq!(desk.game(None).players.len(), 1 + bots);
    }
    desk.wait(22 * SECOND);
    assert_eq!(desk.game(None).players.iter().filter(|player| player.picked != Shown::Nothing).count(), 6);
    desk.must(0, Scripted::Open);
    desk.wait(Duration::from_millis(9_999));
    assert!(!desk.game(None).is_ready, "nobody votes before he has looked");
    desk.wait(16 * SECOND);
    assert_eq!(desk.game(None).players.iter().filter(|player| player.vote != Shown::Nothing).count(), 5);
    desk.must(0, Scripted::Complete);
    assert_eq!(desk.table.view(None).next_storyteller, Some(player(0)), "no bot tells a story");
    let awards = desk.index.iter().filter(|index| matches!(index, crate::commands::Index::Award { .. }));
    assert_eq!(awards.count(), 1, "bots gather no points");
    desk.must(0, Scripted::Next);
    assert_eq!(desk.table.members().collect::<Vec<_>>(), [player(0)]);
}

#[test]
fn there_are_five_bots() {
    let rules = rules::stories::Settings { players_max: 12, hand: 3, ..Default::default() };
    let mut desk = Desk::open(Settings { rules, ..Settings::default() }, 13, true);
    desk.must(0, Scripted::Choose(0));
    desk.must(0, Scripted::Tell);
    desk.wait(30 * SECOND);
    assert_eq!(desk.game(None).players.len(), 1 + BOTS.len());
}

#[test]
fn bots_leave_seats_alone_that_people_take() {
    let mut desk = Desk::open(Settings::default(), 12, false);
    desk.must(0, Scripted::Choose(0));
    desk.must(0, Scripted::Tell);
    for n in 1..=4 {
        desk.must(n, Scripted::Join);
    }
    desk.wait(60 * SECOND);
    assert_eq!(desk.game(None).players.len(), 5, "they come when they are let in");
    desk.act(player(0), &Action::SetBots(true)).unwrap();
    desk.wait(60 * SECOND);
    assert_eq!(desk.game(None).players.len(), 6);
    desk.act(player(0), &Action::SetBots(false)).unwrap();
    desk.must(4, Scripted::Leave);
    desk.wait(SECOND);
    assert_eq!(desk.game(None).players.len(), 5);
}
