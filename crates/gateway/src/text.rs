//! Texts chosen by callers: names. Validated here for everything that has one.

use super::problem::{ApiError, ApiResult};
use engine::limits::NAME_CHARS_MAX;

/// A name of a bot, an account or a token: 1 to 100 characters, at least one of them visible, no control characters (a database may
/// refuse them, and a terminal may obey them), none that changes the direction of the text around it.
pub(super) fn check_name(field: &str, text: &str) -> ApiResult<String> {
    check_line(field, "name", text, NAME_CHARS_MAX)
}

/// A single line of text, called `what` in errors, by the same rules.
pub(super) fn check_line(field: &str, what: &str, text: &str, chars_max: usize) -> ApiResult<String> {
    let reason = if text.chars().all(|character| character.is_whitespace() || is_invisible(character)) {
        format!("the {what} is empty")
    } else if text.chars().count() > chars_max {
        format!("the {what} is longer than {chars_max} characters")
    } else if text.chars().any(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')) {
        format!("the {what} holds a control character, or more than one line")
    } else if text.chars().any(is_bidi_control) {
        format!("the {what} holds a character that changes the direction of text")
    } else {
        return Ok(text.to_owned());
    };
    Err(ApiError::bad_value(field, reason))
}

/// Characters without width: a name of nothing else looks empty. Joiners among them are allowed inside a name, in emoji for
/// example.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || is_bidi_control(character)
}

/// The embeddings, overrides and isolates of the bidirectional algorithm: with them a name shows as another one.
fn is_bidi_control(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_good: bool) {
        assert_eq!(check_name("/name", text).is_ok(), is_good, "{text:?}");
    }

    #[test]
    fn names() {
        check("Ophidia", true);
        check("  spaced  ", true);
        check("Schlängel 🐍", true);
        check(&"é".repeat(NAME_CHARS_MAX), true);
        check(&"é".repeat(NAME_CHARS_MAX + 1), false);
        check("", false);
        check(" \t", false);
        check("nul\0", false);
        check("two\nlines", false);
        check("\u{9b}31m", false);
        check("\u{200b}", false);
        check(" \u{2060}\u{feff}", false);
        check("evil\u{202e}live", false);
        check("👩\u{200d}💻", true);
        check("שלום", true);
    }
}
