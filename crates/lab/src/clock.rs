//! Wall-clock times as text (RFC 3339, UTC). The only function that reads the clock is [`unix_ms_now`].

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};

/// Milliseconds since 1970-01-01T00:00:00Z.
#[must_use]
pub fn unix_ms_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// `2026-01-31T12:00:00.123Z`.
#[must_use]
pub fn rfc3339(unix_ms: i64) -> String {
    DateTime::from_timestamp_millis(unix_ms).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Milliseconds since 1970 of an RFC 3339 time with any offset; digits below a millisecond are cut off.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.timestamp_millis())
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
