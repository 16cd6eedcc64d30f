//! Points in time on the wire: RFC 3339 in UTC with milliseconds, such as `2026-01-31T12:00:00.123Z`.

use chrono::{DateTime, Timelike};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use utoipa::ToSchema;

/// 0000-01-01T00:00:00.000Z, the first moment that RFC 3339 can write.
const MS_MIN: i64 = -62_167_219_200_000;
/// 9999-12-31T23:59:59.999Z, the last one.
const MS_MAX: i64 = 253_402_300_799_999;

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z; written in RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-01-31T12:00:00.123Z")]
pub struct Timestamp(pub i64);

impl fmt::Display for Timestamp {
    /// Times outside the years 0000 to 9999 are written as the nearest time that can be.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.clamp(MS_MIN, MS_MAX);
        let at = DateTime::from_timestamp_millis(ms).expect("the calendar has more years than RFC 3339");
        let (date, milli) = (at.date_naive(), at.timestamp_subsec_millis());
        write!(f, "{date}T{:02}:{:02}:{:02}.{milli:03}Z", at.hour(), at.minute(), at.second())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        DateTime::parse_from_rfc3339(&text).map(|at| Self(at.timestamp_millis())).map_err(D::Error::custom)
    }
}

/// A point in time that a client wrote in RFC 3339, in milliseconds since 1970-01-01T00:00:00Z.
#[must_use]
pub fn parse_timestamp(text: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(text).ok().map(|at| at.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ms: i64, want: &str) {
        assert_eq!(Timestamp(ms).to_string(), want);
        assert_eq!(serde_json::from_str::<Timestamp>(&format!("\"{want}\"")).ok(), Some(Timestamp(ms)));
    }

    #[test]
    fn times_are_written() {
        check(0, "1970-01-01T00:00:00.000Z");
        check(-1, "1969-12-31T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(1_709_164_800_000, "2024-02-29T00:00:00.000Z");
        check(1_769_860_800_123, "2026-01-31T12:00:00.123Z");
        check(1_798_761_599_999, "2026-12-31T23:59:59.999Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(MS_MIN, "0000-01-01T00:00:00.000Z");
        check(MS_MAX, "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn times_that_cannot_be_written_become_the_nearest_that_can() {
        assert_eq!(Timestamp(i64::MIN).to_string(), Timestamp(MS_MIN).to_string());
        assert_eq!(Timestamp(i64::MAX).to_string(), Timestamp(MS_MAX).to_string());
    }
}
