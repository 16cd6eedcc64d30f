//! Length-delimited frames, as protobuf's libraries write messages one after the other: a varint with the length, then
//! that many bytes. Does not know what a frame contains.

use prost_reflect::prost::encoding::{decode_varint, encode_varint};

use super::super::Failure;
use super::super::decoder::{Decoded, Event, FramePayload};
use crate::limits::FRAME_BYTES_MAX;
use crate::measurement::ErrorKind;

/// Groups of seven bits in the longest length.
const LENGTH_BYTES_MAX: usize = 10;

pub(super) fn encode_frame(payload: &[u8], out: &mut Vec<u8>) {
    encode_varint(payload.len() as u64, out);
    out.extend_from_slice(payload);
}

pub(super) fn decode(bytes: &[u8]) -> Decoded {
    let mut rest = bytes;
    let length = match decode_varint(&mut rest) {
        Ok(length) => length,
        Err(_) if bytes.len() < LENGTH_BYTES_MAX => return Ok((0, Event::NeedMore)),
        Err(_) => return Err(Failure::new(ErrorKind::Answer, "a frame without a length")),
    };
    if length > FRAME_BYTES_MAX as u64 {
        let message = format!("a frame of {length} bytes; the lab takes up to {FRAME_BYTES_MAX}");
        return Err(Failure::new(ErrorKind::TooLarge, message));
    }
    let start = bytes.len() - rest.len();
    let end = start + length as usize;
    if bytes.len() < end {
        return Ok((0, Event::NeedMore));
    }
    Ok((end, Event::Frame(FramePayload::InPlace(start..end))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rejects_impossible_lengths() {
        let wrong = [0xff; 10];
        assert!(matches!(decode(&wrong), Err(Failure { kind: ErrorKind::Answer, .. })));
        let mut long = Vec::new();
        encode_varint(FRAME_BYTES_MAX as u64 + 1, &mut long);
        assert!(matches!(decode(&long), Err(Failure { kind: ErrorKind::TooLarge, .. })));
        assert_eq!(decode(&wrong[..9]), Ok((0, Event::NeedMore)));
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
                while let Ok((consumed, Event::Frame(FramePayload::InPlace(range)))) = decode(&waiting) {
                    found.push(waiting[range].to_vec());
                    waiting.drain(..consumed);
                }
            }
            prop_assert_eq!((found, waiting), (frames, Vec::new()));
        }
    }
}
