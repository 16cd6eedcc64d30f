//! How keys are spread: a keyed hash. Does not know where the seed comes from.

use std::fmt;
use std::hash::{BuildHasher, Hasher};

/// Seeds the hash of keys. An attacker who can guess it can choose keys that collide: take it from the system's random
/// numbers, once a process.
#[derive(Clone, Copy)]
pub struct Seed([u64; 4]);

impl Seed {
    /// A seed of 32 random bytes.
    #[must_use]
    pub fn new(bytes: [u8; 32]) -> Self {
        let (words, _) = bytes.as_chunks::<8>();
        Self(std::array::from_fn(|index| u64::from_le_bytes(words[index])))
    }
}

/// A seed is a secret.
impl fmt::Debug for Seed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Seed(..)")
    }
}

/// The hash that a seed makes.
#[derive(Clone)]
pub(crate) struct KeyHasher(ahash::RandomState);

impl KeyHasher {
    pub(crate) fn new(seed: Seed) -> Self {
        let [a, b, c, d] = seed.0;
        Self(ahash::RandomState::with_seeds(a, b, c, d))
    }

    /// Of a short key: no branch on its length.
    #[inline]
    pub(crate) fn hash_words(&self, [low, middle, high]: [u64; 3]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write_u128(u128::from(middle) << 64 | u128::from(low));
        hasher.write_u64(high);
        hasher.finish()
    }

    /// Of a long key.
    pub(crate) fn hash_bytes(&self, key: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(key);
        hasher.finish()
    }
}

impl fmt::Debug for KeyHasher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeyHasher(..)")
    }
}
