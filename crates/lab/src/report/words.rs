//! Numbers and tables for people: separators, units, aligned columns. Refuses to know what they are about.

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

/// A number with as many digits as a reader needs; a dash for none.
pub(crate) fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".to_owned() };
    match value.abs() {
        magnitude if magnitude >= 1000.0 && value > 0.0 => count(value.round() as u64),
        magnitude if magnitude >= 100.0 => format!("{value:.0}"),
        _ if value.fract() == 0.0 => format!("{value:.0}"),
        magnitude if magnitude >= 10.0 => format!("{value:.1}"),
        magnitude if magnitude >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Mebibytes with one digit.
pub(super) fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0))
}

/// A Markdown table whose columns also line up in a terminal; all but the first `left` columns to the right.
pub(super) fn table(left: usize, heading: &[&str], rows: &[Vec<String>]) -> String {
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

/// A sentence broken into lines of at most `width` characters; later lines start with `indent`.
pub(super) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let fits = line.chars().count() + 1 + word.chars().count() <= width;
        if !line.trim().is_empty() && !fits {
            out.push_str(line.trim_end());
            out.push('\n');
            line = indent.to_owned();
        } else if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out + line.trim_end()
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
            (Some(-2000.0), "-2000"),
        ];
        numbers.iter().for_each(|(value, text)| assert_eq!(number(*value), *text));
    }

    #[test]
    fn tables_line_up() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["longer".to_owned(), "2,000".to_owned()]];
        let expected = "| name   |     n |\n|--------|------:|\n| a      |     1 |\n| longer | 2,000 |\n";
        assert_eq!(table(1, &["name", "n"], &rows), expected);
    }

    #[test]
    fn long_sentences_break() {
        assert_eq!(wrapped("one two three four", 9, "  "), "one two\n  three\n  four");
        assert_eq!(wrapped("unbreakable", 4, "  "), "unbreakable");
        assert_eq!(wrapped("", 4, "  "), "");
    }
}
