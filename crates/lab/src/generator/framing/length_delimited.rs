//! Length-delimited frames, as protobuf's libraries write messages one after the other: a varint with the length, then
//! that many bytes. Does not know what a frame contains.

use super::super::Failure;
use super::super::decoder::{Decoded, Decoder, Event, ExpectedResponse, ResponseBody};
use super::FramePayload;
use crate::limits::FRAME_BYTES_MAX;
use crate::measurement::ErrorKind;
use crate::scenario::message::encode_varint;

/// Groups of seven bits in the longest length.
const LENGTH_BYTES_MAX: usize = 10;

/// No state: the caller keeps what is incomplete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LengthDelimited;

pub(super) fn encode_frame(payload: &[u8], out: &mut Vec<u8>) {
    encode_varint(payload.len() as u64, out);
    out.extend_from_slice(payload);
}

impl Decoder for LengthDelimited {
    fn expect_response(&mut self, _request: ExpectedResponse) {}

    fn decode(&mut self, bytes: &[u8], _body: &mut ResponseBody) -> Decoded {
        let event = |bytes, event| Decoded { consumed: bytes, event };
        let (length, at) = match parse_length(bytes) {
            ParsedLength::Known(length, at) => (length, at),
            ParsedLength::Incomplete => return event(0, Event::NeedMore),
            ParsedLength::Invalid => {
                return event(0, Event::Failed(Failure::new(ErrorKind::Answer, "a frame without a length")));
            }
        };
        if length > FRAME_BYTES_MAX as u64 {
            let message = format!("a frame of {length} bytes; the lab takes up to {FRAME_BYTES_MAX}");
            return event(0, Event::Failed(Failure::new(ErrorKind::TooLarge, message)));
        }
        let end = at + length as usize;
        if bytes.len() < end {
            return event(0, Event::NeedMore);
        }
        event(end, Event::Frame(FramePayload::InPlace(at..end)))
    }

    fn decode_eof(&mut self) -> Event {
        Event::Failed(Failure::new(ErrorKind::Closed, "the connection was closed"))
    }
}

enum ParsedLength {
    /// The length, and where its frame begins.
    Known(u64, usize),
    Incomplete,
    Invalid,
}

fn parse_length(bytes: &[u8]) -> ParsedLength {
    let mut length = 0_u64;
    for (at, byte) in bytes.iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return ParsedLength::Known(length, at + 1);
        }
    }
    if bytes.len() < LENGTH_BYTES_MAX { ParsedLength::Incomplete } else { ParsedLength::Invalid }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take(bytes: &[u8]) -> Decoded {
        LengthDelimited.decode(bytes, &mut ResponseBody::default())
    }

    #[test]
    fn rejects_impossible_lengths() {
        let wrong = [0xff; 10];
        assert!(matches!(take(&wrong).event, Event::Failed(Failure { kind: ErrorKind::Answer, .. })));
        let mut long = Vec::new();
        encode_varint(FRAME_BYTES_MAX as u64 + 1, &mut long);
        assert!(matches!(take(&long).event, Event::Failed(Failure { kind: ErrorKind::TooLarge, .. })));
        assert_eq!(take(&wrong[..9]), Decoded { consumed: 0, event: Event::NeedMore });
    }

    proptest! {
        #[test]
        fn frames_round_trip_however_they_are_split(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..8),
            ended_early in 1usize..300,
        ) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|frame| encode_frame(frame, &mut bytes));
            let (mut waiting, mut found): (Vec<u8>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
            for piece in bytes.chunks(ended_early) {
                waiting.extend_from_slice(piece);
                while let Decoded { consumed, event: Event::Frame(FramePayload::InPlace(range)) } = take(&waiting) {
                    found.push(waiting[range].to_vec());
                    waiting.drain(..consumed);
                }
            }
            prop_assert_eq!((found, waiting), (frames, Vec::new()));
        }
    }
}
