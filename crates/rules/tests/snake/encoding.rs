//! The byte form of a board: stored, so its bytes and its hash are fixed here and may not change within a version.

use super::notation;
use rules::snake::{Board, DecodeError, ENCODING_VERSION, state_hash};

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

fn bytes_of(board: &Board) -> Vec<u8> {
    let mut bytes = Vec::new();
    board.encode(&mut bytes);
    bytes
}

#[track_caller]
fn check_refused(bytes: &[u8], expect: &DecodeError) {
    assert_eq!(Board::decode(bytes).as_ref(), Err(expect), "{expect}");
}

#[test]
fn the_bytes_are_golden() {
    assert_eq!(bytes_of(&notation::board(SAMPLE)), SAMPLE_BYTES);
}

#[test]
fn the_hash_is_fnv_1a_of_the_bytes() {
    let fnv = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    };
    assert_eq!(fnv(b"foobar"), 0x8594_4171_f739_67e8, "the published test vector");
    assert_eq!(state_hash(&notation::board(SAMPLE)), fnv(&SAMPLE_BYTES));
}

#[test]
fn encoding_appends() {
    let mut bytes = vec![7];
    notation::board(SAMPLE).encode(&mut bytes);
    assert_eq!((bytes[0], &bytes[1..]), (7, &SAMPLE_BYTES[..]));
}

#[test]
fn what_is_no_board_is_refused() {
    let good = SAMPLE_BYTES;
    assert_eq!(Board::decode(&good), Ok(notation::board(SAMPLE)));
    for length in 0..good.len() {
        check_refused(&good[..length], &DecodeError::TooShort);
    }
    check_refused(&[&good[..], &[0, 0]].concat(), &DecodeError::TooLong { extra_bytes: 2 });
    let with = |at: usize, value: u8| {
        let mut bytes = good;
        bytes[at] = value;
        bytes
    };
    check_refused(&with(0, ENCODING_VERSION + 1), &DecodeError::Version { have: 2 });
    check_refused(&with(5, 0), &DecodeError::Side(0));
    check_refused(&with(6, 26), &DecodeError::Side(26));
    check_refused(&with(10, 255), &DecodeError::TooShort);
    check_refused(&with(22, 101), &DecodeError::Health(101));
    check_refused(&with(23, 7), &DecodeError::Cause(7));
    check_refused(&with(24, 0), &DecodeError::Cause(0));
}
