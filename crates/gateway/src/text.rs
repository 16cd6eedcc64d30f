//! Texts chosen by callers: names. Validated here for everything that has one.

use super::problem::{ApiError, ApiResult, Resource};
use engine::limits::{BOT_NAME_CHARS_MAX, NAME_CHARS_MAX};
use engine::printable::check_printable;
use engine::rows::is_reserved_account_name;

/// A name of an account or a token, without the space around it, of 1 to 100 characters: see [`check_printable`].
pub(super) fn check_name(field: &str, text: &str) -> ApiResult<String> {
    check_line(field, "name", text.trim(), NAME_CHARS_MAX)
}

/// The name of an account that is to be made: none that the server gives itself.
pub(super) fn check_account_name(name: &str) -> ApiResult<()> {
    if is_reserved_account_name(name) { Err(ApiError::DuplicateName(Resource::Account)) } else { Ok(()) }
}

/// A name of a bot: the same in 1 to 64 characters.
pub(super) fn check_bot_name(field: &str, text: &str) -> ApiResult<String> {
    check_line(field, "name", text.trim(), BOT_NAME_CHARS_MAX)
}

/// A single line of text, called `what` in errors, by the same rules; the space around it stays.
pub(super) fn check_line(field: &str, what: &str, text: &str, chars_max: usize) -> ApiResult<String> {
    match check_printable(what, text, chars_max) {
        Ok(()) => Ok(text.to_owned()),
        Err(reason) => Err(ApiError::bad_value(field, reason)),
    }
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
        check("\u{2800}\u{e0041}\u{17b4}\u{180b}\u{2065}\u{1d173}\u{fff9}", false);
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
