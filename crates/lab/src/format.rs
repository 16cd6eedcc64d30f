//! Formats numbers, moments and sentences for people. Does not know their subject.

use std::fmt::Display;

use crate::limits::{KNOWN_NAMES_MAX, NAMED_MAX};

/// Replaces a character of a text from outside that would control a terminal or change the text direction.
const REPLACEMENT: char = '\u{fffd}';

/// `6501` → `6,501`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 game`, `2 games`.
pub(crate) fn pluralize(number: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A number with as many digits as a reader needs, a nonzero one never as zero; a dash for NaN and infinity.
pub(crate) fn number(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        None => "-".to_owned(),
        Some(value) if value <= -SHOWN_MIN => format!("-{}", magnitude(-value)),
        Some(value) => magnitude(value.max(0.0) + 0.0),
    }
}

/// Below this a number with three decimal places would be shown as zero.
const SHOWN_MIN: f64 = 0.0005;

/// As it will be shown: 999.6 has four digits.
fn magnitude(value: f64) -> String {
    match value {
        _ if value >= 1e15 => format!("{value:.2e}"),
        _ if value >= 999.5 => count(value.round() as u64),
        _ if value >= 99.95 || value.fract() == 0.0 => format!("{value:.0}"),
        _ if value >= 9.995 => format!("{value:.1}"),
        _ if value >= 0.9995 => format!("{value:.2}"),
        _ if value >= SHOWN_MIN => format!("{value:.3}"),
        _ => "<0.001".to_owned(),
    }
}

/// The suffix of the maximum of this many samples, if that is shown instead of a percentile.
pub(super) fn highest_of(count_of: Option<u64>) -> String {
    count_of.map_or_else(String::new, |n| format!(" (the highest of {})", count(n)))
}

/// The first few items of a list in a sentence, and how many more there are.
pub(crate) fn first_few<T: Display>(items: impl IntoIterator<Item = T>, separator: &str) -> String {
    first_few_of(items, 0, separator)
}

/// The known names, for a reader who looks for the right one.
pub(crate) fn known_names<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    join_at_most(KNOWN_NAMES_MAX, names, 0, ", ")
}

/// The first few items of a list that was already cut by `cut` items.
pub(crate) fn first_few_of<T: Display>(items: impl IntoIterator<Item = T>, cut: u64, separator: &str) -> String {
    join_at_most(NAMED_MAX, items, cut, separator)
}

fn join_at_most<T: Display>(max: usize, items: impl IntoIterator<Item = T>, cut: u64, separator: &str) -> String {
    let mut items = items.into_iter();
    let mut named: Vec<String> = items.by_ref().take(max).map(|item| item.to_string()).collect();
    // A single remaining item takes no more room than its number.
    let next = items.next();
    let more = items.count() as u64 + u64::from(next.is_some()) + cut;
    if let (Some(last), 1, 0) = (&next, more, cut) {
        named.push(last.to_string());
        return named.join(separator);
    }
    named.extend((more > 0).then(|| format!("and {} more", count(more))));
    named.join(separator)
}

/// A twentieth of a mebibyte, which is shown as a tenth.
const MEBIBYTES_FROM: u64 = 52_429;

/// Mebibytes with one digit; kibibytes if that would be zero.
pub(crate) fn mebibytes(bytes: u64) -> String {
    if (1..MEBIBYTES_FROM).contains(&bytes) {
        return format!("{:.1} KiB", bytes as f64 / 1024.0);
    }
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

/// Gibibytes with one digit.
pub(super) fn gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1024.0 * 1024.0 * 1024.0))
}

/// As many of the parts, from the first, as fit into `width` with a separator between them. A part is shown whole or
/// not at all: half a number is another number.
pub(super) fn join_fitting(parts: &[String], separator: &str, width: usize) -> String {
    let mut line = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let between = if line.is_empty() { "" } else { separator };
        if line.chars().count() + between.chars().count() + part.chars().count() > width {
            break;
        }
        line.push_str(between);
        line.push_str(part);
    }
    line
}

