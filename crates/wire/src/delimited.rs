//! Length-delimited frames, as protocol buffers are sent over a stream of bytes: a varint, then so many bytes. Pure;
//! does not know what is in a frame.

use std::ops::Range;

/// Longest length prefix that is read, in bytes: more than four gigabytes is no valid frame.
const LENGTH_BYTES_MAX: usize = 5;

/// Why a stream of frames cannot be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramingError {
    /// What stands at the place of a length is none.
    BadLength,
    /// A frame of no bytes.
    Empty,
    /// A frame would be longer than is read here.
    TooLong {
        /// Its length, in bytes.
        bytes: usize,
    },
}

/// Where the first frame stands in these bytes, if all of it is there.
///
/// # Errors
/// No more bytes will make a frame of it. Its length is refused before anything behind it is waited for.
pub fn first_frame(bytes: &[u8], bytes_max: usize) -> Result<Option<Range<usize>>, FramingError> {
    let Some((start, length)) = read_length(bytes)? else { return Ok(None) };
    match length {
        0 => Err(FramingError::Empty),
        length if length > bytes_max => Err(FramingError::TooLong { bytes: length }),
        length => Ok((bytes.len() >= start + length).then_some(start..start + length)),
    }
}

/// The length that these bytes begin with, and its own; `None` if it is not all there.
fn read_length(bytes: &[u8]) -> Result<Option<(usize, usize)>, FramingError> {
    let mut length = 0_u64;
    for (at, byte) in bytes.iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(Some((at + 1, usize::try_from(length).map_err(|_| FramingError::BadLength)?)));
        }
    }
    if bytes.len() < LENGTH_BYTES_MAX { Ok(None) } else { Err(FramingError::BadLength) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], want: &Result<Option<Range<usize>>, FramingError>) {
        assert_eq!(&first_frame(bytes, 300), want, "{bytes:?}");
    }

    #[test]
    fn frames_stand_behind_their_lengths() {
        check(&[], &Ok(None));
        check(&[2], &Ok(None));
        check(&[2, 7], &Ok(None));
        check(&[2, 7, 7], &Ok(Some(1..3)));
        check(&[2, 7, 7, 7], &Ok(Some(1..3)));
        check(&[0], &Err(FramingError::Empty));
        check(&[0xac], &Ok(None));
        check(&[0xac, 0x02], &Ok(None));
        check(&[&[0xac, 0x02][..], &[7; 300]].concat(), &Ok(Some(2..302)));
        check(&[0xad, 0x02], &Err(FramingError::TooLong { bytes: 301 }));
        check(&[0xff, 0xff, 0xff, 0xff], &Ok(None));
        check(&[0xff; 5], &Err(FramingError::BadLength));
        check(&[0xff, 0xff, 0xff, 0xff, 0x7f], &Err(FramingError::TooLong { bytes: (1 << 35) - 1 }));
    }
}
