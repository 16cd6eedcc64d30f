//! Keys that arrivals draw: which rows of the target are asked for how often, as alike or as unevenly as real traffic
//! asks for them. Refuses to know what a key means: it is a number, and templates make names of it.

use super::chance::{Purpose, below, draw};
use super::reader::{At, is_name};
use super::zipf::Zipf;
use crate::limits::{KEY_DRAWS_MAX, KEYS_MAX, ZIPF_MAX, ZIPF_MIN};

/// Keys that arrivals draw from, as `{{key.NAME}}`: a number from 0 to below `count`.
#[derive(Clone, Debug, PartialEq)]
pub struct Keys {
    /// Its name.
    pub name: String,
    /// Different keys.
    pub count: u64,
    /// How often each is drawn.
    pub spread: Spread,
}

/// How often each key is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// All alike.
    Uniform,
    /// Key k with a weight of 1 / (k + 1)^s (Zipf's law).
    Zipf(f64),
}

impl Keys {
    /// What cannot be read leaves a mistake and a single key, so that templates that use it are not blamed as well.
    pub(crate) fn read(name: &str, at: &At<'_>) -> Self {
        let mut keys = Self { name: name.to_owned(), count: 1, spread: Spread::Uniform };
        if !is_name(name) {
            at.wrong("must be named with small letters, digits and _");
        }
        let Some(fields) = at.fields() else { return keys };
        let count = fields.need("count", "how many different keys there are");
        keys.count = count.and_then(|at| at.int(1..=KEYS_MAX)).unwrap_or(1);
        if let Some(exponent) = fields.take("zipf").and_then(|at| at.number(ZIPF_MIN..=ZIPF_MAX)) {
            keys.spread = Spread::Zipf(exponent);
        }
        fields.close();
        keys
    }
}

/// One use of keys in a template, ready to draw: what it gives depends on the arrival's seed alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KeyDraw {
    law: Law,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Uniform(u64),
    Zipf(Zipf),
}

// No number in it is ever NaN: counts and exponents have bounds.
impl Eq for KeyDraw {}

impl KeyDraw {
    /// Draw `ordinal`, counted from 1, of the keys at `place` in the scenario.
    pub(crate) fn new(keys: &Keys, place: usize, ordinal: u64) -> Self {
        let law = match keys.spread {
            Spread::Uniform => Law::Uniform(keys.count),
            Spread::Zipf(exponent) => Law::Zipf(Zipf::new(keys.count, exponent)),
        };
        Self { law, number: place as u64 * KEY_DRAWS_MAX + ordinal - 1 }
    }

    pub(crate) fn key(&self, seed: u64) -> u64 {
        let drawn = draw(seed, Purpose::Key, self.number);
        match self.law {
            Law::Uniform(count) => below(drawn, count),
            Law::Zipf(zipf) => zipf.rank(drawn),
        }
    }
}
