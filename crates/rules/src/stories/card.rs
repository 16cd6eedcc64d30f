//! Cards and sets of cards. The pictures on them are not known here.

use std::fmt;

/// Cards that all players have: 1..=36.
pub const BASE_CARDS: u8 = 36;
/// All cards that exist: the base deck, and 37..=43, which players earn.
pub const CARDS: u8 = 43;

/// One card: 1..=[`CARDS`].
///
/// Its `Debug` hides the number: a card in a log file would be revealed to its readers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Card(pub u8);

impl Card {
    /// The card of this number, if there is one.
    #[must_use]
    pub fn new(number: u8) -> Option<Self> {
        (1..=CARDS).contains(&number).then_some(Self(number))
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Card(hidden)")
    }
}

/// A set of cards: a hand, or what a player has earned. Bit n is card n.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct CardSet(u64);

const _: () = assert!(CARDS < 64, "a set of cards is 64 bits");

/// Bits of all cards that exist.
const ALL: u64 = (1 << (CARDS + 1)) - 2;

impl CardSet {
    /// No card.
    pub const EMPTY: Self = Self(0);
    /// The cards that can be earned.
    pub const EARNABLE: Self = Self(ALL & !Self::base(BASE_CARDS).0);

    /// The cards 1..=`count` of the base deck.
    #[must_use]
    pub const fn base(count: u8) -> Self {
        let count = if count > BASE_CARDS { BASE_CARDS } else { count };
        Self((1 << (count + 1)) - 2)
    }

    /// As a store keeps it: bit n is card n.
    #[must_use]
    pub fn bits(self) -> u64 {
        self.0
    }

    /// The set of these bits; `None` when a bit stands for no card.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<Self> {
        (bits & !ALL == 0).then_some(Self(bits))
    }

    /// Whether the card is in it.
    #[must_use]
    pub fn contains(self, card: Card) -> bool {
        card.0 <= CARDS && self.0 >> card.0 & 1 == 1
    }

    /// How many cards.
    #[must_use]
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The cards of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The cards of this one that the other has not.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its cards, lowest first.
    pub fn iter(self) -> impl Iterator<Item = Card> {
        (1..=CARDS).map(Card).filter(move |&card| self.contains(card))
    }
}

impl FromIterator<Card> for CardSet {
    /// Cards that do not exist are left out.
    fn from_iter<I: IntoIterator<Item = Card>>(cards: I) -> Self {
        Self(cards.into_iter().filter(|card| Card::new(card.0).is_some()).fold(0, |bits, card| bits | 1 << card.0))
    }
}

impl fmt::Debug for CardSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CardSet({} hidden)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bits: u64, want: Option<&[u8]>) {
        let set = CardSet::from_bits(bits);
        assert_eq!(set.map(|set| set.iter().map(|card| card.0).collect::<Vec<_>>()).as_deref(), want);
        if let Some(set) = set {
            assert_eq!(set.bits(), bits);
            assert_eq!(set.iter().collect::<CardSet>(), set);
        }
    }

    #[test]
    fn sets_are_bits_of_cards_that_exist() {
        check(0, Some(&[]));
        check(0b10, Some(&[1]));
        check(1 << 43 | 1 << 36, Some(&[36, 43]));
        check(1, None);
        check(1 << 44, None);
        check(u64::MAX, None);
    }

    #[test]
    fn the_two_decks_have_nothing_in_common() {
        assert_eq!(CardSet::base(36).len() + CardSet::EARNABLE.len(), usize::from(CARDS));
        assert_eq!(CardSet::base(36).without(CardSet::EARNABLE), CardSet::base(36));
        assert_eq!(CardSet::EARNABLE.iter().map(|card| card.0).collect::<Vec<_>>(), [37, 38, 39, 40, 41, 42, 43]);
        assert_eq!(CardSet::base(200), CardSet::base(36));
    }

    #[test]
    fn debug_does_not_reveal_cards() {
        let text = format!("{:?} {:?}", Card(17), CardSet::base(3));
        assert_eq!(text, "Card(hidden) CardSet(3 hidden)");
    }

    #[test]
    fn sets_know_no_card_that_does_not_exist() {
        assert!(!CardSet::base(36).contains(Card(0)));
        assert!(!CardSet::base(36).contains(Card(200)));
        assert!([Card(0), Card(44), Card(255)].into_iter().collect::<CardSet>().is_empty());
    }
}
