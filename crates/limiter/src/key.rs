//! A key in the place of an entry: up to 23 bytes lie inline, so that the most common keys cost no allocation and no second
//! cache miss. Refuses to know what the bytes mean.

/// Longest key that lies inline: `address:255.255.255.255` just does.
pub(crate) const INLINE_BYTES_MAX: usize = 23;

/// 24 bytes: a length and 23 bytes of key, or a box. The box hides behind lengths that do not exist.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Inline(Length, [u8; INLINE_BYTES_MAX]),
    Boxed(Box<[u8]>),
}

const _: () = assert!(size_of::<Key>() == 24);

/// A number from 0 to 23, so that the compiler may use the other values of the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[rustfmt::skip]
pub(crate) enum Length {
    L0, L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11, L12, L13, L14, L15, L16, L17, L18, L19, L20, L21, L22, L23,
}

#[rustfmt::skip]
const LENGTHS: [Length; INLINE_BYTES_MAX + 1] = {
    use Length::*;
    [L0, L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11, L12, L13, L14, L15, L16, L17, L18, L19, L20, L21, L22, L23]
};

impl Key {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        match LENGTHS.get(bytes.len()) {
            Some(&length) => {
                let mut inline = [0; INLINE_BYTES_MAX];
                inline[..bytes.len()].copy_from_slice(bytes);
                Self::Inline(length, inline)
            }
            None => Self::Boxed(bytes.into()),
        }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Inline(length, inline) => &inline[..*length as usize],
            Self::Boxed(bytes) => bytes,
        }
    }

    #[inline]
    pub(crate) fn is(&self, bytes: &[u8]) -> bool {
        self.bytes() == bytes
    }
}
