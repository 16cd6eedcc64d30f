//! What broke: findings from the timeline, each with its evidence and what would refute it. Pure. Refuses to name a
//! bottleneck that the figures do not show.

use serde::{Deserialize, Serialize};

/// A sentence about the bottleneck that the figures support.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The stable name of its kind: `pool_starved`, `generator_behind`.
    pub code: String,
    /// The sentence.
    pub sentence: String,
    /// The figures that it rests on.
    pub evidence: Vec<Evidence>,
    /// What one would see if it were wrong.
    pub refuted_by: String,
    /// What to try.
    pub advice: String,
}

/// A figure that a finding rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Its name on the timeline or in the record.
    pub figure: String,
    /// What it showed, in words, with its numbers and units.
    pub says: String,
}
