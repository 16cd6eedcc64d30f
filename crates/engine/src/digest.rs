//! Digests of secrets: how they are stored, and how they are compared.

use sha2::{Digest, Sha256};
use std::hint::black_box;

/// The stored form of a secret. One round of SHA-256 is enough: secrets are 256 random bits, not passwords.
#[must_use]
pub fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

pub fn is_equal_in_constant_time(a: &[u8; 32], b: &[u8; 32]) -> bool {
    let difference = a.iter().zip(b).fold(0, |difference, (a, b)| black_box(difference | (a ^ b)));
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_compared_whole() {
        let one = digest("a");
        let mut other = one;
        assert!(is_equal_in_constant_time(&one, &other));
        other[31] ^= 1;
        assert!(!is_equal_in_constant_time(&one, &other));
    }
}
