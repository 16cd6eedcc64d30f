//! What a player has gathered over all games: points, and the cards that levels brought.

use super::card::{Card, CardSet};
use super::level::Level;
use crate::chance::{Chance, Dice, Purpose, Seed};

/// A player's points and cards. The default is a player who has not scored yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Points of all games.
    pub score: u64,
    /// Points before the last scored game.
    pub score_prev: u64,
    /// Cards given for levels so far.
    pub levelups: u32,
    /// All earned cards.
    pub earned: CardSet,
    /// The cards earned in the last scored game.
    pub earned_last: CardSet,
}

impl Standing {
    /// The standing after a game that brought `points`: for each new level a new card, by chance, while there is one.
    /// The seed is the award's own: the same award of the same game gives the same cards.
    #[must_use]
    pub fn award(&self, points: u32, seed: Seed) -> Self {
        let score = self.score.saturating_add(u64::from(points));
        let due = (Level::of(score).level - 1).saturating_sub(self.levelups) as usize;
        let mut left: Vec<Card> = CardSet::EARNABLE.without(self.earned).iter().collect();
        let count = due.min(left.len());
        Chance::new(seed, 0, Purpose::StoriesEarned).shuffle_front(&mut left, count);
        let earned_last: CardSet = left.into_iter().take(count).collect();
        Self {
            score,
            score_prev: self.score,
            levelups: self.levelups + count as u32,
            earned: self.earned.union(earned_last),
            earned_last,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(before: Standing, points: u32, levelups: u32, earned: usize, earned_last: usize) {
        let after = before.award(points, Seed(3));
        assert_eq!((after.levelups, after.earned.len(), after.earned_last.len()), (levelups, earned, earned_last));
        assert_eq!((after.score_prev, after.score), (before.score, before.score + u64::from(points)));
    }

    #[test]
    fn levels_bring_cards() {
        let fresh = Standing::default();
        check(fresh, 0, 0, 0, 0);
        check(fresh, 1, 1, 1, 1);
        check(fresh, 17, 1, 1, 1);
        check(fresh, 56, 3, 3, 3);
        check(fresh, 1_000_000, 7, 7, 7);
        let second = fresh.award(12, Seed(1));
        check(second, 1, 1, 1, 0);
        check(second, 12, 2, 2, 1);
        check(fresh.award(1_000_000, Seed(1)), 1_000_000, 7, 7, 0);
    }

    proptest! {
        #[test]
        fn a_card_is_earned_once(points in prop::collection::vec(0u32..500, 1..12), seed in any::<u64>()) {
            let mut standing = Standing::default();
            for points in points {
                let next = standing.award(points, Seed(seed));
                prop_assert_eq!(next.earned_last.without(standing.earned), next.earned_last);
                prop_assert_eq!(next.earned, standing.earned.union(next.earned_last));
                prop_assert_eq!(next.earned.len(), (Level::of(next.score).level as usize - 1).min(7));
                prop_assert!(next.earned.without(CardSet::EARNABLE).is_empty());
                standing = next;
            }
        }
    }
}
