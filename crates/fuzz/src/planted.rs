//! Parsers with bugs on purpose, one of each kind that is searched for: `make fuzz-selftest` shows that they are found. Small copies of what
//! the real ones do (a length in front, a list behind its count, a number in seven bits a byte), with one mistake each.

use crate::Target;
use crate::memory::MemoryBound;

pub static PLANTED: &[Target] = &[
    Target { name: "planted-length", check: length_field, seeds, memory: MemoryBound::USUAL },
    Target { name: "planted-allocation", check: allocation, seeds, memory: MemoryBound::USUAL },
    Target { name: "planted-round-trip", check: round_trip, seeds, memory: MemoryBound::USUAL },
];

/// A frame of the kind that all three read: a mark, then a length of two bytes, then so many bytes.
fn seeds() -> Vec<Vec<u8>> {
    vec![b"GN\x00\x03abc".to_vec()]
}

/// Believes the length: a frame that is cut off panics.
fn length_field(bytes: &[u8]) {
    let Some([high, low, rest @ ..]) = bytes.strip_prefix(b"GN") else { return };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let body = &rest[..length];
    assert!(body.len() <= bytes.len());
}

/// Takes room for as many items as a count announces, up to 64 KiB each time, before it has seen one.
fn allocation(bytes: &[u8]) {
    let Some([high, low, rest @ ..]) = bytes.strip_prefix(b"GN") else { return };
    let count = usize::from(u16::from_be_bytes([*high, *low]));
    let mut items: Vec<u32> = Vec::with_capacity(count);
    items.extend(rest.iter().take(count).map(|byte| u32::from(*byte)));
    assert!(items.len() <= rest.len());
}

/// Takes a number in a form that is not the shortest one, and writes it in the shortest.
fn round_trip(bytes: &[u8]) {
    let mut value = 0_u32;
    for (at, byte) in bytes.iter().take(4).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            assert_eq!(encode_number(value), bytes[..=at], "what is decoded encodes to the same bytes");
            return;
        }
    }
}

fn encode_number(mut value: u32) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
