//! Keys that arrivals draw: which rows of the target are requested how often, as evenly or unevenly as in real traffic.
//! Does not know what a key means: it is a number, and templates make names of it.

use super::reader::{NodeReader, check_name};
use super::rng::{DrawPurpose, draw, to_range};
use super::zipf::Zipf;
use crate::limits::{KEY_DRAWS_MAX, KEYS_MAX, ZIPF_MAX, ZIPF_MIN};

/// Keys that arrivals draw from, as `{{key.NAME}}`: a number from 0 to below their count.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySet {
    pub name: String,
    pub(super) sampler: KeySampler,
}

/// How often each key is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum KeySampler {
    /// All of so many keys alike.
    Uniform(u64),
    /// Key k with a weight of 1 / (k + 1)^s (Zipf's law).
    Zipf(Zipf),
}

impl KeySet {
    /// Reads one. What cannot be read adds an error and yields a single key, so that templates that use it cause no
    /// further errors.
    pub(crate) fn read(name: &str, at: &NodeReader<'_>) -> Self {
        check_name(at, name);
        let sampler = at.table(|fields| {
            let count = fields.required("count", "how many different keys there are", |at| at.int(1..=KEYS_MAX));
            match fields.optional("zipf", |at| at.float(ZIPF_MIN..=ZIPF_MAX)) {
                Some(exponent) => KeySampler::Zipf(Zipf::new(count, exponent)),
                None => KeySampler::Uniform(count),
            }
        });
        Self { name: name.to_owned(), sampler: sampler.unwrap_or(KeySampler::Uniform(1)) }
    }
}

/// One use of keys in a template, ready to draw: the result depends on the arrival's seed alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KeyDraw {
    sampler: KeySampler,
    number: u64,
}

// No number in it is ever NaN: counts and exponents have bounds.
impl Eq for KeyDraw {}

impl KeyDraw {
    /// Draw `ordinal`, counted from 1, of the keys at `place` in the scenario.
    pub(crate) fn new(keys: &KeySet, index: usize, ordinal: u64) -> Self {
        Self { sampler: keys.sampler, number: index as u64 * KEY_DRAWS_MAX + ordinal - 1 }
    }

    pub(crate) fn draw_key(&self, seed: u64) -> u64 {
        let drawn = draw(seed, DrawPurpose::Key, self.number);
        match self.sampler {
            KeySampler::Uniform(count) => to_range(drawn, count),
            KeySampler::Zipf(zipf) => zipf.rank(drawn),
        }
    }
}
