//! Which game of a duel a match is: the key in the match's origin.

use crate::pack::{DecodeError, packed_as};

/// A game by its place in the duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GameKey {
    /// The pairing of two bots; always 0 between two.
    pub pairing: u8,
    /// The pair in its pairing, from 0.
    pub pair: u32,
    /// 0 or 1: in game 1 of a pair seats are exchanged.
    pub game: u8,
    /// How often this game was started before without a result that counts.
    pub attempt: u8,
}

impl GameKey {
    /// As one number.
    #[must_use]
    pub fn to_u64(self) -> u64 {
        u64::from(self.pairing) << 48 | u64::from(self.pair) << 16 | u64::from(self.game) << 8 | u64::from(self.attempt)
    }

    /// The key of this number, if it is one.
    #[must_use]
    pub fn from_u64(number: u64) -> Option<Self> {
        let [high, pairing, pair @ .., game, attempt] = number.to_be_bytes();
        let pair = u32::from_be_bytes(pair);
        (high == 0 && game < 2).then_some(Self { pairing, pair, game, attempt })
    }
}

packed_as!(GameKey: u64, |key| key.to_u64(), |number| {
    Self::from_u64(number).ok_or(DecodeError("a number that is no game of a duel"))
});

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_read_back(pairing: u8, pair: u32, game in 0u8..2, attempt: u8) {
            let key = GameKey { pairing, pair, game, attempt };
            prop_assert_eq!(GameKey::from_u64(key.to_u64()), Some(key));
        }

        #[test]
        fn a_number_is_one_key_or_none(number: u64) {
            prop_assert!(GameKey::from_u64(number).is_none_or(|key| key.to_u64() == number));
        }
    }
}
