//! Tables with bots: they tell in turn, people are waited for, and no bot plays when the people are gone.

use super::super::entry::Entry;
use super::super::*;
use super::{ScriptedAction, TableFixture, player};
use crate::ids::PlayerId;
use rules::stories::Card;
use std::collections::BTreeMap;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_secs(60);

fn with_bots(seed: u64) -> TableFixture {
    TableFixture::open(TableSettings::default(), seed, true)
}

/// Time passes until this is so.
#[track_caller]
fn wait_until(fixture: &mut TableFixture, what: &str, is_so: impl Fn(&GameView) -> bool) {
    for _ in 0..600 {
        if is_so(&fixture.game(None)) {
            return;
        }
        fixture.advance_time(SECOND);
    }
    panic!("for ten minutes not: {what}; {:?}", fixture.game(None));
}

/// Player 0 tells to bots alone, up to the end of the game.
fn tell_to_bots(fixture: &mut TableFixture) {
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    wait_until(fixture, "all picked", |game| {
        game.players.iter().filter(|one| one.picked != CardView::Nothing).count() == 6
    });
    fixture.play_allowed(0, ScriptedAction::Open);
    wait_until(fixture, "all voted", |game| {
        game.players.iter().filter(|one| one.vote != CardView::Nothing).count() == 5
    });
    fixture.play_allowed(0, ScriptedAction::Complete);
}

/// Player 0 plays a game that a bot begins, up to its end.
fn play_with_bots(fixture: &mut TableFixture) {
    let before = fixture.game(None).id.number;
    wait_until(fixture, "a bot begins", |game| game.id.number > before);
    fixture.play_allowed(0, ScriptedAction::Join);
    wait_until(fixture, "the story is told", |game| game.phase == Phase::Invitation);
    fixture.play_allowed(0, ScriptedAction::Pick(0));
    wait_until(fixture, "the vote is open", |game| game.phase == Phase::Vote);
    fixture.play_allowed(0, ScriptedAction::Vote(0));
    wait_until(fixture, "the votes are counted", |game| game.phase == Phase::Complete);
}

fn next(fixture: &TableFixture) -> Option<PlayerId> {
    fixture.table.view(None).next_storyteller
}

/// One person and bots go on game after game; each tells once in six games, and no person is late for it.
#[test]
fn one_person_and_bots_go_on() {
    let mut fixture = with_bots(5);
    let mut told: BTreeMap<PlayerId, u32> = BTreeMap::new();
    let mut sentences = Vec::new();
    for number in 1..=24 {
        if number == 1 || next(&fixture) == Some(player(0)) {
            if number > 1 {
                fixture.play_allowed(0, ScriptedAction::Next);
            }
            tell_to_bots(&mut fixture);
        } else {
            play_with_bots(&mut fixture);
        }
        let game = fixture.game(None);
        assert_eq!((game.id.number, game.phase), (number, Phase::Complete));
        assert_eq!(game.because, Some(TransitionReason::Storyteller), "nobody waits for a countdown");
        *told.entry(game.storyteller.unwrap()).or_default() += 1;
        sentences.extend(game.sentence.filter(|_| is_bot(game.storyteller.unwrap())));
        assert_eq!(fixture.game(Some(player(0))).own.map(|own| own.hand.len()), Some(6));
    }
    assert_eq!(told.into_values().collect::<Vec<_>>(), [4; 6]);
    assert!(sentences.windows(2).all(|pair| pair[0] != pair[1]), "{sentences:?}");
    assert!(sentences.iter().all(|told| told.chars().count() <= 80));
    let rows = fixture.index.iter().filter_map(|index| match index {
        IndexChange::UpsertGame(row) if is_bot(row.storyteller) => row.storyteller_name.as_deref(),
        _ => None,
    });
    assert!(rows.into_iter().all(|name| name.starts_with("Bot ")), "a list names who tells");
}

#[test]
fn a_bot_tells_after_a_while() {
    let mut fixture = with_bots(6);
    tell_to_bots(&mut fixture);
    assert_eq!(next(&fixture), Some(BOTS[0].0));
    let refused = fixture.play(0, ScriptedAction::Next);
    assert!(matches!(refused, Err(Refusal::NotYourTurn { next, .. }) if next == BOTS[0].0));
    fixture.advance_time(Duration::from_millis(6_999));
    assert_eq!(fixture.game(None).id.number, 1, "people see how it ended");
    fixture.advance_time(Duration::from_millis(5_001));
    let game = fixture.game(None);
    assert_eq!((game.id.number, game.phase, game.storyteller), (2, Phase::Create, Some(BOTS[0].0)));
    assert_eq!(game.tell_by, None, "a bot is never late");
    wait_until(&mut fixture, "the story is told", |game| game.phase == Phase::Invitation);
    assert!(fixture.now.since(game.created_at) <= 11 * SECOND);
    assert_eq!(fixture.game(None).winner_card, CardView::Hidden);
}

