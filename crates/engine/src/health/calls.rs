//! How fast and how well a bot answered in one hour: a histogram of latencies with logarithmic buckets, and counts by class. Values of the
//! same hour from several processes are added.

use crate::matches::entry::AnswerClass;
use crate::pack::{ByteReader, DecodeError, Pack, decode_versioned, encode_versioned, packed};

const FORMAT: u8 = 1;
/// Buckets of one octave, and milliseconds below which each has a bucket of its own: a bucket spans at most a sixteenth of its values.
const OCTAVE_BUCKETS: u32 = 16;
const OCTAVE_BITS: u32 = OCTAVE_BUCKETS.ilog2();
const CLASSES: usize = AnswerClass::ALL.len();

/// Latencies in milliseconds. Only buckets that hold something take memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyHistogram {
    /// In the order of their numbers; no count is zero.
    buckets: Vec<Bucket>,
    /// The largest value.
    max_ms: u16,
}
packed!(LatencyHistogram { buckets, max_ms });

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bucket {
    number: u8,
    count: u32,
}
packed!(Bucket { number, count });

/// The bucket of a latency: all values below 16 ms have their own, then there are 16 for each octave.
fn bucket_of(latency_ms: u16) -> u8 {
    let value = u32::from(latency_ms);
    if value < OCTAVE_BUCKETS {
        return value as u8;
    }
    let octave = value.ilog2() - OCTAVE_BITS;
    (OCTAVE_BUCKETS * octave + (value >> octave)) as u8
}

/// The largest value of a bucket.
fn bucket_max_ms(number: u8) -> u32 {
    let number = u32::from(number);
    if number < OCTAVE_BUCKETS {
        return number;
    }
    let octave = number / OCTAVE_BUCKETS - 1;
    (((number % OCTAVE_BUCKETS + OCTAVE_BUCKETS + 1) << octave) - 1).min(u32::from(u16::MAX))
}

const _: () = assert!(
    OCTAVE_BUCKETS * (u16::BITS - OCTAVE_BITS + 1) <= 1 << u8::BITS,
    "every latency of 16 bits has a bucket whose number is a byte"
);

impl LatencyHistogram {
    pub fn record(&mut self, latency_ms: u16) {
        self.add(bucket_of(latency_ms), 1);
        self.max_ms = self.max_ms.max(latency_ms);
    }

    /// Adds another one.
    pub fn merge(&mut self, other: &Self) {
        other.buckets.iter().for_each(|bucket| self.add(bucket.number, bucket.count));
        self.max_ms = self.max_ms.max(other.max_ms);
    }

    /// How many values it has.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| u64::from(bucket.count)).sum()
    }

    /// The smallest bound that at least `percent` of 100 values do not exceed, at most a sixteenth too large; `None` without values.
    #[must_use]
    pub fn percentile_ms(&self, percent: u8) -> Option<u32> {
        let rank = (self.count() * u64::from(percent)).div_ceil(100).max(1);
        let mut seen = 0;
        let bucket = self.buckets.iter().find(|bucket| {
            seen += u64::from(bucket.count);
            seen >= rank
        })?;
        Some(bucket_max_ms(bucket.number).min(u32::from(self.max_ms)))
    }

    /// The largest value; 0 without values.
    #[must_use]
    pub fn max_ms(&self) -> u16 {
        self.max_ms
    }

    fn add(&mut self, number: u8, count: u32) {
        match self.buckets.binary_search_by_key(&number, |bucket| bucket.number) {
            Ok(at) => self.buckets[at].count = self.buckets[at].count.saturating_add(count),
            Err(at) => self.buckets.insert(at, Bucket { number, count }),
        }
    }
}

/// Calls for moves of one bot, and how they ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BotCalls {
    /// Of calls that were answered, and of late ones, which count as their timeout.
    pub latency: LatencyHistogram,
    counts: [u32; CLASSES],
}

impl BotCalls {
    pub fn record(&mut self, class: AnswerClass, latency_ms: u16) {
        let count = &mut self.counts[class as usize];
        *count = count.saturating_add(1);
        if has_latency(class) {
            self.latency.record(latency_ms);
        }
    }

    /// Adds another one.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }

    /// Calls that ended in this class.
    #[must_use]
    pub fn count(&self, class: AnswerClass) -> u32 {
        self.counts[class as usize]
    }

    /// All calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(*count)).sum()
    }

    /// Its bytes, as they are stored.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}

