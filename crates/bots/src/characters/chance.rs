//! Deterministic random numbers: drawn from the snake, the match, the turn, and a seed. The same request draws the same
//! numbers; a draw for one purpose does not change the draws for another.

use wire::webhook::Request;

/// What numbers are drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The choice of a move.
    Move = 1,
    /// Whether and how something goes wrong.
    Fault = 2,
    /// Whether a move is made without looking, and which.
    Carelessness = 3,
}

/// A stream of numbers (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    state: u64,
}

/// 2^64 divided by the golden ratio: the step of splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Chance {
    /// The stream of a request.
    pub(crate) fn of(seed: u64, request: &Request<'_>, purpose: Purpose) -> Chance {
        let mut state = mix(seed.wrapping_add(STEP)) ^ purpose as u64;
        state = mix(hash(state, &request.game.id));
        state = mix(hash(state, &request.you.id));
        Chance { state: mix(state ^ u64::from(request.turn)) }
    }

    /// The stream of a seed alone.
    pub(crate) fn from_seed(seed: u64) -> Chance {
        Chance { state: mix(seed) }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A stream of its own for another purpose.
    pub(crate) fn split(&mut self) -> Chance {
        Chance { state: mix(self.next()) }
    }

    /// A number below `count`; 0 when `count` is 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        // The high half of a product; its bias is below count / 2^64.
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn unit_f64(&mut self) -> f64 {
        // 53 bits fill a float exactly, so it never rounds up to 1.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// FNV-1a over `text`, begun at `state`.
fn hash(state: u64, text: &str) -> u64 {
    text.bytes().fold(state, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The finishing step of splitmix64: every bit of the input touches every bit of the output.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
