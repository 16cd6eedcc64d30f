//! The random source of a simulation: SplitMix64 (Steele, Lea, Flood 2014), and the same mixing as a hash.

/// A stream of numbers that follows from its seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..n`; slightly uneven, which does not matter here.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// The chance in an id.
    pub(crate) fn id_bytes(&mut self, number: u8) -> [u8; 10] {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.next().to_be_bytes());
        random[9] = number;
        random
    }

    /// True in `per_mille` of 1,000 cases.
    pub(crate) fn bool_per_mille(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }
}

pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A hash of bytes that is the same on every machine.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0x5eed, |hash, byte| mix(hash ^ u64::from(*byte)))
}
