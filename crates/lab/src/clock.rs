//! Wall-clock times as text (RFC 3339, UTC), by arithmetic alone. The only function that reads the clock is
//! [`unix_ms_now`].

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[must_use]
pub fn unix_ms_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `2026-01-31T12:00:00.123Z`.
#[must_use]
pub fn rfc3339(unix_ms: i64) -> String {
    let (days, ms) = (unix_ms.div_euclid(86_400_000), unix_ms.rem_euclid(86_400_000));
    let (year, month, day) = civil_of_days(days);
    let (hour, minute, second, milli) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Milliseconds since 1970 of an RFC 3339 time with any offset; digits below a millisecond are cut off.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let digits = |from: usize, to: usize| -> Option<i64> {
        let part = bytes.get(from..to)?;
        part.iter().try_fold(0, |n, b| b.is_ascii_digit().then(|| n * 10 + i64::from(b - b'0')))
    };
    let marks = [(4, b"-".as_slice()), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")];
    if !marks.iter().all(|(at, wanted)| bytes.get(*at).is_some_and(|byte| wanted.contains(byte))) {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute, second) = (digits(11, 13)?, digits(14, 16)?, digits(17, 19)?);
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second <= 60;
    if !in_range {
        return None;
    }
    let mut at = 19;
    let mut milli = 0;
    if bytes.get(at) == Some(&b'.') {
        let len = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        milli =
            (0..3).try_fold(0, |ms, i| Some(ms * 10 + if i < len { digits(at + 1 + i, at + 2 + i)? } else { 0 }))?;
        at += 1 + len;
    }
    let offset_minutes = match (bytes.get(at)?, bytes.len() - at) {
        (b'Z' | b'z', 1) => 0,
        (sign @ (b'+' | b'-'), 6) if bytes[at + 3] == b':' => {
            let minutes = digits(at + 1, at + 3)? * 60 + digits(at + 4, at + 6)?;
            if *sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    let seconds = days_of_civil(year, month, day) * 86_400 + hour * 3600 + (minute - offset_minutes) * 60 + second;
    Some(seconds * 1000 + milli)
}

/// Days since 1970-01-01 of a date in the Gregorian calendar: years start in March, so that the leap day is last.
fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<i64>) {
        assert_eq!(parse_rfc3339(text), expected, "{text}");
    }

    #[test]
    fn times() {
        check("1970-01-01T00:00:00Z", Some(0));
        check("1970-01-01T00:00:00.123Z", Some(123));
        check("1970-01-01T00:00:00.123456Z", Some(123));
        check("1970-01-01T00:00:01.5Z", Some(1500));
        check("2000-03-01T00:00:00Z", Some(951_868_800_000));
        check("2024-02-29T23:59:59.999Z", Some(1_709_251_199_999));
        check("1970-01-01T02:00:00+02:00", Some(0));
        check("1969-12-31T22:30:00-01:30", Some(0));
        check("1970-01-01 00:00:00Z", Some(0));
        check("1970-01-01T00:00:00", None);
        check("1970-13-01T00:00:00Z", None);
        check("1970-01-01", None);
        check("yesterday, at about noon", None);
        check("1970-01-01T00:00:00Zulu", None);
        check("1970-01-01T00:00:00.Zé", None);
        assert_eq!(rfc3339(1_709_251_199_999), "2024-02-29T23:59:59.999Z");
    }

    proptest! {
        #[test]
        fn written_times_read_back(unix_ms in 0i64..4_102_444_800_000) {
            prop_assert_eq!(parse_rfc3339(&rfc3339(unix_ms)), Some(unix_ms));
        }

        #[test]
        fn any_text_is_safe_to_read(text in ".{0,40}") {
            let _ = parse_rfc3339(&text);
        }
    }
}
