//! Chance as named streams: `(seed, turn, purpose)` names a stream of numbers, and nothing else does.
//!
//! Drawing one number more for one purpose never changes another purpose or another turn, so a rule can change without
//! changing the food of all matches. The raw stream is ChaCha8, whose words are fixed by its definition; every step
//! from the words to a draw or a shuffle is written here, so that no upgrade of a library can change an old match. This
//! file does not know where seeds come from: there is no default seed.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The seed of one match, chosen and stored when the match is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub u64);

/// What a stream is for. The number is part of every stored match: it is never changed and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Which snake starts where.
    StartPositions = 1,
    /// The food which lies on the board before turn 0.
    StartFood = 2,
    /// The food which appears after a turn.
    Food = 3,
    /// The sides from which a shrinking board shrinks.
    Hazards = 4,
    /// The hand of a player who sits down to a game of stories.
    StoriesDeal = 5,
    /// The order of the board in a game of stories.
    StoriesBoard = 6,
    /// The cards that new levels bring.
    StoriesEarned = 7,
    /// How long a bot hesitates at a table of stories.
    StoriesBotDelay = 8,
    /// What a bot chooses at a table of stories.
    StoriesBotChoice = 9,
    /// Where the trees of a world stand.
    WorldTrees = 10,
    /// Where a mover of a world appears; the turn is its number.
    WorldSpawn = 11,
    /// In which order the movers of a batch are served; the turn is the batch.
    WorldOrder = 12,
    /// The key with which a mover comes back; the turn is its number.
    WorldKey = 13,
    /// The first bacteria of a world.
    WorldLife = 14,
    /// Where the chests and power-ups of a hunt lie, and what they are worth; the turn is the round.
    HuntItems = 15,
    /// By how much a round that did not follow another one is longer; the turn is the round.
    HuntPhase = 16,
    /// Which bots of a ladder play next; the turn is the number of the first match of the plan.
    LadderPairing = 17,
    /// Where the hazards of a map appear; turn 0 for what stays the same during the match.
    MapHazards = 18,
    /// The walls of a maze that is built in this turn.
    Maze = 19,
    /// What a bot tells at a table of stories.
    StoriesBotStory = 60,
    /// The order of a tournament's field when it is seeded by lot.
    TournamentSeeds = 40,
    /// The seeds of the games of a tournament; the turn is the pairing.
    TournamentGames = 41,
    /// The lot that decides a pairing of a tournament when nothing else does; the turn is the pairing.
    TournamentLot = 42,
}

/// Bytes 16..32 of every key: keeps our streams apart from any other use of the same seed.
const KEY_LABEL: [u8; 16] = *b"gauntlet/chance1";

/// One stream of chance.
#[derive(Clone, Debug)]
pub struct Chance {
    words: ChaCha8Rng,
}

impl Chance {
    /// The stream of this seed, turn and purpose, from its beginning.
    ///
    /// Key layout (32 bytes, little endian): seed (8), turn (4), purpose (4), label (16).
    #[must_use]
    pub fn new(seed: Seed, turn: u32, purpose: Purpose) -> Self {
        let mut key = [0_u8; 32];
        key[..8].copy_from_slice(&seed.0.to_le_bytes());
        key[8..12].copy_from_slice(&turn.to_le_bytes());
        key[12..16].copy_from_slice(&(purpose as u32).to_le_bytes());
        key[16..].copy_from_slice(&KEY_LABEL);
        Self { words: ChaCha8Rng::from_seed(key) }
    }
}

/// A source of random numbers for rules.
pub trait Dice {
    /// A number in `0..n`, every one equally likely. `n` must be positive; for 0 the answer is 0.
    fn below(&mut self, n: u32) -> u32;

    /// Brings the items into random order.
    fn shuffle<T>(&mut self, items: &mut [T]) {
        self.shuffle_front(items, items.len());
    }

    /// The first `count` items become what they would be after [`Dice::shuffle`], for the price of `count` draws.
    ///
    /// Fisher-Yates from the front: for i = 0, 1, 2 … swap item i with item i + `below`(items left, i included). The last item
    /// has no choice and costs no draw.
    fn shuffle_front<T>(&mut self, items: &mut [T], count: usize) {
        let choices = items.len().saturating_sub(1);
        for i in 0..count.min(choices) {
            let left = u32::try_from(items.len() - i).unwrap_or(u32::MAX);
            items.swap(i, i + self.below(left) as usize);
        }
    }
}

impl Dice for Chance {
    /// Lemire's method: the high half of `word * n`, drawn again while the low half falls into the uneven remainder.
    fn below(&mut self, n: u32) -> u32 {
        loop {
            let product = u64::from(self.words.next_u32()) * u64::from(n);
            let low = product as u32;
            if low >= n || low >= n.wrapping_neg().checked_rem(n).unwrap_or(0) {
                return (product >> 32) as u32;
            }
        }
    }
}

