//! Points in time on the wire: RFC 3339 in UTC with milliseconds, such as `2026-01-31T12:00:00.123Z`.
//!
//! The arithmetic is the proleptic Gregorian calendar counted in days; there is no clock here, no time zone data and no leap
//! second (as in Unix time).

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use utoipa::ToSchema;

const MS_PER_DAY: i64 = 86_400_000;
/// 0000-01-01T00:00:00.000Z, the first moment that RFC 3339 can write.
const MS_MIN: i64 = -62_167_219_200_000;
/// 9999-12-31T23:59:59.999Z, the last one.
const MS_MAX: i64 = 253_402_300_799_999;

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z; written in RFC 3339.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-01-31T12:00:00.123Z")]
pub struct Timestamp(pub i64);

/// A text that is not a point in time in RFC 3339.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseTimestampError;

impl fmt::Display for ParseTimestampError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a point in time: expected RFC 3339, such as 2026-01-31T12:00:00.123Z")
    }
}

impl std::error::Error for ParseTimestampError {}

impl fmt::Display for Timestamp {
    /// Times outside the years 0000 to 9999 are written as the nearest time that can be.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.clamp(MS_MIN, MS_MAX);
        let (year, month, day) = civil_from_days(ms.div_euclid(MS_PER_DAY));
        let in_day = ms.rem_euclid(MS_PER_DAY);
        let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
        let (second, milli) = (in_day / 1_000 % 60, in_day % 1_000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Reads any RFC 3339 time: with or without a fraction (cut to milliseconds), in UTC or with an offset.
    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        let bytes = text.as_bytes();
        let has_separators =
            [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')].iter().all(|&(at, byte)| bytes.get(at) == Some(&byte))
                && matches!(bytes.get(10), Some(b'T' | b't'));
        if !has_separators {
            return Err(ParseTimestampError);
        }
        let (year, month, day) = (read_digits(bytes, 0..4)?, read_digits(bytes, 5..7)?, read_digits(bytes, 8..10)?);
        let (hour, minute, second) =
            (read_digits(bytes, 11..13)?, read_digits(bytes, 14..16)?, read_digits(bytes, 17..19)?);
        let (milli, zone) = fraction_ms(&bytes[19..])?;
        if !(1..=12).contains(&month) || day < 1 || hour > 23 || minute > 59 || second > 60 {
            return Err(ParseTimestampError);
        }
        let days = days_from_civil(year, month, day);
        if civil_from_days(days) != (year, month, day) {
            return Err(ParseTimestampError);
        }
        let clock_ms = ((hour * 60 + minute) * 60 + second) * 1_000 + milli;
        Ok(Self(days * MS_PER_DAY + clock_ms - offset_ms(zone)?))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Year, month and day of a day counted from 1970-01-01. Counts in eras of 400 years that begin on the first of March, so
/// that the leap day is the last of its year.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The inverse of [`civil_from_days`] for days that exist; other days overflow into the next month.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn read_digits(bytes: &[u8], range: std::ops::Range<usize>) -> Result<i64, ParseTimestampError> {
    bytes.get(range).ok_or(ParseTimestampError)?.iter().try_fold(0, |number, byte| match byte {
        b'0'..=b'9' => Ok(number * 10 + i64::from(byte - b'0')),
        _ => Err(ParseTimestampError),
    })
}

/// The milliseconds of an optional fraction, and what follows it.
fn fraction_ms(rest: &[u8]) -> Result<(i64, &[u8]), ParseTimestampError> {
    let Some(fraction) = rest.strip_prefix(b".") else {
        return Ok((0, rest));
    };
    let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return Err(ParseTimestampError);
    }
    let padded: Vec<u8> = fraction[..length].iter().copied().chain(*b"00").take(3).collect();
    Ok((read_digits(&padded, 0..3)?, &fraction[length..]))
}

fn offset_ms(zone: &[u8]) -> Result<i64, ParseTimestampError> {
    let sign = match zone.first() {
        Some(b'Z' | b'z') if zone.len() == 1 => return Ok(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(ParseTimestampError),
    };
    let (hours, minutes) = (read_digits(zone, 1..3)?, read_digits(zone, 4..6)?);
    if zone.len() != 6 || zone[3] != b':' || hours > 23 || minutes > 59 {
        return Err(ParseTimestampError);
    }
    Ok(sign * (hours * 60 + minutes) * 60_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ms: i64, want: &str) {
        assert_eq!(Timestamp(ms).to_string(), want);
        assert_eq!(want.parse(), Ok(Timestamp(ms)), "{want} read back");
    }

    #[test]
    fn times_are_written_and_read_back() {
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

    #[track_caller]
    fn check_read(text: &str, want: Option<i64>) {
        assert_eq!(text.parse::<Timestamp>().ok(), want.map(Timestamp), "{text}");
    }

    #[test]
    fn other_programs_times_are_read() {
        check_read("1970-01-01T00:00:01Z", Some(1_000));
        check_read("1970-01-01t00:00:01z", Some(1_000));
        check_read("1970-01-01T00:00:00.5Z", Some(500));
        check_read("1970-01-01T00:00:00.123456789Z", Some(123));
        check_read("1970-01-01T02:00:00+02:00", Some(0));
        check_read("1969-12-31T22:30:00-01:30", Some(0));
        check_read("1970-01-01T00:00:00", None);
        check_read("1970-01-01T00:00:00.Z", None);
        check_read("1970-02-30T00:00:00Z", None);
        check_read("2100-02-29T00:00:00Z", None);
        check_read("1970-13-01T00:00:00Z", None);
        check_read("1970-01-00T00:00:00Z", None);
        check_read("1970-01-01T24:00:00Z", None);
        check_read("1970-01-01T00:00:00+2:00", None);
        check_read("1970-01-01T00:00:00Zé", None);
        check_read("é970-01-01T00:00:00Z", None);
        check_read("", None);
    }

    #[test]
    fn every_day_of_eight_centuries_is_its_own_inverse() {
        let mut day_before = civil_from_days(-146_098);
        for days in -146_097..146_097 {
            let date = civil_from_days(days);
            assert_eq!(days_from_civil(date.0, date.1, date.2), days, "{date:?}");
            assert!(date > day_before, "{date:?} follows {day_before:?}");
            day_before = date;
        }
    }
}