/// A short timeout of the table holds for bots as well.
#[test]
fn a_bot_takes_no_longer_than_a_person_may() {
    let settings = TableSettings { next_storyteller_timeout: SECOND, ..TableSettings::default() };
    let mut fixture = TableFixture::open(settings, 7, true);
    tell_to_bots(&mut fixture);
    fixture.advance_time(2 * SECOND);
    assert_eq!((fixture.game(None).id.number, fixture.game(None).phase), (2, Phase::Invitation));
}

#[test]
fn bots_wait_for_the_people_of_the_table() {
    let mut fixture = with_bots(8);
    tell_to_bots(&mut fixture);
    wait_until(&mut fixture, "the next story", |game| game.id.number == 2 && game.phase == Phase::Invitation);
    let all_bots = |game: &GameView| game.players.iter().filter(|one| one.picked != CardView::Nothing).count() == 5;
    wait_until(&mut fixture, "all bots picked", all_bots);
    fixture.advance_time(10 * SECOND);
    assert_eq!(fixture.game(None).phase, Phase::Invitation, "player 0 may still join");
    fixture.play_allowed(0, ScriptedAction::Join);
    fixture.advance_time(5 * SECOND);
    assert_eq!(fixture.game(None).phase, Phase::Invitation, "and pick");
    fixture.play_allowed(0, ScriptedAction::Pick(1));
    fixture.advance_time(2 * SECOND);
    fixture.play_allowed(0, ScriptedAction::Pick(2));
    fixture.advance_time(2 * SECOND);
    assert_eq!(fixture.game(None).phase, Phase::Invitation, "and change his mind");
    fixture.advance_time(SECOND);
    assert_eq!(fixture.game(None).phase, Phase::Vote);
    fixture.advance_time(16 * SECOND);
    assert_eq!(fixture.game(None).phase, Phase::Vote, "player 0 may still vote");
    wait_until(&mut fixture, "the votes are counted", |game| game.phase == Phase::Complete);
    assert_eq!(fixture.game(None).because, Some(TransitionReason::Countdown), "but not for ever");
}

/// A seat for everybody who sits at the table, unless they let it wait.
#[test]
fn bots_leave_seats_to_members() {
    let rules = rules::stories::GameSettings { players_max: 4, ..Default::default() };
    let mut fixture = TableFixture::open(TableSettings { rules, ..TableSettings::default() }, 9, true);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Join);
        fixture.play_allowed(n, ScriptedAction::Pick(0));
    }
    wait_until(&mut fixture, "a bot picked", |game| game.players.iter().all(|one| one.picked != CardView::Nothing));
    fixture.play_allowed(0, ScriptedAction::Open);
    for n in 1..=2 {
        fixture.play_allowed(n, ScriptedAction::Vote(0));
    }
    fixture.play_allowed(0, ScriptedAction::Complete);
    assert_eq!(next(&fixture), Some(player(1)), "people before bots");
    fixture.play_allowed(1, ScriptedAction::Next);
    fixture.play_allowed(1, ScriptedAction::Choose(0));
    fixture.play_allowed(1, ScriptedAction::Tell);
    fixture.advance_time(29 * SECOND);
    assert_eq!(fixture.game(None).players.len(), 2, "a bot takes one of three seats: two are for players 0 and 2");
    fixture.play_allowed(0, ScriptedAction::Join);
    fixture.advance_time(2 * SECOND);
    assert_eq!(fixture.game(None).players.len(), 3);
    fixture.advance_time(SECOND);
    assert_eq!(fixture.game(None).players.len(), 4, "player 2 was too slow");
}

/// Plays on until nothing is due. Which games were played.
fn until_rest(fixture: &mut TableFixture) -> u32 {
    for _ in 0..10_000 {
        let Some(due) = fixture.table.next_due() else { return fixture.game(None).id.number };
        fixture.now = fixture.now.max(due);
        assert!(fixture.tick(), "what is due happens, or it would be due for ever");
    }
    panic!("the table plays on for ever");
}

/// Bots never play two games without a person.
#[test]
fn a_table_whose_people_are_gone_comes_to_rest() {
    // Gone before the end of their own game: no bot begins.
    let mut fixture = with_bots(10);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    fixture.present.clear();
    assert_eq!(until_rest(&mut fixture), 1);
    assert_eq!(next(&fixture), None);
    // Gone before a bot begins: it does not.
    let mut fixture = with_bots(10);
    tell_to_bots(&mut fixture);
    fixture.present.clear();
    assert!(fixture.tick(), "the bot is named no more at once");
    assert_eq!((until_rest(&mut fixture), next(&fixture)), (1, None));
    // Gone in a bot's game: it is the last one.
    let mut fixture = with_bots(10);
    tell_to_bots(&mut fixture);
    wait_until(&mut fixture, "a bot begins", |game| game.id.number == 2);
    fixture.present.clear();
    assert_eq!((until_rest(&mut fixture), next(&fixture)), (2, None));
    assert_eq!(fixture.game(None).phase, Phase::Complete);
    // Here, with a client that waits, and does nothing more: the bots play one game among themselves.
    let mut fixture = with_bots(10);
    tell_to_bots(&mut fixture);
    assert_eq!((until_rest(&mut fixture), next(&fixture)), (2, None));
    fixture.play_allowed(0, ScriptedAction::Next);
    assert_eq!(fixture.game(None).id.number, 3, "and a person goes on when he likes");
}