/// A percentage, with one digit if needed. Only all is `100`, only none is `0`; a dash if the whole is zero.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    match (tenths / 10, tenths % 10) {
        (0, 0) if part > 0 => "<0.1".to_owned(),
        (percents, 0) => percents.to_string(),
        (percents, tenth) => format!("{percents}.{tenth}"),
    }
}

/// A moment of a trial in whole seconds: `1:05`, `1:02:03`.
pub(super) fn clock(t_s: f64) -> String {
    let seconds = t_s.max(0.0).round() as u64;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A text from outside without characters that control a terminal or change the text direction; every white space
/// becomes one blank.
pub(crate) fn sanitize(text: &str) -> String {
    text.split_whitespace().map(strike_controls).collect::<Vec<String>>().join(" ")
}

/// A whole document, likewise; its lines and blanks stay.
pub(crate) fn sanitize_lines(text: &str) -> String {
    text.split('\n').map(|line| strike_controls(&line.replace(['\t', '\r'], " "))).collect::<Vec<_>>().join("\n")
}

fn strike_controls(text: &str) -> String {
    let steers = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    // XML can hold neither of the last two.
    let struck = |c: char| c.is_control() || steers(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
    text.chars().map(|c| if struck(c) { REPLACEMENT } else { c }).collect()
}

/// A Markdown table whose columns also line up in a terminal; all but the first `left` columns are right-aligned.
pub(crate) fn markdown_table(left: usize, heading: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].chars().count(), 2]).max().unwrap_or(2)
    };
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |cells: &[String]| {
        let cell = |(column, text): (usize, &String)| {
            let pad = " ".repeat(widths[column] - text.chars().count());
            if column < left { format!(" {text}{pad} |") } else { format!(" {pad}{text} |") }
        };
        format!("|{}\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let rule = |(column, width): (usize, &usize)| {
        let dashes = "-".repeat(width + 1);
        if column < left { format!("{dashes}-|") } else { format!("{dashes}:|") }
    };
    let heading: Vec<String> = heading.iter().map(|text| (*text).to_owned()).collect();
    let rules: String = widths.iter().enumerate().map(rule).collect();
    [line(&heading), format!("|{rules}\n"), rows.iter().map(|row| line(row)).collect()].concat()
}

