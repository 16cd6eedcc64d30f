//! Texts that callers choose: names. Checked once, here, for everything that has one.

use super::problem::{ApiError, ApiResult};
use engine::limits::NAME_CHARS_MAX;

/// A name that a bot, an account or a token may have: 1 to 100 characters, not only spaces, no control characters (a
/// database may refuse them, and a terminal may obey them).
pub(super) fn name(field: &str, text: &str) -> ApiResult<String> {
    let reason = if text.trim().is_empty() {
        "the name is empty".to_owned()
    } else if text.chars().count() > NAME_CHARS_MAX {
        format!("the name is longer than {NAME_CHARS_MAX} characters")
    } else if text.chars().any(char::is_control) {
        "the name holds a control character".to_owned()
    } else {
        return Ok(text.to_owned());
    };
    Err(ApiError::bad_value(field, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_good: bool) {
        assert_eq!(name("/name", text).is_ok(), is_good, "{text:?}");
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
    }
}
