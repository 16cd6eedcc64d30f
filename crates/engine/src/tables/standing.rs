//! What a player has come to over all his games: points, and the cards that they brought him.

use rules::stories::Card;

/// A player's standing. The default is that of somebody who never played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Points of all his games.
    pub score: u64,
    /// Points before the last of them.
    pub score_prev: u64,
    /// Cards given for levels so far.
    pub levelups: u32,
    /// Cards that he owns besides the base deck, in the order in which they came, each once.
    pub earned: Vec<Card>,
    /// Those that the last game brought.
    pub earned_last: Vec<Card>,
}

impl Standing {
    /// The standing after one more game. Games of two tables may come in any order: points and cards add up.
    #[must_use]
    pub fn scored(&self, points: u32, cards: &[Card]) -> Self {
        let mut earned = self.earned.clone();
        for card in cards {
            if !earned.contains(card) {
                earned.push(*card);
            }
        }
        Self {
            score: self.score.saturating_add(points.into()),
            score_prev: self.score,
            levelups: self.levelups.saturating_add(cards.len() as u32),
            earned,
            earned_last: cards.to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_cards_add_up() {
        let once = Standing::default().scored(12, &[Card(40)]);
        let twice = once.scored(5, &[Card(38), Card(40)]);
        assert_eq!((once.score, once.score_prev, once.levelups), (12, 0, 1));
        assert_eq!((twice.score, twice.score_prev, twice.levelups), (17, 12, 3));
        assert_eq!(twice.earned, [Card(40), Card(38)], "each card once");
        assert_eq!(twice.earned_last, [Card(38), Card(40)]);
        assert_eq!(twice.scored(0, &[]).earned_last, []);
    }
}
