//! Dealing by chance: a hand for a player, and the order of the board.

use super::card::{Card, CardSet};
use super::settings::GameSettings;
use crate::chance::Dice;

/// A hand for a player who joins: from the base deck and the player's earned cards, without those in other hands.
///
/// Where fewer cards are left than a hand has, it is smaller;
/// [`GameSettings::validation_errors`](super::GameSettings::validation_errors) keeps that from happening.
#[must_use]
pub fn deal(settings: &GameSettings, earned: CardSet, in_hands: CardSet, dice: &mut impl Dice) -> CardSet {
    let mut deck: Vec<Card> = CardSet::base(settings.deck).union(earned).without(in_hands).iter().collect();
    let count = usize::from(settings.hand).min(deck.len());
    dice.shuffle_front(&mut deck, count);
    deck.into_iter().take(count).collect()
}

/// The picked cards in the order in which they are laid out: by chance, so that it reveals nothing about who picked
/// what.
#[must_use]
pub fn board(picked: CardSet, dice: &mut impl Dice) -> Vec<Card> {
    let mut cards: Vec<Card> = picked.iter().collect();
    dice.shuffle(&mut cards);
    cards
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::{Chance, Purpose, Seed};
    use proptest::prelude::*;

    fn earned() -> impl Strategy<Value = CardSet> {
        prop::collection::vec(37u8..=43, 0..7).prop_map(|cards| cards.into_iter().map(Card).collect())
    }

    proptest! {
        /// With the most players, hands are full and no card is in two of them, whatever cards the players have earned
        /// and whichever of them leave.
        #[test]
        fn no_card_is_in_two_hands(
            seed in any::<u64>(), players_max in 3u8..=12, earned in prop::collection::vec(earned(), 24),
            leaving in prop::collection::vec(any::<prop::sample::Index>(), 12),
        ) {
            let settings = GameSettings { players_max, hand: 36 / players_max, ..GameSettings::default() };
            prop_assert!(settings.validation_errors().is_empty());
            let mut hands: Vec<CardSet> = Vec::new();
            for (turn, earned) in earned.into_iter().enumerate() {
                if hands.len() == usize::from(players_max) {
                    hands.remove(leaving[turn % 12].index(hands.len()));
                }
                let taken = hands.iter().fold(CardSet::EMPTY, |all, hand| all.union(*hand));
                let mut dice = Chance::new(Seed(seed), turn as u32, Purpose::StoriesDeal);
                let hand = deal(&settings, earned, taken, &mut dice);
                prop_assert_eq!(hand.len(), usize::from(settings.hand));
                prop_assert_eq!(hand.without(taken), hand);
                prop_assert!(hand.without(CardSet::base(36)).without(earned).is_empty());
                hands.push(hand);
            }
        }

        #[test]
        fn the_board_has_exactly_the_picked_cards(seed in any::<u64>(), bits in any::<u64>()) {
            let picked = CardSet::from_bits(bits & CardSet::base(36).bits()).expect("only cards that exist");
            let board = board(picked, &mut Chance::new(Seed(seed), 0, Purpose::StoriesBoard));
            prop_assert_eq!(board.len(), picked.len());
            prop_assert_eq!(board.into_iter().collect::<CardSet>(), picked);
        }
    }

    #[test]
    fn every_place_of_the_board_is_equally_likely_within_five_deviations() {
        let picked: CardSet = [Card(1), Card(20), Card(36)].into_iter().collect();
        let mut first = [0_u32; 3];
        for seed in 0..9_000 {
            let board = board(picked, &mut Chance::new(Seed(seed), 4, Purpose::StoriesBoard));
            first[picked.iter().position(|card| card == board[0]).unwrap()] += 1;
        }
        // Standard deviation of one count: sqrt(9000 * 1/3 * 2/3) = 44.7.
        assert!(first.iter().all(|count| count.abs_diff(3_000) < 224), "{first:?}");
    }

    #[test]
    fn a_deck_that_runs_out_gives_what_is_left() {
        let settings = GameSettings { hand: 6, deck: 9, ..GameSettings::default() };
        let mut dice = Chance::new(Seed(1), 0, Purpose::StoriesDeal);
        assert_eq!(deal(&settings, CardSet::EMPTY, CardSet::base(5), &mut dice).len(), 4);
        assert!(deal(&settings, CardSet::EMPTY, CardSet::base(9), &mut dice).is_empty());
    }
}
