//! Whether bots play at a table, and how hard their stories are.

use crate::pack::{DecodeError, packed_as};
use cards::Difficulty;

/// What is chosen about the bots of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BotSettings {
    /// Whether they take free seats.
    pub are_on: bool,
    /// How hard it is to guess the cards of their stories.
    pub difficulty: Difficulty,
}

// 0 and 1 are those of tables that were stored before there was a choice: bots that are off and on, of the default difficulty.
packed_as!(BotSettings: u8, |bots| code(*bots), |code| {
    ALL.into_iter().find(|bots| self::code(*bots) == code).ok_or(DecodeError("unknown settings of bots"))
});

const ALL: [BotSettings; 6] = {
    const fn of(are_on: bool, difficulty: Difficulty) -> BotSettings {
        BotSettings { are_on, difficulty }
    }
    [
        of(false, Difficulty::Oblique),
        of(true, Difficulty::Oblique),
        of(false, Difficulty::Plain),
        of(true, Difficulty::Plain),
        of(false, Difficulty::Riddling),
        of(true, Difficulty::Riddling),
    ]
};

/// Never changed and never used again.
fn code(bots: BotSettings) -> u8 {
    let difficulty = match bots.difficulty {
        Difficulty::Oblique => 0,
        Difficulty::Plain => 1,
        Difficulty::Riddling => 2,
    };
    difficulty << 1 | u8::from(bots.are_on)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{decode_versioned, encode_versioned};

    /// The bytes of the settings that are stored, and those of a table without a choice: one byte, 0 or 1.
    #[test]
    fn every_choice_has_its_byte() {
        for (byte, bots) in (0..).zip(ALL) {
            assert_eq!(encode_versioned(1, &bots), [1, byte]);
            assert_eq!(decode_versioned(1, &[1, byte]), Ok(bots));
        }
        assert_eq!(decode_versioned(1, &[1, 0]), Ok(BotSettings::default()));
        assert!(decode_versioned::<BotSettings>(1, &[1, 6]).is_err());
    }
}
