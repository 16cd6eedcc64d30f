//! Texts that bots send about themselves: colours, names of drawings, shouts. They stand in frames, pages and other bots' requests, so they are
//! cleaned here, where they arrive, and what is saved is what may be shown.

use engine::limits::{FACE_NAME_CHARS_MAX, SHOUT_CHARS_MAX, ZERO_WIDTH_RUN_MAX};
use engine::printable::is_unprintable;
use unicode_width::UnicodeWidthChar;

/// `#RRGGBB`, from that or from the short form `#RGB`. Viewers put colours into styles, where anything else could be more than a colour.
pub(super) fn parse_color(text: &str) -> Option<String> {
    let digits = text.strip_prefix('#')?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    match digits.len() {
        6 => Some(text.to_owned()),
        3 => Some(format!("#{}", digits.chars().flat_map(|digit| [digit; 2]).collect::<String>())),
        _ => None,
    }
}

/// A name that may be a part of a path: viewers load the drawing of this name.
pub(super) fn parse_drawing(text: &str) -> Option<String> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_good = (1..=FACE_NAME_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_name);
    is_good.then(|| text.to_owned())
}

/// One line of printable text, at most [`SHOUT_CHARS_MAX`] characters: what a terminal or the direction of text would obey becomes U+FFFD, ends of lines
/// and tabs become spaces, and of many characters without width in a row the first stay.
pub(super) fn clean_shout(text: &str) -> String {
    let printable = text.chars().map(|char| match char {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        _ if is_unprintable(char) => char::REPLACEMENT_CHARACTER,
        _ => char,
    });
    let mut zero_width_run = 0;
    let bounded = printable.filter(|char| {
        zero_width_run = if char.width() == Some(0) { zero_width_run + 1 } else { 0 };
        zero_width_run <= ZERO_WIDTH_RUN_MAX
    });
    bounded.take(SHOUT_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_color(text: &str, want: Option<&str>) {
        assert_eq!(parse_color(text).as_deref(), want, "{text:?}");
    }

    #[test]
    fn a_color_is_six_digits() {
        check_color("#0a1B2c", Some("#0a1B2c"));
        check_color("#f0A", Some("#ff00AA"));
        check_color("", None);
        check_color("#", None);
        check_color("0a1b2c", None);
        check_color("red", None);
        check_color("#12345", None);
        check_color("#1234567", None);
        check_color("#12345g", None);
        check_color("#+12345", None);
        check_color("#ééé", None);
        check_color(" #0a1b2c", None);
        check_color("#0a1b2c;background:url(//x)", None);
        check_color("</script><script>", None);
    }

    #[track_caller]
    fn check_drawing(text: &str, is_good: bool) {
        assert_eq!(parse_drawing(text).as_deref(), is_good.then_some(text), "{text:?}");
    }

    #[test]
    fn a_drawing_has_a_name_that_may_stand_in_a_path() {
        check_drawing("default", true);
        check_drawing("bwc-bonhomme_2", true);
        check_drawing(&"x".repeat(FACE_NAME_CHARS_MAX), true);
        check_drawing(&"x".repeat(FACE_NAME_CHARS_MAX + 1), false);
        check_drawing("", false);
        check_drawing("../../secret", false);
        check_drawing("x.svg?y", false);
        check_drawing("beluga\0", false);
        check_drawing("schlängel", false);
        check_drawing("\u{202e}gulebxe", false);
        check_drawing("\"><script>", false);
    }

    #[track_caller]
    fn check_shout(text: &str, want: &str) {
        assert_eq!(clean_shout(text), want, "{text:?}");
    }

    #[test]
    fn a_shout_is_one_line_of_printable_text() {
        check_shout("", "");
        check_shout("größer! 🐍", "größer! 🐍");
        check_shout("two\nlines\tand\u{2028}more", "two lines and more");
        check_shout("nul\0 \u{1b}[2J \u{9b}31m", "nul\u{fffd} \u{fffd}[2J \u{fffd}31m");
        check_shout("a\u{202e}gnp.exe\u{2066}", "a\u{fffd}gnp.exe\u{fffd}");
        // What it means in a page is for the page: escaped there, it is text.
        check_shout("</script><b>", "</script><b>");
        check_shout(&"é".repeat(300), &"é".repeat(SHOUT_CHARS_MAX));
    }

    #[test]
    fn accents_do_not_pile_up() {
        let tower = format!("o{}k", "\u{301}".repeat(10_000));
        check_shout(&tower, &format!("o{}k", "\u{301}".repeat(ZERO_WIDTH_RUN_MAX)));
        // Real writing stays as it is: a family, the flag of Scotland, Hindi, Thai, decomposed Korean, Vietnamese.
        for text in [
            "👩\u{200d}👩\u{200d}👧\u{200d}👦",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "हिन्दी",
            "ก็ที่",
            "한",
            "e\u{323}\u{302}",
        ] {
            check_shout(text, text);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_shouted_may_be_shown(text in "\\PC*|.{0,400}|[\\x00-\\x{10FFFF}]{0,400}") {
            let shown = clean_shout(&text);
            prop_assert!(shown.chars().count() <= SHOUT_CHARS_MAX && !shown.chars().any(is_unprintable));
            prop_assert_eq!(clean_shout(&shown), shown, "cleaned twice is cleaned once");
        }
    }
}
