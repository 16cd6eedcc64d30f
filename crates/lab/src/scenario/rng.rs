//! Reproducible random numbers: what an arrival draws is a pure function of a seed and of a word that says what the
//! draw is for. Keeps no state: no draw changes another, so a retry and a second run draw the same.

/// What a draw is for. Two purposes of one seed never share a word, and none shares one with the index of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawPurpose {
    /// An item of a list to pick from.
    Pick = 1,
    /// The length of a pause.
    Pause,
    /// The row of a feed.
    Row,
    Key,
    /// The gap between two independent arrivals.
    Gap,
    /// The seed of a load spec.
    LoadSpec,
}

/// Bits of a draw's number; the purpose is above them.
const NUMBER_BITS: u32 = 48;

#[must_use]
pub(crate) fn draw(seed: u64, purpose: DrawPurpose, number: u64) -> u64 {
    mix(seed, ((purpose as u64) << NUMBER_BITS) | number)
}

/// Mixes two words of 64 bits into one, so that neighbours share nothing (the finalizer of SplitMix64).
#[must_use]
pub(crate) fn mix(seed: u64, word: u64) -> u64 {
    let mut z = seed.wrapping_add(word.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A draw as a number from 0 to below 1, in steps of 2^-53.
#[must_use]
pub(crate) fn to_unit_interval(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// A draw as a whole number from 0 to below `count`; 0 if `count` is 0. Its bias is below `count` / 2^64.
#[must_use]
pub(crate) fn to_range(draw: u64, count: u64) -> u64 {
    ((u128::from(draw) * u128::from(count)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_stay_within_their_bounds_at_the_ends() {
        assert_eq!((to_unit_interval(0), to_range(0, 7), to_range(u64::MAX, 7), to_range(u64::MAX, 0)), (0.0, 0, 6, 0));
        assert!(to_unit_interval(u64::MAX) < 1.0);
        assert_eq!(to_range(u64::MAX, u64::MAX), u64::MAX - 1);
    }

    #[test]
    fn purposes_and_numbers_are_distinct() {
        let of = |purpose| (0..100).map(move |number| draw(7, purpose, number));
        let all: std::collections::BTreeSet<u64> = of(DrawPurpose::Pick).chain(of(DrawPurpose::LoadSpec)).collect();
        assert_eq!(all.len(), 200);
        assert!((0..100).all(|index| !all.contains(&mix(7, index))), "an arrival's seed is no draw of its leg");
    }
}
