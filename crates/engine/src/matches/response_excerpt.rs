//! What a bot answered where it gave no valid move: the status and the beginning of the body, made printable. It stands in the match's log,
//! is shown to the bot's owner alone, and changes nothing about the match.

use crate::limits::RESPONSE_EXCERPT_BYTES_MAX;
use crate::pack::{ByteReader, DecodeError, Pack};
use crate::printable::is_unprintable;

/// Status and beginning of an HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseExcerpt {
    status: u16,
    text: Box<str>,
}

impl ResponseExcerpt {
    /// The beginning of this body, at most [`RESPONSE_EXCERPT_BYTES_MAX`]. What is not UTF-8 and what a terminal could obey becomes U+FFFD.
    #[must_use]
    pub fn new(status: u16, body: &[u8]) -> Self {
        // A character that the limit would cut is whole three bytes later.
        let start = &body[..body.len().min(RESPONSE_EXCERPT_BYTES_MAX + 3)];
        let printable = |char: char| match char {
            '\n' | '\r' | '\t' => char,
            _ if is_unprintable(char) => char::REPLACEMENT_CHARACTER,
            _ => char,
        };
        let mut text: String = String::from_utf8_lossy(start).chars().map(printable).collect();
        text.truncate(text.floor_char_boundary(RESPONSE_EXCERPT_BYTES_MAX));
        Self { status, text: text.into() }
    }

    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Pack for ResponseExcerpt {
    fn put(&self, out: &mut Vec<u8>) {
        self.status.to_le_bytes().put(out);
        self.text.put(out);
    }

    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let status = u16::from_le_bytes(Pack::get(from)?);
        Ok(Self { status, text: Pack::get(from)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(body: &[u8], want: &str) {
        assert_eq!(ResponseExcerpt::new(200, body).text(), want);
    }

    #[test]
    fn an_excerpt_is_printable() {
        check(b"", "");
        check(b"<html>\r\n\t<b>", "<html>\r\n\t<b>");
        check("größer 🐍".as_bytes(), "größer 🐍");
        check(b"\x1b[2J\x07\x00", "\u{fffd}[2J\u{fffd}\u{fffd}");
        check("a\u{202e}gnp.exe\u{2028}\u{9b}31m\u{feff}".as_bytes(), "a\u{fffd}gnp.exe\u{fffd}\u{fffd}31m\u{fffd}");
        check(b"\xc3\x28\xff", "\u{fffd}(\u{fffd}");
    }

    #[test]
    fn an_excerpt_ends_at_the_limit_between_characters() {
        check(&[b'x'; 600], &"x".repeat(512));
        // The last character would end at byte 513.
        check(format!("x{}", "é".repeat(300)).as_bytes(), &format!("x{}", "é".repeat(255)));
        check("é".repeat(300).as_bytes(), &"é".repeat(256));
        // What is replaced by more bytes does not make it longer.
        check(&[0xff; 600], &"\u{fffd}".repeat(170));
    }

    proptest! {
        #[test]
        fn any_body_has_an_excerpt(body in prop::collection::vec(any::<u8>(), 0..700)) {
            let excerpt = ResponseExcerpt::new(500, &body);
            prop_assert!(excerpt.text().len() <= RESPONSE_EXCERPT_BYTES_MAX);
            let is_replaced = |char: char| is_unprintable(char) && !matches!(char, '\n' | '\r' | '\t');
            prop_assert!(!excerpt.text().chars().any(is_replaced));
            if let Ok(text) = str::from_utf8(&body) && !text.chars().any(is_replaced) {
                prop_assert!(text.starts_with(excerpt.text()), "nothing else is changed");
            }
        }
    }
}
