//! Texts chosen by callers: names. Validated here for everything that has one.

use super::problem::{ApiError, ApiResult};
use engine::limits::{BOT_NAME_CHARS_MAX, NAME_CHARS_MAX};
use engine::printable::is_unprintable;

/// A name of an account or a token, without the space around it: 1 to 100 characters, at least one of them visible, no control characters
/// (a database may refuse them, and a terminal may obey them), none that changes the direction of the text around it.
pub(super) fn check_name(field: &str, text: &str) -> ApiResult<String> {
    check_line(field, "name", text.trim(), NAME_CHARS_MAX)
}

/// A name of a bot: the same in 1 to 64 characters.
pub(super) fn check_bot_name(field: &str, text: &str) -> ApiResult<String> {
    check_line(field, "name", text.trim(), BOT_NAME_CHARS_MAX)
}

/// A single line of text, called `what` in errors, by the same rules; the space around it stays.
pub(super) fn check_line(field: &str, what: &str, text: &str, chars_max: usize) -> ApiResult<String> {
    let reason = if text.chars().all(|character| character.is_whitespace() || is_invisible(character)) {
        format!("{} is required: expected 1 to {chars_max} characters, one of them visible", capitalized(what))
    } else if text.chars().count() > chars_max {
        format!("the {what} is longer than {chars_max} characters")
    } else if text.chars().any(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')) {
        format!("the {what} holds a control character, or more than one line")
    } else if text.chars().any(is_unprintable) {
        format!("the {what} holds a character that changes the direction of text")
    } else {
        return Ok(text.to_owned());
    };
    Err(ApiError::bad_value(field, reason))
}

fn capitalized(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map(|first| first.to_uppercase().chain(rest).collect()).unwrap_or_default()
}

/// Characters without width: a name of nothing else looks empty. Joiners among them are allowed inside a name, in emoji for
/// example.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200d}'
        | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}')
        || is_unprintable(character)
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
        check("same\u{200f}", false);
        check("👩\u{200d}💻", true);
        check("שלום", true);
    }

    #[test]
    fn names_are_kept_without_the_space_around_them() {
        assert_eq!(check_name("/name", " \u{a0}two words\t").ok().as_deref(), Some("two words"));
        assert_eq!(check_line("/text", "text", " as it is ", 20).ok().as_deref(), Some(" as it is "));
    }

    #[track_caller]
    fn check_bot(text: &str, want: &str) {
        let have = check_bot_name("/name", text).map_err(|refusal| refusal.to_string());
        assert_eq!(have.unwrap_or_else(|reason| reason), want, "{text:?}");
    }

    #[test]
    fn names_of_bots_are_shorter() {
        let most = "é".repeat(BOT_NAME_CHARS_MAX);
        check_bot(&format!("  {most} "), &most);
        check_bot(&format!("{most}é"), "the name is longer than 64 characters");
        check_bot("  ", "Name is required: expected 1 to 64 characters, one of them visible");
    }
}