/// A sentence broken into lines of at most `width` characters; later lines start with `indent`. A word that is longer
/// than a line is broken as well.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest: Vec<char> = word.chars().collect();
        loop {
            let line = lines.last_mut().expect("it begins with one line and only grows");
            let begun = !line.trim().is_empty();
            let used = line.chars().count() + usize::from(begun);
            if used + rest.len() <= width {
                line.extend(begun.then_some(' '));
                line.extend(rest);
                break;
            }
            if begun {
                lines.push(indent.to_owned());
                continue;
            }
            let room = width.saturating_sub(used).max(1);
            line.extend(rest.drain(..room.min(rest.len())));
            lines.push(indent.to_owned());
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Rounds to three decimals: more digits of a measurement are noise.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let counts = [(0, "0"), (999, "999"), (1000, "1,000"), (6501, "6,501"), (1_234_567, "1,234,567")];
        counts.iter().for_each(|(value, text)| assert_eq!(count(*value), *text));
        let numbers = [
            (None, "-"),
            (Some(0.0), "0"),
            (Some(0.0567), "0.057"),
            (Some(1.234), "1.23"),
            (Some(12.34), "12.3"),
            (Some(118.0), "118"),
            (Some(123.4), "123"),
            (Some(4120.4), "4,120"),
            (Some(-2000.0), "-2,000"),
            (Some(999.6), "1,000"),
            (Some(99.96), "100"),
            (Some(9.996), "10.0"),
            (Some(0.99951), "1.00"),
            (Some(147.353_549_999_999_98), "147"),
            (Some(-0.0), "0"),
            (Some(0.000_1), "<0.001"),
            (Some(-0.000_1), "0"),
            (Some(-0.25), "-0.250"),
            (Some(f64::NAN), "-"),
            (Some(f64::INFINITY), "-"),
            (Some(f64::NEG_INFINITY), "-"),
            (Some(1e300), "1.00e300"),
        ];
        numbers.iter().for_each(|(value, text)| assert_eq!(number(*value), *text));
        let sizes =
            [(0, "0.0 MiB"), (512, "0.5 KiB"), (52_428, "51.2 KiB"), (52_429, "0.1 MiB"), (1 << 30, "1024.0 MiB")];
        sizes.iter().for_each(|(bytes, text)| assert_eq!(mebibytes(*bytes), *text));
    }

    #[test]
    fn only_all_is_a_hundred_percent_and_only_none_is_zero() {
        let rows = [
            ((0, 0), "-"),
            ((0, 7), "0"),
            ((1, 100_000), "<0.1"),
            ((377, 8668), "4.3"),
            ((1, 2), "50"),
            ((99_999, 100_000), "99.9"),
            ((u64::MAX, u64::MAX), "100"),
        ];
        rows.iter().for_each(|((part, whole), text)| assert_eq!(percent(*part, *whole), *text));
    }

    #[track_caller]
    fn check_few(items: usize, cut: u64, expected: &str) {
        assert_eq!(first_few_of(1..=items, cut, ", "), expected);
    }

    #[test]
    fn a_sentence_names_the_first_few() {
        check_few(0, 0, "");
        check_few(1, 0, "1");
        check_few(3, 0, "1, 2, 3");
        check_few(4, 0, "1, 2, 3, 4");
        check_few(5, 0, "1, 2, 3, and 2 more");
        check_few(3, 1, "1, 2, 3, and 1 more");
        check_few(5003, 0, "1, 2, 3, and 5,000 more");
        check_few(2, 40, "1, 2, and 40 more");
        check_few(8, 40, "1, 2, 3, and 45 more");
        assert_eq!(first_few(["a", "b"], "; "), "a; b");
        assert_eq!(known_names(["a", "b"]), "a, b");
        assert!(known_names(1..=300).ends_with(", 20, and 280 more"));
    }

    #[test]
    fn no_number_is_cut_in_half() {
        let parts = ["sent 12", "", "errors 345"].map(str::to_owned);
        let rows = [(30, "sent 12 · errors 345"), (20, "sent 12 · errors 345"), (19, "sent 12"), (3, "")];
        rows.iter().for_each(|(width, text)| assert_eq!(join_fitting(&parts, " · ", *width), *text));
    }

    #[test]
    fn moments() {
        let rows = [(-1.0, "0:00"), (4.6, "0:05"), (65.0, "1:05"), (3599.4, "59:59"), (3723.0, "1:02:03")];
        rows.iter().for_each(|(t_s, text)| assert_eq!(clock(*t_s), *text));
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(sanitize("a\x1b[2Jb\u{202e}c\n\td\0"), "a\u{fffd}[2Jb\u{fffd}c d\u{fffd}");
        assert_eq!(sanitize("naïve 日本"), "naïve 日本");
        assert_eq!(sanitize_lines("a\x1b  b\t\u{202e}\n <c>\u{fffe} "), "a\u{fffd}  b \u{fffd}\n <c>\u{fffd} ");
    }

    #[test]
    fn tables_line_up() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["longer".to_owned(), "2,000".to_owned()]];
        let expected = "| name   |     n |\n|--------|------:|\n| a      |     1 |\n| longer | 2,000 |\n";
        assert_eq!(markdown_table(1, &["name", "n"], &rows), expected);
    }

    #[test]
    fn long_sentences_break() {
        assert_eq!(wrap("one two three four", 9, "  "), "one two\n  three\n  four");
        assert_eq!(wrap("a unbreakable b", 5, "  "), "a\n  unb\n  rea\n  kab\n  le\n  b");
        assert_eq!(wrap("word", 1, ""), "w\no\nr\nd");
        assert_eq!(wrap("", 4, "  "), "");
    }
}
