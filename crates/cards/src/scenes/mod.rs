//! What may be told about a card: a small vocabulary of each, written by hand, and the sentences that are made of it.
//!
//! A plain sentence names what is seen. An oblique one has a mood, or what the card reminds of, and names nothing of the
//! title. A riddling one is about an idea that several cards share. This file makes all sentences of a card; who tells which of
//! them is not known here.

mod deck;
mod ideas;

pub(crate) use deck::DECK;
pub(crate) use ideas::Idea;

/// How hard it is to find the card that a sentence is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Difficulty {
    /// It names something that is seen.
    Plain,
    /// It has a mood, or an association.
    #[default]
    Oblique,
    /// It is about an idea that several cards share.
    Riddling,
}

impl Difficulty {
    /// Every one, the easiest first.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Oblique, Self::Riddling];

    /// The name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Oblique => "oblique",
            Self::Riddling => "riddling",
        }
    }

    /// The one of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|difficulty| difficulty.name() == name)
    }
}

/// What is told about a card. Lists of texts are separated by ` | `.
pub(crate) struct Scene {
    /// Things that are seen, with their article.
    pub(crate) seen: &'static str,
    /// What happens: sentences.
    pub(crate) happens: &'static str,
    /// Moods: adjectives.
    pub(crate) moods: &'static str,
    /// What it reminds of: sentences.
    pub(crate) reminds: &'static str,
    /// Words that fit besides those above, separated by spaces.
    pub(crate) words: &'static str,
    /// Ideas that it shares with other cards.
    pub(crate) ideas: &'static [Idea],
}

/// What is said of a thing that is seen; `*` is the thing.
const OF_THINGS: [&str; 8] = [
    "Look, *!",
    "I can see *.",
    "All I wanted was *.",
    "Once there was *.",
    "Where else would you find *?",
    "They told me about *.",
    "Have you ever met *?",
    "It begins with *.",
];

/// The texts of a list.
pub(crate) fn texts(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(" | ")
}

/// Every sentence of this difficulty about a card, each once; none where the deck has no such card.
#[must_use]
pub fn sentences(card: u8, difficulty: Difficulty) -> Vec<String> {
    let scene = usize::from(card).checked_sub(1).and_then(|at| DECK.get(at));
    scene.map_or_else(Vec::new, |scene| match difficulty {
        Difficulty::Plain => plain(scene),
        Difficulty::Oblique => oblique(scene),
        Difficulty::Riddling => riddling(scene),
    })
}

fn plain(scene: &Scene) -> Vec<String> {
    let of_thing = |thing| OF_THINGS.into_iter().map(move |form: &str| form.replace('*', thing));
    texts(scene.seen).flat_map(of_thing).chain(texts(scene.happens).map(str::to_owned)).collect()
}

fn oblique(scene: &Scene) -> Vec<String> {
    let moods: Vec<&str> = texts(scene.moods).collect();
    let next = moods.iter().cycle().skip(1);
    let pairs = moods.iter().zip(next).map(|(mood, other)| capitalized(&format!("{mood}, and a little {other}.")));
    let alone = moods.iter().map(|mood| format!("I have never felt so {mood}."));
    texts(scene.reminds).map(str::to_owned).chain(pairs).chain(alone).collect()
}

fn riddling(scene: &Scene) -> Vec<String> {
    scene.ideas.iter().flat_map(|idea| texts(idea.riddles())).map(str::to_owned).collect()
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