/// Dice whose every answer is known: the corners of what chance can do.
#[cfg(test)]
pub(crate) mod scripted {
    use super::Dice;

    /// Always the least number; a shuffle leaves everything where it is.
    pub(crate) struct Least;

    impl Dice for Least {
        fn below(&mut self, _n: u32) -> u32 {
            0
        }
    }

    /// Always the greatest number; a shuffle brings the last item to the front and keeps the order of the others.
    pub(crate) struct Greatest;

    impl Dice for Greatest {
        fn below(&mut self, n: u32) -> u32 {
            n.saturating_sub(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::scripted::{Greatest, Least};
    use super::*;

    #[track_caller]
    fn check(seed: u64, turn: u32, purpose: Purpose, expect: [u32; 6]) {
        let mut chance = Chance::new(Seed(seed), turn, purpose);
        let drawn = [6, 100, 4, 2, 1_000_000, 3_000_000_000].map(|n| chance.below(n));
        assert_eq!(drawn, expect, "stored matches depend on these numbers: they may never change");
    }

    /// The numbers come from a second implementation of ChaCha8 and of the draws, written for this purpose in another language.
    #[test]
    fn streams_are_golden() {
        check(0, 0, Purpose::StartPositions, [0, 30, 2, 0, 381_404, 1_896_597_283]);
        check(0, 0, Purpose::StartFood, [3, 50, 1, 0, 248_499, 1_779_102_256]);
        check(0, 0, Purpose::Food, [1, 68, 2, 0, 600_131, 2_989_714_503]);
        check(0, 0, Purpose::Hazards, [5, 19, 0, 1, 561_281, 1_932_531_144]);
        check(0, 0, Purpose::StoriesDeal, [2, 74, 2, 1, 158_518, 985_655_367]);
        check(0, 0, Purpose::StoriesBoard, [5, 58, 1, 0, 916_994, 476_324_515]);
        check(0, 0, Purpose::StoriesEarned, [5, 77, 1, 1, 976_880, 1_091_859_704]);
        check(0, 0, Purpose::StoriesBotDelay, [4, 82, 1, 1, 944_040, 2_020_826_064]);
        check(0, 0, Purpose::StoriesBotChoice, [0, 77, 1, 0, 874_194, 2_065_888_227]);
        check(0, 0, Purpose::MapHazards, [1, 91, 0, 0, 559_273, 119_414_067]);
        check(0, 0, Purpose::Maze, [0, 53, 0, 1, 610_476, 2_519_572_370]);
        check(0, 1, Purpose::Food, [2, 33, 2, 0, 137_996, 941_952_701]);
        check(u64::MAX, u32::MAX, Purpose::Food, [0, 52, 0, 1, 539_778, 1_373_642_604]);
    }

    #[test]
    fn shuffles_are_golden() {
        let mut items: Vec<u32> = (0..10).collect();
        Chance::new(Seed(7), 3, Purpose::Food).shuffle(&mut items);
        assert_eq!(items, [5, 8, 2, 1, 3, 0, 4, 6, 9, 7]);
    }

    #[test]
    fn scripted_shuffles() {
        let shuffled = |dice: &mut dyn FnMut(&mut [u8])| {
            let mut items = *b"abcd";
            dice(&mut items);
            items
        };
        assert_eq!(&shuffled(&mut |items| Least.shuffle(items)), b"abcd");
        assert_eq!(&shuffled(&mut |items| Greatest.shuffle(items)), b"dabc");
    }

    #[test]
    fn the_front_of_a_shuffle_is_the_shuffle() {
        for count in 0..=12 {
            let mut whole: Vec<usize> = (0..12).collect();
            let mut front = whole.clone();
            Chance::new(Seed(1), 2, Purpose::Food).shuffle(&mut whole);
            Chance::new(Seed(1), 2, Purpose::Food).shuffle_front(&mut front, count);
            assert_eq!(whole[..count], front[..count], "count {count}");
        }
    }

    #[test]
    fn draws_are_even_within_five_deviations() {
        let (sides, draws) = (6_u32, 60_000_u32);
        let mut counts = [0_u32; 6];
        let mut chance = Chance::new(Seed(99), 0, Purpose::Food);
        for _ in 0..draws {
            counts[chance.below(sides) as usize] += 1;
        }
        // Standard deviation of one count: sqrt(60000 * 1/6 * 5/6) = 91.3.
        assert!(counts.iter().all(|count| count.abs_diff(draws / sides) < 457), "{counts:?}");
    }

    #[test]
    fn below_nothing_is_zero_and_small_slices_cost_no_draw() {
        let mut chance = Chance::new(Seed(5), 0, Purpose::Food);
        assert_eq!(chance.below(0), 0);
        let mut fresh = Chance::new(Seed(5), 1, Purpose::Food);
        let mut used = fresh.clone();
        used.shuffle(&mut [] as &mut [u8]);
        used.shuffle(&mut [1]);
        assert_eq!(fresh.below(u32::MAX), used.below(u32::MAX));
    }
}
