//! Keys that arrivals draw: which rows of the target are requested how often, as evenly or unevenly as in real traffic.
//! Does not know what a key means: it is a number, and templates make names of it.

use super::reader::{NodeReader, check_name};
use super::rng::{DrawPurpose, draw, to_range};
use super::zipf::Zipf;
use crate::limits::{KEY_DRAWS_MAX, KEYS_MAX, ZIPF_MAX, ZIPF_MIN};

/// Keys that arrivals draw from, as `{{key.NAME}}`: a number from 0 to below `count`.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySet {
    pub name: String,
    /// The number of different keys.
    pub count: u64,
    pub distribution: KeyDistribution,
}

/// How often each key is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyDistribution {
    Uniform,
    /// Key k with a weight of 1 / (k + 1)^s (Zipf's law).
    Zipf(f64),
}

impl KeySet {
    /// Reads one. What cannot be read adds an error and yields a single key, so that templates that use it cause no
    /// further errors.
    pub(crate) fn read(name: &str, at: &NodeReader<'_>) -> Self {
        check_name(at, name);
        let keys = at.table(|fields| Self {
            name: name.to_owned(),
            count: fields.required("count", "how many different keys there are", |at| at.int(1..=KEYS_MAX)),
            distribution: fields
                .optional("zipf", |at| at.float(ZIPF_MIN..=ZIPF_MAX))
                .map_or(KeyDistribution::Uniform, KeyDistribution::Zipf),
        });
        keys.unwrap_or_else(|| Self { name: name.to_owned(), count: 1, distribution: KeyDistribution::Uniform })
    }
}

/// One use of keys in a template, ready to draw: the result depends on the arrival's seed alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KeyDraw {
    sampler: KeySampler,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum KeySampler {
    Uniform(u64),
    Zipf(Zipf),
}

// No number in it is ever NaN: counts and exponents have bounds.
impl Eq for KeyDraw {}

impl KeyDraw {
    /// Draw `ordinal`, counted from 1, of the keys at `place` in the scenario.
    pub(crate) fn new(keys: &KeySet, index: usize, ordinal: u64) -> Self {
        let law = match keys.distribution {
            KeyDistribution::Uniform => KeySampler::Uniform(keys.count),
            KeyDistribution::Zipf(exponent) => KeySampler::Zipf(Zipf::new(keys.count, exponent)),
        };
        Self { sampler: law, number: index as u64 * KEY_DRAWS_MAX + ordinal - 1 }
    }

    pub(crate) fn draw_key(&self, seed: u64) -> u64 {
        let drawn = draw(seed, DrawPurpose::Key, self.number);
        match self.sampler {
            KeySampler::Uniform(count) => to_range(drawn, count),
            KeySampler::Zipf(zipf) => zipf.rank(drawn),
        }
    }
}
