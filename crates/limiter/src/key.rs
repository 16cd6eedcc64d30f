//! A key in three words, so that two are compared without a call and without a branch. Does not know what its bytes
//! mean.

use crate::Quota;
use crate::key_hasher::KeyHasher;

/// Longest key that lies in its slot: `address:255.255.255.255` just does.
pub(crate) const SHORT_BYTES_MAX: usize = 23;

/// A short key itself, or the fingerprint of a long one. The highest byte tells which; 0 is no key at all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedKey([u64; 3]);

/// The highest byte of a fingerprint; of a short key it is the length and 1.
const LONG: u64 = 0xff << 56;

/// A key on its way to its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyProbe<'a> {
    pub(crate) hash: u64,
    pub(crate) packed: PackedKey,
    pub(crate) key: &'a [u8],
    /// The quota that its hit has brought along.
    pub(crate) supplied_quota: Option<Quota>,
}

impl<'a> KeyProbe<'a> {
    #[inline]
    pub(crate) fn new(hasher: &KeyHasher, key: &'a [u8]) -> Self {
        if key.len() > SHORT_BYTES_MAX {
            return Self::long(hasher.hash_bytes(key), key);
        }
        let packed = PackedKey::short(key);
        Self { hash: packed.hash(hasher), packed, key, supplied_quota: None }
    }

    /// A long key of which the hash is known.
    pub(crate) const fn long(hash: u64, key: &'a [u8]) -> Self {
        Self { hash, packed: PackedKey::long(hash, key), key, supplied_quota: None }
    }

    #[inline]
    pub(crate) const fn is_short(&self) -> bool {
        self.key.len() <= SHORT_BYTES_MAX
    }
}

impl PackedKey {
    /// No key.
    pub(crate) const EMPTY: Self = Self([0; 3]);

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.0[2] == 0
    }

    /// Equality without a branch.
    #[inline]
    pub(crate) const fn equals(&self, other: &Self) -> bool {
        let ([a, b, c], [x, y, z]) = (self.0, other.0);
        (a ^ x) | (b ^ y) | (c ^ z) == 0
    }

    /// Padded with zeros; different keys differ, because the length is part of it.
    #[inline]
    fn short(key: &[u8]) -> Self {
        Self([word(key, 0), word(key, 8), word(key, 16) | (key.len() as u64 + 1) << 56])
    }

    /// Different keys may have the same fingerprint by chance: after a match the keys themselves are compared.
    const fn long(hash: u64, key: &[u8]) -> Self {
        Self([hash, key.len() as u64, LONG])
    }

    /// The hash of a short key.
    #[inline]
    pub(crate) fn hash(&self, hasher: &KeyHasher) -> u64 {
        hasher.hash_words(self.0)
    }

    /// The bytes of a short key, as the slot keeps them.
    pub(crate) fn with_short<R>(&self, with: impl FnOnce(&[u8]) -> R) -> R {
        let mut bytes = [0; 24];
        for (word, place) in self.0.iter().zip(bytes.chunks_exact_mut(8)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        with(&bytes[..(self.0[2] >> 56) as usize - 1])
    }
}

/// Eight bytes of a key of less than 24, or as many as there are, padded with zeros.
#[inline]
fn word(key: &[u8], at: usize) -> u64 {
    match (key.get(at..), key.last_chunk::<8>()) {
        (None | Some([]), _) => 0,
        (Some(rest), _) if rest.len() >= 8 => rest.first_chunk().map_or(0, |word| u64::from_le_bytes(*word)),
        (Some(rest), Some(last)) => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
        (Some(rest), None) => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn short() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![Just(0), Just(0xff), any::<u8>()], 0..=SHORT_BYTES_MAX)
    }

    proptest! {
        #[test]
        fn short_keys_are_packed_whole(key in short(), other in short()) {
            let packed = PackedKey::short(&key);
            prop_assert!(!packed.is_empty());
            prop_assert_eq!(packed.with_short(<[u8]>::to_vec), key.clone());
            prop_assert_eq!(packed.equals(&PackedKey::short(&other)), key == other);
        }

        #[test]
        fn a_fingerprint_is_no_short_key(key in short(), hash: u64, long in prop::collection::vec(any::<u8>(), 24..100)) {
            prop_assert!(!PackedKey::long(hash, &long).equals(&PackedKey::short(&key)));
            prop_assert!(!PackedKey::long(hash, &long).is_empty());
        }
    }
}
