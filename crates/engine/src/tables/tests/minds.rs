//! What bots choose from their seats: cards that fit, with doubts; how often, over many seeds.

use super::super::bots::mind::{self, SeatView};
use super::super::*;
use super::TableFixture;
use rules::chance::{Chance, Purpose, Seed};
use rules::stories::{Card, CardSet};

const DRAWS: u64 = 600;
/// A lighthouse built of books, a whale with a village, a fox that reads, the moon in a birdcage, a dragon of smoke.
const CARDS: [Card; 5] = [Card(1), Card(2), Card(19), Card(20), Card(35)];

/// What a player sees who holds these cards, with this on the table.
fn view(hand: &[Card], board: &[Card], picked: Option<Card>, sentence: &str) -> TableView {
    let mut view = TableFixture::up_to_vote(3).table.view(Some(super::player(1)));
    let game = view.game.as_mut().expect("a game is played");
    game.own = Some(OwnCards { hand: hand.iter().copied().collect::<CardSet>(), picked, vote: None });
    game.board = Some(board.to_vec());
    game.sentence = Some(sentence.into());
    view
}

/// How often each of [`CARDS`] is chosen.
fn counts(choose: impl Fn(&mut Chance) -> Option<Card>) -> [u64; 5] {
    let mut counts = [0; 5];
    for seed in 0..DRAWS {
        let chosen = choose(&mut Chance::new(Seed(seed), 3, Purpose::StoriesBotChoice)).expect("there is a choice");
        counts[CARDS.iter().position(|card| *card == chosen).expect("of these cards")] += 1;
    }
    counts
}

fn picks(sentence: &str) -> [u64; 5] {
    let view = view(&CARDS, &[], None, sentence);
    counts(|dice| mind::pick(&SeatView::of(&view).unwrap(), dice))
}

fn votes(sentence: &str, own: Option<Card>) -> [u64; 5] {
    let view = view(&[], &CARDS, own, sentence);
    counts(|dice| mind::vote(&SeatView::of(&view).unwrap(), dice))
}

#[test]
fn a_card_that_fits_is_picked_more_often() {
    let picks = picks("My library stands by the coast");
    assert!(picks[0] > DRAWS * 4 / 10, "{picks:?}");
    assert!(picks[2] > 2 * picks[1].max(picks[3]).max(picks[4]), "a fox with a book is second: {picks:?}");
}

#[test]
fn a_vote_is_neither_random_nor_certain() {
    let votes = votes("A whale carries our village", None);
    assert!((DRAWS / 2..DRAWS * 9 / 10).contains(&votes[1]), "{votes:?}");
    assert!(votes.iter().all(|count| *count > 0), "{votes:?}");
}

/// Standard deviation of one count: sqrt(600 * 1/5 * 4/5) = 9.8.
#[test]
fn unknown_words_leave_an_even_choice_within_five_deviations() {
    for sentence in ["Xyzzy", "И это всё о нём", "It was what it was"] {
        for counts in [picks(sentence), votes(sentence, None)] {
            assert!(counts.iter().all(|count| count.abs_diff(DRAWS / 5) < 49), "{sentence}: {counts:?}");
        }
    }
}

#[test]
fn no_bot_votes_for_its_own_card() {
    let votes = votes("A whale carries our village", Some(Card(2)));
    assert_eq!(votes[1], 0);
    assert!(votes.iter().filter(|count| **count > 0).count() == 4, "{votes:?}");
}

#[test]
fn a_seat_without_cards_has_no_view() {
    assert!(SeatView::of(&TableFixture::with_defaults().table.view(None)).is_none());
}

/// What was told here is not told again while there is something else.
#[test]
fn a_sentence_is_not_told_again() {
    for difficulty in Difficulty::ALL {
        let mut view = view(&[Card(42)], &[], None, "");
        let mut left = cards::sentences(42, difficulty);
        for seed in 0..left.len() as u64 + 5 {
            let mut dice = Chance::new(Seed(seed), 0, Purpose::StoriesBotStory);
            let (card, told) = mind::tell(&SeatView::of(&view).unwrap(), difficulty, &mut dice).unwrap();
            assert_eq!(card, Card(42));
            assert!(left.is_empty() || left.contains(&told), "{told} again");
            left.retain(|other| *other != told);
            let at = crate::time::UnixMs(0);
            let line =
                ChatMessage { at, game: 1, player: BOTS[0].0, kind: ChatMessageKind::StoryTold, text: told.into() };
            view.chat.push(line);
        }
        assert!(left.is_empty(), "all are told in the end: {left:?}");
    }
}
