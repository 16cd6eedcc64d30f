//! What the names of a template stand for at one moment: the values of the run, of an arrival, and those kept from its
//! responses. Does not know the templates.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::feed::{FeedOrder, FeedRows};
use super::rng::{DrawPurpose, draw, to_range};

/// What identifies one arrival, besides the moment it is due.
#[derive(Clone, Copy, Debug)]
pub struct ArrivalContext<'a> {
    /// The id of the run: uuids differ between runs, and stay the same for retries.
    pub run_id: &'a str,
    pub load_step: u32,
    /// The arrival's index in its load spec, counted from 0.
    pub index: u64,
    /// The arrival's own seed, from the plan.
    pub seed: u64,
    /// Completed rounds of its repeats.
    pub round: u64,
    /// Which of the numbered messages of its connection this is, from 1.
    pub message_number: u64,
}

/// Where the names of a template find their values.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Values of the whole run: its id, secrets, what the setup kept.
    pub globals: &'a BTreeMap<String, String>,
    /// What this journey has kept so far; the latest value of a name counts.
    pub kept: &'a [(String, String)],
    /// The lists to pick from, rendered.
    pub picks: &'a [Vec<String>],
    /// The rows of every feed, as [`super::Feed::parse_rows`] returns them.
    pub feeds: &'a [FeedRows],
    /// The arrival, if there is one.
    pub arrival: Option<ArrivalContext<'a>>,
}

impl<'a> Scope<'a> {
    /// The values of the whole run alone.
    #[must_use]
    pub fn for_run(globals: &'a BTreeMap<String, String>) -> Self {
        Self { globals, kept: &[], picks: &[], feeds: &[], arrival: None }
    }

    pub(crate) fn value(&self, name: &str) -> Result<&'a str, String> {
        let kept = self.kept.iter().rev().find(|(kept, _)| kept == name).map(|(_, value)| value);
        kept.or_else(|| self.globals.get(name)).map(String::as_str).ok_or_else(|| format!("`{name}` has no value yet"))
    }
}

impl ArrivalContext<'_> {
    /// Which of `rows` it gets from the feed with this index in the scenario: the same row for all its steps.
    pub(crate) fn feed_row(&self, feed: usize, order: FeedOrder, rows: usize) -> Option<usize> {
        let count = rows as u64;
        let row = match order {
            FeedOrder::Cycle => self.index.checked_rem(count)?,
            FeedOrder::Random => to_range(draw(self.seed, DrawPurpose::Row, feed as u64), count),
        };
        usize::try_from(row).ok().filter(|row| *row < rows)
    }

    /// Appends a UUID (version 8, RFC 9562) made of the run's id and the arrival's position in it; does not allocate.
    pub(crate) fn push_uuid(&self, out: &mut String) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digest = Sha256::new_with_prefix(self.run_id)
            .chain_update(u64::from(self.load_step).to_be_bytes())
            .chain_update(self.index.to_be_bytes())
            .finalize();
        let mut bytes: [u8; 16] = std::array::from_fn(|i| digest[i]);
        bytes[6] = 0x80 | (bytes[6] & 0x0f);
        bytes[8] = 0x80 | (bytes[8] & 0x3f);
        for (i, byte) in bytes.into_iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                out.push('-');
            }
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 0x0f)]));
        }
    }
}
