//! Distributions of times: recorded by a worker, merged by the recorder, sent between processes in HdrHistogram's V2
//! encoding. Does not know what they measure.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Decoder, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::format::round;

/// What figures are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Times as they were measured.
    Measured,
    /// Each time without the generator's own share: the generator was late, starved or stopped.
    WithoutLab,
}

/// A distribution of times, in microseconds with three significant digits. Its average is as exact as its steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TimeHistogram {
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    all: Histogram<u64>,
    /// Those of them that the generator has lengthened, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delayed: Option<Box<DelayedTimes>>,
}

/// Times that the generator has lengthened.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct DelayedTimes {
    /// As they were measured.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    measured: Histogram<u64>,
    /// The same times without the generator's own share.
    #[serde(serialize_with = "encode", deserialize_with = "decode")]
    corrected: Histogram<u64>,
}

impl Default for TimeHistogram {
    fn default() -> Self {
        Self::from(histogram())
    }
}

impl From<Histogram<u64>> for TimeHistogram {
    /// Times in microseconds, as they were measured.
    fn from(all: Histogram<u64>) -> Self {
        Self { all, delayed: None }
    }
}

impl Default for DelayedTimes {
    fn default() -> Self {
        Self { measured: histogram(), corrected: histogram() }
    }
}

impl TimeHistogram {
    /// Records a time, and the generator's own share of it if that matters.
    pub fn record(&mut self, time: Duration, generator_delay: Option<Duration>) {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        // Histograms here resize themselves, so the library has no reason to refuse.
        let _ = self.all.record(us(time));
        if let Some(generator_delay) = generator_delay {
            let delayed = self.delayed.get_or_insert_default();
            let _ = delayed.measured.record(us(time));
            let _ = delayed.corrected.record(us(time.saturating_sub(generator_delay)));
        }
    }

    pub fn merge(&mut self, other: &Self) {
        let _ = self.all.add(&other.all);
        if let Some(other) = &other.delayed {
            let delayed = self.delayed.get_or_insert_default();
            let _ = delayed.measured.add(&other.measured);
            let _ = delayed.corrected.add(&other.corrected);
        }
    }

    /// Empties it; its memory is kept.
    pub fn reset(&mut self) {
        self.all.reset();
        self.delayed = None;
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// As they were measured, in microseconds.
    #[must_use]
    pub fn measured(&self) -> &Histogram<u64> {
        &self.all
    }

    /// The times on a basis, in microseconds.
    #[must_use]
    pub fn on(&self, basis: Basis) -> Cow<'_, Histogram<u64>> {
        let without = if basis == Basis::WithoutLab { self.without_delays() } else { None };
        without.map_or(Cow::Borrowed(&self.all), Cow::Owned)
    }

    fn without_delays(&self) -> Option<Histogram<u64>> {
        let delayed = self.delayed.as_ref()?;
        let mut all = self.all.clone();
        all.subtract(&delayed.measured).ok()?;
        all.add(&delayed.corrected).ok()?;
        Some(all)
    }

    /// A quantile in milliseconds; none of an empty distribution.
    #[must_use]
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        quantile_ms(&self.all, quantile)
    }
}

/// A quantile of times in microseconds, in milliseconds; none of an empty distribution.
pub(crate) fn quantile_ms(times_us: &Histogram<u64>, quantile: f64) -> Option<f64> {
    (!times_us.is_empty()).then(|| round(times_us.value_at_quantile(quantile).min(times_us.max()) as f64 / 1000.0))
}

/// A histogram of microseconds with three significant digits, growing as needed.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are within the library's range of 0 to 5")
}

fn encode<S: Serializer>(histogram: &Histogram<u64>, out: S) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).map_err(S::Error::custom)?;
    STANDARD.encode(bytes).serialize(out)
}

fn decode<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
    let bytes = STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)?;
    let mut histogram = Decoder::new().deserialize(&mut bytes.as_slice()).map_err(D::Error::custom)?;
    // Resizable, as it was created: the receiver may add to it.
    Histogram::auto(&mut histogram, true);
    Ok(histogram)
}
