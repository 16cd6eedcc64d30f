//! Cuts bytes into pieces, as a network does. The cuts are drawn from the input itself, so that the same input is always cut in the same
//! way, and the search finds the cuts that matter.

/// The rest of an input behind the byte that says how it is cut.
#[derive(Clone, Copy, Debug)]
pub struct Pieces<'a> {
    /// All of it at once.
    pub whole: &'a [u8],
    pattern: u8,
}

impl<'a> Pieces<'a> {
    /// `None` for an empty input.
    #[must_use]
    pub fn of(input: &'a [u8]) -> Option<Self> {
        let (&pattern, whole) = input.split_first()?;
        Some(Self { whole, pattern })
    }

    /// The same bytes in pieces of 1 to 16 bytes, none of them empty: sizes alternate between the two halves of the first byte.
    pub fn cut(self) -> impl Iterator<Item = &'a [u8]> {
        let sizes = [usize::from(self.pattern & 0x0f) + 1, usize::from(self.pattern >> 4) + 1];
        let (mut rest, mut turn) = (self.whole, 0);
        std::iter::from_fn(move || {
            let (piece, after) = rest.split_at(sizes[turn % 2].min(rest.len()));
            (rest, turn) = (after, turn + 1);
            (!piece.is_empty()).then_some(piece)
        })
    }
}