/// A call that reached no bot, or broke, took no time that says anything.
fn has_latency(class: AnswerClass) -> bool {
    match class {
        AnswerClass::Valid
        | AnswerClass::Late
        | AnswerClass::BadStatus
        | AnswerClass::Oversized
        | AnswerClass::Malformed
        | AnswerClass::UnknownMove => true,
        AnswerClass::Unreachable | AnswerClass::Forbidden | AnswerClass::ServerFault | AnswerClass::Throttled => false,
    }
}

impl Pack for BotCalls {
    fn put(&self, out: &mut Vec<u8>) {
        self.latency.put(out);
        self.counts.to_vec().put(out);
    }

    /// Counts of fewer classes than there are now were written before the last ones were added.
    fn get(from: &mut ByteReader<'_>) -> Result<Self, DecodeError> {
        let latency: LatencyHistogram = Pack::get(from)?;
        if !latency.buckets.is_sorted_by(|a, b| a.number < b.number) || latency.buckets.iter().any(|b| b.count == 0) {
            return Err(DecodeError("a histogram whose buckets are not in order"));
        }
        let known: Vec<u32> = Pack::get(from)?;
        let mut counts = [0; CLASSES];
        counts.get_mut(..known.len()).ok_or(DecodeError("counts of unknown classes"))?.copy_from_slice(&known);
        Ok(Self { latency, counts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(latencies_ms: &[u16], want: [Option<u32>; 3]) {
        let mut histogram = LatencyHistogram::default();
        latencies_ms.iter().for_each(|latency_ms| histogram.record(*latency_ms));
        assert_eq!([50, 95, 99].map(|percent| histogram.percentile_ms(percent)), want, "{latencies_ms:?}");
    }

    #[test]
    fn percentiles() {
        check(&[], [None; 3]);
        check(&[0], [Some(0); 3]);
        check(&[7; 100], [Some(7); 3]);
        check(&(1..=10).collect::<Vec<_>>(), [Some(5), Some(10), Some(10)]);
        // 100 lies in the bucket of 100 to 103.
        check(&[100, 100, 100, 500], [Some(103), Some(500), Some(500)]);
        check(&[u16::MAX], [Some(65_535); 3]);
    }

    #[test]
    fn calls_without_an_answer_have_no_latency() {
        let mut calls = BotCalls::default();
        calls.record(AnswerClass::Valid, 20);
        calls.record(AnswerClass::Late, 500);
        calls.record(AnswerClass::Unreachable, 1);
        calls.record(AnswerClass::ServerFault, 1);
        assert_eq!((calls.total(), calls.latency.count()), (4, 2));
        assert_eq!((calls.latency.percentile_ms(50), calls.latency.max_ms()), (Some(20), 500));
    }

    proptest! {
        #[test]
        fn a_bucket_holds_its_values_and_spans_a_sixteenth(value: u16) {
            let number = bucket_of(value);
            let max_ms = bucket_max_ms(number);
            prop_assert!(u32::from(value) <= max_ms);
            prop_assert!(max_ms - u32::from(value) <= u32::from(value) / 16);
            prop_assert!(number == 0 || bucket_max_ms(number - 1) < u32::from(value));
        }

        #[test]
        fn a_percentile_is_the_ranked_value_up_to_a_sixteenth(
            mut values in prop::collection::vec(any::<u16>(), 1..200), percent in 1u8..=100,
        ) {
            let mut histogram = LatencyHistogram::default();
            values.iter().for_each(|value| histogram.record(*value));
            values.sort_unstable();
            let exact = u32::from(values[(values.len() * usize::from(percent)).div_ceil(100) - 1]);
            let shown = histogram.percentile_ms(percent).unwrap();
            prop_assert!(exact <= shown && shown <= exact + exact / 16, "{} {}", exact, shown);
        }

        #[test]
        fn merged_parts_are_the_whole(calls in prop::collection::vec((0..CLASSES, any::<u16>()), 0..200), cut in 0usize..200) {
            let of = |calls: &[(usize, u16)]| {
                let mut sum = BotCalls::default();
                calls.iter().for_each(|&(class, latency_ms)| sum.record(AnswerClass::ALL[class], latency_ms));
                sum
            };
            let (first, rest) = calls.split_at(cut.min(calls.len()));
            let mut merged = of(rest);
            merged.merge(&of(first));
            prop_assert_eq!(&merged, &of(&calls));
            prop_assert_eq!(BotCalls::decode(&merged.encode()), Ok(merged));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(calls) = BotCalls::decode(&bytes) {
                let _ = calls.latency.percentile_ms(99);
            }
        }
    }
}
