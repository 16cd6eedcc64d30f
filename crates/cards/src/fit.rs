//! How well a sentence fits each card, by its words: what the sentence and the card's vocabulary have in common. Knows no
//! grammar and no meaning: words count by their stems, rare ones for more.

use crate::scenes::{DECK, texts};
use crate::title;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// What a word of a sentence counts by where a card's vocabulary has it: what is seen most, what many cards share least.
const SEEN: u32 = 4;
const WORD: u32 = 3;
const MOOD: u32 = 3;
const REMINDS: u32 = 1;
const IDEA: u32 = 2;

/// How well a sentence fits each card, in the order of the deck. Where no word is known, all are 0.
#[must_use]
pub fn fit(sentence: &str) -> [u32; DECK.len()] {
    let mut fits = [0; DECK.len()];
    for weights in stems(sentence).iter().filter_map(|stem| VOCABULARY.get(stem)) {
        fits.iter_mut().zip(weights).for_each(|(fit, weight)| *fit += weight);
    }
    fits
}

/// By stem, what it counts for each card.
static VOCABULARY: LazyLock<BTreeMap<String, [u32; DECK.len()]>> = LazyLock::new(|| {
    let mut vocabulary: BTreeMap<String, [u32; DECK.len()]> = BTreeMap::new();
    for (at, scene) in DECK.iter().enumerate() {
        let ideas = scene.ideas.iter().flat_map(|idea| texts(idea.riddles())).map(|text| (text, IDEA));
        let lists = [
            (title(at as u8 + 1).unwrap_or_default(), SEEN),
            (scene.seen, SEEN),
            (scene.happens, SEEN),
            (scene.words, WORD),
            (scene.moods, MOOD),
            (scene.reminds, REMINDS),
        ];
        for (text, weight) in lists.into_iter().chain(ideas) {
            for stem in stems(text) {
                let known = &mut vocabulary.entry(stem).or_insert([0; DECK.len()])[at];
                *known = weight.max(*known);
            }
        }
    }
    for weights in vocabulary.values_mut() {
        let cards = weights.iter().filter(|weight| **weight > 0).count().max(1);
        let rarity = 1 + (DECK.len() / cards).ilog2();
        weights.iter_mut().for_each(|weight| *weight *= rarity);
    }
    vocabulary
});

/// Words that say nothing of a card. Shorter ones than three letters are none.
static COMMON: LazyLock<BTreeSet<&str>> = LazyLock::new(|| COMMON_WORDS.split(' ').collect());

const COMMON_WORDS: &str = "\
    about again all and any anybody are been before but can come could did does else ever every everybody for \
    from get has have her here him his how into its just know like little look made make may more never nobody \
    not now off one only our out over she should some somebody something still than that the their them there \
    they this those too two under until very was were what when where which who will with would yet you your";

/// The stems of a text's words that may say something, each once.
pub(crate) fn stems(text: &str) -> Vec<String> {
    let mut stems: Vec<String> = Vec::new();
    for word in text.to_lowercase().split(|char: char| !char.is_alphabetic() && char != '\'') {
        let word = word.trim_matches('\'');
        let word = word.strip_suffix("'s").unwrap_or(word);
        if word.chars().count() < 3 || COMMON.contains(word) {
            continue;
        }
        let stem = stem(word);
        if !stems.contains(&stem) {
            stems.push(stem);
        }
    }
    stems
}

/// A word without the endings of number, tense and manner; not always a word.
fn stem(word: &str) -> String {
    let long_enough = |rest: &&str| rest.chars().count() >= 3;
    if let Some(rest) = word.strip_suffix("ies").filter(long_enough) {
        return format!("{rest}y");
    }
    let strip = |ending| word.strip_suffix(ending).filter(long_enough);
    let plural = || strip("s").filter(|rest| !rest.ends_with(['s', 'u']));
    let doubled = ["ches", "shes", "sses", "xes"].into_iter().any(|ending| word.ends_with(ending));
    let rest = match strip("es").filter(|_| doubled) {
        Some(rest) => rest,
        None => strip("ing").or(strip("ed")).or(strip("ly")).or(plural()).unwrap_or(word),
    };
    let mut stem = rest.to_owned();
    let last = stem.chars().next_back();
    let is_doubled = last.is_some_and(|last| stem.ends_with(&format!("{last}{last}")) && last != 's');
    let has_silent_e = stem.ends_with('e') && stem.chars().count() > 3;
    if rest.len() < word.len() && is_doubled || has_silent_e {
        stem.pop();
    }
    stem
}
