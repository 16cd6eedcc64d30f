//! Is Stories worth playing alone? A sensible person beside bots that tell: votes are right more often than by chance, and not
//! always; plain sentences are the easiest and riddles the hardest. Over few games and many, with fixed seeds.
//! `bench/solo-stories.sh` prints the figures.

mod bars;
mod guesser;
mod table;

use bars::votes;
use engine::tables::Difficulty;
use table::{SoloTable, Votes};

/// Twenty games of an evening: right more often than a random vote would be, and not always.
#[test]
fn an_evening_is_worth_playing() {
    let all = Difficulty::ALL.map(|difficulty| votes(difficulty, 1..2, 20));
    for of in all {
        assert!(of.right_percent() > of.random_percent() && of.right < of.games, "{all:?}");
    }
    let sum = all.into_iter().fold(Votes::default(), |mut sum, of| {
        sum.add(of);
        sum
    });
    assert!(sum.right_percent() > 2.0 * sum.random_percent(), "{all:?}");
}

/// Over a thousand games.
#[test]
fn sentences_are_as_hard_as_their_difficulty() {
    let all = Difficulty::ALL.map(|difficulty| votes(difficulty, 100..134, 10));
    assert_eq!(bars::missed(&all), Vec::<String>::new(), "{all:#?}");
}

#[test]
fn one_seed_is_one_evening() {
    let evening = |seed| {
        let mut table = SoloTable::open(seed, Difficulty::Oblique);
        table.play(12);
        table.sentences
    };
    assert_eq!(evening(7), evening(7));
    assert_ne!(evening(7), evening(8));
}

/// Sentences do not come again soon: a table has hundreds of them.
#[test]
fn sentences_vary() {
    for difficulty in Difficulty::ALL {
        let mut table = SoloTable::open(9, difficulty);
        table.play(40);
        assert!(table.sentences.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", table.sentences);
        let different: std::collections::BTreeSet<_> = table.sentences.iter().collect();
        assert!(different.len() >= 30, "{difficulty:?}: {:?}", table.sentences);
    }
}
