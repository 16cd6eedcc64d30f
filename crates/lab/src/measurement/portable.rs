//! Serialises what JSON has no form for, to send intervals between processes: histograms in HdrHistogram's V2 encoding,
//! rows as text. Does not know what they measure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Decoder, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

fn encode(histogram: &Histogram<u64>) -> Result<String, String> {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).map_err(|error| error.to_string())?;
    Ok(STANDARD.encode(bytes))
}

fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
    let mut histogram = Decoder::new().deserialize(&mut bytes.as_slice()).map_err(|error| error.to_string())?;
    // Resizable, as it was created: the receiver may add to it.
    Histogram::auto(&mut histogram, true);
    Ok(histogram)
}

pub(super) mod histogram {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(histogram: &Histogram<u64>, out: S) -> Result<S::Ok, S::Error> {
        encode(histogram).map_err(S::Error::custom)?.serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
        decode(&String::deserialize(from)?).map_err(D::Error::custom)
    }
}

pub(super) mod maybe {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(histogram: &Option<Histogram<u64>>, out: S) -> Result<S::Ok, S::Error> {
        histogram.as_ref().map(encode).transpose().map_err(S::Error::custom)?.serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Histogram<u64>>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.as_deref().map(decode).transpose().map_err(D::Error::custom)
    }
}

pub(super) mod lines {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(rows: &[u8], out: S) -> Result<S::Ok, S::Error> {
        std::str::from_utf8(rows).map_err(S::Error::custom)?.serialize(out)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(from).map(String::into_bytes)
    }
}

#[cfg(test)]
mod tests {
    use crate::measurement::{Interval, OpId, OpStats};

    #[test]
    fn an_interval_round_trips() {
        let mut stats = OpStats::new(3, OpId { journey: 1, step: Some(2) });
        [1, 1500, 90_000_000].iter().for_each(|value| stats.latency_us.record(*value).unwrap());
        let lag_us = Some(stats.latency_us.clone());
        let rows = b"1,2,3\n".to_vec();
        let sent =
            Interval { second: 7, ops: vec![stats], lag_us, not_sent: vec![(1, 2)], rows, ..Interval::default() };
        let text = serde_json::to_string(&sent).unwrap();
        let mut found: Interval = serde_json::from_str(&text).unwrap();
        assert_eq!(found.ops[0].latency_us, sent.ops[0].latency_us);
        assert_eq!((found.lag_us.as_ref(), &found.rows, found.second), (sent.lag_us.as_ref(), &sent.rows, 7));
        assert_eq!(serde_json::to_string(&found).unwrap(), text);
        // It resizes as before.
        found.ops[0].latency_us.record(u64::from(u32::MAX) * 1000).unwrap();
    }
}
