//! What every sentence must be: short, whole, told of its own card at its difficulty; and what words count.

use crate::fit::stems;
use crate::scenes::{DECK, texts};
use crate::{Difficulty, fit, sentences, title};
use std::collections::{BTreeMap, BTreeSet};

/// A sentence that a table takes.
const CHARS_MAX: usize = 80;

fn cards() -> impl Iterator<Item = u8> {
    1..=DECK.len() as u8
}

fn all() -> impl Iterator<Item = (u8, Difficulty, String)> {
    let of = |card| Difficulty::ALL.into_iter().map(move |difficulty| (card, difficulty));
    let told = |(card, difficulty)| sentences(card, difficulty).into_iter().map(move |told| (card, difficulty, told));
    cards().flat_map(of).flat_map(told)
}

#[test]
fn every_sentence_is_short_and_whole() {
    for (card, _, told) in all() {
        assert!(told.chars().count() <= CHARS_MAX, "{card}: {told}");
        assert!(told.starts_with(|first: char| first.is_uppercase()), "{card}: {told}");
        assert!(told.ends_with(['.', '?', '!']), "{card}: {told}");
        assert!(!told.contains(['|', '*', '\n']) && !told.contains("  ") && told.trim() == told, "{card}: {told}");
        let words: Vec<&str> = told.split([' ', ',', '.', '?', '!']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2).filter(|pair| ["a", "an", "A", "An"].contains(&pair[0])) {
            let takes_n = pair[1].starts_with(['a', 'e', 'i', 'o', 'u', 'h']) && pair[1] != "universe";
            let takes_n = takes_n && (!pair[1].starts_with('h') || pair[1].starts_with("hour"));
            assert_eq!(pair[0].eq_ignore_ascii_case("an"), takes_n, "{card}: {told}");
        }
        assert!(words.windows(2).all(|pair| pair[0] != pair[1] || pair[0] == "softly"), "{card}: {told}");
    }
}

#[test]
fn a_card_has_many_sentences_of_every_difficulty() {
    for card in cards() {
        let count = |difficulty| {
            let told = sentences(card, difficulty);
            let different: BTreeSet<&String> = told.iter().collect();
            assert_eq!(different.len(), told.len(), "{card} {difficulty:?}: one is there twice");
            told.len()
        };
        assert!(Difficulty::ALL.map(count) >= [35, 10, 10], "{card}");
    }
    assert!(sentences(0, Difficulty::Plain).is_empty() && sentences(44, Difficulty::Plain).is_empty());
}

/// Only a riddle is told of several cards; and of enough of them to be one.
#[test]
fn sentences_belong_to_one_card_and_riddles_to_several() {
    let mut cards_of: BTreeMap<(Difficulty, String), BTreeSet<u8>> = BTreeMap::new();
    for (card, difficulty, told) in all() {
        cards_of.entry((difficulty, told)).or_default().insert(card);
    }
    for ((difficulty, told), cards) in cards_of {
        if difficulty == Difficulty::Riddling {
            assert!((4..=12).contains(&cards.len()), "{told} fits {cards:?}");
        } else if difficulty == Difficulty::Plain {
            assert_eq!(cards.len(), 1, "{told} fits {cards:?}");
        } else {
            assert!(cards.len() <= 2, "{told} fits {cards:?}");
        }
    }
}

/// A plain sentence names something of the card; the others nothing that its title names.
#[test]
fn only_plain_sentences_name_what_is_seen() {
    let names_title = |card: u8, told: &str| stems(told).iter().any(|stem| stems(title(card).unwrap()).contains(stem));
    let named: Vec<_> =
        all().filter(|(card, difficulty, told)| *difficulty != Difficulty::Plain && names_title(*card, told)).collect();
    assert!(named.is_empty(), "{named:#?}");
    for (card, scene) in cards().zip(&DECK) {
        let first = texts(scene.seen).next().unwrap();
        assert!(names_title(card, first), "{card}: {first} is not in the title");
    }
}

/// The card that a plain sentence is about fits it best, or nearly all of them would mislead.
#[test]
fn a_plain_sentence_fits_its_card() {
    let plain: Vec<(u8, String)> = all()
        .filter(|(_, difficulty, _)| *difficulty == Difficulty::Plain)
        .map(|(card, _, told)| (card, told))
        .collect();
    let right = plain.iter().filter(|(card, told)| {
        let fits = fit(told);
        fits[usize::from(*card) - 1] == fits.into_iter().max().unwrap()
    });
    let right = right.count();
    assert!(right * 100 >= plain.len() * 95, "{right} of {}", plain.len());
}

#[track_caller]
fn check_stems(text: &str, want: &[&str]) {
    assert_eq!(stems(text), want, "{text}");
}

#[test]
fn words_count_by_their_stems() {
    check_stems("The fishes, the fishing and the fished", &["fish"]);
    check_stems("cities CITY city's", &["city"]);
    check_stems("juggling juggles juggled", &["juggl"]);
    check_stems("stopped stops", &["stop"]);
    check_stems("glass glasses", &["glass"]);
    check_stems("slowly slow", &["slow"]);
    check_stems("It is what it is, and nobody can.", &[]);
    check_stems("Über den Wolken 42 \u{1F431}", &["über", "den", "wolken"]);
    check_stems("", &[]);
}

#[test]
fn unknown_words_fit_all_cards_alike() {
    for told in ["", "xyzzy plugh", "Свет", "the and of", "💡"] {
        assert_eq!(fit(told), [0; DECK.len()], "{told}");
    }
}

#[track_caller]
fn check_best(told: &str, want: u8) {
    let fits = fit(told);
    let best = cards().max_by_key(|card| fits[usize::from(*card) - 1]);
    assert_eq!(best, Some(want), "{told}");
}

/// Sentences as people write them: other words and other forms than those of the vocabulary.
#[test]
fn free_sentences_find_their_card() {
    check_best("My grandmother's knitting took me home", 42);
    check_best("Bunnies can be sailors too", 6);
    check_best("He was afraid of his own silhouette", 27);
    check_best("Towers made of novels", 1);
    check_best("saturn and his friends at the circus", 4);
    check_best("The tortoise has green thumbs", 40);
}

#[test]
fn difficulties_have_names() {
    for difficulty in Difficulty::ALL {
        assert_eq!(Difficulty::from_name(difficulty.name()), Some(difficulty));
    }
    assert_eq!(Difficulty::from_name("Plain"), None);
}
