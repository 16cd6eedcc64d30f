//! Escapes text that must stay on its line: text from outside must not end a line of the log and so forge the next one, nor move the cursor
//! or reverse the text on a terminal. Knows no logs.

use std::fmt::{self, Display, Write};

/// Displays a value with all unreadable characters escaped.
pub struct Escaped<T>(pub T);

impl<T: Display> Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(EscapingWriter(f), "{}", self.0)
    }
}

/// A writer that escapes what it passes on.
pub struct EscapingWriter<W>(pub W);

impl<W: Write> Write for EscapingWriter<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(needs_escape) {
            let (fit, from) = rest.split_at(at);
            self.0.write_str(fit)?;
            let mut chars = from.chars();
            chars.next().map_or(Ok(()), |unfit| write!(self.0, "{}", unfit.escape_default()))?;
            rest = chars.as_str();
        }
        self.0.write_str(rest)
    }
}

/// Control characters, the line and paragraph separators, and those that change the direction of text.
fn needs_escape(char: char) -> bool {
    char.is_control() || matches!(char, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        assert_eq!(Escaped(text).to_string(), want);
    }

    #[test]
    fn only_unreadable_characters_are_escaped() {
        check("", "");
        check("Grüße, \"welt\" \\ 世界", "Grüße, \"welt\" \\ 世界");
        check("a\nb\r\nc\td", r"a\nb\r\nc\td");
        check("\n", r"\n");
        check("\x1b[2J\x07\0\x7f", r"\u{1b}[2J\u{7}\u{0}\u{7f}");
        check("a\u{85}b\u{9b}c\u{2028}d\u{2029}", r"a\u{85}b\u{9b}c\u{2028}d\u{2029}");
        check("nimda\u{202e}x\u{2066}y", r"nimda\u{202e}x\u{2066}y");
    }
}
