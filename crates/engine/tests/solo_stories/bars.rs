//! What makes Stories worth playing alone, as bars.

use super::table::{SoloTable, Votes};
use engine::tables::Difficulty;
use std::time::Duration;

/// Longer, and a person who plays alone waits.
const GAME_MAX: Duration = Duration::from_secs(90);

/// The votes of many tables of one difficulty: one table a seed, with so many games.
pub(crate) fn votes(difficulty: Difficulty, seeds: std::ops::Range<u64>, games: u32) -> Votes {
    let mut all = Votes::default();
    seeds.for_each(|seed| all.add(SoloTable::open(seed, difficulty).play(games)));
    all
}

/// The bars that these votes miss, the easiest difficulty first: votes of a sensible person are right clearly more often than
/// random ones, and not always; each difficulty is harder than the one before; bots are neither random nor perfect.
pub(crate) fn missed(all: &[Votes; 3]) -> Vec<String> {
    let [plain, oblique, riddling] = all;
    let mut bars = vec![
        ("oblique is clearly harder than plain", plain.right_percent() > oblique.right_percent() + 10.0),
        ("riddling is harder than oblique", oblique.right_percent() > riddling.right_percent() + 2.0),
    ];
    for votes in all {
        let random = votes.random_percent();
        bars.extend([
            ("a person is right more often than by chance", votes.right_percent() > random * 1.3),
            ("a person is not always right", votes.right_percent() < 95.0),
            ("bots are right more often than by chance", votes.bots_percent() > random * 1.15),
            ("bots are often wrong", votes.bots_percent() < 80.0),
            ("nobody waits long", votes.played / votes.games < GAME_MAX),
        ]);
    }
    bars.into_iter().filter(|(_, is_held)| !is_held).map(|(bar, _)| bar.to_owned()).collect()
}
