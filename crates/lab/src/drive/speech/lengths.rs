//! Frames with their length in front, as protobuf's libraries write messages behind each other: a varint, then so many
//! bytes. Refuses to know what a frame holds.

use super::super::Failure;
use super::super::protocol::{Body, Event, Protocol, Request, Taken};
use super::Frame;
use crate::limits::FRAME_BYTES_MAX;
use crate::record::Trouble;
use crate::scenario::message::push_varint;

/// Groups of seven bits in the longest length.
const LENGTH_BYTES_MAX: usize = 10;

/// One connection's place between frames: none, because whatever is incomplete is kept by the caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lengths;

/// Appends a frame.
pub(super) fn wrap(payload: &[u8], out: &mut Vec<u8>) {
    push_varint(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

impl Protocol for Lengths {
    fn begin(&mut self, _request: Request) {}

    fn take(&mut self, bytes: &[u8], _body: &mut Body) -> Taken {
        let event = |bytes, event| Taken { bytes, event };
        let (length, at) = match length_of(bytes) {
            Length::Known(length, at) => (length, at),
            Length::Short => return event(0, Event::More),
            Length::Wrong => return event(0, Event::Broken(Failure::new(Trouble::Answer, "a frame without a length"))),
        };
        if length > FRAME_BYTES_MAX as u64 {
            let message = format!("a frame of {length} bytes; the lab takes up to {FRAME_BYTES_MAX}");
            return event(0, Event::Broken(Failure::new(Trouble::PictureError, message)));
        }
        let end = at + length as usize;
        if bytes.len() < end {
            return event(0, Event::More);
        }
        event(end, Event::Frame(Frame::Here(at..end)))
    }

    fn end(&mut self) -> Event {
        Event::Broken(Failure::new(Trouble::Closed, "the connection was closed"))
    }
}

enum Length {
    /// The length, and where its frame begins.
    Known(u64, usize),
    Short,
    Wrong,
}

fn length_of(bytes: &[u8]) -> Length {
    let mut length = 0_u64;
    for (at, byte) in bytes.iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Length::Known(length, at + 1);
        }
    }
    if bytes.len() < LENGTH_BYTES_MAX { Length::Short } else { Length::Wrong }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take(bytes: &[u8]) -> Taken {
        Lengths.take(bytes, &mut Body::default())
    }

    #[test]
    fn lengths_that_cannot_be() {
        let wrong = [0xff; 10];
        assert!(matches!(take(&wrong).event, Event::Broken(Failure { trouble: Trouble::Answer, .. })));
        let mut long = Vec::new();
        push_varint(&mut long, FRAME_BYTES_MAX as u64 + 1);
        assert!(matches!(take(&long).event, Event::Broken(Failure { trouble: Trouble::PictureError, .. })));
        assert_eq!(take(&wrong[..9]), Taken { bytes: 0, event: Event::More });
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_they_are_cut(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..8),
            cut in 1usize..300,
        ) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|frame| wrap(frame, &mut bytes));
            let (mut waiting, mut found): (Vec<u8>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
            for piece in bytes.chunks(cut) {
                waiting.extend_from_slice(piece);
                while let Taken { bytes, event: Event::Frame(Frame::Here(range)) } = take(&waiting) {
                    found.push(waiting[range].to_vec());
                    waiting.drain(..bytes);
                }
            }
            prop_assert_eq!((found, waiting), (frames, Vec::new()));
        }
    }
}
