//! Which classes and keys a policy matches: a glob over bytes. Does not know what the bytes mean.

use memchr::memmem::Finder;

use crate::limits::PATTERN_BYTES_MAX;

/// `*` stands for any run of bytes, also none; everything else for itself. Matching is linear in the text.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: Box<str>,
    matcher: PatternShape,
}

#[derive(Clone, Debug)]
enum PatternShape {
    Exact,
    /// `prefix*between*...*suffix`; the first and the last are cut out of the text.
    Glob {
        prefix: usize,
        suffix: usize,
        between: Box<[Finder<'static>]>,
    },
}

/// Why a text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Would match only nothing.
    #[error("the pattern is empty; expected a text, or * for everything")]
    Empty,
    /// Longer than [`PATTERN_BYTES_MAX`].
    #[error("the pattern has {bytes} bytes; expected at most {PATTERN_BYTES_MAX}")]
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// An empty text, or one of more than [`PATTERN_BYTES_MAX`] bytes.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        match text.len() {
            0 => Err(PatternError::Empty),
            bytes if bytes > PATTERN_BYTES_MAX => Err(PatternError::TooLong { bytes }),
            _ => Ok(Self { text: text.into(), matcher: PatternShape::of(text) }),
        }
    }

    /// `*`.
    #[must_use]
    pub fn everything() -> Self {
        Self { text: "*".into(), matcher: PatternShape::of("*") }
    }

    /// Whether the whole of `text` matches the pattern.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        let pattern = self.text.as_bytes();
        match &self.matcher {
            PatternShape::Exact => text == pattern,
            PatternShape::Glob { prefix, suffix, between } => text
                .strip_prefix(&pattern[..*prefix])
                .and_then(|rest| rest.strip_suffix(&pattern[pattern.len() - suffix..]))
                .is_some_and(|middle| in_order(between, middle)),
        }
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PatternShape {
    fn of(text: &str) -> Self {
        let pieces: Vec<&str> = text.split('*').collect();
        let [prefix, between @ .., suffix] = pieces.as_slice() else { return Self::Exact };
        let between = between.iter().filter(|piece| !piece.is_empty());
        let between = between.map(|piece| Finder::new(piece.as_bytes()).into_owned()).collect();
        Self::Glob { prefix: prefix.len(), suffix: suffix.len(), between }
    }
}

/// Whether all pieces occur one after the other. The leftmost place of each leaves the most for those behind it, so that
/// nothing need be tried twice.
fn in_order(pieces: &[Finder<'static>], text: &[u8]) -> bool {
    let mut rest = text;
    pieces.iter().all(|piece| match piece.find(rest) {
        Some(at) => {
            rest = &rest[at + piece.needle().len()..];
            true
        }
        None => false,
    })
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}