#[test]
fn who_lets_his_turn_pass_is_replaced_by_a_bot() {
    let mut fixture = with_bots(11);
    tell_to_bots(&mut fixture);
    for _ in 0..5 {
        play_with_bots(&mut fixture);
    }
    assert_eq!(next(&fixture), Some(player(0)));
    fixture.advance_time(STEP);
    assert_eq!(next(&fixture), Some(BOTS[0].0));
    play_with_bots(&mut fixture);
}

#[test]
fn no_bot_is_named_for_a_person_who_leaves() {
    let mut fixture = with_bots(12);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    fixture.advance_time(5 * SECOND);
    let mut after = fixture.clone();
    after.play_allowed(0, ScriptedAction::Leave);
    assert_eq!((after.game(None).because, next(&after)), (Some(TransitionReason::StorytellerLeft), None));
    assert_eq!(after.table.next_due(), None);
    let mut fixture = with_bots(12);
    tell_to_bots(&mut fixture);
    fixture.play_allowed(0, ScriptedAction::Leave);
    assert!(fixture.tick());
    assert_eq!((next(&fixture), fixture.table.next_due()), (None, None));
}

#[test]
fn bots_that_are_off_do_not_tell() {
    let mut fixture = with_bots(13);
    fixture.play_allowed(0, ScriptedAction::Choose(0));
    fixture.play_allowed(0, ScriptedAction::Tell);
    fixture.advance_time(40 * SECOND);
    fixture.act(player(0), &Action::SetBots(false)).unwrap();
    fixture.play_allowed(0, ScriptedAction::Open);
    fixture.advance_time(16 * SECOND);
    fixture.play_allowed(0, ScriptedAction::Complete);
    assert_eq!(next(&fixture), Some(player(0)));
}

fn told(fixture: &TableFixture) -> Vec<(Card, Box<str>)> {
    let mut cards = fixture.written.iter().filter_map(|logged| match &logged.entry {
        Entry::CardChosen { card, .. } => Some(*card),
        _ => None,
    });
    let stories = fixture.written.iter().filter_map(|logged| match &logged.entry {
        Entry::StoryTold { sentence } => Some(sentence.clone()),
        _ => None,
    });
    stories.filter_map(|sentence| Some((cards.next()?, sentence))).collect()
}

#[test]
fn bots_tell_as_hard_as_the_table_wants() {
    for difficulty in Difficulty::ALL {
        let bots = BotSettings { are_on: true, difficulty };
        let mut fixture = TableFixture::open_with_bots(TableSettings::default(), 14, bots);
        assert_eq!(fixture.table.view(None).bots, bots);
        tell_to_bots(&mut fixture);
        for _ in 0..5 {
            play_with_bots(&mut fixture);
        }
        for (card, sentence) in told(&fixture).into_iter().skip(1) {
            assert!(cards::sentences(card.0, difficulty).contains(&sentence.to_string()), "{difficulty:?}: {sentence}");
        }
    }
}

/// The same seed and the same actions lead to the same table.
#[test]
fn chance_comes_from_the_seed() {
    let play = |seed| {
        let mut fixture = with_bots(seed);
        tell_to_bots(&mut fixture);
        play_with_bots(&mut fixture);
        fixture.written
    };
    assert!(play(15) == play(15));
    assert!(play(15) != play(16));
}

/// What bots choose from their seats, in order.
fn chosen_by_bots(fixture: &TableFixture) -> Vec<(PlayerId, Card)> {
    let chosen = fixture.written.iter().filter_map(|logged| match &logged.entry {
        Entry::Picked { player, card, .. } if is_bot(*player) => Some((*player, *card)),
        _ => None,
    });
    chosen.collect()
}

/// What a bot may not see changes nothing about what it does: not the storyteller's card, not the pick of another.
#[test]
fn bots_do_not_see_what_is_hidden() {
    let play = |chosen: usize, picked: usize| {
        let mut fixture = with_bots(17);
        fixture.play_allowed(0, ScriptedAction::Choose(chosen));
        fixture.act(player(0), &Action::TellStory("A whale under the moon".to_owned())).unwrap();
        fixture.play_allowed(1, ScriptedAction::Join);
        fixture.play_allowed(1, ScriptedAction::Pick(picked));
        fixture.advance_time(40 * SECOND);
        chosen_by_bots(&fixture)
    };
    let first = play(0, 0);
    assert_eq!(first.len(), 4);
    for other in 1..6 {
        assert!(play(other, 0) == first && play(0, other) == first);
    }
}
