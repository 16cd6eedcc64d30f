//! Every refusal, and that it changes nothing: a row is a situation, an action, and the expected result.

use super::super::*;
use super::fixture::newcomer;
use super::{ScriptedAction, TableFixture, player};
use crate::limits::{CHAT_BURST, CHAT_CHARS_MAX, STORY_CHARS_MAX, STORY_COUNTDOWN_MAX, STORY_INVITED_MAX};
use crate::time::UnixMs;
use rules::stories::Card;
use std::time::Duration;

#[track_caller]
fn check(fixture: &mut TableFixture, n: u8, action: &Action, want: &Refusal) {
    let version = fixture.table.version();
    assert_eq!(fixture.act(player(n), action).as_ref(), Err(want));
    assert_eq!(fixture.table.version(), version, "a refusal writes nothing");
}

#[track_caller]
fn check_scripted(fixture: &mut TableFixture, n: u8, scripted: ScriptedAction, want: &Refusal) {
    let action = fixture.action(player(n), scripted);
    check(fixture, n, &action, want);
}

fn wrong(phase: Phase, allowed: &'static [Phase]) -> Refusal {
    Refusal::WrongPhase { phase, allowed }
}

const OPEN: &[Phase] = &[Phase::Create, Phase::Invitation];

fn complete() -> TableFixture {
    let mut fixture = TableFixture::up_to_vote(3);
    for n in 1..=3 {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    fixture.play_allowed(0, ScriptedAction::Complete);
    fixture
}

#[test]
fn in_create() {
    let mut fixture = TableFixture::with_defaults();
    let foreign = Action::ChooseCard((1..=36).map(Card).find(|card| !fixture.hand(player(0)).contains(*card)).unwrap());
    check(&mut fixture, 0, &foreign, &Refusal::NotInHand);
    check(&mut fixture, 0, &Action::ChooseCard(Card(0)), &Refusal::NotInHand);
    check(&mut fixture, 0, &Action::ChooseCard(Card(255)), &Refusal::NotInHand);
    check_scripted(&mut fixture, 0, ScriptedAction::Tell, &Refusal::CardNotSet);
    check_scripted(&mut fixture, 1, ScriptedAction::Choose(0), &Refusal::NotStoryteller);
    check_scripted(&mut fixture, 0, ScriptedAction::Join, &Refusal::AlreadyJoined);
    fixture.play_allowed(1, ScriptedAction::Join);
    check_scripted(&mut fixture, 1, ScriptedAction::Join, &Refusal::AlreadyJoined);
    check_scripted(&mut fixture, 1, ScriptedAction::Tell, &Refusal::NotStoryteller);
    check_scripted(&mut fixture, 1, ScriptedAction::Pick(0), &wrong(Phase::Create, &[Phase::Invitation]));
    check_scripted(&mut fixture, 1, ScriptedAction::Vote(0), &wrong(Phase::Create, &[Phase::Vote]));
    check_scripted(&mut fixture, 0, ScriptedAction::Open, &wrong(Phase::Create, &[Phase::Invitation]));
    check_scripted(&mut fixture, 0, ScriptedAction::Complete, &wrong(Phase::Create, &[Phase::Vote]));
    let countdown = Action::SetCountdown(Duration::from_secs(5));
    check(&mut fixture, 0, &countdown, &wrong(Phase::Create, &[Phase::Invitation, Phase::Vote]));
    check_scripted(&mut fixture, 0, ScriptedAction::Next, &Refusal::GameIsLive { game: 1 });
    check_scripted(&mut fixture, 9, ScriptedAction::Leave, &Refusal::NotAMember);
    check_scripted(&mut fixture, 9, ScriptedAction::Pick(0), &Refusal::NotAPlayer);
}

#[test]
fn texts() {
    let mut fixture = TableFixture::with_defaults();
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    let tell = |text: &str| Action::TellStory(text.to_owned());
    check(&mut fixture, 0, &tell(" \t\n\0 "), &Refusal::Empty { what: "sentence" });
    let long = Refusal::TooLong { what: "sentence", chars: STORY_CHARS_MAX + 1, max: STORY_CHARS_MAX };
    check(&mut fixture, 0, &tell(&"ä".repeat(STORY_CHARS_MAX + 1)), &long);
    fixture.act(player(0), &tell(&format!("  a\0b{}\n", "ä".repeat(STORY_CHARS_MAX - 3)))).unwrap();
    let sentence = fixture.game(None).sentence.unwrap();
    assert!(sentence.starts_with("a bä") && sentence.chars().count() == STORY_CHARS_MAX, "{sentence}");
    check(&mut fixture, 0, &tell("again"), &wrong(Phase::Invitation, &[Phase::Create]));
    let say = |text: &str| Action::Chat(text.to_owned());
    check(&mut fixture, 1, &say("hello"), &Refusal::NotAMember);
    check(&mut fixture, 0, &say(""), &Refusal::Empty { what: "text" });
    let long = Refusal::TooLong { what: "text", chars: CHAT_CHARS_MAX + 1, max: CHAT_CHARS_MAX };
    check(&mut fixture, 0, &say(&"x".repeat(CHAT_CHARS_MAX + 1)), &long);
}

#[test]
fn chat_has_a_rate() {
    let mut fixture = TableFixture::with_defaults();
    let say = Action::Chat("hello".to_owned());
    for _ in 0..CHAT_BURST {
        fixture.act(player(0), &say).unwrap();
    }
    let until = fixture.now.plus(Duration::from_secs(1));
    check(&mut fixture, 0, &say, &Refusal::ChatTooFast { until });
    fixture.now = until;
    fixture.act(player(0), &say).unwrap();
    check(&mut fixture, 0, &say, &Refusal::ChatTooFast { until: until.plus(Duration::from_secs(1)) });
}

#[test]
fn in_invitation() {
    let mut fixture = TableFixture::up_to_invitation();
    check_scripted(&mut fixture, 0, ScriptedAction::Pick(1), &Refusal::StorytellerMayNotPick);
    check_scripted(&mut fixture, 0, ScriptedAction::Choose(1), &wrong(Phase::Invitation, &[Phase::Create]));
    fixture.play_allowed(1, ScriptedAction::Join);
    fixture.play_allowed(2, ScriptedAction::Join);
    let foreign = Action::Pick(fixture.hand(player(2)).iter().next().unwrap());
    check(&mut fixture, 1, &foreign, &Refusal::NotInHand);
    let winner = fixture.game(Some(player(0))).own.unwrap().picked.unwrap();
    check(&mut fixture, 1, &Action::Pick(winner), &Refusal::NotInHand);
    fixture.play_allowed(1, ScriptedAction::Pick(0));
    check_scripted(&mut fixture, 0, ScriptedAction::Open, &Refusal::TooFewPicks { have: 2, need: 3 });
    check_scripted(&mut fixture, 1, ScriptedAction::Open, &Refusal::NotStoryteller);
    check_scripted(&mut fixture, 9, ScriptedAction::Open, &Refusal::NotStoryteller);
    check_scripted(&mut fixture, 1, ScriptedAction::Vote(0), &wrong(Phase::Invitation, &[Phase::Vote]));
    let range = Refusal::Countdown { min_ms: 100, max_ms: 86_400_000 };
    check(&mut fixture, 0, &Action::SetCountdown(Duration::from_millis(99)), &range);
    check(&mut fixture, 0, &Action::SetCountdown(STORY_COUNTDOWN_MAX + Duration::from_millis(1)), &range);
    check(&mut fixture, 1, &Action::SetCountdown(Duration::from_secs(1)), &Refusal::NotStoryteller);
    check(&mut fixture, 1, &Action::SetBots(true), &Refusal::NotStoryteller);
    for n in 3..=5 {
        fixture.play_allowed(n, ScriptedAction::Join);
    }
    check_scripted(&mut fixture, 6, ScriptedAction::Join, &Refusal::TableFull { players_max: 6 });
}

#[test]
fn invitations() {
    let mut fixture = TableFixture::up_to_invitation();
    let invite = |ids: std::ops::Range<u8>| Action::Invite(ids.map(player).collect());
    check(&mut fixture, 1, &invite(1..3), &Refusal::NotStoryteller);
    check(&mut fixture, 0, &invite(1..52), &Refusal::TooManyInvited { max: STORY_INVITED_MAX });
    fixture.act(player(0), &invite(1..41)).unwrap();
    check(&mut fixture, 0, &invite(30..52), &Refusal::TooManyInvited { max: STORY_INVITED_MAX });
    let version = fixture.table.version();
    fixture.act(player(0), &invite(0..41)).unwrap();
    assert_eq!(fixture.table.version(), version, "all were invited, or play");
    fixture.act(player(0), &Action::Invite(vec![player(60), player(60), player(0)])).unwrap();
    assert_eq!(fixture.game(Some(player(0))).invited.map(|invited| invited.len()), Some(41));
    fixture.play_allowed(60, ScriptedAction::Join);
    assert_eq!(fixture.game(Some(player(0))).invited.map(|invited| invited.len()), Some(40));
    assert_eq!(fixture.game(Some(player(60))).invited, None);
}

#[test]
fn in_vote() {
    let mut fixture = TableFixture::up_to_vote(3);
    check_scripted(&mut fixture, 0, ScriptedAction::Vote(0), &Refusal::StorytellerMayNotVote);
    let own = fixture.game(Some(player(1))).own.unwrap().picked.unwrap();
    check(&mut fixture, 1, &Action::Vote(own), &Refusal::OwnCard);
    let unpicked = fixture.hand(player(1)).iter().nth(3).unwrap();
    check(&mut fixture, 1, &Action::Vote(unpicked), &Refusal::NotOnBoard);
    check(&mut fixture, 1, &Action::Vote(Card(120)), &Refusal::NotOnBoard);
    check_scripted(&mut fixture, 1, ScriptedAction::Pick(2), &wrong(Phase::Vote, &[Phase::Invitation]));
    check_scripted(&mut fixture, 8, ScriptedAction::Join, &wrong(Phase::Vote, OPEN));
    check_scripted(&mut fixture, 8, ScriptedAction::Vote(0), &Refusal::NotAPlayer);
    check(&mut fixture, 0, &Action::Invite(vec![player(8)]), &wrong(Phase::Vote, OPEN));
    fixture.play_allowed(1, ScriptedAction::Vote(0));
    check_scripted(&mut fixture, 0, ScriptedAction::Complete, &Refusal::TooFewVotes { have: 1, need: 2 });
    check_scripted(&mut fixture, 1, ScriptedAction::Complete, &Refusal::NotStoryteller);
    fixture.play_allowed(1, ScriptedAction::Leave);
    check_scripted(&mut fixture, 1, ScriptedAction::Vote(1), &Refusal::NotAPlayer);
    fixture.play_allowed(0, ScriptedAction::Leave);
    fixture.play_allowed(2, ScriptedAction::Vote(0));
    check_scripted(&mut fixture, 0, ScriptedAction::Complete, &Refusal::NotStoryteller);
}

#[test]
fn after_the_end() {
    let mut fixture = complete();
    let ended = |allowed| wrong(Phase::Complete, allowed);
    check_scripted(&mut fixture, 1, ScriptedAction::Vote(1), &ended(&[Phase::Vote]));
    check_scripted(&mut fixture, 1, ScriptedAction::Pick(1), &ended(&[Phase::Invitation]));
    check_scripted(&mut fixture, 0, ScriptedAction::Complete, &ended(&[Phase::Vote]));
    check_scripted(&mut fixture, 8, ScriptedAction::Join, &ended(OPEN));
    check(&mut fixture, 0, &Action::SetBots(true), &ended(&[Phase::Create, Phase::Invitation, Phase::Vote]));
    let until = Some(fixture.now.plus(Duration::from_secs(60)));
    check_scripted(&mut fixture, 0, ScriptedAction::Next, &Refusal::NotYourTurn { next: player(1), until });
    check_scripted(&mut fixture, 8, ScriptedAction::Next, &Refusal::NotYourTurn { next: player(1), until });
}

#[test]
fn an_action_for_another_game_is_refused() {
    let mut fixture = complete();
    fixture.play_allowed(1, ScriptedAction::Next);
    for game in [0, 1, 3, u32::MAX] {
        let refused = fixture.table.decide(player(1), Some(game), &Action::Leave, fixture.now, &|_| true);
        assert_eq!(refused, Err(Refusal::GameNotLive { game }));
    }
    assert!(fixture.table.decide(player(1), Some(2), &Action::Leave, fixture.now, &|_| true).is_ok());
}

#[test]
fn a_table_is_not_opened_with_settings_that_cannot_be_played() {
    let settings = TableSettings { countdown: Duration::ZERO, ..TableSettings::default() };
    let opened = Table::open(
        crate::ids::TableId(1),
        settings,
        rules::chance::Seed(1),
        BotSettings::default(),
        &newcomer(player(0)),
        UnixMs(0),
    );
    assert!(matches!(opened, Err(Refusal::Settings(mistakes)) if mistakes.len() == 1));
}

#[test]
fn what_is_already_so_writes_nothing() {
    let mut fixture = TableFixture::with_defaults();
    for scripted in [ScriptedAction::Choose(1), ScriptedAction::Choose(1)] {
        fixture.play_allowed(0, scripted);
    }
    fixture.play_allowed(0, ScriptedAction::Tell);
    fixture.play_allowed(1, ScriptedAction::Join);
    fixture.act(player(0), &Action::SetBots(false)).unwrap();
    fixture.play_allowed(1, ScriptedAction::Pick(0));
    fixture.play_allowed(1, ScriptedAction::Pick(0));
    assert_eq!(fixture.table.version(), 5, "started, chosen, told, joined, picked");
}
