//! The first answers to a mover's last inputs, so that a repeated input gets the same answer: eight bytes each.
//!
//! ```text
//! answer = kind:8 rest:56     moved: x:16 y:16 · dug: points:16 score:32 · grabbed: item:8 until_ms:48 · refused: code:8
//!                             · held: group:24 index:32
//! ```

use super::input::Done;
use super::refusal::Refusal;
use crate::limits::MOVER_ANSWERS_KEPT;
use crate::time::UnixMs;
use rules::world::{Cell, PowerUp};

const NONE: u64 = 0;
const MOVED: u64 = 1;
const DUG: u64 = 2;
const GRABBED: u64 = 3;
const REFUSED: u64 = 4;
const HELD: u64 = 5;

/// Refusals that answer an input for good, by code. Codes are never changed.
const REFUSALS: [Refusal; 8] = [
    Refusal::Blocked,
    Refusal::OutOfBounds,
    Refusal::TooFast,
    Refusal::Occupied,
    Refusal::Taken,
    Refusal::NothingHere,
    Refusal::NoHunt,
    Refusal::RoundOver,
];

/// Where an answer is kept until its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeldAnswerRef {
    /// Which commit.
    pub(super) group: u32,
    /// Which of those that wait for it.
    pub(super) index: u32,
}

/// What a repeated input is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordedAnswer {
    /// This, as the first time.
    Final(Result<Done, Refusal>),
    /// What waits for a commit.
    Held(HeldAnswerRef),
}

/// The last answers, by the low bits of the inputs' numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecentAnswers([u64; MOVER_ANSWERS_KEPT]);

impl RecentAnswers {
    /// Keeps the answer to the input of this number.
    pub(super) fn record(&mut self, seq: u32, first: RecordedAnswer) {
        self.0[seq as usize % MOVER_ANSWERS_KEPT] = pack_word(first);
    }

    /// Inputs from `first` to the one before `end` have no answer: not those of earlier inputs, whose words they would share.
    pub(super) fn forget(&mut self, first: u32, end: u32) {
        let count = end.wrapping_sub(first).min(MOVER_ANSWERS_KEPT as u32);
        for seq in (1..=count).map(|back| end.wrapping_sub(back)) {
            self.0[seq as usize % MOVER_ANSWERS_KEPT] = NONE;
        }
    }

    /// What the input of this number was answered, if that is still kept.
    pub(super) fn get(&self, seq: u32) -> Option<RecordedAnswer> {
        unpack_word(self.0[seq as usize % MOVER_ANSWERS_KEPT])
    }

    /// The words, as snapshots keep them: what is held is not known there.
    pub(super) fn words(&self) -> [u64; MOVER_ANSWERS_KEPT] {
        self.0.map(|word| if word & 0xff == HELD { NONE } else { word })
    }

    /// The answers of these words; `None` if one is not what this file writes.
    pub(super) fn from_words(words: [u64; MOVER_ANSWERS_KEPT]) -> Option<Self> {
        let is_own = |word: &u64| *word == NONE || unpack_word(*word).is_some_and(|first| pack_word(first) == *word);
        (words.iter().all(is_own) && Self(words).words() == words).then_some(Self(words))
    }
}

fn pack_word(first: RecordedAnswer) -> u64 {
    match first {
        RecordedAnswer::Final(Ok(Done::Moved(cell))) => MOVED | u64::from(cell.x) << 8 | u64::from(cell.y) << 24,
        RecordedAnswer::Final(Ok(Done::Dug { points, score })) => DUG | u64::from(points) << 8 | u64::from(score) << 24,
        RecordedAnswer::Final(Ok(Done::Grabbed { item, until })) => {
            GRABBED | u64::from(item.code()) << 8 | u64::try_from(until.0).unwrap_or(0) << 16
        }
        RecordedAnswer::Final(Err(refusal)) => {
            let code = REFUSALS.iter().position(|known| *known == refusal);
            code.map_or(NONE, |code| REFUSED | (code as u64) << 8)
        }
        RecordedAnswer::Held(HeldAnswerRef { group, index }) => {
            HELD | u64::from(group & 0xff_ffff) << 8 | u64::from(index) << 32
        }
    }
}

fn unpack_word(word: u64) -> Option<RecordedAnswer> {
    let rest = word >> 8;
    Some(match word & 0xff {
        MOVED => RecordedAnswer::Final(Ok(Done::Moved(Cell { x: rest as u16, y: (rest >> 16) as u16 }))),
        DUG => RecordedAnswer::Final(Ok(Done::Dug { points: rest as u16, score: (rest >> 16) as u32 })),
        GRABBED => {
            let until = UnixMs((rest >> 8) as i64);
            RecordedAnswer::Final(Ok(Done::Grabbed { item: PowerUp::from_code(rest as u8)?, until }))
        }
        REFUSED => RecordedAnswer::Final(Err(*REFUSALS.get(rest as usize)?)),
        HELD => RecordedAnswer::Held(HeldAnswerRef { group: rest as u32 & 0xff_ffff, index: (rest >> 24) as u32 }),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(first: RecordedAnswer) {
        let mut answers = RecentAnswers::default();
        answers.record(6, first);
        assert_eq!(answers.get(6), Some(first));
        assert_eq!(answers.get(7), None);
        let words = answers.words();
        assert_eq!(RecentAnswers::from_words(words).map(|read| read.words()), Some(words));
    }

    #[test]
    fn every_answer_is_kept_whole() {
        check(RecordedAnswer::Final(Ok(Done::Moved(Cell { x: 0, y: 0 }))));
        check(RecordedAnswer::Final(Ok(Done::Moved(Cell { x: u16::MAX, y: 4_095 }))));
        check(RecordedAnswer::Final(Ok(Done::Dug { points: u16::MAX, score: u32::MAX })));
        for item in PowerUp::ALL {
            check(RecordedAnswer::Final(Ok(Done::Grabbed { item, until: UnixMs((1 << 48) - 1) })));
        }
        for refusal in REFUSALS {
            check(RecordedAnswer::Final(Err(refusal)));
        }
        check(RecordedAnswer::Held(HeldAnswerRef { group: 0xff_ffff, index: u32::MAX }));
    }

    #[test]
    fn what_is_not_an_answer_for_good_is_not_kept() {
        let mut answers = RecentAnswers::default();
        answers.record(1, RecordedAnswer::Final(Err(Refusal::OutOfOrder { expected: 7 })));
        assert_eq!(answers.get(1), None);
    }

    #[test]
    fn strange_words_are_refused() {
        for word in [9, REFUSED | 8 << 8, GRABBED | 3 << 8, HELD, MOVED | 1 << 50] {
            assert_eq!(RecentAnswers::from_words([0, word, 0, 0]), None, "{word:#x}");
        }
    }
}
