//! Which characters of a text from outside may be shown in a page, a terminal or a log.

/// Control characters, line separators, and those that change the direction of the text around them (Unicode Standard Annex 9).
#[must_use]
pub fn is_unprintable(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
