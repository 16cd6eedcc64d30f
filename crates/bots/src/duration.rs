//! Durations as people type them: `200ms`, `1s`, `0`. Knows no clock.

use std::time::Duration;

/// Parses a whole number with the unit `ms` or `s`; a bare `0` needs none.
///
/// # Errors
/// A sentence with the text and the expected form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits_len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(digits_len);
    let refuse = || format!("`{text}` is not a duration: write a whole number with a unit, such as 200ms, 1s or 0");
    let number: u64 = digits.parse().map_err(|_| refuse())?;
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "" if number == 0 => Ok(Duration::ZERO),
        _ => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected_ms: Option<u64>) {
        assert_eq!(parse_duration(text).ok(), expected_ms.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn durations_are_numbers_with_a_unit() {
        check("200ms", Some(200));
        check("1s", Some(1_000));
        check("0", Some(0));
        check("0s", Some(0));
        check("007ms", Some(7));
        check("200", None);
        check("ms", None);
        check("", None);
        check("-1s", None);
        check("1.5s", None);
        check("1 s", None);
        check("1S", None);
        check("1sec", None);
        check("99999999999999999999s", None);
        check("é", None);
    }
}
