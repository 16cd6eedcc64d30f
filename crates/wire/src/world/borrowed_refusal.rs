//! A refusal that borrows its text: movers run into trees all the time, and none of that is worth an allocation.

use super::encode::EncodeMessage;
use prost::encoding::{encode_varint, encoded_len_varint};
use serde::Serialize;

/// [`Refused`](super::Refused), for encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal<'a> {
    /// Of the input; 0 of a registration.
    pub seq: u32,
    /// Stable, for programs.
    pub code: &'a str,
    /// For people; empty unless the client wants reasons.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'a str,
    /// Of an input out of order: the number that was expected; 0 of others.
    pub expected_seq: u32,
}

const SEQ: u8 = 1 << 3;
const CODE: u8 = 2 << 3 | 2;
const REASON: u8 = 3 << 3 | 2;
const EXPECTED_SEQ: u8 = 4 << 3;

impl EncodeMessage for Refusal<'_> {
    const FIELD: u8 = 7;
    const NAME: &'static str = "refused";

    fn len_bytes(&self) -> usize {
        let number = |number: u32| if number == 0 { 0 } else { 1 + encoded_len_varint(number.into()) };
        let text =
            |text: &str| if text.is_empty() { 0 } else { 1 + encoded_len_varint(text.len() as u64) + text.len() };
        number(self.seq) + text(self.code) + text(self.reason) + number(self.expected_seq)
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_number(SEQ, self.seq, out);
        put_text(CODE, self.code, out);
        put_text(REASON, self.reason, out);
        put_number(EXPECTED_SEQ, self.expected_seq, out);
    }
}

fn put_number(key: u8, number: u32, out: &mut Vec<u8>) {
    if number > 0 {
        out.push(key);
        encode_varint(number.into(), out);
    }
}

fn put_text(key: u8, text: &str, out: &mut Vec<u8>) {
    if !text.is_empty() {
        out.push(key);
        encode_varint(text.len() as u64, out);
        out.extend_from_slice(text.as_bytes());
    }
}
