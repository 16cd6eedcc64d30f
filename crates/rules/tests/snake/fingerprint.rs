//! The fingerprint of a board: stored with every turn, so it is fixed here and may not change within a version.

use super::notation;
use rules::snake::state_hash;
use std::collections::BTreeSet;

const SAMPLE: &str =
    "t258 7x9 | A 100 3,3 D | B x:head-collision:A:4 0 -1,0 | C x:hazard:-:5 0 6,6 | food 1,2 | hazards 3,12*2";

const SAMPLE_BYTES: [u8; 63] = [
    1, 2, 1, 0, 0, 7, 9, // version, turn, width, height
    1, 0, 0, 0, 1, 2, // food
    2, 0, 0, 0, 3, 12, 3, 12, // hazards
    3,  // snakes
    100, 0, 255, 0, 0, 0, 0, 2, 0, 0, 0, 3, 3, 3, 2, // A
    0, 4, 0, 4, 0, 0, 0, 1, 0, 0, 0, 255, 0, // B
    0, 6, 255, 5, 0, 0, 0, 1, 0, 0, 0, 6, 6, // C
];

#[test]
fn the_hash_is_fnv_1a_of_the_golden_bytes() {
    let fnv = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    };
    assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8, "the published test vector");
    assert_eq!(state_hash(&notation::board(SAMPLE)), fnv(&SAMPLE_BYTES));
}

/// Each row differs from the sample in one thing.
#[test]
fn whatever_differs_is_another_state() {
    let rows = [
        ("t258", "t259"),
        ("7x9", "9x7"),
        ("A 100", "A 99"),
        ("3,3 D", "3,3 L"),
        ("3,3 D", "3,3"),
        ("x:head-collision:A:4", "x:snake-collision:A:4"),
        ("x:head-collision:A:4", "x:head-collision:C:4"),
        ("x:head-collision:A:4", "x:head-collision:A:5"),
        ("food 1,2", "food 2,1"),
        ("food 1,2", "food 1,2 3,4"),
        ("hazards 3,12*2", "hazards 3,12"),
    ];
    let mut seen = BTreeSet::from([state_hash(&notation::board(SAMPLE))]);
    for (have, instead) in rows {
        let other = SAMPLE.replace(have, instead);
        assert_ne!(other, SAMPLE, "{have}");
        assert!(seen.insert(state_hash(&notation::board(&other))), "{other}");
    }
}
